// The current step as one sentence, for the status line and for screen readers.
function sentenceOf(step) {
  if (step === 0) return say('say.prompt', { n: run.trace.prompt.ids.length });
  if (step >= lastStep() && run.end) return run.end.sentence;
  if (step > roundCount()) {
    const lane = run.lanes.plain;
    return say('say.plainDone', { n: tokensOf(lane, lane.rounds.length), time: timeText(lastEnd(lane)) });
  }
  const round = run.lanes.speculative.rounds[step - 1], parts = [...draftParts(round), ...emittedParts(round)];
  const text = say('say.round', { i: step, total: roundCount(), parts: parts.join(', '), emitted: say('say.emitted', { n: round.emitted.length }) });
  return run.interrupted && step === roundCount() ? text + ' ' + say('say.interrupted', { i: step }) : text;
}

function draftParts(round) {
  if (!round.drafted.length) return [];
  const count = verdict => round.drafted.filter(token => token.verdict === verdict).length;
  const accepted = count('accepted'), cut = count('cut'), by = round.by && say('say.by', { by: methodTitle(round.by) });
  const rejected = refusedPlaces(round).map(k => round.drafted[k]).filter(token => token.verdict === 'rejected');
  const parts = [[say(isTree(round) ? 'say.tree' : 'say.drafted', { n: round.drafted.length }), by].filter(Boolean).join(' ')];
  if (copiedIn(round)) parts.push(copiedText('say.copied', round.copied));
  parts.push(accepted === round.drafted.length ? say('say.all') : say('say.accepted', { n: accepted }));
  if (rejected.length > 1) parts.push(say('say.rejectedTries', { n: rejected.length, tokens: rejected.map(token => quoted(token.id)).join(', ') }));
  else if (rejected.length) parts.push(rejection(rejected[0]));
  if (cut) parts.push(say('say.cut', { n: cut }));
  return parts;
}

function rejection(token) {
  if (isGreedy()) return say('say.rejectedGreedy', { token: quoted(token.id) });
  const own = { match: 'say.rejectedMatch', typical: 'say.rejectedTypical', block: 'say.rejectedBlock' }[ruleKey()];
  if (own || typeof token.uniform !== 'number') return say(own ?? 'say.rejectedPlain', { token: quoted(token.id), p: prob(token.p) });
  const [u, a] = twoApart(token.uniform, token.accept_prob);
  return say('say.rejected', { token: quoted(token.id), u, a });
}

function emittedParts(round) {
  return round.emitted.filter(token => token.origin !== 'accepted').map(token => {
    return say(emittedKey(token), { token: quoted(token.id) });
  });
}

function emittedKey({ origin, fallback }) {
  if (fallback) return 'say.fallback';
  if (origin === 'resampled' && isGreedy()) return 'say.resampledGreedy';
  return origin === 'resampled' ? byRule('say.resampled') : 'say.' + origin;
}

// The wording for the rule of the run, where it has one of its own.
function byRule(key) { return known(key + '.' + ruleKey()) ? key + '.' + ruleKey() : key; }
