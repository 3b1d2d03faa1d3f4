// The board as data: lines in. Nothing here touches the page. `run` is also what the chips and the charts read.
let run = null;

function newBoard({ id, title }) {
  return { id, title, pieces: new Map(), charts: {}, chartsVersion: 0, report: null, reportVersion: 0, progress: null,
    streams: new Map(), newest: null, end: null };
}

function addTokens(line) {
  const stream = run.streams.get(line.key);
  if (!stream) throw new Error('no such stream');
  for (const [id, piece] of Object.entries(line.pieces)) run.pieces.set(id, piece);
  for (const [index, tokens] of Object.entries(line.lanes)) {
    for (const [piece, origin, at] of tokens) stream.lanes[index].tokens.push({ piece, origin, at });
  }
  stream.version++;
  run.newest = line.key;
}

// A board has no current step, so no chart has a cursor.
function setCharts(figures) {
  for (const { layout } of Object.values(figures)) delete layout?.meta?.cursor;
  run.charts = figures;
  run.chartsVersion++;
}

// Takes one line in; a line that opens a board replaces it.
function take(text) {
  const line = JSON.parse(text);
  if (line.t === 'board') run = newBoard(line);
  else if (!run) throw new Error('no board yet');
  else if (line.t === 'progress') run.progress = line;
  else if (line.t === 'report') { run.report = line.report; run.reportVersion++; }
  else if (line.t === 'charts') setCharts(line.charts);
  else if (line.t === 'stream') run.streams.set(line.key, { title: line.title, version: 0, lanes: line.lanes.map(title => ({ title, tokens: [] })) });
  else if (line.t === 'tokens') addTokens(line);
  else if (line.t === 'end') run.end = line;
}
