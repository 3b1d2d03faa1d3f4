// The round under the glass: one line per drafted token, what was emitted, and the chosen token's distributions.
let chosenPlace = null;

function shownRound() { return run?.lanes.speculative.rounds[Math.min(player.step, roundCount()) - 1]; }

function showRound(step) {
  const index = Math.min(step, roundCount()) - 1, round = run.lanes.speculative.rounds[index];
  const box = find('.inspector');
  setText(box.querySelector('.round-title'), round ? say('roundTitle', { i: index + 1 }) : say('inspector'));
  setText(box.querySelector('.round-note'), round ? roundNote(round) : say('atPrompt'));
  box.querySelector('.round-note').hidden = !box.querySelector('.round-note').textContent;
  const table = box.querySelector('table');
  table.hidden = !round;
  box.querySelector('.token-detail').replaceChildren();
  box.querySelector('.token-residual').replaceChildren();
  find('.rules').hidden = true;
  if (!round) { showTree(null); return; }
  if (!places(round).includes(chosenPlace)) chosenPlace = defaultPlace(round);
  setText(table.caption, say('roundCaption', { i: index + 1 }));
  showTable(round);
  table.tBodies[0].replaceChildren(...draftedRows(round), ...emittedRows(round));
  showTree(round);
  showToken(round);
}

function roundNote(round) {
  if (round.drafted.length) {
    return [round.by && say('draftedBy', { by: methodTitle(round.by) }), copiedIn(round) && copiedText('copiedNote', round.copied),
      isTree(round) && say('treeNote'), round.note && say('draftNote', { note: round.note })].filter(Boolean).join(' ');
  }
  if (round.note) return say('noDraftNote', { note: round.note });
  return say(run.trace.settings.gamma === 0 && !run.unused.includes('gamma') ? 'noDraftGamma' : 'noDraft');
}

function places(round) {
  const own = round.emitted.map((token, k) => (token.origin === 'accepted' ? null : 'e' + k));
  return [...round.drafted.map((_, k) => 'd' + k), ...own.filter(Boolean)];
}

// The refused token is the interesting one; without one, the last. In a tree the first try, where the walk begins.
function defaultPlace(round) {
  const rejected = isTree(round) ? triesOf(round)[0] ?? -1 : round.drafted.findIndex(token => token.verdict === 'rejected');
  return rejected >= 0 ? 'd' + rejected : places(round).at(-1);
}

function draftedRows(round) {
  const depths = depthsOf(round), listed = (_, k) => !isTree(round) || round.drafted[k].verdict !== 'not_judged';
  return round.drafted.map((token, k) => {
    const uniform = token.uniform ?? null, name = pickButton('d' + k, chip(token.id, token.verdict)), a = token.accept_prob;
    return row('d' + k, token.verdict, [String(depths[k]), name, prob(token.p_left ?? token.p), prob(token.q), prob(a),
      uniform === null ? '–' : prob(uniform), axis(a, uniform, isJudged(token)), verdict(token.verdict)]);
  }).filter(listed);
}

function emittedRows(round) {
  return round.emitted.flatMap((token, k) => (token.origin === 'accepted' ? [] : [
    row('e' + k, token.origin, [String(k + 1), pickButton('e' + k, chip(token.id, token.origin)), prob(token.p), '', '', '',
      el('span', 'origin', originText(token)), verdict(token.origin)])]));
}

function originText(token) {
  if (token.fallback) return say('from.fallback');
  return say(isGreedy() ? 'greedyFrom.' + token.origin : byRule('from.' + token.origin));
}

// The heading of a column; some depend on the rule, and in a tree the place is a depth.
function columnName(name, round) {
  if (name === 'accept' || name === 'test') return say(name + '.' + ruleKey());
  return say('col.' + (name === 'position' && isTree(round) ? 'depth' : name));
}

function showTable(round) {
  find('.inspector thead tr').replaceChildren(...COLUMNS.map(name => {
    const cell = el('th', 'c-' + name, columnName(name, round));
    cell.scope = 'col';
    return cell;
  }));
}

const COLUMNS = ['position', 'token', 'p', 'q', 'accept', 'uniform', 'test', 'verdict'];

function row(place, status, cells) {
  const node = el('tr', status);
  node.dataset.place = place;
  node.classList.toggle('chosen', place === chosenPlace);
  cells.forEach((content, k) => {
    const cell = el('td', 'c-' + COLUMNS[k]);
    cell.append(content);
    if (content === '') cell.classList.add('empty');
    cell.dataset.name = COLUMNS[k] === 'accept' ? say('accept.' + ruleKey()) : COLUMNS[k] === 'test' ? '' : say('col.' + COLUMNS[k]);
    node.append(cell);
  });
  return node;
}

function pickButton(place, content) {
  const button = el('button', 'pick');
  button.type = 'button';
  button.setAttribute('aria-pressed', String(place === chosenPlace));
  button.append(content);
  return button;
}

function verdict(status) {
  const node = el('span', 'verdict ' + status), mark = el('span', 'mark', say('mark.' + status));
  mark.setAttribute('aria-hidden', 'true');
  node.append(mark, ' ', say('status.' + status));
  return node;
}

// One axis from 0 to 1: the bar is the acceptance probability, the tick the uniform. Inside means accepted.
function axis(accept, uniform, judged) {
  const node = el('span', 'axis'), bar = el('span', 'axis-bar'), key = !judged ? 'axisUnjudged' : uniform === null ? 'axisAlone' : 'axisLabel';
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', say(key, { a: prob(accept), u: uniform === null ? '' : prob(uniform) }));
  bar.style.width = 100 * accept + '%';
  node.append(bar);
  if (uniform !== null) {
    const tick = el('span', 'axis-tick');
    tick.style.left = 100 * uniform + '%';
    node.append(tick);
  }
  return node;
}

function choosePlace(place) {
  chosenPlace = place;
  for (const line of find('.inspector tbody').rows) {
    line.classList.toggle('chosen', line.dataset.place === place);
    line.querySelector('.pick').setAttribute('aria-pressed', String(line.dataset.place === place));
  }
  const round = shownRound();
  if (round) showToken(round);
}

function showToken(round) {
  const box = find('.token-detail'), k = Number(chosenPlace.slice(1)), emitted = chosenPlace[0] === 'e' ? round.emitted[k] : null;
  const place = emitted ? (emitted.origin === 'resampled' ? lastRefused(round) : -1) : k, drafted = round.drafted[place];
  box.replaceChildren(tokenTitle(emitted ?? drafted, emitted, round, k), ...(drafted ? draftedDetail(round, place) : emittedDetail(emitted)));
  find('.token-residual').replaceChildren(...(drafted ? residualDetail(drafted, round) : []));
  markTree(round);
  showRules(chosenPlace);
}

function tokenTitle(token, emitted, round, k) {
  const key = emitted ? 'emittedTitle' : isTree(round) ? 'nodeTitle' : 'tokenTitle';
  const title = el('h4'), [before, after] = say(key, { k: emitted ? k + 1 : depthsOf(round)[k] }).split('{token}');
  title.append(before, chip(token.id, 'bare'), after);
  return title;
}

function draftedDetail(round, k) {
  const token = round.drafted[k], greedy = isGreedy() && (token.target_top || token.draft_top), left = leftBefore(round, k), parts = [];
  if (isGreedy()) parts.push(el('p', 'remark', say('greedy')));
  else parts.push(betaLine(token), el('p', 'facts', say('entropies', { p: token.entropy_p.toFixed(2), q: token.entropy_q.toFixed(2) })));
  if (typeof token.kept === 'number') parts.push(el('p', 'facts', say('kept', { kept: prob(token.kept) })));
  if (typeof token.p_left === 'number' && !isGreedy()) parts.push(el('p', 'facts', say('pLeft', { left: prob(token.p_left), p: prob(token.p) })));
  if (greedy) parts.push(el('p', 'bars-name', say('ownProbabilities')), ownBars(token));
  else if (left) parts.push(legendOf('pLeftAndQ'), pairedBars(left, token.q_top, { id: token.id, p: token.p_left, q: token.q }));
  else parts.push(legendOf('pAndQ'), pairedBars(token.p_top, token.q_top, token));
  return parts;
}

function residualDetail(token, round) {
  if (!token.residual_top || isGreedy()) return [];
  const drawn = round.emitted.find(other => other.origin === 'resampled')?.id;
  return [el('h4', '', say(byRule('residual'))), singleBars(token.residual_top, drawn, 'residual', say('drawn'))];
}

function ownBars(token) {
  if (token.target_top && token.draft_top) return pairedBars(token.target_top, token.draft_top, { id: token.id });
  return token.target_top ? singleBars(token.target_top, token.id, 'p', '') : singleBars(token.draft_top, token.id, 'q', '');
}

function emittedDetail(token) {
  const parts = [], own = isGreedy() && token.target_top;
  if (typeof token.entropy_p === 'number' && !own) parts.push(el('p', 'facts', say('entropyP', { p: token.entropy_p.toFixed(2) })));
  if (typeof token.gap === 'number') parts.push(el('p', 'facts', say('gap', { gap: token.gap.toFixed(3) })));
  const top = own || token.p_top;
  if (top) parts.push(own ? el('p', 'bars-name', say('ownProbabilities')) : legendOf('pOnly'), singleBars(top, token.id, 'p', ''));
  return parts;
}

function legendOf(key) {
  return el('p', 'bars-name key-' + key, say(key));
}

function betaLine(token) {
  const line = el('p', 'facts beta');
  line.append(el('b', '', say('beta', { beta: prob(token.beta) })), barLine('overlap', 0, token.beta), el('span', 'faint', say('betaHelp')));
  return line;
}
