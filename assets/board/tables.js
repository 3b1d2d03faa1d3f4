// Sentences, tables and files of a report. A table keeps its place, its scroll and its open details when it grows.
const tableCards = new Map();

function showReport() {
  const report = run.report ?? { sentences: [], tables: [], sources: [] };
  setText(find('.title'), report.title ?? run.title);
  find('.sentences').replaceChildren(...report.sentences.map(text => el('p', '', text)));
  const keys = new Set(report.tables.map(table => table.key));
  for (const [key, card] of tableCards) if (!keys.has(key)) { card.node.remove(); tableCards.delete(key); }
  for (const folded of [false, true]) report.tables.filter(table => table.folded === folded).forEach(showTable);
  find('.sources').hidden = report.sources.length === 0;
  find('.sources ul').replaceChildren(...report.sources.map(text => el('li', '', text)));
}

function tableCard({ key, folded }) {
  if (tableCards.has(key)) return tableCards.get(key);
  const node = el(folded ? 'details' : 'div', 'board-table'), scroll = el('div', 'scroll'), table = el('table'), note = el('p', 'note');
  const meanings = el('details', 'meanings'), list = el('dl'), file = el('span', 'table-file');
  node.dataset.table = key;
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.append(table);
  meanings.append(el('summary', '', say('meanings')), list);
  if (folded) node.append(el('summary'));
  node.append(scroll, note, meanings, file);
  const card = { node, scroll, table, note, meanings, list, file, shown: '' };
  tableCards.set(key, card);
  return card;
}

function showTable(data, place) {
  const card = tableCard(data), host = find(data.folded ? '.more-tables' : '.tables'), text = JSON.stringify(data);
  if (host.children[place] !== card.node) host.insertBefore(card.node, host.children[place] ?? null);
  if (card.shown === text) return;
  card.shown = text;
  card.scroll.setAttribute('aria-label', say('tableOf', data));
  if (data.folded) setText(card.node.firstChild, data.title);
  card.table.replaceChildren();
  card.table.createCaption().append(el('span', '', data.title));
  const head = card.table.createTHead().insertRow(), body = card.table.createTBody();
  data.columns.forEach((column, k) => head.append(columnHead(column, k)));
  for (const row of data.rows) {
    const line = body.insertRow();
    row.forEach((cell, k) => line.append(valueCell(cell, data.columns[k], k)));
  }
  setText(card.note, data.note);
  const explained = data.columns.filter(column => column.about);
  card.meanings.hidden = explained.length === 0;
  card.list.replaceChildren(...explained.flatMap(meaning));
}

function kindBadge(kind) {
  const badge = el('span', 'kind', say('kind.' + kind));
  badge.title = say('kindHelp.' + kind);
  return badge;
}

function columnHead(column, place) {
  const node = el('th', column.kind ? 'number' : 'label');
  node.scope = 'col';
  node.append(el('span', 'column-title', column.title));
  if (column.kind) node.append(' ', kindBadge(column.kind));
  if (column.about) node.title = column.about;
  if (!place) node.classList.add('first');
  return node;
}

function valueCell(cell, column, place) {
  const [text, interval] = Array.isArray(cell) ? cell : [cell, ''];
  const node = el(place ? 'td' : 'th', column.kind ? 'number' : 'label');
  if (!place) { node.scope = 'row'; node.classList.add('first'); }
  if (!column.kind && text.length > 32) node.classList.add('wide');
  node.append(el('span', text === 'none' && column.kind ? 'value none' : 'value', text));
  if (interval) { const span = el('span', 'interval', interval); span.title = say('interval'); node.append(' ', span); }
  return node;
}

function meaning(column) {
  const term = el('dt', '', column.title);
  if (column.kind) term.append(' ', kindBadge(column.kind));
  return [term, el('dd', '', column.about)];
}

// A button for every file that came with the end: that of a table below it, the others at the foot of the board.
function showExports() {
  const files = Object.entries(run.end?.exports ?? {}), foot = find('.export-files');
  find('.exports').hidden = files.length === 0;
  for (const place of [foot, ...[...tableCards.values()].map(card => card.file)]) place.replaceChildren();
  for (const [name, text] of files) (tableCards.get(name.replace(/\.csv$/, ''))?.file ?? foot).append(fileButton(name, text));
}

function fileButton(name, text) {
  const button = el('button', '', name);
  button.type = 'button';
  button.addEventListener('click', () => download(text, mimeOf(name), name));
  return button;
}

function mimeOf(name) {
  return { json: 'application/json', csv: 'text/csv;charset=utf-8', md: 'text/markdown;charset=utf-8' }[name.split('.').pop()] ?? 'text/plain;charset=utf-8';
}
