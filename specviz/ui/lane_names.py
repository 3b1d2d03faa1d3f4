"""What the lanes of a comparison are called: what they are, with what sets them apart from the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from specviz.trace.methods import METHODS, RULES
from specviz.trace.schema import Settings, Trace
from specviz.ui.comparison import LiveLane, RecordedLane

_MOST = 60  # characters of a recorded run's title


@dataclass(frozen=True, slots=True)
class Choice:
    """What a visitor chose for one lane: a pair and settings to decode with, or a trace. dtype: None for automatic."""

    pair: str = ""
    settings: Settings = field(default_factory=Settings)
    dtype: str | None = None
    trace: Trace | None = None

    @property
    def name(self) -> str:
        """What the lane is, in short."""
        if self.trace is not None:
            return f"recorded: {(self.trace.title or self.trace.provenance.date[:10])[:_MOST]}"
        shape = f"tree {' '.join(map(str, self.settings.tree))}" if self.settings.tree else f"γ {self.settings.gamma}"
        length = "" if self.settings.draft_length == "constant" else f", {self.settings.draft_length} length"
        return f"{METHODS[self.settings.method].title}, {shape}{length}"


def named_lanes(choices: Sequence[Choice]) -> list[LiveLane | RecordedLane]:
    """The lanes in order; labels begin with the lane's number, so no two are alike."""
    live = [choice for choice in choices if choice.trace is None]
    differ = {
        "pair": len({choice.pair for choice in live}) > 1,
        "rule": len({choice.settings.rule for choice in live}) > 1,
        "dtype": len({choice.dtype for choice in live}) > 1,
    }
    lanes: list[LiveLane | RecordedLane] = []
    for number, choice in enumerate(choices, start=1):
        if choice.trace is not None:
            lanes.append(RecordedLane(f"{number} {choice.name}", choice.trace))
            continue
        more = [choice.pair] * differ["pair"] + [RULES[choice.settings.rule].title] * differ["rule"]
        more += [choice.dtype or "default precision"] * differ["dtype"]
        label = ", ".join([f"{number} {choice.name}", *more])
        lanes.append(LiveLane(label, choice.pair, choice.settings, choice.dtype))
    return lanes
