// Plotly charts under the stream. Python sends complete figures; here they get the theme's colours and a cursor.
const charts = { cards: new Map(), drawn: -1, timer: 0, busy: false, lastDraw: 0, pause: 0 };
const DRAW_EVERY = 250; // ms between redraws while a run streams, at least
const PAUSE = 2; // and this many times what the last one took, so that a slow machine still hears a click
const plotSizes = new ResizeObserver(() => scheduleCharts());

// One copy of plotly.js for the page, loaded when the first chart is to be drawn, kept apart from other versions.
function loadPlotly() {
  window.specvizPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement('script'), root = (window.gradio_config?.root ?? '').replace(/\/$/, '');
    script.src = root + '/gradio_api/file=' + find('.sv').dataset.plotly;
    script.async = true;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error('plotly.js could not be loaded'));
    document.head.append(script);
  });
  return window.specvizPlotly;
}

function chartCard(name) {
  if (charts.cards.has(name)) return charts.cards.get(name);
  const node = el('figure', 'chart'), head = el('figcaption'), host = el('div', 'chart-host'), plot = el('div', 'plot'), cursor = el('div', 'cursor');
  head.append(el('h4'), el('p', 'chart-note'));
  host.append(plot, cursor);
  cursor.hidden = true;
  const table = el('details', 'data-table'), body = el('div', 'table-box');
  table.append(el('summary'), body);
  body.tabIndex = 0;
  body.setAttribute('role', 'region');
  node.append(head, host, table);
  find('.charts-grid').append(node);
  const card = { name, node, head, plot, cursor, table, body, figure: null };
  table.addEventListener('toggle', () => { if (table.open) fillTable(card); });
  charts.cards.set(name, card);
  plotSizes.observe(plot);
  return card;
}

function clearCharts() {
  plotSizes.disconnect();
  for (const card of charts.cards.values()) { if (card.drawn) charts.plotly.purge(card.plot); card.node.remove(); }
  charts.cards.clear();
  charts.drawn = -1;
}

// A plot is drawn for the width of its place, which the window, a tab and other cards change; 0 while it is hidden.
function plotWidth(card) { return Math.floor(card.plot.getBoundingClientRect().width); }

function isStale(card) { return Boolean(card) && ![0, card.width].includes(plotWidth(card)); }

function scheduleCharts() {
  if (charts.timer || !run) return;
  if (charts.drawn === run.chartsVersion && !Object.keys(run.charts).some(name => isStale(charts.cards.get(name)))) return;
  const wait = Math.max(0, charts.lastDraw + charts.pause - performance.now());
  charts.timer = setTimeout(() => { charts.timer = 0; drawCharts(); }, wait);
}

// One chart a task, so that no task is long; a newer set of figures waits for the next turn.
async function drawCharts() {
  if (charts.busy || !element.isConnected || find('.sv').offsetWidth === 0) return;
  charts.busy = true;
  const drawing = run, begun = performance.now();
  charts.drawn = run.chartsVersion;
  find('.charts').hidden = Object.keys(run.charts).length === 0;
  Object.keys(run.charts).forEach(chartCard); // all places first: they share the width
  try {
    for (const [name, figure] of Object.entries(run.charts)) {
      const card = chartCard(name);
      card.figure = figure;
      setText(card.head.children[0], figure.layout?.title?.text ?? name.replaceAll('_', ' '));
      const hasCursor = Boolean(figure.layout?.meta?.cursor);
      setText(card.head.children[1], [figure.note, hasCursor && say('cursorNote')].filter(Boolean).join(' '));
      setText(card.table.firstChild, say('dataTable'));
      card.body.setAttribute('aria-label', say('dataTable') + ': ' + card.head.children[0].textContent);
      if (card.table.open) fillTable(card);
      await drawOne(card);
      await new Promise(resolve => setTimeout(resolve));
      if (run !== drawing) break;
    }
  } finally {
    charts.busy = false;
    charts.lastDraw = performance.now();
    charts.pause = Math.max(DRAW_EVERY, PAUSE * (charts.lastDraw - begun));
    scheduleCharts();
  }
}

// Plotly keeps margins and the legend's place from the width before, so another width begins anew.
function takeWidth(card, width) {
  if (card.drawn && card.width !== width) {
    charts.plotly.purge(card.plot);
    card.drawn = false;
  }
  card.width = width;
}

async function drawOne(card) {
  const width = plotWidth(card);
  if (!width) return;
  takeWidth(card, width);
  try {
    const plotly = charts.plotly = await loadPlotly();
    const figure = themed(card.figure), layout = { ...chartLayout(), ...figure.layout };
    for (const axisName of Object.keys(layout).filter(key => /^[xy]axis\d*$/.test(key)).concat('xaxis', 'yaxis'))
      layout[axisName] = { ...chartAxis(), ...layout[axisName] };
    delete layout.title; // it stands above the plot as a heading
    layout.margin = { ...layout.margin, t: 10 };
    card.plot.style.height = layout.height + 'px'; // the page keeps its place while a plot begins anew
    await plotly.react(card.plot, figure.data, { ...layout, width }, { displayModeBar: false });
    if (!card.drawn) card.plot.on('plotly_afterplot', () => placeCursor(card));
    card.drawn = true;
    placeCursor(card);
  } catch (error) {
    console.error(error);
    setText(card.head.children[1], say('chartFailed'));
  }
}

function cssValue(name) { return getComputedStyle(find('.sv')).getPropertyValue(name).trim(); }

function chartLayout() {
  const color = cssValue('--sv-text'), clear = 'rgba(0,0,0,0)';
  return { height: 260, margin: { l: 48, r: 12, t: 10, b: 40 }, paper_bgcolor: clear, plot_bgcolor: clear, uirevision: run.id,
    font: { color, size: 12, family: getComputedStyle(find('.sv')).fontFamily },
    hoverlabel: { font: { color }, bgcolor: cssValue('--sv-paper') } };
}

function chartAxis() {
  return { gridcolor: cssValue('--sv-grid'), linecolor: cssValue('--sv-grid'), zerolinecolor: cssValue('--sv-grid'), automargin: true };
}

// Colours are names in the figures; markup in labels stays text, but for the few tags plotly lays text out with.
function themed(value) {
  if (typeof value === 'string') {
    const coloured = value.replace(/var\((--[\w-]+)\)/g, (whole, name) => cssValue(name) || cssValue('--sv-text'));
    return coloured.replace(/<(?!\/?(?:br|b|i|sub|sup|extra)\s*\/?>)/gi, '&lt;');
  }
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map(themed);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, themed(inner)]));
  return value;
}

function placeCursor(card) {
  const kind = card.figure?.layout?.meta?.cursor, axis = card.plot._fullLayout?.xaxis;
  const value = kind === 'time' ? player.clock : kind === 'round' ? Math.min(player.step, roundCount()) : null;
  const x = value === null || !axis ? NaN : axis.l2p(axis.d2l(value));
  card.cursor.hidden = !(x >= 0 && x <= axis?._length);
  if (card.cursor.hidden) return;
  const size = card.plot._fullLayout._size;
  card.cursor.style.transform = `translateX(${axis._offset + x}px)`;
  card.cursor.style.top = size.t + 'px';
  card.cursor.style.height = size.h + 'px';
}

function moveCursors() { for (const card of charts.cards.values()) if (card.drawn) placeCursor(card); }

// plotly's own packed arrays, as its Python package writes numpy columns.
function numbersOf(column) {
  if (!column?.bdata) return Array.isArray(column) ? column : [];
  const types = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, i2: Int16Array, u2: Uint16Array,
    i1: Int8Array, u1: Uint8Array };
  return [...new types[column.dtype](Uint8Array.from(atob(column.bdata), char => char.charCodeAt(0)).buffer)];
}

function fillTable(card) {
  const table = el('table'), head = table.createTHead().insertRow(), body = table.createTBody();
  const withText = card.figure.data.some(trace => Array.isArray(trace.text));
  const axisTitle = name => card.figure.layout?.[name]?.title?.text || say('col.' + name[0]);
  const names = [say('col.series'), axisTitle('xaxis'), axisTitle('yaxis'), ...(withText ? [say('col.text')] : [])];
  for (const name of names) head.append(el('th', '', name));
  for (const trace of card.figure.data) {
    const x = numbersOf(trace.x), y = numbersOf(trace.y);
    for (let k = 0; k < Math.max(x.length, y.length); k++) {
      const line = body.insertRow(), text = Array.isArray(trace.text) ? trace.text[k] : '';
      for (const cell of [trace.name, x[k], y[k], ...(withText ? [text] : [])]) line.append(el('td', '', String(cell ?? '')));
    }
  }
  card.body.replaceChildren(table);
}
