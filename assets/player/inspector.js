// The round under the glass: one line per drafted token, what was emitted, and the chosen token's distributions.
let chosenPlace = null;

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
  if (!round) return;
  if (!places(round).includes(chosenPlace)) chosenPlace = defaultPlace(round);
  setText(table.caption, say('roundCaption', { i: index + 1 }));
  table.tBodies[0].replaceChildren(...draftedRows(round), ...emittedRows(round));
  showToken(round);
}

function roundNote(round) {
  if (round.drafted.length) return round.note ? say('draftNote', { note: round.note }) : '';
  if (round.note) return say('noDraftNote', { note: round.note });
  return say(run.trace.settings.gamma === 0 ? 'noDraftGamma' : 'noDraft');
}

function places(round) {
  const own = round.emitted.map((token, k) => (token.origin === 'accepted' ? null : 'e' + k));
  return [...round.drafted.map((_, k) => 'd' + k), ...own.filter(Boolean)];
}

// The refused token is the interesting one; without one, the last.
function defaultPlace(round) {
  const rejected = round.drafted.findIndex(token => token.verdict === 'rejected');
  return rejected >= 0 ? 'd' + rejected : places(round).at(-1);
}

function draftedRows(round) {
  return round.drafted.map((token, k) => {
    const uniform = token.uniform ?? null, name = pickButton('d' + k, chip(token.id, token.verdict));
    return row('d' + k, token.verdict, [String(k + 1), name, prob(token.p), prob(token.q), prob(token.accept_prob),
      uniform === null ? '–' : prob(uniform), axis(token.accept_prob, uniform), verdict(token.verdict)]);
  });
}

function emittedRows(round) {
  return round.emitted.flatMap((token, k) => (token.origin === 'accepted' ? [] : [
    row('e' + k, token.origin, [String(k + 1), pickButton('e' + k, chip(token.id, token.origin)), prob(token.p), '', '', '',
      el('span', 'origin', originText(token)), verdict(token.origin)])]));
}

function originText(token) {
  if (token.fallback) return say('from.fallback');
  return say((isGreedy() ? 'greedyFrom.' : 'from.') + token.origin);
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
    cell.dataset.name = COLUMNS[k] === 'test' ? '' : say('col.' + COLUMNS[k]);
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
function axis(accept, uniform) {
  const node = el('span', 'axis'), bar = el('span', 'axis-bar');
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', say(uniform === null ? 'axisUnjudged' : 'axisLabel', { a: prob(accept), u: uniform === null ? '' : prob(uniform) }));
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
  const round = run.lanes.speculative.rounds[Math.min(player.step, roundCount()) - 1];
  if (round) showToken(round);
}

function showToken(round) {
  const box = find('.token-detail'), k = Number(chosenPlace.slice(1)), emitted = chosenPlace[0] === 'e' ? round.emitted[k] : null;
  const drafted = emitted ? (emitted.origin === 'resampled' ? round.drafted[k] : null) : round.drafted[k];
  box.replaceChildren(tokenTitle(emitted ?? drafted, emitted, k), ...(drafted ? draftedDetail(drafted) : emittedDetail(emitted)));
  find('.token-residual').replaceChildren(...(drafted ? residualDetail(drafted, round) : []));
}

function tokenTitle(token, emitted, k) {
  const title = el('h4'), [before, after] = say(emitted ? 'emittedTitle' : 'tokenTitle', { k: k + 1 }).split('{token}');
  title.append(before, chip(token.id, 'bare'), after);
  return title;
}

function draftedDetail(token) {
  const greedy = isGreedy() && (token.target_top || token.draft_top), parts = [];
  if (isGreedy()) parts.push(el('p', 'remark', say('greedy')));
  else parts.push(betaLine(token), el('p', 'facts', say('entropies', { p: token.entropy_p.toFixed(2), q: token.entropy_q.toFixed(2) })));
  if (greedy) parts.push(el('p', 'bars-name', say('ownProbabilities')), ownBars(token));
  else parts.push(legendOf('pAndQ'), pairedBars(token.p_top, token.q_top, token));
  return parts;
}

function residualDetail(token, round) {
  if (!token.residual_top || isGreedy()) return [];
  const drawn = round.emitted.find(other => other.origin === 'resampled')?.id;
  return [el('h4', '', say('residual')), singleBars(token.residual_top, drawn, 'residual', say('drawn'))];
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
