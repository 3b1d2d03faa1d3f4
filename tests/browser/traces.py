"""Traces for the player tests: speculative sampling over a toy pair, from a fixed table and a fixed generator.

The toy target puts most of its mass on the next token of a listing; the toy draft is sometimes sure of another one.
"""

import math
from dataclasses import replace

from specviz.trace import schema

LISTING = ["def", " is", "_pal", "indrome", "(", "text", ")", ":", "\n    ", "letters", " =", " [", "c", " for", " c",
           " in", " text", " if", " c", ".isalnum", "()]", "\n    ", "return", " letters", " ==", " letters", "[::-1]",
           "\n\n\n"]  # fmt: skip
TEXTS = [*dict.fromkeys(LISTING), "even", " words", "\tpass", "<|end|>", " lower", ",", " 0", "\u00a0", " True"]
DRAFT_STEP, VERIFY, SAMPLING, OTHER, PLAIN = 0.004, 0.031, 0.0006, 0.0004, 0.028


class Numbers:
    """A small linear congruential generator, so that every run of the tests sees the same trace."""

    def __init__(self, seed: int):
        self.state = seed

    def next(self) -> float:
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return self.state / 2**31


def distribution(peak: int, share: float, salt: int) -> list[float]:
    weights = [1 / (1 + (i * 7 + salt * 13) % 29) ** 2 for i in range(len(TEXTS))]
    scale = (1 - share) / sum(weights)
    return [w * scale + (share if i == peak else 0) for i, w in enumerate(weights)]


def target_at(place: int) -> list[float]:
    return distribution(TEXTS.index(LISTING[place % len(LISTING)]), 0.8, place % 11)


def draft_at(place: int) -> list[float]:
    peak = TEXTS.index(LISTING[place % len(LISTING)])
    return distribution(peak if place % 4 else (peak + 3) % len(TEXTS), 0.55, place % 7)


def draw(probs: list[float], u: float) -> int:
    total = 0.0
    for i, prob in enumerate(probs):
        total += prob
        if u < total:
            return i
    return len(probs) - 1


def top(probs: list[float], n: int = 8) -> schema.Top:
    ids = sorted(range(len(probs)), key=lambda i: (-probs[i], i))[:n]
    kept = [round(probs[i], 6) for i in ids]
    return schema.Top(ids, kept, max(0.0, round(1 - sum(kept), 6)))


def brief(x: float) -> float:
    return round(x, 6)


def one_hot(probs: list[float]) -> list[float]:
    best = max(range(len(probs)), key=lambda i: (probs[i], -i))
    return [float(i == best) for i in range(len(probs))]


def entropy(probs: list[float]) -> float:
    return brief(-sum(x * math.log(x) for x in probs if x > 0))


def shown(probs: list[float], greedy: bool) -> schema.Top:
    return top(one_hot(probs), 1) if greedy else top(probs)


def speculative_round(
    index: int, start: int, place: int, settings: schema.Settings, numbers: Numbers, left: int
) -> schema.Round:
    """One round of speculative sampling (Leviathan et al. 2023, algorithm 1) at this place of the listing."""
    greedy, drafted, emitted, open_ = settings.greedy, [], [], True
    for k in range(min(settings.gamma, left - 1)):
        full_p, full_q = target_at(place + k), draft_at(place + k)
        p, q = (one_hot(full_p), one_hot(full_q)) if greedy else (full_p, full_q)
        x = draw(q, numbers.next())
        accept, u = min(1.0, p[x] / q[x]), numbers.next()
        verdict = ("accepted" if u < accept else "rejected") if open_ else "not_judged"
        token = schema.Drafted(
            id=x,
            p=brief(p[x]),
            q=brief(q[x]),
            accept_prob=brief(accept),
            verdict=verdict,
            beta=brief(sum(map(min, p, q))),
            entropy_p=entropy(p),
            entropy_q=entropy(q),
            p_top=shown(full_p, greedy),
            q_top=shown(full_q, greedy),
            uniform=brief(u) if open_ else None,
        )
        if greedy:
            token.target_top, token.draft_top = top(full_p), top(full_q)
        if verdict == "accepted":
            emitted.append(schema.Emitted(x, "accepted", brief(p[x])))
        elif verdict == "rejected":
            open_ = False
            mass = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
            residual = [m / sum(mass) for m in mass]
            token.residual_top = top(residual, 1 if greedy else 8)
            y = draw(residual, numbers.next())
            emitted.append(schema.Emitted(y, "resampled", brief(p[y])))
        drafted.append(token)
    if open_:
        emitted.append(own_token(place + len(drafted), settings, numbers, "bonus" if drafted else "plain"))
    timing = schema.Timing([DRAFT_STEP] * len(drafted), VERIFY, SAMPLING, OTHER, 0.0002)
    return schema.Round(index, start, drafted, emitted, timing)


def own_token(place: int, settings: schema.Settings, numbers: Numbers, origin: str) -> schema.Emitted:
    full = target_at(place)
    p = one_hot(full) if settings.greedy else full
    x = draw(p, numbers.next())
    return schema.Emitted(
        x, origin, brief(p[x]), 1.25, shown(full, settings.greedy), entropy(p), top(full) if settings.greedy else None
    )


def lane(settings: schema.Settings, prompt: list[int], plain: bool, **fields) -> schema.Trace:
    numbers, rounds, ids = Numbers(settings.seed + 7 + plain), [], []
    while len(ids) < settings.max_new_tokens:
        start, place = len(prompt) + len(ids), len(prompt) + len(ids)
        if plain:
            record = schema.Round(
                len(rounds),
                start,
                [],
                [own_token(place, settings, numbers, "plain")],
                schema.Timing([], PLAIN, SAMPLING, OTHER),
            )
        else:
            record = speculative_round(len(rounds), start, place, settings, numbers, settings.max_new_tokens - len(ids))
        rounds.append(record)
        ids += [e.id for e in record.emitted]
    return finished(settings, prompt, rounds, plain=plain, **fields)


def finished(settings, prompt, rounds, texts=TEXTS, plain=False, finish="budget", **fields) -> schema.Trace:
    """A trace with these rounds; its pieces are exactly the ids that occur."""
    ids = [e.id for r in rounds for e in r.emitted]
    text = lambda row: "".join(texts[i] for i in row)  # noqa: E731
    given = schema.Prompt(prompt, text(prompt))
    trace = schema.Trace(settings, provenance(plain), given, {}, rounds, ids, text(ids), 0.21, finish, **fields)
    trace.pieces = {i: piece(texts[i]) for i in sorted(used_ids(trace))}
    return trace


def piece(text: str) -> schema.Piece:
    return schema.Piece(text, "control" if text == "<|end|>" else "text")


def used_ids(trace: schema.Trace) -> set[int]:
    ids = set(trace.prompt.ids) | set(trace.output_ids)
    for record in trace.rounds:
        tops = [t for e in record.emitted for t in (e.p_top, e.target_top)]
        for d in record.drafted:
            ids.add(d.id)
            tops += [d.p_top, d.q_top, d.residual_top, d.target_top, d.draft_top]
        ids.update(*(t.ids for t in tops if t))
    return ids


def provenance(plain: bool = False) -> schema.Provenance:
    target = schema.ModelInfo("toy-target", "toy", 21_000_000, 8, len(TEXTS), "float32", "cpu", 512, "r1", "tests")
    draft = schema.ModelInfo("toy-draft", "toy", 1_300_000, 2, len(TEXTS), "float32", "cpu", 512, "r1", "tests")
    return schema.Provenance(
        date="2026-01-02T03:04:05Z",
        specviz="0.1.0",
        torch="2.13.0",
        transformers="5.24.0",
        python="3.11.9",
        machine="a table in tests/browser",
        threads=2,
        method="plain" if plain else "draft-model",
        rule="none" if plain else "rejection",
        target=target,
        draft=None if plain else draft,
    )


def example(
    tokens: int = 40,
    gamma: int = 4,
    temperature: float = 0.8,
    prompt_tokens: int = 8,
    baseline: bool = True,
    **settings,
) -> schema.Trace:
    chosen = schema.Settings(gamma=gamma, max_new_tokens=tokens, temperature=temperature, **settings)
    prompt = [TEXTS.index(LISTING[i % len(LISTING)]) for i in range(prompt_tokens)]
    trace = lane(
        chosen, prompt, False, title="Is it a palindrome?", about="Watch the draft fail on every fourth token."
    )
    if baseline:
        trace.baseline = lane(chosen, prompt, True)
    return trace


def of_texts(texts: list[str], kinds: dict[int, str] | None = None, **fields) -> schema.Trace:
    """A plain trace that emits these texts one by one."""
    n, emitted = len(texts), []
    for i in range(n):
        emitted.append(
            schema.Round(
                i,
                1 + i,
                [],
                [schema.Emitted(i, "plain", 0.5, 0.1, schema.Top([i], [0.5], 0.5), 0.7)],
                schema.Timing([], PLAIN, SAMPLING, OTHER),
            )
        )
    trace = finished(schema.Settings(gamma=0, max_new_tokens=n, temperature=1.0), [0], emitted, texts, **fields)
    for i, kind in (kinds or {}).items():
        trace.pieces[i] = schema.Piece(trace.pieces[i].text, kind)
    return trace


def close_calls() -> schema.Trace:
    """Rejections whose numbers look alike, or look like nothing, when they are rounded."""
    settings, rounds = schema.Settings(gamma=1, max_new_tokens=3, temperature=1.0), []
    for index, (u, accept) in enumerate([(0.7141, 0.7139), (0.166, 0.0007), (0.9, 0.1)]):
        one = schema.Top([0], [0.5], 0.5)
        drafted = schema.Drafted(
            0, 0.5 * accept, 0.5, accept, "rejected", 0.5, 0.7, 0.7, one, one, u, schema.Top([1], [1.0], 0.0)
        )
        rounds.append(
            schema.Round(
                index,
                1 + index,
                [drafted],
                [schema.Emitted(1, "resampled", 0.5)],
                schema.Timing([0.001], 0.01, 0.0, 0.0),
            )
        )
    return finished(settings, [0], rounds, ["a", "b"])


def renamed(trace: schema.Trace, target: str, title: str) -> schema.Trace:
    trace.provenance.target = replace(trace.provenance.target, name=target)
    trace.title = trace.about = title
    return trace
