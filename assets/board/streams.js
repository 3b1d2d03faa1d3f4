// Token streams of several lanes under each other: what begins at the same character stands in the same column.
const streamView = { chosen: null, shown: null, blocks: [], width: 0, widths: new Map(), ruler: null };
const LANE_TAG = 26, CHIP = 12, STAR = 16; // px: the lane's number at the left; what a chip and its star add to its text

function showStreams() {
  const keys = [...run.streams.keys()];
  find('.streams').hidden = keys.length === 0;
  if (!keys.length) return;
  if (!run.streams.has(streamView.chosen)) streamView.chosen = null;
  showStreamChoice(keys);
  const key = streamView.chosen ?? run.newest ?? keys[0], stream = run.streams.get(key), box = find('.stream-box');
  const width = box.clientWidth, mark = [run.id, key, stream.version, width].join(' ');
  if (mark === streamView.shown || !width) return;
  const same = streamView.shown?.startsWith(run.id + ' ' + key + ' ') && width === streamView.width;
  const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 24;
  if (!same) { box.replaceChildren(); streamView.blocks = []; showLaneTitles(stream); }
  Object.assign(streamView, { shown: mark, width });
  paintBlocks(stream, box, width);
  if (atEnd || !same) box.scrollTop = run.end ? 0 : box.scrollHeight;
}

function showStreamChoice(keys) {
  const choice = find('.stream-choice select'), mark = run.id + keys.length;
  find('.stream-choice').hidden = keys.length < 2;
  if (choice.dataset.mark === mark) return;
  choice.dataset.mark = mark;
  choice.replaceChildren(new Option(say('newest'), ''), ...keys.map(key => new Option(run.streams.get(key).title, key)));
  choice.value = streamView.chosen ?? '';
}

// A lane goes by the number that its title begins with, wherever it stands; one without, plain decoding, by P.
function laneTags(stream) {
  let plain = 0;
  return stream.lanes.map(({ title }) => /^\d+(?= )/.exec(title)?.[0] ?? 'P' + (plain++ ? plain : ''));
}

function showLaneTitles(stream) {
  const tags = laneTags(stream);
  find('.stream-lanes').replaceChildren(...stream.lanes.map(({ title }, k) => {
    const item = el('li');
    item.append(el('b', 'lane-tag', tags[k]), ' ', el('span', '', title.replace(/^\d+ /, '')));
    return item;
  }));
}

function showStreamLegend() {
  const samples = ['accepted', 'resampled', 'bonus', 'plain'].map(status => {
    const item = el('li');
    item.append(el('span', 'tok ' + status, say('status.' + status)), ' ', el('span', 'faint', say('help.' + status)));
    return item;
  });
  const other = el('li');
  other.append(el('span', 'tok plain differs', say('status.differs')), ' ', el('span', 'faint', say('help.differs')));
  find('.stream-legend').replaceChildren(...samples, other, el('li', 'faint', say('help.marks')));
}

// Every token with its end, and whether the first lane wrote something else there.
function placedTokens(stream) {
  const lanes = stream.lanes.map(({ tokens }) => spreadParts(tokens.map((token, k) => {
    const piece = pieceOf(token.piece), isPart = piece.kind === 'bytes';
    const end = tokens[k + 1]?.at ?? token.at + (isPart ? 1 : Array.from(piece.text).length);
    return { ...token, end, text: isPart ? '\u0000' + piece.text : piece.text };
  })));
  const first = charactersOf(lanes[0]);
  for (const token of lanes.slice(1).flat()) {
    const there = first.slice(Math.floor(token.at), Math.ceil(token.end)), own = charactersOf([token]).slice(Math.floor(token.at));
    token.differs = there.length > 0 && own.some((char, k) => there[k] !== undefined && !there[k].includes(char));
  }
  return lanes;
}

// The parts of one character begin at the same place; they share its column.
function spreadParts(tokens) {
  for (let k = 0, next; k < tokens.length; k = next) {
    for (next = k + 1; next < tokens.length && tokens[next].at === tokens[k].at;) next++;
    const { at } = tokens[k], count = next - k, width = Math.max(tokens[next - 1].end - at, 1);
    if (count > 1) for (let j = 0; j < count; j++) Object.assign(tokens[k + j], { at: at + width * j / count, end: at + width * (j + 1) / count });
  }
  return tokens;
}

// The characters by place; parts of one are gathered there.
function charactersOf(tokens) {
  const characters = [];
  for (const { text, at } of tokens) {
    const place = Math.floor(at);
    if (text[0] === '\u0000') characters[place] = (characters[place] ?? '') + text;
    else Array.from(text).forEach((char, k) => { characters[place + k] = char; });
  }
  return characters;
}

// Where a block may end: places at which every lane that came so far begins a token, and the end of the text.
function commonBounds(lanes, length) {
  const open = lanes.filter(lane => lane.length), bounds = [];
  const starts = open.map(lane => new Set(lane.map(token => token.at))), ends = open.map(lane => lane.at(-1).end);
  for (let at = 0; at < length; at++) if (starts.every((set, k) => set.has(at) || ends[k] <= at)) bounds.push(at);
  return [...bounds, length];
}

// Blocks as wide as the box: [from, to) in characters. A stretch that is wider alone is cut where it fills the box.
function blocksOf(lanes, width) {
  const length = Math.max(0, ...lanes.map(lane => lane.at(-1)?.end ?? 0)), common = new Set(commonBounds(lanes, length));
  const tokens = lanes.flat().sort((a, b) => a.end - b.end), blocks = [], room = width - LANE_TAG - 28;
  for (let from = 0; from < length;) {
    const to = blockEnd(tokens.filter(token => token.at >= from), from, length, common, room);
    blocks.push([from, to]);
    from = to;
  }
  return blocks;
}

// Columns as wide as their widest token needs: the last place with room to it, at best one where all lanes begin a token.
function blockEnd(tokens, from, length, common, room) {
  const x = new Map([[from, 0]]);
  let reached = 0, best = 0, fits = 0;
  for (const { piece, at, end, origin } of tokens) {
    const before = [...x].findLast(([place]) => place <= at)[1];
    reached = Math.max(reached, before + widthOf(piece) + CHIP + (origin === 'bonus' ? STAR : 0));
    if (reached > room) break;
    x.delete(end);
    x.set(end, reached);
    if (common.has(end)) best = end;
    fits = end;
  }
  if (reached <= room) return length;
  return best || fits || Math.min(...tokens.map(token => token.end), length);
}

// Pixels of a piece's text: marks such as that of a line break come from other fonts and have widths of their own.
function widthOf(piece) {
  if (!streamView.ruler) {
    const { fontSize, fontFamily } = getComputedStyle(find('.stream-box'));
    streamView.ruler = el('canvas').getContext('2d');
    streamView.ruler.font = `${fontSize} ${fontFamily}`;
  }
  const text = visibleText(piece);
  if (!streamView.widths.has(text)) streamView.widths.set(text, Math.ceil(streamView.ruler.measureText(text).width));
  return streamView.widths.get(text);
}

function paintBlocks(stream, box, width) {
  const lanes = placedTokens(stream), tags = laneTags(stream);
  const places = blocksOf(lanes, width);
  for (const { node } of streamView.blocks.splice(places.length)) node.remove();
  places.forEach(([from, to], index) => {
    const parts = lanes.map(lane => lane.filter(({ at }) => at >= from && at < to));
    const mark = JSON.stringify([from, to, parts]);
    if (streamView.blocks[index]?.mark === mark) return;
    const node = blockNode(parts, from, to, tags);
    if (streamView.blocks[index]) streamView.blocks[index].node.replaceWith(node); else box.append(node);
    streamView.blocks[index] = { mark, node };
  });
}

function blockNode(parts, from, to, tags) {
  const bounds = [...new Set([from, to, ...parts.flat().flatMap(({ at, end }) => [at, Math.min(end, to)])])].sort((a, b) => a - b);
  const node = el('div', 'block'), column = new Map(bounds.map((at, k) => [at, k + 2]));
  node.style.gridTemplateColumns = `${LANE_TAG}px repeat(${Math.max(1, bounds.length - 1)}, max-content)`;
  parts.forEach((tokens, lane) => {
    const row = el('div', 'strip'), tag = el('span', 'lane-tag', tags[lane]);
    tag.style.gridRow = lane + 1;
    row.append(tag);
    for (const token of tokens) row.append(tokenCell(token, lane, column, to));
    node.append(row);
  });
  return node;
}

function tokenCell(token, lane, column, to) {
  const node = chip(token.piece, token.origin), start = column.get(token.at), end = column.get(Math.min(token.end, to));
  node.style.gridRow = lane + 1;
  node.style.gridColumn = `${start} / ${Math.max(start + 1, end)}`;
  node.classList.toggle('differs', Boolean(token.differs));
  node.title = `${quoted(token.piece)} · ${say('status.' + token.origin)}${token.differs ? ' · ' + say('status.differs') : ''}`;
  return node;
}
