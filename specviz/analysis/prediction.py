"""What another gamma would bring, from one measured run: tokens per pass, time per token, speedup, the best gamma."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specviz.analysis.acceptance import LEVEL
from specviz.analysis.costs import CostFit, CostModel
from specviz.analysis.hazard import alpha, hazards
from specviz.analysis.pace import speed_of
from specviz.analysis.replay import Recorded, constant, recorded, replay
from specviz.analysis.tables import Column, Row, Table
from specviz.analysis.words import count
from specviz.trace.measured import Decoded

GAMMAS = tuple(range(1, 9))
RESAMPLES, _SEED = 2000, 20230707
_COLUMNS = [
    Column("gamma", "gamma", "count", "exact", "tokens drafted per round; 0 is plain decoding"),
    Column(
        "measured", "measured", "times", "measured",
        "plain time per token / time per token with this gamma, decoding only; 95% interval over prompts",
        "low", "high",
    ),
    Column(
        "predicted", "predicted", "times", "fitted",
        "from the calibration run: its places replayed with this gamma, each round timed by the cost model",
    ),
    Column("error", "error", "percent", "fitted", "predicted / measured - 1"),
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
    gamma - 1. over_plain: speedup - 1. runner_up: the next best gamma, 0 among them. standing: every gamma that the
    prompts do not tell from the best (its deficit's 95% interval reaches 0), the best among them.
    """

    gamma: int
    speedup: float
    low: float | None
    high: float | None
    margin: float
    over_plain: float
    runner_up: int
    standing: tuple[int, ...]
    prompts: int


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
    """The table "sweep": a row for each gamma, 0 and those measured included.

    measured: decodes by gamma, as many as there are. calibration: the one lane that acceptance is taken from.
    Raises SpecvizError as `recorded`.
    """
    runs, rate = recorded(calibration), alpha(calibration)
    rows = [_row(gamma, measured.get(gamma, ()), runs, fit.model, rate) for gamma in sorted({0, *gammas, *measured})]
    errors = [abs(row["error"]) for row in rows if row["error"] is not None]
    missed = f" The prediction misses the measured speedups by {np.mean(errors):.1%} on average." if errors else ""
    note = f"Predicted from {count(len(runs), 'prompt')} at gamma {calibration[0].trace.settings.gamma}.{missed}"
    return Table("sweep", "Speedup against gamma", _COLUMNS, rows, note)


def kinds_table(
    measured: Mapping[int, Sequence[Decoded]],
    calibration: Sequence[Decoded],
    fit: CostFit,
    gammas: Sequence[int] = GAMMAS,
) -> Table:
    """The table "kinds": the rows of `sweep_table` for each kind of text, with the cost model of all kinds."""
    rows: list[Row] = []
    silent: list[str] = []
    for kind in sorted({d.kind for d in calibration}):
        calibrated = [d for d in calibration if d.kind == kind]
        if not hazards(calibrated):
            silent.append(kind)
            continue
        own = {gamma: [d for d in decodes if d.kind == kind] for gamma, decodes in measured.items()}
        rows += [{"kind": kind, **row} for row in sweep_table(own, calibrated, fit, gammas).rows]
    nothing = f" Nothing was drafted for {', '.join(silent)}." if silent else ""
    note = f"Acceptance of each kind on its own, costs of a round from all of them.{nothing}"
    columns = [Column("kind", "kind of text"), *_COLUMNS]
    return Table("kinds", "Speedup against gamma by kind of text", columns, rows, note)


def best_gamma(calibration: Sequence[Decoded], model: CostModel, gammas: Sequence[int] = GAMMAS) -> Best:
    """The best of these gammas and 0, by prediction, with its margin and what the choice of prompts leaves open.

    Intervals are bootstraps over prompts (2000 resamples): they cover the luck of the texts, not the clock, whose costs
    are taken as they are. Raises SpecvizError as `recorded`.
    """
    runs, choices = recorded(calibration), sorted({0, *gammas})
    tokens = np.array([len(run.places) for run in runs])
    seconds = np.array([[replay(r, constant(g)).seconds(model.round_seconds) for g in choices] for r in runs])
    speedups = _speedups(np.ones((1, len(runs))), tokens, seconds, model)[0]
    order = np.argsort(-speedups, kind="stable")  # of equals the shorter draft
    best, second = int(order[0]), int(order[1])
    draws = np.random.default_rng(_SEED).multinomial(len(runs), np.full(len(runs), 1 / len(runs)), size=RESAMPLES)
    resampled = _speedups(draws, tokens, seconds, model)
    tail = (1 - LEVEL) / 2
    deficits = np.quantile(resampled[:, [best]] - resampled, tail, axis=0)
    low, high = np.quantile(resampled[:, best], [tail, 1 - tail]).tolist() if len(runs) > 1 else (None, None)
    return Best(
        gamma=choices[best],
        speedup=float(speedups[best]),
        low=low,
        high=high,
        margin=float(speedups[best] / speedups[second] - 1),
        over_plain=float(speedups[best] - 1),
        runner_up=choices[second],
        standing=tuple(g for g, deficit in zip(choices, deficits, strict=True) if deficit <= 0 or len(runs) == 1),
        prompts=len(runs),
    )


def _speedups(draws: np.ndarray, tokens: np.ndarray, seconds: np.ndarray, model: CostModel) -> np.ndarray:
    """Pooled speedups [draws, gammas] of prompts counted as in draws [draws, prompts]."""
    return model.plain * (draws @ tokens)[:, None] / (draws @ seconds)


def _prediction(gamma: int, tokens: float, seconds: float, model: CostModel) -> Prediction:
    return Prediction(gamma, tokens, seconds, model.plain / seconds)


def _row(gamma: int, decodes: Sequence[Decoded], runs: list[Recorded], model: CostModel, rate: float | None) -> Row:
    speed, seen = speed_of(decodes), predict_runs(runs, model, gamma)
    gain = speed.value
    rounds = sum(len(d.trace.rounds) for d in decodes)
    return {
        "gamma": gamma,
        "measured": gain,
        "low": speed.low,
        "high": speed.high,
        "predicted": seen.speedup,
        "error": seen.speedup / gain - 1 if gain else None,
        "leviathan": None if rate is None else leviathan(rate, model.c, gamma),
        "passes": seen.tokens_per_pass,
        "passes_measured": sum(len(d.trace.output_ids) for d in decodes) / rounds if rounds else None,
    }
