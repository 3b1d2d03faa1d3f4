"""What another gamma would bring, from one measured run: tokens per pass, time per token, speedup, the best gamma."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from specviz.analysis.costs import CostFit, CostModel
from specviz.analysis.hazard import alpha, hazards
from specviz.analysis.intervals import speedup_interval
from specviz.analysis.pace import Speed, speed_of
from specviz.analysis.replay import Recorded, constant, draft_limit, recorded, replay
from specviz.analysis.tables import Column, Row, Table
from specviz.analysis.totals import ratio
from specviz.analysis.words import count
from specviz.trace.measured import Decoded

GAMMAS = tuple(range(1, 9))
_COLUMNS = [
    Column("gamma", "gamma", "count", "exact", "tokens drafted per round; 0 is plain decoding"),
    Column(
        "measured", "measured", "times", "measured",
        "plain time per token / time per token with this gamma, decoding only, with its 95% interval",
        "low", "high",
    ),
    Column(
        "predicted", "predicted", "times", "fitted",
        "from the calibration run: its places replayed with this gamma, each round timed by the cost model",
    ),
    Column(
        "error", "error", "percent", "fitted",
        "predicted / measured - 1; none at the gamma that the prediction starts from, which is no test of it",
    ),
    Column(
        "from_hazards", "from hazards", "times", "fitted",
        "(1 + h1 + h1 h2 + ...) / round cost, with the conditional acceptance h of each position and the cost model: a "
        "long text in which every round drafts gamma tokens",
    ),
    Column(
        "leviathan", "Leviathan's formula", "times", "fitted",
        "(1 - alpha^(gamma+1)) / ((1 - alpha)(gamma c + 1)) with the measured alpha and c: a wide pass as cheap as a "
        "narrow one, and every place alike (Leviathan et al. 2023, theorem 3.8)",
    ),
    Column("passes", "tokens per pass, predicted", "number", "fitted", "tokens / target passes of the replay"),
    Column("passes_measured", "tokens per pass, measured", "number", "measured", "tokens / target passes"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a gamma would bring. seconds_per_token: of decoding. speedup: over plain decoding, below 1 is slower."""

    gamma: int
    tokens_per_pass: float
    seconds_per_token: float
    speedup: float


@dataclass(frozen=True, slots=True)
class Best:
    """The gamma with the highest predicted speedup; 0 means: do not speculate.

    low, high: 95% interval of its speedup, None with fewer than two prompts. margin: speedup / that of the next best
    gamma - 1. runner_up: the next best gamma, 0 among them. standing: every gamma that the prompts do not tell from the
    best (the 95% interval of the best's speedup over it reaches 1), the best among them.
    """

    gamma: int
    speedup: float
    low: float | None
    high: float | None
    margin: float
    runner_up: int
    standing: tuple[int, ...]
    prompts: int


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Rows of a table "sweep", and what they rest on. speeds: measured, by gamma. limit: the `draft_limit`."""

    rows: list[Row]
    speeds: dict[int, Speed]
    prompts: int
    limit: int | None


def predict(rates: Sequence[float], model: CostModel, gamma: int) -> Prediction:
    """Speed in a long text in which every round drafts gamma tokens and position i stands with rates[i-1].

    Tokens per pass are 1 + the sum over i of the product of the first i rates (Leviathan et al. 2023, equation 1, with
    a rate of its own for each position). Past the last hazard its value goes on: hazards level out, and a fall would
    be a guess. gamma 0 is plain decoding.
    """
    tokens, reach = 1.0, 1.0
    for position in range(gamma):
        reach *= rates[min(position, len(rates) - 1)]
        tokens += reach
    return _prediction(gamma, tokens, model.round_seconds(gamma) / tokens, model)


def predict_runs(runs: Sequence[Recorded], model: CostModel, gamma: int) -> Prediction:
    """Speed over these very texts and budgets: their places replayed with gamma.

    Against `predict` it knows that rounds of another length begin elsewhere (after a rejection, where texts are hard,
    or within an easy stretch), and that the last rounds of a budget draft less.
    """
    spent = [replay(run, constant(gamma)) for run in runs]
    tokens = sum(s.tokens for s in spent)
    seconds = sum(s.seconds(model.round_seconds) for s in spent)
    return _prediction(gamma, tokens / sum(s.passes for s in spent), seconds / tokens, model)


def leviathan(alpha: float, c: float, gamma: int) -> float:
    """Expected improvement of walltime (Leviathan et al. 2023, theorem 3.8); alpha 1 is its limit."""
    tokens = sum(alpha**i for i in range(gamma + 1))
    return tokens / (gamma * c + 1)


def sweep_table(
    measured: Mapping[int, Sequence[Decoded]],
    calibration: Sequence[Decoded],
    fit: CostFit,
    gammas: Sequence[int] = GAMMAS,
) -> Table:
    """The table "sweep": a row for each gamma, 0 and those measured included, up to the `draft_limit` of all runs.

    measured: decodes by gamma, as many as there are. calibration: the one lane that acceptance is taken from.
    Raises SpecvizError as `recorded`.
    """
    sweep = _sweep(measured, calibration, fit, gammas)
    note = f"Predicted from {count(sweep.prompts, 'prompt')} at gamma {calibration[0].trace.settings.gamma}."
    if (missed := mean_error(sweep.rows)) is not None:
        note += f" The prediction misses the measured speedups by {missed:.1%} on average."
    if sweep.limit is not None and any(gamma > sweep.limit for gamma in (*gammas, *measured)):
        note += f" No round drafted more than {count(sweep.limit, 'token')}, so gammas beyond it have no row."
    return Table("sweep", "Speedup against gamma", _COLUMNS, sweep.rows, note + _scope(sweep.speeds.values()))


def mean_error(rows: Sequence[Row]) -> float | None:
    """Mean of |predicted / measured - 1| over the rows of a sweep that test the prediction; None if none does."""
    errors = [abs(row["error"]) for row in rows if row["error"] is not None]
    return float(np.mean(errors)) if errors else None


def kinds_table(
    measured: Mapping[int, Sequence[Decoded]],
    calibration: Sequence[Decoded],
    fit: CostFit,
    gammas: Sequence[int] = GAMMAS,
) -> Table:
    """The table "kinds": the rows of `sweep_table` for each kind of text, with the cost model of all kinds."""
    rows: list[Row] = []
    silent: list[str] = []
    single: list[str] = []
    for kind in sorted({d.kind for d in calibration}):
        calibrated = [d for d in calibration if d.kind == kind]
        if not hazards(calibrated):
            silent.append(kind)
            continue
        own = {gamma: [d for d in decodes if d.kind == kind] for gamma, decodes in measured.items()}
        sweep = _sweep(own, calibrated, fit, gammas)
        rows += [{"kind": kind, **row} for row in sweep.rows]
        if any(speed.over == "rounds" for speed in sweep.speeds.values()):
            single.append(kind)
    nothing = f" Nothing was drafted for {', '.join(silent)}." if silent else ""
    alone = f" Of {', '.join(single)} there is one prompt: its intervals are over rounds." if single else ""
    note = f"Acceptance of each kind on its own, costs of a round from all of them.{nothing}{alone}"
    columns = [Column("kind", "kind of text"), *_COLUMNS]
    return Table("kinds", "Speedup against gamma by kind of text", columns, rows, note)


def _sweep(
    measured: Mapping[int, Sequence[Decoded]], calibration: Sequence[Decoded], fit: CostFit, gammas: Sequence[int]
) -> _Sweep:
    runs, limit = recorded(calibration), draft_limit([*calibration, *chain.from_iterable(measured.values())])
    rates, rate = hazards(calibration), alpha(calibration)
    start = _possible(calibration[0].trace.settings.gamma, limit)
    own: dict[int, Sequence[Decoded]] = {}
    for gamma in sorted(measured):  # a longer one than there can be was the limit, and stands for it if it must
        own.setdefault(_possible(gamma, limit), measured[gamma])
    speeds = {gamma: speed_of(decodes) for gamma, decodes in own.items()}
    rows: list[Row] = []
    for gamma in sorted({0, *(_possible(gamma, limit) for gamma in gammas), *own}):
        seen, gain = predict_runs(runs, fit.model, gamma), speeds.get(gamma, Speed())
        tests = gain.value and gamma != start  # the start is what the prediction was made from
        rows.append({
            "gamma": gamma, "measured": gain.value, "low": gain.low, "high": gain.high,
            "predicted": seen.speedup, "error": seen.speedup / gain.value - 1 if tests else None,
            "from_hazards": predict(rates, fit.model, gamma).speedup,
            "leviathan": leviathan(rate, fit.model.c, gamma) if rate is not None and fit.model.c is not None else None,
            "passes": seen.tokens_per_pass, "passes_measured": _tokens_per_pass(own.get(gamma, ())),
        })  # fmt: skip
    return _Sweep(rows, speeds, len(runs), limit)


def best_gamma(calibration: Sequence[Decoded], model: CostModel, gammas: Sequence[int] = GAMMAS) -> Best:
    """The best of these gammas and 0, by prediction, with its margin and what the choice of prompts leaves open.

    Gammas beyond `draft_limit` count as the limit. Intervals are over prompts (`speedup_interval`, on the logarithm),
    of the best over plain decoding and over each other gamma: they cover the luck of the texts, not the clock, whose
    costs are taken as they are, nor that the best is the luckiest of several. Raises SpecvizError as `recorded`.
    """
    runs, limit = recorded(calibration), draft_limit(calibration)
    choices = sorted({0, *(_possible(gamma, limit) for gamma in gammas)})
    tokens = np.array([len(run.places) for run in runs])
    seconds = np.array([[replay(r, constant(g)).seconds(model.round_seconds) for g in choices] for r in runs])
    speedups = model.plain * tokens.sum() / seconds.sum(axis=0)
    order = np.argsort(-speedups, kind="stable")  # of equals the shorter draft
    best, second = int(order[0]), int(order[1])
    factors = speedup_interval(_times(model.plain * tokens, seconds[:, best], tokens))
    return Best(
        gamma=choices[best],
        speedup=float(speedups[best]),
        low=float(speedups[best] * factors[0]) if factors else None,
        high=float(speedups[best] * factors[1]) if factors else None,
        margin=float(speedups[best] / speedups[second] - 1),
        runner_up=choices[second],
        standing=tuple(
            gamma
            for gamma, other, speedup in zip(choices, seconds.T, speedups, strict=True)
            if not (ahead := speedup_interval(_times(other, seconds[:, best], tokens)))
            or speedups[best] / speedup * ahead[0] <= 1
        ),
        prompts=len(runs),
    )


def _times(slow: np.ndarray, quick: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """What `speedup_interval` takes of two ways to write the same tokens, [prompts, 4]."""
    return np.stack([slow, tokens, quick, tokens], axis=1)


def _possible(gamma: int, limit: int | None) -> int:
    return gamma if limit is None else min(gamma, limit)


def _prediction(gamma: int, tokens: float, seconds: float, model: CostModel) -> Prediction:
    return Prediction(gamma, tokens, seconds, model.plain / seconds)


def _tokens_per_pass(decodes: Sequence[Decoded]) -> float | None:
    return ratio(sum(len(d.trace.output_ids) for d in decodes), sum(len(d.trace.rounds) for d in decodes))


def _scope(speeds: Iterable[Speed]) -> str:
    """What the intervals of the measured speedups are over."""
    over = {speed.over for speed in speeds} - {None}
    texts = {
        "prompts": " Intervals of measured speedups are over prompts.",
        "rounds": " Intervals of measured speedups are over the rounds of the only prompt and say nothing of others.",
    }
    return "".join(text for key, text in texts.items() if key in over)
