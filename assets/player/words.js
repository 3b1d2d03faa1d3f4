// Every word the player shows. A value is a text with {names}, or {one, other} chosen by {n}.
const WORDS = {
  en: {
    player: 'Step player', provenance: 'Provenance', plainLane: 'plain', promptLane: 'prompt',
    speculativeLane: 'speculative', legend: 'Legend', charts: 'Charts', inspector: 'Round inspector',
    'source.recorded': 'recorded', 'source.live': 'live', 'source.imported': 'imported',
    'title.recorded': 'Recorded run', 'title.live': 'Live run', 'title.imported': 'Imported run',
    headSettings: 'γ {gamma} · T {temperature} · at most {tokens} tokens', figuresUpTo: 'Figures up to round {i} of {n}',
    interrupted: 'interrupted', noRun: 'No run yet.',
    target: 'target', draft: 'draft', noDraftModel: 'no draft model',

    'figure.speedup': 'Speedup', 'figure.tokens_per_pass': 'Tokens per target pass',
    'figure.acceptance': 'Acceptance', 'figure.alpha': 'Mean overlap α', 'figure.time_split': 'Where the time goes',
    'kind.measured': 'measured', 'kind.exact': 'exact', 'kind.fitted': 'fitted', 'kind.quoted': 'quoted',
    'kindHelp.measured': 'Measured on this machine in this run.', 'kindHelp.exact': 'Follows exactly from the recorded numbers.',
    'kindHelp.fitted': 'Fitted to measurements.', 'kindHelp.quoted': 'Quoted from a publication.',
    slower: 'slower than plain', noRounds: 'no rounds yet', none: 'none',
    'part.draft': 'draft', 'part.verify': 'verify', 'part.sampling': 'sampling', 'part.other': 'other',

    laneClock: { one: '{n} token, {time}', other: '{n} tokens, {time}' },
    foldPrompt: { one: '{n} earlier prompt token', other: '{n} earlier prompt tokens' },
    hideDrafts: 'Hide rejected drafts', showDrafts: 'Show rejected drafts',
    tokensOf: 'Tokens of the {lane} lane', promptTokens: 'Prompt tokens',
    'finish.running': 'running', 'finish.budget': 'token budget reached', 'finish.eos': 'end of text',
    'finish.stop': 'stop text reached', 'finish.context': 'context full', 'finish.stopped': 'stopped',
    'finish.failed': 'failed',
    'status.accepted': 'accepted', 'status.rejected': 'rejected', 'status.not_judged': 'not judged',
    'status.cut': 'cut off', 'status.resampled': 'resampled', 'status.bonus': 'bonus', 'status.plain': 'plain',
    'status.prompt': 'prompt',
    'mark.accepted': '✓', 'mark.rejected': '✗', 'mark.not_judged': '–', 'mark.cut': '⊣', 'mark.resampled': '○',
    'mark.bonus': '★', 'mark.plain': '·',
    'help.accepted': 'drafted, and kept by the target', 'help.rejected': 'drafted, refused by the target; stands above its replacement',
    'help.not_judged': 'drafted after a rejection, so never looked at', 'help.cut': 'accepted, but after the end of the output',
    'help.resampled': 'drawn from the residual after a rejection', 'help.bonus': 'one more target token after a full accept',
    'help.plain': 'from the target alone, no draft', 'help.prompt': 'given',
    'help.marks': '· space, ⏎ line break, → tab, ∅ empty, hex pairs: part of a character',

    first: 'To the prompt', back: 'One round back', play: 'Play', pause: 'Pause', next: 'One round on', last: 'To the end',
    follow: 'Follow the newest round', speed: 'Playing speed', scrubber: 'Round', realTime: 'real time', times: '{x}×',
    promptOnly: 'prompt only', roundOf: 'round {i} of {n}', plainDone: 'plain lane finished',
    keys: 'Keys: space plays, arrows step, Home and End jump, 1 to 9 set the speed.',

    roundTitle: 'Round {i}', atPrompt: 'Before the first round: only the prompt has been read.',
    'col.position': '#', 'col.token': 'token', 'col.p': 'p', 'col.q': 'q', 'col.accept': 'min(1, p/q)', 'col.uniform': 'u',
    'col.test': 'accepted if the tick u is inside the bar', 'col.verdict': 'verdict',
    roundCaption: 'Drafted tokens of round {i}, and what was emitted after them',
    axisLabel: 'acceptance probability {a}, uniform {u}', axisUnjudged: 'acceptance probability {a}, not judged',
    noDraftNote: 'No draft in this round: {note}.', noDraft: 'No draft in this round.',
    noDraftGamma: 'No draft in this round: gamma is 0, so this is plain decoding.', draftNote: 'Note: {note}.',
    'from.resampled': 'drawn from the residual', 'from.fallback': 'drawn from p (the residual had no mass)',
    'from.bonus': 'bonus: drawn from p after a full accept', 'from.plain': 'drawn from p, no draft',
    'greedyFrom.resampled': 'the target’s top token', 'greedyFrom.bonus': 'bonus: the target’s top token',
    'greedyFrom.plain': 'the target’s top token',
    tokenTitle: 'token {token}, position {k}', emittedTitle: 'emitted token {token}',
    beta: 'Overlap β = Σ min(p, q), exact: {beta}', betaHelp: 'the chance that a draft at this place is accepted',
    entropies: 'Entropy, exact: p {p} nats, q {q} nats', entropyP: 'Entropy, exact: p {p} nats', gap: 'Gap of the two largest scores, exact: {gap}',
    pAndQ: 'p (target) and q (draft), exact; hatched: min(p, q)', pOnly: 'p (target), exact', rest: 'rest', inRest: 'in rest',
    inRestHelp: 'Not among the entries kept, so part of the rest.',
    residual: 'Residual, exact: max(0, p − q), normalised', drawn: 'drawn',
    greedy: 'Greedy: p and q put all their mass on one token, so a draft is accepted only if it is the target’s top token.',
    ownProbabilities: 'models’ own probabilities at T = 1, exact; not used for the decision',

    cursorNote: 'The vertical line is the current step.', dataTable: 'Data table', 'col.series': 'series', 'col.x': 'x', 'col.y': 'y', 'col.text': 'text',
    chartFailed: 'The chart could not be drawn; its data table is complete.',

    exportTrace: 'Export trace', exportText: 'Export text', copyText: 'Copy text', importTrace: 'Import a trace',
    copied: 'Copied.', copyFailed: 'The browser did not allow copying.', checking: 'Checking {name} …',
    tooLarge: 'This file is larger than {mb} MB, so it was not read.', unreadable: 'This file is damaged or not a trace: it could not be unpacked.',
    restored: 'Restored the run that this tab held before the page was reloaded.', showRecorded: 'Show the recorded run',
    badLines: { one: '{n} line of this run could not be read; the rest is shown.', other: '{n} lines of this run could not be read; the rest is shown.' },

    'say.prompt': { one: 'Prompt only: {n} token, no round yet.', other: 'Prompt only: {n} tokens, no round yet.' },
    'say.round': 'Round {i} of {total}: {parts}; {emitted}.',
    'say.drafted': '{n} drafted', 'say.accepted': '{n} accepted', 'say.all': 'all accepted',
    'say.rejected': '{token} rejected because {u} was not below {a}', 'say.rejectedGreedy': '{token} rejected because the target prefers another token',
    'say.resampled': '{token} drawn from the residual', 'say.fallback': '{token} drawn from the target, as the residual had no mass',
    'say.resampledGreedy': '{token} put in its place', 'say.bonus': '{token} added as the bonus token',
    'say.plain': 'no draft, {token} from the target alone', 'say.cut': { one: '{n} cut off', other: '{n} cut off' },
    'say.emitted': { one: '{n} token emitted', other: '{n} tokens emitted' },
    'say.plainDone': { one: 'The plain lane has finished too: {n} token in {time}.', other: 'The plain lane has finished too: {n} tokens in {time}.' },
    'say.interrupted': 'This run was interrupted after {i} rounds.',
    'prov.method': 'method', 'prov.rule': 'rule', 'prov.pair': 'pair', 'prov.date': 'date', 'prov.machine': 'machine',
    'prov.threads': 'threads', 'prov.versions': 'versions', 'prov.notes': 'notes', 'prov.settings': 'settings',
    'prov.prompt': 'prompt', 'prov.finish': 'finish', 'prov.failure': 'failure',
    'prov.model': '{name} ({family}): {parameters} parameters, {layers} layers, vocabulary {vocab}, {dtype} on {device}',
    'prov.context': 'context {context}', 'prov.revision': 'revision {revision}', 'prov.from': 'from {source}',
  },
};
let words = WORDS.en;

function say(key, values = {}) {
  let text = words[key] ?? WORDS.en[key] ?? key;
  if (typeof text === 'object') text = text[values.n === 1 ? 'one' : 'other'];
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

function known(key) { return key in WORDS.en; }

function chooseLanguage(code) { words = WORDS[code] ?? WORDS.en; }

// The template carries keys, not texts: data-t for content, data-t-label for aria-label.
function translate(root) {
  for (const node of root.querySelectorAll('[data-t]')) node.textContent = say(node.dataset.t);
  for (const node of root.querySelectorAll('[data-t-label]')) node.setAttribute('aria-label', say(node.dataset.tLabel));
}
