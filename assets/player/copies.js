// Where a draft was copied from: the copied tokens and the n-gram are marked, and an arrow leads to the draft.
const copies = { marked: [], frame: 0 };

function copiedIn(round) { return round?.copied && round.drafted.length ? round.copied : null; }

function copiedText(key, { start, matched }) { return say(key, { at: start + 1, n: matched }); }

// The chip of the token at this position of the sequence, prompt and output counted from 0.
function chipAt(position) {
  const prompt = run.trace.prompt.ids.length, lane = run.lanes.speculative;
  if (position < prompt) { unfoldPrompt(); return find('.lane-prompt .strip').querySelectorAll('.tok')[position]; }
  const place = position - prompt;
  let index = 0;
  while (index < lane.counts.length && lane.counts[index] <= place) index++;
  const node = nodeOf(lanes.speculative, lane.rounds, index), chips = node?.querySelectorAll('.tok') ?? [];
  return [...chips].filter(chipNode => !chipNode.closest('.over'))[place - (lane.counts[index - 1] ?? 0)];
}

function chipsFrom(from, to) { return Array.from({ length: Math.max(0, to - from) }, (_, k) => chipAt(from + k)).filter(Boolean); }

function showCopies(round) {
  for (const [node, name] of copies.marked) node.classList.remove(name);
  copies.marked = [];
  const copied = copiedIn(round);
  if (copied) {
    const { start, matched } = copied, mark = (nodes, name) => nodes.forEach(node => { node.classList.add(name); copies.marked.push([node, name]); });
    copies.source = chipsFrom(start, Math.min(start + round.drafted.length, round.start));
    mark(copies.source, 'copied');
    mark([...chipsFrom(start - matched, start), ...chipsFrom(round.start - matched, round.start)], 'matched');
    if (copies.source[0]) scrollToSource(copies.source[0]);
  }
  find('.arrow').toggleAttribute('hidden', !copied);
  drawArrow();
}

// The prompt's own strip follows the source; the lane of the output stays where the round is.
function scrollToSource(node) {
  const strip = find('.lane-prompt .strip');
  if (strip.contains(node)) scrollInside(strip, node);
}

function drawArrowSoon() { if (copies.marked.length) copies.frame ||= requestAnimationFrame(() => { copies.frame = 0; drawArrow(); }); }

function drawArrow() {
  const arrow = find('.arrow'), from = copies.source?.[0], to = lanes.speculative.now?.querySelector('.held');
  if (arrow.hasAttribute('hidden')) return;
  const ends = from && to ? arrowEnds(from, to) : null;
  arrow.querySelector('.arrow-line').setAttribute('d', ends ? arrowPath(...ends) : '');
}

// Both ends within what can be seen of their strips, in the coordinates of the lanes.
function arrowEnds(from, to) {
  const frame = find('.lanes').getBoundingClientRect(), a = insideStrip(from), b = insideStrip(to.querySelector('.tok') ?? to);
  const down = b.top > a.bottom - 2, same = !down && b.bottom > a.top;
  const start = [a.left + a.width / 2 - frame.left, (down ? a.bottom : a.top) - frame.top];
  return [start, [b.left + b.width / 2 - frame.left, (down || same ? b.top : b.bottom) - frame.top], same];
}

function insideStrip(node) {
  const box = node.getBoundingClientRect(), strip = node.closest('.strip').getBoundingClientRect();
  const hold = value => Math.max(strip.top + 3, Math.min(strip.bottom - 3, value));
  return { left: box.left, width: box.width, top: hold(box.top), bottom: hold(box.bottom) };
}

function arrowPath([x1, y1], [x2, y2], same) {
  const bend = same ? -28 : (y2 - y1) * 0.5;
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${same ? y2 + bend : y2 - bend} ${x2} ${y2}`;
}
