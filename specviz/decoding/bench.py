"""The race protocol of measurements: every lane and its plain decoding in turn, prompt by prompt, repeat by repeat.

Lanes move in turns of a few tokens, A B A B, inside one generator, so that a machine that slows down slows all of
them alike. Everything is warm before the first figure counts; prefill and recording are off every lane's clock.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace

from specviz.decoding.closing import Closing
from specviz.decoding.held import weights_held
from specviz.decoding.loop import speculate
from specviz.decoding.outside import Outside, outside_lanes, same_footing
from specviz.decoding.race import warm_up
from specviz.decoding.run import Run
from specviz.decoding.widths import warm_widths
from specviz.models.pair import Pair
from specviz.models.prompt import prompt_ids
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, PromptText, Reference
from specviz.trace.methods import OPTIONAL
from specviz.trace.schema import Round, Settings, Trace

PLAIN = "plain"  # the label of a plain lane begins with it; the target's name follows
_DRAFTS_ONLY = OPTIONAL | {"method", "rule"}  # settings that plain decoding does not listen to


@dataclass(frozen=True, slots=True)
class LanePlan:
    """One lane of a measurement. label: unique. settings.chat gives way to the prompt's own."""

    label: str
    pair: Pair
    settings: Settings


@dataclass(frozen=True, slots=True)
class Step:
    """One round of one lane. lane: its label, or that of a plain lane. prompt: its name."""

    lane: str
    prompt: str
    repeat: int
    record: Round


class Measurement(Closing):
    """An iterator of steps; while it warms up, of None: there is nothing to show yet, but one can stop.

    Close it (or leave its `with`) to stop: what is whole is kept, all else is freed.

    decoded: whole decodes, in the order they ended, each with its plain decode as baseline. references: decodes of
    other programs, and ours on the same footing; empty unless asked for. failed: label -> why a lane dropped out;
    the others went on. plain_of: label -> the label of its plain lane. traces: label -> what is decoded now, plain
    lanes included. done, of: decodes that ended, and all there will be.
    """

    def __init__(
        self, lanes: Sequence[LanePlan], prompts: Sequence[PromptText], repeats: int, block: int, references: bool
    ) -> None:
        _require_plan(lanes, prompts, repeats, block)
        self.plain_of, plains = _plain_lanes(lanes)
        self._plans = {plan.label: plan for plan in (*plains, *lanes)}
        self._prompts, self._repeats, self._block = list(prompts), repeats, block
        self._require_able()
        self._outside: dict[str, Outside] = outside_lanes(lanes) if references else {}
        self.decoded: list[Decoded] = []
        self.references: list[Reference] = []
        self.failed: dict[str, str] = {}
        self.traces: dict[str, Trace] = {}
        self.done, self.of = 0, (len(self._plans) + len(self._outside)) * len(prompts) * repeats
        self._steps = self._measure()

    def __next__(self) -> Step | None:
        return next(self._steps)

    def close(self) -> None:
        """Stop every lane and free its caches; harmless if all has ended."""
        self._steps.close()

    def _require_able(self) -> None:
        """Raise SpecvizError for a lane that cannot run, or a prompt that it cannot take; before anything runs."""
        for label, plan in self._plans.items():
            with _naming(label):
                for prompt in self._prompts if label not in self.plain_of else ():
                    _prompt_ids(plan, prompt)
                self._start(label, self._prompts[0]).close()

    def _start(self, label: str, prompt: PromptText) -> Run:
        plan = self._plans[label]
        return speculate(plan.pair, prompt.text, _settings(plan, prompt))

    def _measure(self) -> Iterator[Step | None]:
        yield from self._warm_up()
        for repeat in range(self._repeats):
            for place, prompt in enumerate(self._prompts):
                yield from self._decode(prompt, repeat, repeat + place)

    def _warm_up(self) -> Iterator[None]:
        """The first rounds of every lane, a pass of every width, and a few tokens of every reference: thrown away."""
        prompt = self._prompts[0]
        for label, plan in self._plans.items():
            try:
                warm_up(plan.pair, prompt.text, _settings(plan, prompt), plain=False)
            except SpecvizError as error:
                self._fail(label, error)
                continue
            yield
            with suppress(RuntimeError, SpecvizError):  # no memory, no room: the lane itself will say so
                yield from warm_widths(plan.pair, plan.settings, _prompt_ids(plan, prompt))
        for way in self._outside.values():
            with suppress(SpecvizError):  # the measured decode says so
                way.warm_up(_prompt_ids(way, prompt))
            yield

    def _decode(self, prompt: PromptText, repeat: int, shift: int) -> Iterator[Step]:
        """All lanes decode one prompt, in turns; `shift` says who begins."""
        runs = {label: self._start(label, prompt) for label in self._alive()}
        self.traces = {label: run.trace for label, run in runs.items()}
        outside = [label for label in self._outside if label not in self.failed] if runs else []
        waiting = deque([*runs, *outside])
        waiting.rotate(-shift)
        self.done += len(self._plans) + len(self._outside) - len(waiting)
        try:
            while waiting:
                label = waiting.popleft()
                if label in runs:
                    yield from self._turn(label, runs[label], prompt, repeat)
                    if self.traces[label].finish == "running":
                        waiting.append(label)
                        continue
                else:
                    self._refer(label, prompt, repeat)
                self.done += 1
        finally:
            for run in runs.values():
                run.close()
        self._keep(prompt, repeat, runs)

    def _turn(self, label: str, run: Run, prompt: PromptText, repeat: int) -> Iterator[Step]:
        """Rounds of one lane until about `block` tokens are out, or it ends."""
        emitted = 0
        try:
            for record in run:
                yield Step(label, prompt.name, repeat, record)
                emitted += len(record.emitted)
                if emitted >= self._block and run.trace.finish == "running":
                    return
        except SpecvizError as error:
            self._fail(label, error)

    def _refer(self, label: str, prompt: PromptText, repeat: int) -> None:
        way = self._outside[label]
        try:
            reference = way.decode(_prompt_ids(way, prompt))
        except SpecvizError as error:
            self.failed[label] = str(error)
            return
        beside = self._beside(self.plain_of[way.lane])
        self.references.append(replace(reference, prompt=prompt.name, kind=prompt.kind, repeat=repeat, beside=beside))

    def _keep(self, prompt: PromptText, repeat: int, runs: dict[str, Run]) -> None:
        """The decodes of a prompt are whole: each goes to `decoded` with its baseline."""
        whole = {label: trace for label, trace in self.traces.items() if label not in self.failed}
        for label, plain in self.plain_of.items():
            if label in whole and plain in whole:
                trace = whole[label]
                trace.baseline = whole[plain]
                held = weights_held(self._plans[label].pair, trace.settings) + runs[label].bytes
                self.decoded.append(Decoded(label, trace, prompt.name, prompt.kind, repeat, held))
        if self._outside:
            self.references += [
                replace(
                    same_footing(f"specviz {label}", trace), prompt=prompt.name, kind=prompt.kind, repeat=repeat,
                    beside=self._beside(self.plain_of.get(label, label)),
                )
                for label, trace in whole.items()
            ]  # fmt: skip

    def _beside(self, plain: str) -> list[str]:
        """The lanes that are compared with this plain lane."""
        return [lane for lane, label in self.plain_of.items() if label == plain]

    def _alive(self) -> list[str]:
        """Lanes that go on: those that did not fail, and the plain lanes that one of them needs."""
        lanes = [label for label in self.plain_of if label not in self.failed]
        needed = {self.plain_of[label] for label in lanes}
        return [label for label in self._plans if label in needed or label in lanes]

    def _fail(self, label: str, error: SpecvizError) -> None:
        """A lane drops out; without a plain lane, those that are compared with it do too."""
        self.failed[label] = str(error)
        for lane, plain in self.plain_of.items():
            if plain == label:
                self.failed.setdefault(lane, f"Its plain lane failed: {error}")


def measure(
    lanes: Sequence[LanePlan],
    prompts: Sequence[PromptText],
    repeats: int = 3,
    block: int = 8,
    references: bool = False,
) -> Measurement:
    """Start a measurement: every prompt `repeats` times by every lane, and by one plain lane per target and sampling.

    It yields None while it warms up (after each lane's first rounds and after each pass), then a `Step` a round.

    block: tokens a lane emits before the next one's turn. The order of the lanes rotates from prompt to prompt and
    from repeat to repeat. references: transformers' generate (and its assisted generation or prompt lookup, for
    lanes that have such a counterpart) decodes the same ids in the same turns, each decode whole.
    Raises SpecvizError, before any model computes, for a lane that cannot run or a prompt that it cannot take.
    """
    return Measurement(lanes, prompts, repeats, block, references)


def plain_settings(settings: Settings) -> Settings:
    """The settings of plain decoding beside these: only what it listens to, so equal for lanes that can share it."""
    kept = {f.name: getattr(settings, f.name) for f in fields(Settings) if f.name not in _DRAFTS_ONLY}
    return replace(Settings(**kept), gamma=0)


def _plain_lanes(lanes: Sequence[LanePlan]) -> tuple[dict[str, str], list[LanePlan]]:
    """Lane label -> plain label, and the plain lanes: one per target and settings that matter to it."""
    plains: dict[tuple, LanePlan] = {}
    plain_of = {}
    several = len({plan.pair.target_info.dtype for plan in lanes}) > 1
    for plan in lanes:
        settings = plain_settings(plan.settings)
        key = (id(plan.pair.target), id(plan.pair.tokenizer), settings)
        if key not in plains:
            name = f"{PLAIN} {plan.pair.target_info.name}{f' {plan.pair.target_info.dtype}' if several else ''}"
            same = sum(p.label == name or p.label.startswith(f"{name} #") for p in plains.values())
            plains[key] = LanePlan(f"{name} #{same + 1}" if same else name, plan.pair, settings)
        plain_of[plan.label] = plains[key].label
    return plain_of, list(plains.values())


def _settings(plan: LanePlan, prompt: PromptText) -> Settings:
    return replace(plan.settings, chat=prompt.chat)


def _prompt_ids(plan: LanePlan | Outside, prompt: PromptText) -> list[int]:
    """What a lane or a reference starts from; without a chat template it is the text as it is, as in `speculate`."""
    chat = prompt.chat and plan.pair.has_chat_template
    return prompt_ids(plan.pair, prompt.text, replace(plan.settings, chat=chat))


def _require_plan(lanes: Sequence[LanePlan], prompts: Sequence[PromptText], repeats: int, block: int) -> None:
    labels, names = [plan.label for plan in lanes], [prompt.name for prompt in prompts]
    if not lanes or not prompts:
        raise SpecvizError("A measurement needs at least one lane and one prompt.")
    if len(set(labels)) < len(labels) or len(set(names)) < len(names):
        raise SpecvizError("Every lane and every prompt of a measurement needs a name of its own.")
    if any(label.split(" ")[0] == PLAIN for label in labels):
        raise SpecvizError(f"The name of a lane must not begin with the word {PLAIN}: plain lanes are added.")
    if repeats < 1 or block < 1:
        raise SpecvizError("A measurement needs at least one repeat and at least one token a turn.")


@contextmanager
def _naming(label: str) -> Iterator[None]:
    """Errors inside say which lane they are of."""
    try:
        yield
    except SpecvizError as error:
        raise SpecvizError(f"{label}: {error}", field=error.field) from None
