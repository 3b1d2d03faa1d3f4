"""An engine whose lanes have known hazards and costs: what a calibration says of it can be checked by arithmetic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import sleep

from fakes import FakeEngine, FakeStep, MadeMeasurement
from measured import synthetic

from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, PromptText, StepTimes
from specviz.ui.engine import Engine, LaneOf

HAZARDS = {"code": [0.8], "prose": [0.5], "edit": [0.9], "question": [0.4]}
TARGET, WIDER = 0.01, 0.0005  # seconds of a plain pass, and of each token more
ROUNDS = 20


@dataclass
class KnownEngine:
    """A fake engine that measures synthetic decodes. draft: seconds of a draft step. dry: nothing can be drafted.

    endless: the third prompt goes on until the run is stopped. refuse: raised when a measurement starts; error: raised
    after half of the decodes.
    lost: label -> why the lane drops out. asked: (widths, context) of every call for single passes.
    """

    draft: float = 0.001
    dry: bool = False
    endless: bool = False
    refuse: SpecvizError | None = None
    error: Exception | None = None
    lost: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[list[int], int]] = field(default_factory=list)
    measurements: list["KnownMeasurement"] = field(default_factory=list)

    def engine(self) -> Engine:
        return replace(
            FakeEngine().engine(),
            measure=self._measure,
            step_times=self._step_times,
            prompt_kinds=lambda: list(HAZARDS),
            prompt_set=lambda kind: [PromptText(f"{kind} {n}", kind, f"{kind} text {n}") for n in range(3)],
        )

    def _measure(self, lanes: Sequence[LaneOf], prompts: Sequence[PromptText], repeats: int) -> "KnownMeasurement":
        if self.refuse:
            raise self.refuse
        self.measurements.append(KnownMeasurement(lanes, prompts, repeats, self))
        return self.measurements[-1]

    def _step_times(self, pair, settings, widths, context, repeats, tick=None) -> list[StepTimes]:
        self.asked.append((list(widths), context))
        return [StepTimes("target", width, [TARGET + WIDER * (width - 1)] * repeats, context) for width in widths]


class KnownMeasurement(MadeMeasurement):
    """Two steps a prompt; after the second its decodes are whole."""

    def __init__(self, lanes: Sequence[LaneOf], prompts: Sequence[PromptText], repeats: int, known: KnownEngine):
        super().__init__(lanes, prompts, repeats)
        self._steps = self._measure(lanes, prompts, repeats, known)

    def _measure(self, lanes, prompts, repeats, known: KnownEngine) -> Iterator[FakeStep]:
        for repeat in range(repeats):
            for place, prompt in enumerate(prompts):
                if known.error and 2 * self.done >= self.of:
                    raise known.error
                yield FakeStep(lanes[0].label, prompt.name, repeat)
                while known.endless and place == 2:
                    sleep(0.02)
                    yield FakeStep(lanes[0].label, prompt.name, repeat)
                self.failed |= known.lost
                for lane in lanes:
                    if lane.label not in self.failed:
                        self.decoded.append(_decode(lane, prompt, repeat, place, known))
                self.done += len(lanes) + 1
                yield FakeStep(lanes[0].label, prompt.name, repeat)


def _decode(lane: LaneOf, prompt: PromptText, repeat: int, seed: int, known: KnownEngine) -> Decoded:
    gamma = lane.settings.gamma
    costs = {"draft": known.draft, "target": TARGET, "wider": WIDER, "lane": lane.label, "kind": prompt.kind}
    found = synthetic(HAZARDS[prompt.kind], gamma, 1, ROUNDS, seed, **costs)[0]
    if known.dry:
        found.trace.rounds = found.trace.baseline.rounds
    return replace(found, prompt=prompt.name, repeat=repeat)
