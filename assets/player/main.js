// Ties the parts together: feeds lines in, shows a step, listens to the reader.
// kept: the run a reload gave back; left: first lines of live runs that another run has taken the place of
const feed = { text: '', read: 0, timer: 0, recorded: null, kept: null, left: new Set() };
const lanes = { speculative: newLaneView('speculative'), plain: newLaneView('plain') };
const SLICE = 10; // ms of work before the page gets a turn

function onValue() {
  const text = props.value || '';
  if (isRestored() && isRecordedArrival(text)) feed.recorded = text;
  else if (!feed.left.has(firstLine(text))) accept(text);
}

// A cancelled run may still have an update on its way when the visitor has chosen another run.
function firstLine(text) { return text.slice(0, text.indexOf('\n') + 1); }

function isLiveText(text) { return text.slice(0, 200).includes('"source":"live"'); }

function isRestored() { return feed.kept !== null && feed.text === feed.kept; }

// After a restore the page's own recorded run may still arrive; it waits behind the notice's button.
function isRecordedArrival(text) {
  return text === '' || text === feed.recorded || (feed.recorded === null && text.slice(0, 200).includes('"source":"recorded"'));
}

function accept(text) {
  if (!text.startsWith(feed.text.slice(0, feed.read))) {
    feed.read = 0;
    if (isLiveText(feed.text)) feed.left.add(firstLine(feed.text));
  }
  feed.text = text;
  feed.timer ||= setTimeout(work); // a task of its own: the page has just spent one on the update
}

// Reads lines and builds chips in slices; the rest waits for the next turn.
function work() {
  feed.timer = 0;
  const until = performance.now() + SLICE, before = run;
  const fresh = readLines(until);
  if (!run) return;
  if (run !== before) showNewRun();
  if (fresh) arrived();
  const built = Object.keys(run.lanes).map(key => buildSome(lanes[key], run.lanes[key].rounds, until));
  if (feed.text.indexOf('\n', feed.read) >= 0 || built.includes(false)) feed.timer = setTimeout(work);
}

function readLines(until) {
  let fresh = false;
  for (let at; performance.now() < until && (at = feed.text.indexOf('\n', feed.read)) >= 0; fresh = true) {
    const text = feed.text.slice(feed.read, at);
    feed.read = at + 1;
    const before = run;
    readOne(text);
    if (run !== before) return true; // a new run is shown before its lines are read
  }
  return fresh;
}

// A damaged line is left out and counted; what is already shown stays.
function readOne(text) {
  try {
    take(text);
  } catch (error) {
    console.warn('specviz: a line was not read:', error.message);
    if (run) tell(say('badLines', { n: ++run.badLines }), { stays: true });
  }
}

function showNewRun() {
  pause();
  player.follow = true;
  player.step = 0;
  player.clock = 0;
  shown = {};
  tell(isRestored() ? say('restored') : '', { stays: true, withRecorded: isRestored() });
  find('.sv').classList.remove('empty');
  for (const view of Object.values(lanes)) clearLane(view);
  lanes.plain.box.hidden = !run.lanes.plain;
  clearCharts();
  find('.figures').replaceChildren();
  find('.charts').hidden = true;
  find('.lane-prompt .strip').replaceChildren();
  showCuts();
  showHead();
}

// The prompt is drawn as soon as its pieces are there, and not again, so that an opened fold stays open.
let promptOf = null;
function showPromptOnce() { promptOf = run; showPrompt(); }

function arrived() {
  if (promptOf !== run && run.pieces.size) showPromptOnce();
  if (run.end) { showHead(); showCuts(); }
  if (player.follow && !player.playing) followNewest(); else show();
  scheduleCharts();
  keepSoon();
}

let shown = {};

// Draws the step; what belongs to the round is only drawn again when the round changed.
function show() {
  const plain = run.lanes.plain, spec = run.lanes.speculative, rounds = Math.min(player.step, roundCount());
  const plainRounds = plain ? doneAt(plain, player.clock) : 0;
  showRounds(lanes.speculative, spec.rounds, rounds);
  if (plain) showRounds(lanes.plain, plain.rounds, plainRounds);
  laneInfo('speculative', rounds);
  if (plain) laneInfo('plain', plainRounds);
  const moved = shown.plainRounds !== plainRounds || shown.rounds !== rounds;
  const changed = shown.step !== player.step || shown.total !== lastStep() || shown.end !== run.end;
  if (shown.total !== lastStep()) showMap();
  if (changed || shown.playing !== player.playing || shown.follow !== player.follow) showTransport();
  if (plain && shown.plainRounds !== plainRounds) markNow(lanes.plain, plain.rounds, plainRounds - 1);
  if (changed) showStep(rounds);
  if (moved) scrollLanes(Object.keys(run.lanes).map(key => lanes[key]));
  if (shown.rounds !== rounds) showCopies(shownRound()); // after the lanes have come to rest
  shown = { step: player.step, total: lastStep(), end: run.end, playing: player.playing, follow: player.follow, plainRounds, rounds };
  moveCursors();
  speak();
}

function showStep(rounds) {
  showFigures(player.step);
  if (shown.rounds === rounds) return;
  markNow(lanes.speculative, run.lanes.speculative.rounds, rounds - 1);
  chosenPlace = player.wanted;
  player.wanted = null;
  showRound(player.step);
}

function laneInfo(key, rounds) {
  const lane = run.lanes[key], n = tokensOf(lane, rounds);
  const time = key === 'speculative' ? clockAt(rounds) : Math.min(player.clock, lastEnd(lane));
  const done = rounds === lane.rounds.length && lane.tail ? ' · ' + say('finish.' + lane.tail.finish) : '';
  setText(lanes[key].info, say('laneClock', { n, time: timeText(time) }) + done);
}

// The status line follows every step by eye, but is announced only when the reader steps or the run ends.
function speak() {
  const line = find('.status');
  line.setAttribute('aria-live', player.playing || isLive() ? 'off' : 'polite');
  setText(line, sentenceOf(player.step));
}

// A line above the figures. Passing remarks go by themselves; what needs an answer stays.
function tell(text, { stays = false, withRecorded = false } = {}) {
  const notice = find('.notice');
  clearTimeout(tell.timer);
  if (text && !stays) tell.timer = setTimeout(() => { notice.hidden = true; }, 6000);
  notice.hidden = !text;
  setText(notice.querySelector('.notice-text'), text);
  notice.querySelector('.show-recorded').hidden = !withRecorded;
}

function showLegend() {
  const list = find('.legend ul');
  list.replaceChildren();
  for (const status of ['accepted', 'rejected', 'resampled', 'bonus', 'not_judged', 'cut', 'plain', 'prompt']) {
    const item = el('li'), sample = el('span', 'tok ' + status, say('status.' + status));
    item.append(sample, ' ', el('span', 'faint', say('help.' + status)));
    list.append(item);
  }
  list.append(el('li', 'faint', say('help.marks')), el('li', 'faint', say('keys')));
}

function showWords() {
  translate(element);
  showLegend();
  fillSpeeds();
  setText(find('.drafts'), say(find('.sv').classList.contains('without-drafts') ? 'showDrafts' : 'hideDrafts'));
  for (const key of Object.keys(lanes)) lanes[key].strip.setAttribute('aria-label', say('tokensOf', { lane: say(key + 'Lane') }));
  if (!run) { setText(find('.status'), say('noRun')); return; }
  shown = {};
  charts.drawn = -1;
  showHead();
  showPrompt();
  showCuts();
  show();
  scheduleCharts();
}

function chooseChip(event) {
  const chipNode = event.target.closest('.lane-speculative .tok'), roundNode = chipNode?.closest('.round');
  if (!roundNode || !document.getSelection().isCollapsed) return;
  const step = Number(roundNode.dataset.round) + 1;
  pause();
  if (step === player.step) choosePlace(chipNode.dataset.place);
  else { player.wanted = chipNode.dataset.place; goTo(step); }
}

function describeChip(event) {
  const node = event.target.closest?.('.strip .tok');
  if (node && !node.title) {
    const status = [...node.classList].find(name => known('status.' + name));
    node.title = `${quoted(node.dataset.id)} · id ${node.dataset.id} · ${say('status.' + status)}`;
  }
}

function listen() {
  const on = (selector, type, act) => find(selector).addEventListener(type, act);
  on('.first', 'click', KEYS.Home);
  on('.back', 'click', KEYS.ArrowLeft);
  on('.play', 'click', togglePlay);
  on('.next', 'click', KEYS.ArrowRight);
  on('.last', 'click', KEYS.End);
  on('.follow', 'click', () => { pause(); followNewest(); });
  on('.scrubber', 'input', event => { pause(); goTo(Number(event.target.value)); });
  on('.speed', 'change', event => setSpeed(Number(event.target.value)));
  on('.drafts', 'click', () => { find('.sv').classList.toggle('without-drafts'); showWordsOfDrafts(); drawArrow(); });
  on('.lanes', 'click', chooseChip);
  find('.lanes').addEventListener('scroll', drawArrowSoon, { capture: true, passive: true }); // of the strips in it
  new ResizeObserver(drawArrowSoon).observe(find('.lanes'));
  on('.tree', 'click', chooseNode);
  on('.tree', 'keydown', onTreeKey);
  on('.tries', 'keydown', onTryKey);
  on('.try-back', 'click', () => stepTry(-1));
  on('.try-on', 'click', () => stepTry(1));
  on('.lanes', 'pointerover', describeChip);
  on('.inspector tbody', 'click', event => { const line = event.target.closest('tr'); if (line) choosePlace(line.dataset.place); });
  on('.export-trace', 'click', exportTrace);
  on('.export-text', 'click', exportText);
  on('.copy-text', 'click', copyText);
  on('.import-trace', 'click', () => find('.import-file').click());
  on('.import-file', 'change', event => { const [file] = event.target.files; event.target.value = ''; if (file) importTrace(file); });
  on('.show-recorded', 'click', showRecorded);
  element.addEventListener('copy', copyChips);
  document.addEventListener('keydown', onKey);
  addEventListener('sv:lang', event => { if (element.isConnected) { chooseLanguage(event.detail); showWords(); } });
}

function showWordsOfDrafts() {
  const without = find('.sv').classList.contains('without-drafts'), button = find('.drafts');
  setText(button, say(without ? 'showDrafts' : 'hideDrafts'));
  button.setAttribute('aria-pressed', String(without));
}

function showRecorded() {
  feed.kept = null;
  forgetRun();
  const text = feed.recorded ?? '';
  props.value = text;
  feed.read = 0;
  feed.text = '';
  accept(text);
}

// A dark or light switch, and a tab that becomes visible, call for the charts again.
function watchTheme() {
  const redraw = () => { charts.drawn = -1; scheduleCharts(); };
  const bodyClass = new MutationObserver(() => (element.isConnected ? redraw() : bodyClass.disconnect()));
  bodyClass.observe(document.body, { attributes: true, attributeFilter: ['class'] });
  new ResizeObserver(() => {
    find('.sv').classList.toggle('sv-player-visible', element.offsetWidth > 0);
    if (element.offsetWidth > 0) scheduleCharts();
  }).observe(element);
}

async function start() {
  showWords();
  listen();
  watchTheme();
  const kept = performance.getEntriesByType('navigation')[0]?.type === 'reload' ? await keptRun() : null;
  forgetOldRuns();
  watch('value', onValue);
  if (!kept) return onValue();
  feed.recorded = props.value || null;
  feed.kept = kept;
  props.value = kept;
  accept(kept);
  markInterrupted();
}

function markInterrupted() {
  if (feed.timer) return setTimeout(markInterrupted, 20);
  if (run && !run.end) { run.interrupted = true; showHead(); shown = {}; show(); }
}

start();
