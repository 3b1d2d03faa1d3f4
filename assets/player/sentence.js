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
  const accepted = count('accepted'), rejected = round.drafted.find(token => token.verdict === 'rejected'), cut = count('cut');
  const parts = [say('say.drafted', { n: round.drafted.length })];
  parts.push(accepted === round.drafted.length ? say('say.all') : say('say.accepted', { n: accepted }));
  if (rejected) parts.push(rejection(rejected));
  if (cut) parts.push(say('say.cut', { n: cut }));
  return parts;
}

function rejection(token) {
  if (isGreedy()) return say('say.rejectedGreedy', { token: quoted(token.id) });
  const [u, a] = twoApart(token.uniform, token.accept_prob);
  return say('say.rejected', { token: quoted(token.id), u, a });
}

function emittedParts(round) {
  return round.emitted.filter(token => token.origin !== 'accepted').map(token => {
    const key = token.fallback ? 'say.fallback' : 'say.' + token.origin + (token.origin === 'resampled' && isGreedy() ? 'Greedy' : '');
    return say(key, { token: quoted(token.id) });
  });
}
