// The run as data: lines in, rounds and clocks out. Nothing here touches the page.
let run = null;

function newLane(key) { return { key, rounds: [], ends: [], counts: [], tail: null }; }

function newRun(line) {
  const lanes = { speculative: newLane('speculative') };
  if (line.baseline) lanes.plain = newLane('plain');
  return { id: line.id, source: line.source, trace: line.trace, baseline: line.baseline, lanes, pieces: new Map(),
    unused: line.unused ?? [], methods: line.methods ?? {}, rules: line.rules ?? {},
    figures: [], rows: [], charts: {}, chartsVersion: 0, end: null, badLines: 0, interrupted: false };
}

// Seeds may be larger than a double can hold; an export must give them back digit by digit.
function keepDigits(key, value, context) {
  const large = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return large && context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

function readLine(text) {
  const line = JSON.parse(text);
  return line.t === 'run' ? JSON.parse(text, keepDigits) : line;
}

// What drawing relies on; Python has checked the rest.
function isRound({ drafted, emitted }) {
  const number = value => typeof value === 'number', top = value => Array.isArray(value?.ids) && Array.isArray(value.probs);
  return Array.isArray(drafted) && Array.isArray(emitted) && emitted.every(token => number(token.id) && number(token.p) && token.origin)
    && drafted.every((token, k) => [token.id, token.p, token.q, token.accept_prob, token.beta].every(number) && token.verdict
      && top(token.p_top) && top(token.q_top) && (token.parent === undefined || (token.parent >= -1 && token.parent < k)));
}

function addRound(line) {
  const lane = run.lanes[line.lane], { emitted } = line.round;
  if (!lane || !isRound(line.round) || !(line.end >= 0)) throw new Error('not a round');
  lane.rounds.push(line.round);
  lane.ends.push(line.end);
  lane.counts.push((lane.counts.at(-1) ?? 0) + emitted.length);
  if (line.lane !== 'speculative') return;
  run.figures.push(line.figures ?? run.figures.at(-1) ?? {});
  run.rows.push(line.rules ?? []); // what each rule would make of the draft
}

// Takes one line into the run; a line that opens a run replaces it.
function take(text) {
  const line = readLine(text);
  if (line.t === 'run') run = newRun(line);
  else if (!run) throw new Error('no run yet');
  else if (line.t === 'pieces') for (const [id, piece] of Object.entries(line.pieces)) run.pieces.set(id, piece);
  else if (line.t === 'round') addRound(line);
  else if (line.t === 'charts') { run.charts = line.charts; run.chartsVersion++; }
  else if (line.t === 'end') {
    run.end = line;
    for (const [key, tail] of Object.entries(line.lanes)) if (run.lanes[key]) run.lanes[key].tail = tail;
  }
}

function roundCount() { return run ? run.lanes.speculative.rounds.length : 0; }
function isLive() { return Boolean(run) && run.source === 'live' && !run.end && !run.interrupted; }
// The rule that ran. Where nothing drafted none did, whatever was asked for; the first rule's words then head the table.
function ruleKey() { const { rule } = run.trace.provenance; return run.rules[rule] ? rule : 'rejection'; }
function methodTitle(key) { return run.methods[key]?.title ?? key; }
function isGreedy() { return run.trace.settings.temperature < 1e-5; }
function lastEnd(lane) { return lane?.ends.at(-1) ?? 0; }

// Step N + 1 exists if the plain lane is known to end after the last speculative round.
function hasPlainStep() { return Boolean(run?.end) && lastEnd(run.lanes.plain) > lastEnd(run.lanes.speculative); }
function lastStep() { return roundCount() + (hasPlainStep() ? 1 : 0); }
function lastClock() { return run ? Math.max(lastEnd(run.lanes.speculative), lastEnd(run.lanes.plain)) : 0; }

function clockAt(step) {
  if (step <= 0) return 0;
  return step > roundCount() ? lastClock() : run.lanes.speculative.ends[step - 1];
}

// How many rounds of a lane have ended at this time on its clock.
function doneAt(lane, clock) {
  let low = 0, high = lane.ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.ends[middle] <= clock) low = middle + 1; else high = middle;
  }
  return low;
}

function stepAt(clock) {
  const rounds = doneAt(run.lanes.speculative, clock);
  return rounds === roundCount() && clock >= lastClock() ? lastStep() : rounds;
}

function tokensOf(lane, rounds) { return rounds ? lane.counts[rounds - 1] : 0; }
function outputIds(lane) { return lane.rounds.flatMap(round => round.emitted.map(token => token.id)); }
function outputText(lane) { return lane.tail?.output_text ?? trueText(outputIds(lane)); }
