// Every rule on the same recorded draft. Python has computed the numbers; here they become a table.
function showRules(place) {
  const box = find('.rules'), rows = run.rows[Math.min(player.step, roundCount()) - 1] ?? [];
  box.hidden = !rows.length || place[0] !== 'd';
  if (box.hidden) return;
  const k = Number(place.slice(1)), { typical_epsilon: epsilon, typical_delta: delta } = run.trace.settings;
  setText(box.querySelector('.rules-note'), say('rulesNote', { epsilon, delta }));
  const table = box.querySelector('table');
  table.tHead.rows[0].replaceChildren(...['name', 'chance', 'mean', 'expected'].map(name => {
    const cell = el('th', '', say('rule.' + name));
    cell.scope = 'col';
    return cell;
  }));
  table.tBodies[0].replaceChildren(...rows.map(row => ruleLine(row, k)));
}

function ruleLine(row, k) {
  const line = el('tr', row.rule === ruleKey() ? 'own' : ''), name = el('th'), info = run.rules[row.rule];
  name.scope = 'row';
  name.append(el('span', 'rule-title', info?.title ?? row.rule));
  if (row.rule === ruleKey()) name.append(' ', el('span', 'own-mark', say('rule.own')));
  if (info && !info.exact) name.append(' ', el('span', 'changes', say('changes')));
  if (info) name.append(el('span', 'used-by', info.used_by));
  line.append(name, ...[chanceText(row, k), meanText(row, k), expectedText(row)].map(text => el('td', '', text)));
  return line;
}

function isNumber(value) { return typeof value === 'number'; }

// A rule that would have drafted another token here has no chance for this one, though its place has a mean.
function chanceText(row, k) {
  if (isNumber(row.chances[k])) return prob(row.chances[k]);
  return say(isNumber(row.means[k]) ? 'rule.another' : 'rule.none');
}

function meanText(row, k) { return isNumber(row.means[k]) ? prob(row.means[k]) : say('rule.noMean'); }

function expectedText(row) {
  if (isNumber(row.expected)) return row.expected.toFixed(2);
  return say(row.means.every(isNumber) ? 'rule.another' : 'rule.none');
}
