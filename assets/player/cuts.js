// The text as two tokenizers cut it, one above the other: parts between the places where both cut.
function showCuts() {
  const cut = run?.lanes.speculative.tail?.draft_cut, box = find('.cuts');
  box.hidden = !cut?.length;
  if (box.hidden) return;
  const rows = cutRows(cut);
  setText(box.querySelector('.cuts-note'), say('cutsNote', { target: run.trace.provenance.target.name, draft: run.trace.provenance.draft?.name ?? say('draft') }));
  box.querySelector('.cut-rows').replaceChildren(...(aligned(...rows) ?? rows.map((row, k) => cutLine(row, k ? 'draft' : 'target'))));
}

// What the target's tokens spell beside what the draft's do: the output, or the prompt and the output.
function cutRows(cut) {
  const ids = outputIds(run.lanes.speculative), text = cut.join('');
  const own = trueText(ids) === text ? ids : [...run.trace.prompt.ids, ...ids];
  return [targetPieces(own), cut.map(piece => ({ text: piece, nodes: [textChip(piece)] }))];
}

// Tokens that hold parts of a character are taken together, as only together they have a text.
function targetPieces(ids) {
  const pieces = [];
  for (const id of ids) {
    const last = pieces.at(-1), isPart = pieceOf(id).kind === 'bytes';
    if (isPart && last?.bytes) { last.ids.push(id); last.nodes.push(chip(id, 'bare')); last.text = trueText(last.ids); }
    else pieces.push({ text: trueText([id]), nodes: [chip(id, 'bare')], ids: [id], bytes: isPart });
  }
  return pieces;
}

function textChip(text) {
  const node = el('span', 'tok bare');
  node.append(el('bdi', '', visibleParts(text).map(part => part.shown).join('')));
  return node;
}

// Null if the two do not spell the same text.
function aligned(above, below) {
  if (above.map(piece => piece.text).join('') !== below.map(piece => piece.text).join('')) return null;
  const parts = [];
  for (let a = 0, b = 0; a < above.length || b < below.length;) {
    const upper = [above[a++]].filter(Boolean), lower = [below[b++]].filter(Boolean), size = row => row.reduce((sum, piece) => sum + piece.text.length, 0);
    for (let u = size(upper), l = size(lower); u !== l; u = size(upper), l = size(lower)) {
      if (u < l) upper.push(above[a++]); else lower.push(below[b++]);
    }
    parts.push(cutPart(upper, lower));
    if (upper.some(piece => piece.text.includes('\n'))) parts.push(el('br'));
  }
  return parts;
}

function cutPart(upper, lower) {
  const part = el('span', upper.length === 1 && lower.length === 1 ? 'cut' : 'cut differs');
  part.append(cutRow(upper, 'target'), cutRow(lower, 'draft'));
  return part;
}

function cutRow(pieces, side) {
  const row = el('span', 'cut-' + side);
  row.append(...pieces.flatMap(piece => piece.nodes));
  return row;
}

function cutLine(pieces, side) {
  const line = el('div', 'cut-line');
  line.append(el('b', '', say(side + 'Cut')), ' ', cutRow(pieces, side));
  return line;
}
