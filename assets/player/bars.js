// Distributions as bars, in plain DOM so that a step costs little. `Top` keeps the largest entries and the rest.
function probabilityIn(top, id) {
  const place = top.ids.indexOf(id);
  if (place >= 0) return top.probs[place];
  return top.rest === 0 ? 0 : null; // null: somewhere in the rest, so not known
}

// One element a bar: the hatched share min(p, q) and the value are the sizes of its two backgrounds.
function barLine(className, value, overlap) {
  const line = el('span', 'bar ' + className);
  line.style.backgroundSize = `${100 * overlap}% 100%, ${100 * (value ?? 0)}% 100%`;
  return line;
}

function barValue(value) {
  const node = el('span', 'number', value === null ? say('inRest') : prob(value));
  if (value === null) { node.classList.add('faint'); node.title = say('inRestHelp'); }
  return node;
}

function barRow(label, lines, note) {
  const row = el('li', 'bar-row'), bars = el('span', 'bar-lines'), values = el('span', 'bar-values');
  for (const [className, value, overlap] of lines) { bars.append(barLine(className, value, overlap)); values.append(barValue(value)); }
  const name = el('span', 'bar-label');
  name.append(label);
  if (note) name.append(' ', el('span', 'bar-note', note));
  row.append(name, bars, values);
  return row;
}

function labelOf(id, chosen) { return id === null ? el('span', 'faint', say('rest')) : chip(id, chosen === id ? 'chosen' : 'bare'); }

// p and q side by side for every entry either of them kept. The drafted token's own p and q are always known.
function pairedBars(p, q, token) {
  const list = el('ul', 'bars'), ids = [...new Set([...p.ids, ...q.ids, ...(token ? [token.id] : [])])];
  const value = (top, id, own) => (token && id === token.id && own !== undefined ? own : probabilityIn(top, id));
  const rows = ids.map(id => ({ id, p: value(p, id, token?.p), q: value(q, id, token?.q) }));
  rows.sort((a, b) => Math.max(b.p ?? 0, b.q ?? 0) - Math.max(a.p ?? 0, a.q ?? 0));
  for (const row of rows) {
    const overlap = row.p !== null && row.q !== null ? Math.min(row.p, row.q) : 0;
    list.append(barRow(labelOf(row.id, token?.id), [['p', row.p, overlap], ['q', row.q, overlap]]));
  }
  if (p.rest > 0 || q.rest > 0) list.append(barRow(labelOf(null), [['p', p.rest, 0], ['q', q.rest, 0]]));
  return list;
}

function singleBars(top, chosen, className, note) {
  const list = el('ul', 'bars');
  top.ids.forEach((id, k) => list.append(barRow(labelOf(id, chosen), [[className, top.probs[k], 0]], id === chosen ? note : '')));
  if (top.rest > 0) list.append(barRow(labelOf(null), [[className, top.rest, 0]]));
  return list;
}
