// Every word the player shows. A value is a text with {names}, or {one, other} chosen by {n}.
const WORDS = {
  en: {
    player: 'Step player', provenance: 'Provenance', plainLane: 'plain', promptLane: 'prompt',
    speculativeLane: 'speculative', legend: 'Legend', charts: 'Charts', inspector: 'Round inspector',
    'source.recorded': 'recorded', 'source.live': 'live', 'source.imported': 'imported',
    'title.recorded': 'Recorded run', 'title.live': 'Live run', 'title.imported': 'Imported run',
    'head.gamma': 'γ {gamma}', 'head.tree': 'tree {tree}', 'head.rest': 'T {temperature} · at most {tokens} tokens', figuresUpTo: 'Figures up to round {i} of {n}',
    interrupted: 'interrupted', noRun: 'No run yet.',
    target: 'target', draft: 'draft', noDraftModel: 'no draft model', changes: 'changes the output',
    changesHelp: 'This rule of acceptance does not keep the target’s distribution.',

    'figure.speedup': 'Speedup', 'figure.tokens_per_pass': 'Tokens per target pass',
    'figure.acceptance': 'Acceptance', 'figure.alpha': 'Mean overlap α', 'figure.time_split': 'Where the time goes',
    'kind.measured': 'measured', 'kind.exact': 'exact', 'kind.fitted': 'fitted', 'kind.quoted': 'quoted',
    'kindHelp.measured': 'Measured: a clock or a count of this run.', 'kindHelp.exact': 'Follows exactly from the recorded numbers.',
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
    'help.resampled': 'the target’s own token in place of a rejected draft', 'help.bonus': 'one more target token after a full accept',
    'help.plain': 'from the target alone, no draft', 'help.prompt': 'given',
    'help.marks': '· space, ⏎ line break, → tab, ∅ empty, hex pairs: part of a character',

    first: 'To the prompt', back: 'One round back', play: 'Play', pause: 'Pause', next: 'One round on', last: 'To the end',
    follow: 'Follow the newest round', speed: 'Playing speed', scrubber: 'Round', realTime: 'real time', times: '{x}×',
    promptOnly: 'prompt only', roundOf: 'round {i} of {n}', plainDone: 'plain lane finished',
    keys: 'Keys: space plays, arrows step, Home and End jump, 1 to 9 set the speed.',

    roundTitle: 'Round {i}', atPrompt: 'Before the first round: only the prompt has been read.',
    'col.position': '#', 'col.depth': 'depth', 'col.token': 'token', 'col.p': 'p', 'col.q': 'q', 'col.uniform': 'u',
    'accept.rejection': 'min(1, p/q)', 'accept.greedy-draft': 'p(x)', 'accept.match': 'p(x)', 'accept.block': 'h', 'accept.typical': 'passes',
    'test.rejection': 'accepted if the tick u is inside the bar', 'test.greedy-draft': 'accepted if the tick u is inside the bar',
    'test.match': 'bar: the chance that the target draws this token', 'test.typical': 'bar: full if p is above the threshold',
    'test.block': 'the last tick u inside its bar ends the accepted prefix', 'col.verdict': 'verdict',
    roundCaption: 'Drafted tokens of round {i}, and what was emitted after them',
    axisLabel: 'acceptance probability {a}, uniform {u}', axisUnjudged: 'acceptance probability {a}, not judged',
    axisAlone: 'acceptance probability {a}', draftedBy: 'Drafted by: {by}.',
    treeNote: 'Drafted as a tree: below are the nodes that were tried. p of a later try is what the tries before it left of p.',
    noDraftNote: 'No draft in this round: {note}.', noDraft: 'No draft in this round.',
    noDraftGamma: 'No draft in this round: gamma is 0, so this is plain decoding.', draftNote: 'Note: {note}.',
    'from.resampled': 'drawn from the residual', 'from.resampled.match': 'the target’s own draw', 'from.resampled.typical': 'drawn from p', 'from.fallback': 'drawn from p (the residual had no mass)',
    'from.bonus': 'bonus: drawn from p after a full accept', 'from.plain': 'drawn from p, no draft',
    'greedyFrom.resampled': 'the target’s top token', 'greedyFrom.bonus': 'bonus: the target’s top token',
    'greedyFrom.plain': 'the target’s top token',
    tokenTitle: 'token {token}, position {k}', nodeTitle: 'token {token}, depth {k}', emittedTitle: 'emitted token {token}',
    beta: 'Overlap β = Σ min(p, q), exact: {beta}', betaHelp: 'the chance that rejection sampling accepts a draft from q at this place',
    kept: 'Tokens that both vocabularies share hold {kept} of the draft’s own distribution; q is that part, made to sum to 1.',
    pLeft: 'p left once the siblings before are refused: {left} (p itself: {p})', pLeftAndQ: 'p left by the tries before (target) and q (draft), exact; hatched: min(p, q)',
    entropies: 'Entropy, exact: p {p} nats, q {q} nats', entropyP: 'Entropy, exact: p {p} nats', gap: 'Gap of the two largest scores, exact: {gap}',
    pAndQ: 'p (target) and q (draft), exact; hatched: min(p, q)', pOnly: 'p (target), exact', rest: 'rest', inRest: 'in rest',
    inRestHelp: 'Not among the entries kept, so part of the rest.',
    residual: 'Residual, exact: max(0, p − q), normalised', 'residual.match': 'p without this token, exact, normalised',
    'residual.block': 'Excess of the block, exact, normalised', 'residual.typical': 'p, exact', drawn: 'drawn',
    greedy: 'Greedy: p and q put all their mass on one token, so a draft is accepted only if it is the target’s top token.',
    ownProbabilities: 'models’ own probabilities at T = 1, exact; not used for the decision',

    rules: 'The rules on this draft', rulesNote: 'Exact, from the recorded p and q: the chance that each rule accepts this token once it is reached, the same on average over tokens drawn from q, and how many of this round’s tokens it accepts on average. Typical acceptance: ε {epsilon}, δ {delta}.',
    'rule.name': 'rule', 'rule.chance': 'this token', 'rule.mean': 'mean over q', 'rule.expected': 'tokens of this round', 'rule.own': 'this run',
    'rule.none': 'not recorded', 'rule.another': 'drafts another token', 'rule.noMean': '–',

    treeTitle: 'Tree of {n} nodes', mask: 'Attention mask', treeLabel: 'Drafted tree; arrow keys move through it',
    maskNote: 'Row: a token that is fed. Filled: what it sees: the sequence, the tokens before it on its own path, itself. The accepted path is lit.',
    maskLabel: 'Attention mask of {n} rows. Every node sees the sequence, its ancestors and itself, and none of its siblings. Accepted path: {path}.',
    sequence: 'sequence', noPath: 'nothing', lastToken: 'last token {token}',
    treeNode: '{token}, {verdict}', treeNote2: 'Left to right: depth. The accepted path is lit.',
    tries: 'Tries of this round', previousTry: 'Previous try', nextTry: 'Next try', tryOf: 'try {i} of {n}', untried: 'not tried: {token}',
    tryFacts: 'depth {depth}, sibling {turn} of {of}: {token} · {p} · q {q} · {name} {a}', tryP: 'p {p}', tryLeft: 'p left {left}', tryUniform: 'u {u}',

    cuts: 'Two cuts of the text', cutsNote: 'Above as the target’s tokens cut it ({target}), below as the draft’s ({draft}). Where the cuts differ the part is framed.',
    targetCut: 'The target’s tokens', draftCut: 'The draft’s tokens',

    cursorNote: 'The vertical line is the current step.', dataTable: 'Data table', 'col.series': 'series', 'col.x': 'x', 'col.y': 'y', 'col.text': 'text',
    chartFailed: 'The chart could not be drawn; its data table is complete.',

    exportTrace: 'Export trace', exportText: 'Export text', copyText: 'Copy text', importTrace: 'Import a trace',
    copied: 'Copied.', copyFailed: 'The browser did not allow copying.', checking: 'Checking {name} …',
    tooLarge: 'This file is larger than {mb} MB, so it was not read.', unreadable: 'This file is damaged or not a trace: it could not be unpacked.',
    restored: 'Restored the run that this tab held before the page was reloaded.', showRecorded: 'Show the recorded run',
    badLines: { one: '{n} line of this run could not be read; the rest is shown.', other: '{n} lines of this run could not be read; the rest is shown.' },

    'say.prompt': { one: 'Prompt only: {n} token, no round yet.', other: 'Prompt only: {n} tokens, no round yet.' },
    'say.round': 'Round {i} of {total}: {parts}; {emitted}.',
    'say.drafted': '{n} drafted', 'say.tree': '{n} drafted as a tree', 'say.by': 'by {by}',
    'say.copied': { one: 'copied from position {at}, after a match of {n} token', other: 'copied from position {at}, after a match of {n} tokens' },
    copiedNote: { one: 'Copied from position {at} of the text, after a match of {n} token.', other: 'Copied from position {at} of the text, after a match of {n} tokens.' },
    'say.accepted': '{n} accepted', 'say.all': 'all accepted',
    'say.rejected': '{token} rejected because {u} was not below {a}', 'say.rejectedGreedy': '{token} rejected because the target prefers another token',
    'say.rejectedTries': 'the {n} tries {tokens} rejected', 'say.rejectedMatch': '{token} rejected because the target drew another token',
    'say.rejectedTypical': '{token} rejected because its p of {p} is not above the threshold',
    'say.rejectedBlock': '{token} rejected because no longer prefix passed', 'say.rejectedPlain': '{token} rejected',
    'say.resampled': '{token} drawn from the residual', 'say.resampled.match': '{token} drawn by the target', 'say.resampled.typical': '{token} drawn from the target', 'say.fallback': '{token} drawn from the target, as the residual had no mass',
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
