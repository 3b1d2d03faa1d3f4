"""Findings on sizes: how many parameters, and how much of a target step's time drafting takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from specviz.models.examined import Examined
from specviz.models.memory import experts, parameters, read_bytes
from specviz.trace.findings import Finding, Number
from specviz.trace.measured import StepTimes

_TYPICAL_RATIO = 10  # parameters of the target over the draft's: below, a draft step takes much of a target step


@dataclass(frozen=True, slots=True)
class Costs:
    """Times in plain target steps: c of one draft step, wide of a pass that verifies gamma drafts."""

    c: float
    wide: float
    gamma: int

    @property
    def drafting(self) -> float:
        """Of gamma draft steps: the seed's second criterion asks for less than 1."""
        return self.gamma * self.c

    @property
    def best(self) -> float:
        """Speedup if every draft is accepted (Leviathan et al. 2023, sec. 3.3, with the pass as wide as it is)."""
        return (self.gamma + 1) / (self.drafting + self.wide)


def computed_costs(target: Examined, draft: Examined, gamma: int) -> Costs | None:
    """Costs if reading weights sets the pace; None if the bytes of one are not known."""
    if target.weights() is None or draft.weights() is None:
        return None
    one = read_bytes(target.shapes) * target.packing
    drafted, wide = read_bytes(draft.shapes) * draft.packing, read_bytes(target.shapes, gamma + 1) * target.packing
    return Costs(drafted / one, wide / one, gamma)


def measured_costs(steps: Sequence[StepTimes], gamma: int) -> Costs | None:
    """Costs from medians of measured steps: the target's of widths 1 and gamma + 1, the draft's of width 1."""
    times = {(s.part, s.width): median(s.seconds) for s in steps if s.seconds}
    one, drafted, wide = (times.get(key) for key in (("target", 1), ("draft", 1), ("target", gamma + 1)))
    if not one or drafted is None or wide is None:
        return None
    return Costs(drafted / one, wide / one, gamma)


def mixture(model: Examined, gamma: int) -> list[Finding]:
    """Experts: a pass over several tokens touches more of them."""
    found = experts(model.model)
    if found is None or model.shapes is None:
        return []
    everything, one = parameters(model.shapes), parameters(model.shapes, 1)
    wider = read_bytes(model.shapes, gamma + 1) / read_bytes(model.shapes)
    what = (
        f"{model.title} is a mixture of {found[0]} experts a layer, {found[1]} for each token: a step uses "
        f"{one / everything:.0%} of its weights, a pass that checks {gamma} drafts reads about {wider:.1f} times that."
    )
    numbers = (
        Number("parameters", "all of them", everything),
        Number("active parameters", "those that take part in a step of one token", round(one)),
    )
    return [Finding("experts", "warning", what, "Measure first: a small gamma is often best.", numbers, "count")]


def size(target: Examined, draft: Examined, gamma: int, steps: Sequence[StepTimes]) -> list[Finding]:
    """Parameters of the target over the draft's, in a mixture those that take part in a step."""
    about = "parameters; of a mixture of experts those that take part in a step of one token"
    ours, theirs = (_active(model) for model in (target, draft))
    numbers = (Number("target", about, ours), Number("draft", about, theirs))
    ratio, measured = ours / max(1, theirs), measured_costs(steps, gamma)
    what = f"The target has {ratio:.{0 if ratio >= _TYPICAL_RATIO else 1}f} times the draft's parameters"
    if ratio >= _TYPICAL_RATIO:
        return [Finding("size", "ok", f"{what}.", "", numbers, "count")]
    if measured and measured.drafting < 1 < measured.best:
        what = f"{what}; {_TYPICAL_RATIO} or more is typical, but this draft was measured to be quick enough."
        return [Finding("size", "note", what, "", numbers, "count")]
    what += ", so it can hardly save time." if ratio <= 1 else f"; {_TYPICAL_RATIO} or more is typical."
    do = "Choose a smaller draft, or measure before you rely on this one."
    return [Finding("size", "warning", what, do, numbers, "count")]


def speed(target: Examined, draft: Examined, gamma: int, steps: Sequence[StepTimes]) -> list[Finding]:
    """The second criterion: gamma draft steps take less time than one target step."""
    before, after = computed_costs(target, draft, gamma), measured_costs(steps, gamma)
    costs = after or before
    if costs is None:
        return []
    how = ("take", "as measured") if after else ("should take", "by the weights that each reads")
    best = f"{costs.best:.2f}" if after else f"at best {costs.best:.2f}, as if only reading weights took time"
    what = (
        f"{gamma} draft steps {how[0]} {costs.drafting:.2f} of the time of one target step, {how[1]} (below 1 is "
        f"needed); if every draft were accepted, the speedup would be {best}."
    )
    numbers = _cost_numbers(before, after, gamma)
    if costs.best <= 1:
        return [Finding("speed", "warning", what, "Do not speculate with this draft here.", numbers)]
    if costs.drafting >= 1:
        return [Finding("speed", "warning", what, "Choose a smaller draft or a smaller gamma.", numbers)]
    return [Finding("speed", "ok", what, "", numbers)]


def _active(model: Examined) -> int:
    return round(parameters(model.model)) if experts(model.model) is None else round(parameters(model.model, 1))


def _cost_numbers(before: Costs | None, after: Costs | None, gamma: int) -> tuple[Number, ...]:
    step = "computed: from the weights that each reads; measured: median times"
    rows = {
        "c": (f"a draft step over a plain target step; {step}", "c"),
        "gamma c": (f"{gamma} draft steps over a plain target step", "drafting"),
        "v(gamma)": (
            f"a target pass over {gamma + 1} tokens over a plain target step; computed: 1 is assumed, or what more "
            "experts it reads",
            "wide",
        ),
        "highest speedup": (
            "(gamma + 1) / (gamma c + v(gamma)): if every draft is accepted; computed: at best, with the v assumed",
            "best",
        ),
    }
    return tuple(
        Number(name, about, before and getattr(before, key), after and getattr(after, key))
        for name, (about, key) in rows.items()
    )
