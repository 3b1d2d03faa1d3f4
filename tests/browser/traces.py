"""Traces for the player's tests: speculative sampling over a toy pair, worked out with a fixed table and a fixed generator.

The toy target puts most of its mass on the next token of a listing; the toy draft is sometimes sure of another one.
"""

import math
from dataclasses import replace

from specviz.trace import schema
from specviz.ui import stream

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


def speculative_round(index: int, start: int, place: int, settings: schema.Settings, numbers: Numbers, left: int) -> schema.Round:
    """One round of speculative sampling (Leviathan et al. 2023, algorithm 1) at this place of the listing."""
    greedy, drafted, emitted, open_ = settings.greedy, [], [], True
    for k in range(min(settings.gamma, left - 1)):
        full_p, full_q = target_at(place + k), draft_at(place + k)
        p, q = (one_hot(full_p), one_hot(full_q)) if greedy else (full_p, full_q)
        x = draw(q, numbers.next())
        accept, u = min(1.0, p[x] / q[x]), numbers.next()
        verdict = ("accepted" if u < accept else "rejected") if open_ else "not_judged"
        token = schema.Drafted(x, brief(p[x]), brief(q[x]), brief(accept), verdict, brief(sum(map(min, p, q))), entropy(p), entropy(q), shown(full_p, greedy),
                               shown(full_q, greedy), brief(u) if open_ else None)  # fmt: skip
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
    return schema.Emitted(x, origin, brief(p[x]), 1.25, shown(full, settings.greedy), entropy(p), top(full) if settings.greedy else None)


def lane(settings: schema.Settings, prompt: list[int], plain: bool, **fields) -> schema.Trace:
    numbers, rounds, ids = Numbers(settings.seed + 7 + plain), [], []
    while len(ids) < settings.max_new_tokens:
        start, place = len(prompt) + len(ids), len(prompt) + len(ids)
        if plain:
            record = schema.Round(len(rounds), start, [], [own_token(place, settings, numbers, "plain")], schema.Timing([], PLAIN, SAMPLING, OTHER))
        else:
            record = speculative_round(len(rounds), start, place, settings, numbers, settings.max_new_tokens - len(ids))
        rounds.append(record)
        ids += [e.id for e in record.emitted]
    return finished(settings, prompt, rounds, plain=plain, **fields)


def finished(settings, prompt, rounds, texts=TEXTS, plain=False, finish="budget", **fields) -> schema.Trace:
    """A trace with these rounds; its pieces are exactly the ids that occur."""
    ids = [e.id for r in rounds for e in r.emitted]
    trace = schema.Trace(settings, provenance(plain), schema.Prompt(prompt, "".join(texts[i] for i in prompt)), {}, rounds, ids,
                         "".join(texts[i] for i in ids), 0.21, finish, **fields)  # fmt: skip
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
    return schema.Provenance("2026-01-02T03:04:05Z", "0.1.0", "2.13.0", "5.24.0", "3.11.9", "a table in tests/browser", 2,
                             "plain" if plain else "draft model", "rejection sampling", target, None if plain else draft)  # fmt: skip


def example(tokens: int = 40, gamma: int = 4, temperature: float = 0.8, prompt_tokens: int = 8, baseline: bool = True, **settings) -> schema.Trace:
    chosen = schema.Settings(gamma=gamma, max_new_tokens=tokens, temperature=temperature, **settings)
    prompt = [TEXTS.index(LISTING[i % len(LISTING)]) for i in range(prompt_tokens)]
    trace = lane(chosen, prompt, False, title="Is it a palindrome?", about="Watch the draft fail on every fourth token.")
    if baseline:
        trace.baseline = lane(chosen, prompt, True)
    return trace


def of_texts(texts: list[str], kinds: dict[int, str] | None = None, **fields) -> schema.Trace:
    """A plain trace that emits these texts one by one."""
    n, emitted = len(texts), []
    for i in range(n):
        emitted.append(schema.Round(i, 1 + i, [], [schema.Emitted(i, "plain", 0.5, 0.1, schema.Top([i], [0.5], 0.5), 0.7)], schema.Timing([], PLAIN, SAMPLING, OTHER)))
    trace = finished(schema.Settings(gamma=0, max_new_tokens=n, temperature=1.0), [0], emitted, texts, **fields)
    for i, kind in (kinds or {}).items():
        trace.pieces[i] = schema.Piece(trace.pieces[i].text, kind)
    return trace


def close_calls() -> schema.Trace:
    """Rejections whose numbers look alike, or look like nothing, when they are rounded."""
    settings, rounds = schema.Settings(gamma=1, max_new_tokens=3, temperature=1.0), []
    for index, (u, accept) in enumerate([(0.7141, 0.7139), (0.166, 0.0007), (0.9, 0.1)]):
        one = schema.Top([0], [0.5], 0.5)
        drafted = schema.Drafted(0, 0.5 * accept, 0.5, accept, "rejected", 0.5, 0.7, 0.7, one, one, u, schema.Top([1], [1.0], 0.0))
        rounds.append(schema.Round(index, 1 + index, [drafted], [schema.Emitted(1, "resampled", 0.5)], schema.Timing([0.001], 0.01, 0.0, 0.0)))
    return finished(settings, [0], rounds, ["a", "b"])


def renamed(trace: schema.Trace, target: str, title: str) -> schema.Trace:
    trace.provenance.target = replace(trace.provenance.target, name=target)
    trace.title = trace.about = title
    return trace


def figures(rounds: list[schema.Round], plain_time: float | None, spec_time: float) -> stream.Figures:
    """Figures of the run so far, counted here as the analysis would."""
    drafted = sum(len(r.drafted) for r in rounds)
    judged, accepted = sum(r.judged for r in rounds), sum(r.accepted for r in rounds)
    emitted = sum(len(r.emitted) for r in rounds)
    none = {"value": None, "kind": "exact", "detail": "no drafts yet"}
    speedup = {"value": None, "kind": "measured", "detail": "no plain lane"}
    if plain_time is not None:
        speedup = {"value": f"{plain_time / (spec_time / emitted):.2f}x", "kind": "measured", "detail": f"{emitted} tokens"}
    return {
        "speedup": speedup,
        "tokens_per_pass": {"value": f"{emitted / len(rounds):.2f}", "kind": "exact", "detail": f"{emitted} tokens in {len(rounds)} passes"},
        "acceptance": {"value": f"{accepted / judged:.0%}", "kind": "exact", "detail": f"{accepted} of {judged} judged, {drafted} drafted"} if judged else none,
        "alpha": {"value": f"{sum(d.beta for r in rounds for d in r.drafted) / drafted:.2f}", "kind": "exact", "detail": f"{drafted} positions"} if drafted else none,
        "time_split": {"value": f"{spec_time:.2f} s", "kind": "measured", "detail": f"{len(rounds)} rounds",
                       "parts": {"draft": sum(sum(r.timing.draft) for r in rounds), "verify": sum(r.timing.verify for r in rounds),
                                 "sampling": sum(r.timing.sampling for r in rounds), "other": sum(r.timing.other for r in rounds)}},
    }  # fmt: skip


def charts_line(trace: schema.Trace) -> str:
    ends = clock(trace)
    tokens, total = [], 0
    for record in trace.rounds:
        total += len(record.emitted)
        tokens.append(total)
    betas = [d.beta for r in trace.rounds for d in r.drafted][:120]
    step = max(1, len(ends) // 400)
    return stream.line("charts", charts={
        "tokens_over_time": {"data": [{"type": "scatter", "x": ends[::step], "y": tokens[::step], "name": "speculative", "line": {"color": "var(--sv-accepted)"}}],
                             "layout": {"meta": {"cursor": "time"}, "xaxis": {"title": {"text": "seconds"}}, "yaxis": {"title": {"text": "tokens"}}}, "note": "Both lanes."},
        "beta_over_run": {"data": [{"type": "bar", "x": list(range(1, len(betas) + 1)), "y": betas, "text": ["<img src=x>"] * len(betas), "marker": {"color": "var(--sv-bonus)"}}],
                          "layout": {"meta": {"cursor": "round"}}, "note": ""},
    })  # fmt: skip


def clock(trace: schema.Trace) -> list[float]:
    ends, now = [], 0.0
    for record in trace.rounds:
        now += record.timing.total
        ends.append(round(now, 6))
    return ends


def lines(trace: schema.Trace, source: stream.Source = "recorded", run_id: str = "run-1") -> list[str]:
    """The wire lines of a finished trace, both lanes in the order of their clocks."""
    tracker, plain = stream.PieceTracker(), trace.baseline
    out = [stream.run_line(trace, source, run_id), *tracker.fresh(trace, plain)]
    rows = [(end, 1, "speculative", r) for end, r in zip(clock(trace), trace.rounds, strict=True)]
    rows += [(end, 0, "plain", r) for end, r in zip(clock(plain), plain.rounds, strict=True)] if plain else []
    done, last = 0, None
    for end, _, key, record in sorted(rows, key=lambda row: row[:2]):
        if key == "plain":
            out.append(stream.round_line(key, record, end))
            continue
        done += 1
        last = figures(trace.rounds[:done], PLAIN + SAMPLING + OTHER if plain else None, end) if done < 300 else last
        out.append(stream.round_line(key, record, end, last))
    sentence = f"Finished: {len(trace.output_ids)} tokens in {len(trace.rounds)} rounds."
    return [*out, charts_line(trace), stream.end_line(trace, sentence, last or {})]
