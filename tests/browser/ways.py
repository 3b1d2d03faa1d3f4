"""Traces of the other ways to draft, over the toy pair of `traces`: trees, copies, an exit lens, two token cuts."""

from dataclasses import replace

import traces

from specviz.trace import choices, schema

Row = list[float]
SETTINGS = schema.Settings(max_new_tokens=40, temperature=0.8)


def left_of(p: Row, q: Row) -> Row:
    """max(0, p - q), normalised; p where nothing is left."""
    rest = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    return [x / sum(rest) for x in rest] if sum(rest) > 0 else p


def without(q: Row, token: int) -> Row:
    return [0.0 if i == token else x / (1 - q[token]) for i, x in enumerate(q)]


def node(p: Row, q: Row, token: int, parent: int | None, verdict: str = "not_judged") -> schema.Drafted:
    """A drafted token of which nothing but p and q is known yet."""
    brief = traces.brief
    return schema.Drafted(
        id=token,
        p=brief(p[token]),
        q=brief(q[token]),
        accept_prob=brief(min(1.0, p[token] / q[token])),
        verdict=verdict,
        beta=brief(sum(map(min, p, q))),
        entropy_p=traces.entropy(p),
        entropy_q=traces.entropy(q),
        p_top=traces.top(p),
        q_top=traces.top(q),
        parent=parent,
        match=brief(sum(a * b for a, b in zip(p, q, strict=True))),
        best=brief(p[max(range(len(q)), key=q.__getitem__)]),
    )


def tree_of(place: int, widths: tuple[int, ...], numbers: traces.Numbers) -> list[schema.Drafted]:
    """Nodes drawn without replacement, breadth first, each with its chance once its earlier siblings are refused."""
    nodes: list[schema.Drafted] = []
    parents = [-1]
    for depth, width in enumerate(widths):
        p, before, parents = traces.target_at(place + depth), parents, []
        for parent in before:
            q, left = traces.draft_at(place + depth), p
            for turn in range(width):
                token = traces.draw(q, numbers.next())
                row = node(p, q, token, parent)
                row.p_left = traces.brief(left[token]) if turn else None
                row.accept_prob = traces.brief(min(1.0, left[token] / q[token]))
                nodes.append(row)
                parents.append(len(nodes) - 1)
                q, left = without(q, token), left_of(left, q)
    return nodes


def judge_tree(nodes: list[schema.Drafted], place: int, numbers: traces.Numbers) -> list[schema.Emitted]:
    """Recursive rejection; fills in verdicts, and returns what the round emits."""
    emitted, at, depth = [], -1, 0
    while True:
        p, children = traces.target_at(place + depth), [k for k, d in enumerate(nodes) if d.parent == at]
        for k in children:
            token, q = nodes[k], full_q(nodes, k, place + depth)
            token.uniform = traces.brief(numbers.next())
            if token.uniform < token.accept_prob:
                token.verdict = "accepted"
                emitted.append(schema.Emitted(token.id, "accepted", token.p))
                at, depth = k, depth + 1
                break
            token.verdict, p = "rejected", left_of(p, q)
            token.residual_top = traces.top(p)
        else:
            y = traces.draw(p, numbers.next())
            origin = "resampled" if children else "bonus"
            own = traces.target_at(place + depth)
            more = () if children else (1.25, traces.top(own), traces.entropy(own))
            return [*emitted, schema.Emitted(y, origin, traces.brief(own[y]), *more)]


def full_q(nodes: list[schema.Drafted], k: int, place: int) -> Row:
    """The distribution node k was drawn from: without its earlier siblings."""
    q = traces.draft_at(place)
    for j in range(k):
        if nodes[j].parent == nodes[k].parent:
            q = without(q, nodes[j].id)
    return q


def tree(widths: tuple[int, ...] = (3, 2, 1), seed: int = 3, tokens: int = 40) -> schema.Trace:
    """A run that drafts trees, with a plain lane."""
    settings = replace(SETTINGS, tree=widths, max_new_tokens=tokens)
    prompt, numbers, rounds, ids = list(range(8)), traces.Numbers(seed), [], []
    while len(ids) < tokens:
        place = len(prompt) + len(ids)
        nodes = tree_of(place, widths, numbers)
        emitted = judge_tree(nodes, place, numbers)[: tokens - len(ids)]
        for k in [k for k, d in enumerate(nodes) if d.verdict == "accepted"][len(emitted) :]:
            nodes[k].verdict, nodes[k].uniform = "cut", None
        timing = schema.Timing([traces.DRAFT_STEP] * len(widths), traces.VERIFY, traces.SAMPLING, traces.OTHER)
        rounds.append(schema.Round(len(rounds), place, nodes, emitted, timing))
        ids += [e.id for e in emitted]
    return _titled(traces.finished(settings, prompt, rounds, title="A tree"), "draft-model")


def copied(prompt_tokens: int = 84, method: choices.Method = "prompt-lookup") -> schema.Trace:
    """Prompt lookup: the listing repeats itself, so every draft is a copy from one listing before; a first round
    finds no match. In a composite run the draft model drafts every third round."""
    period, settings = len(traces.LISTING), replace(SETTINGS, method=method, gamma=4)
    prompt = [traces.TEXTS.index(traces.LISTING[i % period]) for i in range(prompt_tokens)]
    numbers, ids, rounds = traces.Numbers(5), [], []
    while len(ids) < settings.max_new_tokens:
        index, start, left = len(rounds), prompt_tokens + len(ids), settings.max_new_tokens - len(ids)
        if index == 0:
            own = traces.own_token(start, settings, numbers, "plain")
            timing = schema.Timing([], traces.PLAIN, traces.SAMPLING, traces.OTHER)
            rounds.append(schema.Round(0, start, [], [own], timing, "no n-gram of the end stands earlier in the text"))
        elif method == "composite" and index % 3 == 0:
            rounds.append(traces.speculative_round(index, start, start, settings, numbers, left))
            rounds[-1].by = "draft-model"
        else:
            rounds.append(copied_round(index, [*prompt, *ids], period, settings, numbers, left))
            rounds[-1].by = "prompt-lookup" if method == "composite" else None
        ids += [e.id for e in rounds[-1].emitted]
    return _titled(traces.finished(settings, prompt, rounds, title="A copy"), method)


def copied_round(index: int, sequence: list[int], period: int, settings, numbers, left: int) -> schema.Round:
    """A draft copied from one period before, judged by rejection with a one-hot q."""
    start, drafted, emitted, is_open = len(sequence), [], [], True
    tokens = sequence[start - period :][: max(1, min(settings.gamma, left - 1))]
    for k, token in enumerate(tokens):
        p, q = traces.target_at(start + k), [float(i == token) for i in range(len(traces.TEXTS))]
        row = node(p, q, token, None)
        if is_open:
            row.uniform = traces.brief(numbers.next())
            is_open = row.uniform < row.accept_prob
            row.verdict = "accepted" if is_open else "rejected"
            if is_open:
                emitted.append(schema.Emitted(token, "accepted", row.p))
            else:
                row.residual_top = traces.top(without(p, token))
                y = traces.draw(without(p, token), numbers.next())
                emitted.append(schema.Emitted(y, "resampled", traces.brief(p[y])))
        drafted.append(row)
    if is_open and len(emitted) < left:
        emitted.append(traces.own_token(start + len(tokens), settings, numbers, "bonus"))
    timing = schema.Timing([0.0001], traces.VERIFY, traces.SAMPLING, traces.OTHER)
    return schema.Round(index, start, drafted, emitted, timing, copied=schema.Copied(start - period, 3))


def early_exit() -> schema.Trace:
    """A run whose lens says how each exit would have agreed."""
    trace = traces.example(24, seed=2)
    trace.settings = replace(trace.settings, method="early-exit", exit_layer=3)
    trace.lens = [schema.Exit(n, round(0.1 * n + 0.05, 3), round(0.11 * n + 0.1, 3), 24) for n in range(1, 8)]
    return _titled(trace, "early-exit", draft=False)


def other_tokenizer() -> schema.Trace:
    """A run with a draft that cuts the text elsewhere; greedy, and without scores of the draft in one round."""
    trace = traces.example(24, seed=4)
    trace.settings = replace(trace.settings, method="cross-tokenizer")
    text = trace.output_text
    trace.draft_cut = [text[i : i + 3] for i in range(0, len(text), 3)]
    for record in trace.rounds:
        for token in record.drafted:
            token.kept = 0.875
    return _titled(trace, "cross-tokenizer")


def under(rule: choices.Rule, **settings) -> schema.Trace:
    """A chain under another rule, as its recorder would write it: typical and match compare no uniform."""
    trace = traces.example(24, seed=6, rule=rule, **settings)
    for record in trace.rounds:
        for token in record.drafted:
            token.match, token.best, token.block = 0.25, 0.5, min(1.0, token.accept_prob)
            if rule in ("typical", "match"):
                token.uniform = None
                token.accept_prob = token.p if rule == "match" else float(token.p > 0.09)
    return _titled(trace, "draft-model", rule)


def fallen_back() -> schema.Trace:
    """A run that asked for a rule that changes the output, but ran as plain decoding."""
    trace = traces.example(12, gamma=0, rule="typical")
    trace.provenance = traces.provenance(plain=True)
    return trace


def _titled(trace: schema.Trace, method: str, rule: str = "rejection", draft: bool = True) -> schema.Trace:
    draft_info = trace.provenance.draft if draft and method != "prompt-lookup" else None
    trace.provenance = replace(trace.provenance, method=method, rule=rule, draft=draft_info)
    return trace
