// One lane of token chips. Rounds stand in pages, built in slices; a step touches only the pages between
// the old and the new place (pages out of sight when they come into sight), and chips that are not there yet stay invisible without moving the others.
const PAGE = { speculative: { soft: 10, hard: 20 }, plain: { soft: 30, hard: 60 } };

function newLaneView(key) {
  const box = find('.lane-' + key), strip = box.querySelector('.strip');
  const view = { key, box, strip, info: box.querySelector('.lane-info'), pages: [], pageOf: [], shown: 0, unbuilt: 0, now: null };
  strip.addEventListener('contentvisibilityautostatechange', event => {
    const page = view.pages[event.target.dataset.page];
    page.skipped = event.skipped;
    if (!page.skipped) paintPage(page, view.shown);
  });
  return view;
}

function clearLane(view) {
  view.strip.replaceChildren();
  view.strip.classList.remove('long');
  Object.assign(view, { pages: [], pageOf: [], shown: 0, unbuilt: 0, now: null });
}

// A page ends after a line break where it can, so that the cut does not show in code.
function pageFull(view, page, rounds) {
  const { soft, hard } = PAGE[view.key], last = rounds[page.first + page.count - 1].emitted.at(-1);
  return page.count >= hard || (page.count >= soft && last !== undefined && endsLine(last.id));
}

function layOut(view, rounds) {
  for (let index = view.pageOf.length; index < rounds.length; index++) {
    let page = view.pages.at(-1);
    if (!page || pageFull(view, page, rounds)) {
      page = { first: index, count: 0, built: 0, number: view.pages.length, node: el('div', 'page future') };
      page.node.dataset.page = page.number;
      view.pages.push(page);
      view.strip.append(page.node);
      view.strip.classList.toggle('long', view.pages.length > 3); // only then is skipping worth estimated heights
    }
    page.count++;
    view.pageOf.push(page.number);
  }
}

function buildPage(view, page, rounds, until) {
  while (page.built < page.count && performance.now() < until) {
    const index = page.first + page.built++;
    const node = roundNode(view.key, rounds[index], index);
    node.classList.toggle('future', index >= view.shown);
    page.node.append(node);
  }
  paintPage(page, view.shown);
  return page.built === page.count;
}

// Builds what it can before the time is up; true if nothing is left.
function buildSome(view, rounds, until) {
  layOut(view, rounds);
  while (view.unbuilt < view.pages.length) {
    const page = view.pages[view.unbuilt];
    if (!buildPage(view, page, rounds, until)) return false;
    if (view.unbuilt === view.pages.length - 1) return true; // the last page may still grow
    view.unbuilt++;
  }
  return true;
}

function paintPage(page, shown) {
  page.node.classList.toggle('future', page.first >= shown);
  const mixed = page.first < shown && page.first + page.count > shown;
  if (!mixed && !page.mixed) return;
  page.mixed = mixed;
  for (let k = 0; k < page.built; k++) page.node.children[k].classList.toggle('future', page.first + k >= shown);
}

function showRounds(view, rounds, count) {
  layOut(view, rounds);
  if (count === view.shown || !view.pages.length) return;
  const place = index => view.pageOf[Math.min(index, view.pageOf.length - 1)];
  const from = place(Math.min(count, view.shown)), to = place(Math.max(count, view.shown));
  view.shown = count;
  const here = place(count);
  for (let k = from; k <= to; k++) if (k === here || !view.pages[k].skipped) paintPage(view.pages[k], count);
}

// The span of a round, built on the spot if the slices have not come to it yet.
function nodeOf(view, rounds, index) {
  const page = view.pages[view.pageOf[index]];
  if (!page) return null;
  if (index - page.first >= page.built) buildPage(view, page, rounds, Infinity);
  return page.node.children[index - page.first];
}

function markNow(view, rounds, index) {
  view.now?.classList.remove('now');
  view.now = index >= 0 ? nodeOf(view, rounds, index) : null;
  view.now?.classList.add('now');
}

// Where the strip has to scroll to, so that the current round can be seen; null if it can be seen already.
function scrollOf({ strip, now }) {
  if (!now) return 0;
  const box = now.getBoundingClientRect(), frame = strip.getBoundingClientRect();
  if (box.top >= frame.top + 8 && box.bottom <= frame.bottom - 8) return null;
  return strip.scrollTop + box.bottom - frame.top - strip.clientHeight * 0.7;
}

// All reading before all writing: the page is laid out once.
function scrollLanes(views) {
  const places = views.map(scrollOf);
  views.forEach((view, k) => { if (places[k] !== null) view.strip.scrollTop = places[k]; });
}

// A round of the plain lane is its one chip; a speculative round is a span whose held part carries the bracket.
function roundNode(key, round, index) {
  if (key === 'plain') return plainNode(round);
  const node = el('span', 'round'), held = el('span', 'held');
  node.dataset.round = index;
  const path = acceptedPath(round), over = refusedPlaces(round);
  const lone = (token, place) => held.append(placed(token.id, token.origin, place), ...lineBreak(token.id));
  round.emitted.slice(0, path.length).forEach((token, k) => lone(token, 'd' + path[k]));
  const rest = round.emitted.slice(path.length);
  if (over.length) {
    const replacement = rest.shift();
    held.append(slot(round, over, replacement, path.length), ...(replacement ? lineBreak(replacement.id) : []));
  }
  rest.forEach((token, k) => lone(token, 'e' + (path.length + k)));
  node.append(held, ...lastBreak(held));
  return node;
}

// The line break that ends a round stands after its bracket, which would else begin the next line too.
function lastBreak(held) {
  const at = held.querySelector(':scope > br:nth-last-child(2)');
  return at ? [at, at.nextSibling] : [];
}

function plainNode(round) {
  const [token] = round.emitted, breaks = token ? lineBreak(token.id) : [];
  if (!token) return el('span');
  if (!breaks.length) return chip(token.id, token.origin);
  const node = el('span');
  node.append(chip(token.id, token.origin), ...breaks);
  return node;
}

// The refused drafts above the token that replaced them, of a chain with the unjudged ones after them.
function slot(round, over, replacement, place) {
  const node = el('span', 'slot'), upper = el('span', 'over');
  for (const k of over) upper.append(placed(round.drafted[k].id, round.drafted[k].verdict, 'd' + k));
  node.append(upper);
  const under = el('span', 'under');
  if (replacement) under.append(placed(replacement.id, replacement.origin, 'e' + place));
  node.append(under);
  return node;
}

function placed(id, status, place) {
  const node = chip(id, status);
  node.dataset.place = place;
  return node;
}
