// Ties the parts together: reads lines in slices and shows what changed.
const feed = { text: '', read: 0, timer: 0 }, drawn = { id: null, report: -1, charts: -1, end: null };
const SLICE = 10; // ms of work before the page gets a turn

function onValue() {
  const text = props.value || '';
  if (!text) return clearBoard();
  if (!text.startsWith(feed.text.slice(0, feed.read))) feed.read = 0;
  feed.text = text;
  feed.timer ||= setTimeout(work); // a task of its own: the page has just spent one on the update
}

function work() {
  feed.timer = 0;
  const until = performance.now() + SLICE;
  for (let at; performance.now() < until && (at = feed.text.indexOf('\n', feed.read)) >= 0;) {
    const text = feed.text.slice(feed.read, at);
    feed.read = at + 1;
    try { take(text); } catch (error) { console.warn('specviz: a line was not read:', error.message); }
  }
  if (run) show();
  if (feed.text.indexOf('\n', feed.read) >= 0) feed.timer = setTimeout(work);
}

function clearBoard() {
  clearTimeout(feed.timer);
  Object.assign(feed, { text: '', read: 0, timer: 0 });
  run = null;
  resetParts();
  find('.sv').classList.add('empty');
}

function resetParts() {
  clearCharts();
  for (const card of tableCards.values()) card.node.remove();
  tableCards.clear();
  Object.assign(streamView, { chosen: null, shown: null, blocks: [] });
  find('.stream-box').replaceChildren();
  for (const name of ['.charts', '.streams', '.exports', '.sources', '.progress']) find(name).hidden = true;
  for (const name of ['.title', '.status']) setText(find(name), '');
  find('.sentences').replaceChildren();
  Object.assign(drawn, { id: run?.id ?? null, report: -1, charts: -1, end: undefined });
}

function show() {
  find('.sv').classList.remove('empty');
  if (drawn.id !== run.id) resetParts();
  if (drawn.report !== run.reportVersion) { drawn.report = run.reportVersion; showReport(); }
  if (drawn.charts !== run.chartsVersion) { drawn.charts = run.chartsVersion; showCharts(); }
  if (drawn.end !== run.end) { drawn.end = run.end; showExports(); }
  showProgress();
  showStreams();
}

function showProgress() {
  const { progress, end } = run, line = find('.progress'), bar = line.querySelector('progress');
  line.hidden = !progress || Boolean(end);
  setText(find('.status'), end?.sentence ?? '');
  find('.sv').setAttribute('aria-busy', String(!end));
  if (line.hidden) return;
  bar.max = Math.max(1, progress.of);
  bar.value = progress.done;
  setText(line.querySelector('.progress-text'), progress.text);
}

// Cards stand in the order of their first coming, so another set of charts begins anew.
function showCharts() {
  const names = Object.keys(run.charts), places = [...charts.cards.keys()];
  if (places.some((name, k) => name !== names[k])) clearCharts();
  scheduleCharts();
  markSmall();
}

// Small charts share a row; known only once the places are there.
function markSmall() {
  for (const name of Object.keys(run.charts)) {
    chartCard(name).node.classList.toggle('small', Boolean(run.charts[name].layout?.meta?.small));
  }
}

function listen() {
  find('.stream-choice select').addEventListener('change', event => {
    streamView.chosen = event.target.value || null;
    if (run) showStreams();
  });
  find('.stream-box').addEventListener('copy', copyChips);
  const redraw = () => { charts.drawn = -1; scheduleCharts(); };
  const bodyClass = new MutationObserver(() => (element.isConnected ? redraw() : bodyClass.disconnect()));
  bodyClass.observe(document.body, { attributes: true, attributeFilter: ['class'] });
  new ResizeObserver(() => { if (run && element.offsetWidth > 0) { scheduleCharts(); showStreams(); } }).observe(element);
}

translate(element);
showStreamLegend();
listen();
watch('value', onValue);
onValue();
