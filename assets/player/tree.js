// The drafted tree of a round beside its attention mask, and the walk through its tries.
const NODE = { width: 112, step: 140, row: 32, edge: 8 }; // px: a node's box, from depth to depth, from leaf to leaf
const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// The token that the whole tree follows: the last of the sequence when the round began.
function lastTokenBefore(round) {
  const prompt = run.trace.prompt.ids;
  return round.start <= prompt.length ? prompt[round.start - 1] : outputIds(run.lanes.speculative)[round.start - 1 - prompt.length];
}

function showTree(round) {
  const box = find('.tree-view');
  box.hidden = !round || !isTree(round);
  if (box.hidden) return;
  setText(box.querySelector('.tree-title'), say('treeTitle', { n: round.drafted.length }));
  drawTree(round);
  drawMask(round);
  markTree(round);
}

// Row of every node: leaves one below the other, a node level with its first child. Index -1 is the root.
function rowsOf(round) {
  const rows = new Map();
  let next = 0;
  const place = k => {
    const children = childrenOf(round, k);
    if (!children.length) { rows.set(k, next++); return; }
    children.forEach(place);
    rows.set(k, rows.get(children[0]));
  };
  place(-1);
  return rows;
}

function childrenOf(round, k) { return round.drafted.flatMap((_, j) => (parentOf(round, j) === k ? [j] : [])); }

// Nodes as they stand on the page, a node before its children: the order of the arrow keys and of screen readers.
function inOrder(round, k = -1) { return [k, ...childrenOf(round, k).flatMap(j => inOrder(round, j))]; }

function drawTree(round) {
  const rows = rowsOf(round), depths = depthsOf(round), tree = find('.tree');
  const height = NODE.row * (Math.max(...rows.values()) + 1), width = NODE.step * Math.max(...depths) + NODE.width;
  const edges = svg('svg', { class: 'edges', width, height, 'aria-hidden': 'true' });
  const last = acceptedPath(round), order = [...round.drafted.keys()].sort((a, b) => last.includes(a) - last.includes(b));
  edges.append(...order.map(k => edge(round, k, rows, depths))); // the lit ones on top
  const nodes = inOrder(round).map(k => treeNode(round, k, rows.get(k), k < 0 ? 0 : depths[k]));
  tree.style.width = width + 'px';
  tree.style.height = height + 'px';
  tree.setAttribute('aria-label', say('treeLabel'));
  tree.replaceChildren(edges, ...nodes);
}

function edge(round, k, rows, depths) {
  const parent = parentOf(round, k), x = NODE.step * (depths[k] - 1) + NODE.width, y = row => NODE.row * rows.get(row) + NODE.row / 2;
  const lit = round.drafted[k].verdict === 'accepted' ? 'edge lit' : 'edge';
  return svg('path', { class: lit, d: `M${x} ${y(parent)}h${NODE.edge}V${y(k)}H${NODE.step * depths[k]}` });
}

function treeNode(round, k, row, depth) {
  const token = round.drafted[k], status = token?.verdict ?? 'prompt', id = token?.id ?? lastTokenBefore(round);
  const children = childrenOf(round, k), isLit = children.some(j => round.drafted[j].verdict === 'accepted');
  const node = el('div', `node ${status}${children.length ? ' inner' : ''}${isLit ? ' lit' : ''}`), siblings = k < 0 ? [k] : childrenOf(round, parentOf(round, k));
  const attributes = { role: 'treeitem', 'aria-level': depth + 1, 'aria-posinset': siblings.indexOf(k) + 1, 'aria-setsize': siblings.length,
    'aria-label': k < 0 ? say('lastToken', { token: quoted(id) }) : say('treeNode', { token: quoted(id), verdict: say('status.' + status) }) };
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.dataset.node = k;
  node.style.transform = `translate(${NODE.step * depth}px, ${NODE.row * row}px)`;
  if (token) node.append(el('span', 'mark', say('mark.' + status)));
  node.append(chip(id, status));
  return node;
}

// Which node is chosen, in the tree and in the mask, and what its try was.
function markTree(round) {
  if (!isTree(round)) return;
  const chosen = chosenPlace[0] === 'd' ? Number(chosenPlace.slice(1)) : lastRefused(round);
  for (const node of find('.tree').querySelectorAll('.node')) {
    const own = Number(node.dataset.node) === chosen;
    node.classList.toggle('chosen', own);
    node.setAttribute('aria-selected', String(own));
    node.tabIndex = own || (chosen < 0 && node.dataset.node === '-1') ? 0 : -1;
    if (own) scrollInside(find('.tree-scroll'), node);
  }
  for (const row of find('.mask').querySelectorAll('.mask-row')) row.classList.toggle('chosen', Number(row.dataset.node) === chosen);
  showTry(round, chosen);
}

// Brings a node into view within its box; the page stays where it is.
function scrollInside(box, node) {
  const outer = box.getBoundingClientRect(), inner = node.getBoundingClientRect();
  box.scrollTop += Math.min(0, inner.top - outer.top) || Math.max(0, inner.bottom - outer.bottom);
  box.scrollLeft += Math.min(0, inner.left - outer.left) || Math.max(0, inner.right - outer.right);
}

function showTry(round, k) {
  const tries = triesOf(round), at = tries.indexOf(k), token = round.drafted[k];
  const [back, on] = find('.tries').querySelectorAll('button');
  back.disabled = at >= 0 ? at === 0 : !tries.length;
  on.disabled = at >= 0 ? at === tries.length - 1 : !tries.length;
  setText(find('.try-count'), at >= 0 ? say('tryOf', { i: at + 1, n: tries.length }) : '');
  find('.try-facts').replaceChildren(...(at >= 0 ? [tryFacts(round, k), ' ', verdict(token.verdict)] : [token ? say('untried', { token: quoted(token.id) }) : '']));
}

function tryFacts(round, k) {
  const token = round.drafted[k], siblings = childrenOf(round, parentOf(round, k)), left = typeof token.p_left === 'number';
  const p = left ? say('tryLeft', { left: prob(token.p_left) }) : say('tryP', { p: prob(token.p) });
  const facts = say('tryFacts', { depth: depthsOf(round)[k], turn: siblings.indexOf(k) + 1, of: siblings.length, token: quoted(token.id),
    p, q: prob(token.q), name: say('accept.' + ruleKey()), a: prob(token.accept_prob) });
  return [facts, typeof token.uniform === 'number' && say('tryUniform', { u: prob(token.uniform) })].filter(Boolean).join(' · ');
}

function stepTry(by) {
  const round = shownRound(), tries = round && isTree(round) ? triesOf(round) : [];
  if (!tries.length) return;
  const at = tries.indexOf(Number(chosenPlace.slice(1))), next = at < 0 || chosenPlace[0] !== 'd' ? (by > 0 ? 0 : tries.length - 1) : at + by;
  if (tries[next] !== undefined) choosePlace('d' + tries[next]);
}

// The keys of a tree as screen reader users know them; they do not step the player.
function treeTarget(round, key) {
  const order = inOrder(round), active = find('.tree').querySelector('[tabindex="0"]'), k = Number(active?.dataset.node ?? -1);
  if (key === 'ArrowLeft') return k < 0 ? k : parentOf(round, k);
  if (key === 'ArrowRight') return childrenOf(round, k)[0] ?? k;
  const at = order.indexOf(k), to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: order.length - 1 }[key];
  return to === undefined ? undefined : order[to] ?? k;
}

function onTreeKey(event) {
  const round = shownRound(), to = round && isTree(round) ? treeTarget(round, event.key) : undefined;
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (to >= 0) choosePlace('d' + to);
  const node = find('.tree').querySelector(`[data-node="${to}"]`);
  if (to < 0) { for (const other of find('.tree').querySelectorAll('.node')) other.tabIndex = other === node ? 0 : -1; scrollInside(find('.tree-scroll'), node); }
  node.focus({ preventScroll: true });
}

function onTryKey(event) {
  if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
  event.preventDefault();
  stepTry(event.key === 'ArrowUp' ? -1 : 1);
}

function chooseNode(event) {
  const k = Number(event.target.closest('[data-node]')?.dataset.node ?? -1);
  if (k >= 0) choosePlace('d' + k);
}
