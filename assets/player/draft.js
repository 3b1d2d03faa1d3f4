// The shape of a round's draft: a chain, where token k follows token k - 1, or a tree, where each names the one before it.
function isTree(round) { return round.drafted.length > 0 && round.drafted[0].parent !== undefined; }

function parentOf(round, k) { return round.drafted[k].parent ?? k - 1; }

// Depth 1 follows the sequence.
function depthsOf(round) {
  const depths = [];
  round.drafted.forEach((_, k) => { const parent = parentOf(round, k); depths.push(parent < 0 ? 1 : depths[parent] + 1); });
  return depths;
}

function isJudged(token) { return token.verdict === 'accepted' || token.verdict === 'rejected'; }

// Places of the accepted tokens, first to last. They form one path, and parents stand before their children.
function acceptedPath(round) { return round.drafted.flatMap((token, k) => (token.verdict === 'accepted' ? [k] : [])); }

// What stands above the token that ended the round: of a chain all that follows the accepted tokens, of a tree the
// tries that were refused at that place, and what was cut.
function refusedPlaces(round) {
  const path = acceptedPath(round), last = path.at(-1) ?? -1;
  const all = round.drafted.map((_, k) => k);
  if (!isTree(round)) return all.filter(k => k > last);
  return all.filter(k => round.drafted[k].verdict === 'cut' || (round.drafted[k].verdict === 'rejected' && parentOf(round, k) === last));
}

// The draft whose residual the round's own token was drawn from; -1 if none was refused.
function lastRefused(round) { return refusedPlaces(round).findLast(k => round.drafted[k].verdict === 'rejected') ?? -1; }

// The nodes that were tried, in the order of the tries.
function triesOf(round) {
  const depths = depthsOf(round);
  return round.drafted.flatMap((token, k) => (isJudged(token) ? [k] : [])).sort((a, b) => depths[a] - depths[b] || a - b);
}

// For a later sibling: what the one before it left of p, null unless that one was refused.
function leftBefore(round, k) {
  if (typeof round.drafted[k].p_left !== 'number') return null;
  const parent = parentOf(round, k);
  const before = round.drafted.findLast((_, j) => j < k && parentOf(round, j) === parent);
  return before?.residual_top ?? null;
}

// Whether token a stands on the path that ends in token b.
function isOnPath(round, a, b) {
  while (b > a) b = parentOf(round, b);
  return a === b;
}
