"""What to do with the figures: which gamma, in one sentence, and the report of a sweep."""

from collections.abc import Mapping, Sequence
from statistics import median

from specviz.analysis.command_lines import flags
from specviz.analysis.costs import CostModel, fit_costs
from specviz.analysis.hazard import acceptance_by_prompt, hazards
from specviz.analysis.policies import policy_table
from specviz.analysis.prediction import GAMMAS, Best, best_gamma, kinds_table, sweep_table
from specviz.analysis.tables import Report, Row, Table, cell_text
from specviz.analysis.waterfall import waterfall_table
from specviz.analysis.ways import used_exit
from specviz.analysis.words import count
from specviz.trace.measured import Decoded, PromptKind, StepTimes

_USUAL = 4  # the gamma to calibrate with


def recommendation(best: Best, sweep: Table) -> str:
    """One sentence: which gamma, how fast, how sure; or not to speculate. sweep: the table that holds its row.

    A measured speedup goes before a predicted one, also where it says that the prediction was too hopeful.
    """
    row = _row(sweep, best.gamma)
    if best.gamma == 0:
        other = _row(sweep, best.runner_up)
        return f"Do not speculate here: the best draft, gamma {best.runner_up}, makes it {_speed(sweep, other, None)}."
    figure = _speed(sweep, row, best)
    if row["measured"] is not None and row["measured"] < 1:
        return f"Do not speculate here: gamma {best.gamma}, predicted to be the best, came to {figure}."
    others = [gamma for gamma in best.standing if gamma not in (best.gamma, 0)]
    equal = f"; on these prompts it cannot be told from gamma {_listed(others)}" if others else ""
    ahead = f"{best.margin:.1%} ahead of {_named(best.runner_up)}{equal}"
    if 0 in best.standing and best.prompts > 1:
        return f"Speculation hardly pays here: gamma {best.gamma} is best with {figure}, which may be no gain; {ahead}."
    return f"Use gamma {best.gamma}: {figure}, {ahead}."


def kinds_sentence(best: dict[PromptKind, Best]) -> str | None:
    """The best gamma of each kind of text in one sentence; None with fewer than two kinds."""
    if len(best) < 2:
        return None
    parts = [
        f"{kind} gamma {b.gamma} ({b.speedup:.2f}×)" if b.gamma else f"{kind} better plain" for kind, b in best.items()
    ]
    return f"By kind of text, predicted: {', '.join(parts)}."


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
    best = best_gamma(calibration, fit.model, gammas)
    by_kind = best_by_kind(calibration, fit.model, gammas)
    kinds = [kinds_table(measured, calibration, fit, gammas)] if len(by_kind) > 1 else []
    source = trace.provenance
    lines = flags(
        source.target.name,
        source.draft.name if source.draft else None,
        trace.settings.method,
        best.gamma,
        trace.settings.ngram_max,
        used_exit(trace),
    )
    tables = [sweep, *kinds, acceptance_by_prompt(calibration), fit.table, waterfall_table(calibration)]
    return Report(
        "Which gamma",
        [sentence for sentence in (recommendation(best, sweep), kinds_sentence(by_kind)) if sentence],
        [*tables, policy_table(calibration, fit.model), lines],
        [source],
    )


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


def _row(sweep: Table, gamma: int) -> Row:
    return next(row for row in sweep.rows if row["gamma"] == gamma)


def _speed(sweep: Table, row: Row, best: Best | None) -> str:
    """1.52× measured (1.41× to 1.63×), or the prediction with its interval."""
    column = next(c for c in sweep.columns if c.key == "measured")
    if row["measured"] is not None:
        return f"{cell_text(column, row)} as fast as plain decoding, measured"
    interval = ""
    if best and best.low is not None:
        interval = f" ({best.low:.2f}× to {best.high:.2f}× over {count(best.prompts, 'prompt')})"
    return f"{row['predicted']:.2f}×{interval} as fast as plain decoding, predicted"


def _named(gamma: int) -> str:
    return f"gamma {gamma}" if gamma else "plain decoding"


def _listed(numbers: Sequence[int]) -> str:
    """1, 2 or 3."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} or {last}" if most else last
