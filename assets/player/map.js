// The whole run above the scrubber: a bar per round, done when the scrubber has passed it; accepted drafts below, the round's own token on top.
const MAP_ORDER = ['accepted', 'resampled', 'bonus', 'plain'];

function showMap() {
  const rounds = run.lanes.speculative.rounds, map = find('.map');
  const highest = Math.max(1, ...rounds.map(round => round.emitted.length)), paths = Object.fromEntries(MAP_ORDER.map(name => [name, '']));
  rounds.forEach((round, k) => {
    let level = highest;
    for (const token of round.emitted) paths[token.origin] += `M${k + 0.1} ${level--}h.8v-1h-.8z`;
  });
  map.setAttribute('viewBox', `0 0 ${Math.max(1, lastStep())} ${highest}`);
  for (const name of MAP_ORDER) map.querySelector('.map-' + name).setAttribute('d', paths[name]);
}
