// The attention mask of a tree round: one row for each token that is fed, the last one of the sequence first.
function cellSize(rows) { return rows <= 18 ? 19 : rows <= 34 ? 14 : 9; } // px

function drawMask(round) {
  const rows = round.drafted.length + 1, size = cellSize(rows), labels = size > 9 ? 84 : 6, before = 2.5 * size;
  const mask = svg('svg', { class: 'mask-svg', width: labels + before + rows * size + 2, height: rows * size + 20, role: 'img' });
  mask.setAttribute('aria-label', say('maskLabel', { n: rows, path: acceptedPath(round).map(k => quoted(round.drafted[k].id)).join(', ') || say('noPath') }));
  const head = svg('text', { class: 'mask-head', x: labels, y: 12 });
  head.textContent = say('sequence');
  mask.append(head);
  for (let row = 0; row < rows; row++) mask.append(maskRow(round, row, { size, labels, before, rows }));
  find('.mask').replaceChildren(mask);
}

function maskRow(round, row, { size, labels, before, rows }) {
  const group = svg('g', { class: 'mask-row', transform: `translate(0 ${18 + row * size})` }), node = row - 1;
  const isLit = k => k < 0 || round.drafted[k].verdict === 'accepted';
  group.dataset.node = node;
  group.append(svg('rect', { class: 'mask-all', x: labels, y: 0, width: before + rows * size, height: size }));
  const cell = (x, width, lit) => group.append(svg('rect', { class: lit ? 'cell lit' : 'cell', x: x + 1, y: 1, width: width - 2, height: size - 2, rx: 1.5 }));
  cell(labels, before, isLit(node));
  for (let column = 0; column <= row; column++) {
    const sees = column === 0 || isOnPath(round, column - 1, node);
    if (sees) cell(labels + before + column * size, size, isLit(node) && isLit(column - 1));
  }
  if (size > 9) group.append(maskLabel(round, node, labels, size));
  return group;
}

function maskLabel(round, node, labels, size) {
  const id = node < 0 ? lastTokenBefore(round) : round.drafted[node].id, text = visibleText(id);
  const label = svg('text', { class: 'mask-label', x: labels - 6, y: size - 5 });
  label.textContent = text.length > 10 ? text.slice(0, 9) + '…' : text;
  return label;
}
