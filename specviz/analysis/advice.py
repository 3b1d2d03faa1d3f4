"""What to do with the figures: which gamma, in one sentence, and the report of a sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from specviz.analysis.command_lines import flags
from specviz.analysis.costs import CostModel, fit_costs
from specviz.analysis.groups import grouped
from specviz.analysis.hazard import acceptance_by_prompt, hazards
from specviz.analysis.policies import policy_table
from specviz.analysis.prediction import GAMMAS, Best, best_gamma, kinds_table, mean_error, sweep_table
from specviz.analysis.tables import Report, Row, Table, cell_text
from specviz.analysis.waterfall import waterfall_table
from specviz.analysis.ways import used_exit
from specviz.analysis.words import count
from specviz.trace.measured import Decoded, PromptKind, StepTimes
from specviz.trace.schema import Provenance

_USUAL = 4  # the gamma to calibrate with
_HARDLY = 1.1  # an interval that ends below this leaves no gain worth a second model


def choose(sweep: Table) -> int:
    """The gamma to use, 0 for none, from the table "sweep".

    The quickest measured one, if it is quicker than plain decoding; but one whose whole interval is above plain
    decoding goes before one that is quicker on average and may be slower. One that was not measured goes before them
    only if it is predicted to be quicker by more than predictions miss on average.
    """
    top, hope = _best_measured(sweep), _quickest(sweep, "predicted", fresh=True)
    known = max(1.0, top["measured"]) if top else 1.0
    if hope and hope["predicted"] > known * (1 + (mean_error(sweep.rows) or 0.0)):
        return hope["gamma"]
    return top["gamma"] if top and top["measured"] > 1 else 0


def recommendation(best: Best, sweep: Table) -> str:
    """The gamma that `choose` gives, how fast and how sure, in a few sentences; or not to speculate.

    best: the best by prediction, for its interval. sweep: the table that holds its row. Measured figures are compared
    with measured ones, predicted with predicted.
    """
    gamma, top = choose(sweep), _quickest(sweep, "measured")
    if not gamma:
        other = top or _quickest(sweep, "predicted") or _row(sweep, 0)
        return f"Do not speculate here: the best draft, gamma {other['gamma']}, makes it {_speed(sweep, other, best)}."
    row = _row(sweep, gamma)
    low, high = _interval(row, best)
    figure, beside = f"{_speed(sweep, row, best)}{_ahead(row, best, sweep)}.", _beside(row, best, sweep)
    if low is None or low > 1:
        return " ".join([f"Use gamma {gamma}: {figure}", *beside])
    drafted = f"the best draft, gamma {gamma}, makes it {figure}"
    if high < _HARDLY:
        return " ".join([f"Speculation hardly pays here: {drafted}", *beside])
    doubt = f"Cannot tell whether speculation pays here: {drafted}"
    return " ".join([doubt, *beside, "Measure more prompts to know."])


def kinds_sentence(best: dict[PromptKind, Best], gamma: int) -> str | None:
    """The kinds of text that do better with another gamma than this one, in one sentence; None with fewer than two."""
    if len(best) < 2:
        return None
    same = [kind for kind, b in best.items() if gamma in (b.gamma, *b.standing)]
    others = [
        f"{kind} with {_named(b.gamma)}{f' ({b.speedup:.2f}×)' if b.gamma else ''}"
        for kind, b in best.items()
        if kind not in same
    ]
    if not others:
        return f"By prediction no kind of text does better for sure than with {_named(gamma)}."
    rest = f"; for {_listed(same, 'and')} that cannot be told" if same else ""
    return f"By prediction better than with {_named(gamma)}: {', '.join(others)}{rest}."


def sweep_report(
    measured: Mapping[int, Sequence[Decoded]],
    calibration: Sequence[Decoded],
    steps: Sequence[StepTimes] = (),
    gammas: Sequence[int] = GAMMAS,
) -> Report:
    """Everything that one calibration and the measured gammas say: the recommendation, then the tables it rests on.

    measured: decodes by gamma. calibration: the decodes of one of them, which the prediction starts from. steps: times
    of single passes (`fit_costs`). Raises SpecvizError if nothing was drafted, for trees, and without a plain lane.
    """
    trace = calibration[0].trace
    fit = fit_costs(calibration, steps)
    sweep = sweep_table(measured, calibration, fit, gammas)
    possible = [row["gamma"] for row in sweep.rows]
    best = best_gamma(calibration, fit.model, possible)
    by_kind = best_by_kind(calibration, fit.model, gammas)
    kinds = [kinds_table(measured, calibration, fit, gammas)] if len(by_kind) > 1 else []
    source, gamma = trace.provenance, choose(sweep)
    lines = flags(
        source.target.name,
        source.draft.name if source.draft else None,
        trace.settings.method,
        gamma,
        trace.settings.ngram_max,
        used_exit(trace),
        _embedded(source),
    )
    tables = [sweep, *kinds, acceptance_by_prompt(calibration), fit.table, waterfall_table(calibration)]
    return Report(
        "Which gamma",
        [sentence for sentence in (recommendation(best, sweep), kinds_sentence(by_kind, gamma)) if sentence],
        [*tables, policy_table(calibration, fit.model), lines],
        [source],
    )


def by_gamma(decodes: Sequence[Decoded]) -> dict[int, list[Decoded]]:
    """The decodes of a sweep, as `sweep_report` takes them."""
    return grouped(decodes, lambda decode: decode.trace.settings.gamma)


def calibration_of(measured: Mapping[int, Sequence[Decoded]]) -> Sequence[Decoded]:
    """The decodes that a prediction starts from: gamma 4 if it was measured, else the longest drafts."""
    return measured[_USUAL if _USUAL in measured else max(measured)]


def usual_context(decodes: Sequence[Decoded]) -> int:
    """Tokens in the cache halfway through a usual decode: where single passes should be timed."""
    return int(median(len(d.trace.prompt.ids) + len(d.trace.output_ids) // 2 for d in decodes))


def best_by_kind(
    calibration: Sequence[Decoded], model: CostModel, gammas: Sequence[int] = GAMMAS
) -> dict[PromptKind, Best]:
    """The best gamma of each kind of text for which something was drafted, with the costs of all of them."""
    kinds = {kind: [d for d in calibration if d.kind == kind] for kind in sorted({d.kind for d in calibration})}
    return {kind: best_gamma(own, model, gammas) for kind, own in kinds.items() if hazards(own)}


def _embedded(source: Provenance) -> bool:
    """Whether the models come with this package: their names lie under the pair's."""
    return source.target.source == "local folder" and source.target.name.startswith(f"{source.pair}/")


def _row(sweep: Table, gamma: int) -> Row:
    return next(row for row in sweep.rows if row["gamma"] == gamma)


def _quickest(sweep: Table, key: str, fresh: bool = False) -> Row | None:
    """The row of the gamma above 0 with the highest value, of equals the shorter; fresh: of those not measured."""
    rows = [row for row in sweep.rows if row["gamma"] and row[key] is not None]
    return max((row for row in rows if not fresh or row["measured"] is None), key=lambda row: row[key], default=None)


def _best_measured(sweep: Table) -> Row | None:
    """The quickest row of those whose whole interval is above 1; without such rows the quickest that was measured."""
    sure = [row for row in sweep.rows if row["gamma"] and row["low"] is not None and row["low"] > 1]
    return _quickest(replace(sweep, rows=sure), "measured") or _quickest(sweep, "measured")


def _ahead(row: Row, best: Best, sweep: Table) -> str:
    """By how much it leads the next best that was measured, or predicted, as it was itself; empty if it does not."""
    if row["measured"] is None:
        return f", {best.margin:.1%} ahead of {_named(best.runner_up)}" if row["gamma"] == best.gamma else ""
    gains = {0: 1.0} | {r["gamma"]: r["measured"] for r in sweep.rows if r["measured"] is not None}
    second = max((gamma for gamma in gains if gamma != row["gamma"]), key=lambda gamma: gains[gamma])
    lead = row["measured"] / gains[second] - 1
    return f", {lead:.1%} ahead of {_named(second)}" if lead >= 0 else ""


def _beside(row: Row, best: Best, sweep: Table) -> list[str]:
    """What else may be as good: gammas that prompts do not tell from it, and the quickest of the other sort."""
    said = []
    others = [gamma for gamma in best.standing if gamma not in (best.gamma, 0)]
    if row["gamma"] == best.gamma and others:
        said.append(f"By prediction it cannot be told from gamma {_listed(others)} on these prompts.")
    top, hope = _quickest(sweep, "measured"), _quickest(sweep, "predicted", fresh=True)
    error = mean_error(sweep.rows)
    if row["measured"] is None and top:
        misses = f", and predictions miss by {error:.1%} on average" if error is not None else ""
        said.append(f"Of those measured gamma {top['gamma']} is best with {_measured(sweep, top)}{misses}.")
    elif top and top["measured"] > row["measured"]:
        said.append(f"Gamma {top['gamma']} has {_measured(sweep, top)}, more on average, but it may be no gain.")
    elif hope and row["measured"] is not None and hope["predicted"] > row["measured"]:
        said.append(
            f"Gamma {hope['gamma']} was not measured; it is predicted at {hope['predicted']:.2f}×, "
            "which is within what predictions miss: measure it, too."
        )
    return said


def _interval(row: Row, best: Best) -> tuple[float | None, float | None]:
    """The ends of the 95% interval of what is told of a row: its measured speedup, or the best one's prediction."""
    if row["measured"] is not None:
        return row["low"], row["high"]
    return (best.low, best.high) if row["gamma"] == best.gamma else (None, None)


def _speed(sweep: Table, row: Row, best: Best) -> str:
    """1.52× (1.41× to 1.63×) as fast, measured; or the prediction, with its interval if it is the best one's."""
    if row["measured"] is not None:
        return f"{_measured(sweep, row)} as fast as plain decoding, measured"
    low, high = _interval(row, best)
    interval = "" if low is None else f" ({low:.2f}× to {high:.2f}× over {count(best.prompts, 'prompt')})"
    return f"{row['predicted']:.2f}×{interval} as fast as plain decoding, predicted"


def _measured(sweep: Table, row: Row) -> str:
    return cell_text(next(column for column in sweep.columns if column.key == "measured"), row)


def _named(gamma: int) -> str:
    return f"gamma {gamma}" if gamma else "plain decoding"


def _listed(names: Sequence[Any], word: str = "or") -> str:
    """1, 2 or 3."""
    *most, last = map(str, names)
    return f"{', '.join(most)} {word} {last}" if most else last
