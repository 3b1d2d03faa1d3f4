"""What the page asks of the rooms below it. Importing this module does not import torch."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from specviz.models.catalog import CatalogEntry, entries, find
from specviz.models.prompt_sets import kinds, load_set
from specviz.trace.checked import Compared, Fault, Place, Tally
from specviz.trace.choices import Rule
from specviz.trace.errors import SpecvizError
from specviz.trace.findings import Finding
from specviz.trace.measured import Decoded, PromptKind, PromptText, Reference, StepTimes
from specviz.trace.schema import Round, Settings, Trace

_SMALL_CONTEXT = 1024  # tokens: a pair whose weights and caches for so few do not fit is refused


class Race(Protocol):
    """Both lanes of a run, as specviz.decoding.race makes it."""

    trace: Trace

    def __iter__(self) -> Iterator[tuple[str, Round]]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


class MeasuredStep(Protocol):
    """One round of one lane: its label, the prompt's name, the repeat from 0."""

    lane: str
    prompt: str
    repeat: int
    record: Round


class Measurement(Protocol):
    """Lanes that decode the same prompts in turns, as specviz.decoding.bench makes it; None while it warms up."""

    decoded: list[Decoded]
    references: list[Reference]
    failed: dict[str, str]
    plain_of: dict[str, str]
    traces: dict[str, Trace]
    done: int
    of: int

    def __iter__(self) -> Iterator[MeasuredStep | None]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


class Sampling(Protocol):
    """Draws at one place of a text, as specviz.decoding.lossless makes them: tallies, and None while one is made."""

    place: Place

    def __iter__(self) -> Iterator[Tally | None]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


@dataclass(frozen=True, slots=True)
class LaneOf:
    """A lane of a measurement; label: unique."""

    label: str
    pair: Any
    settings: Settings


def _load(key: str, dtype: str | None = None) -> Any:
    from specviz.models.loading import load_pair

    if not find(key).embedded:  # too large a model would take the whole page with it
        for finding in _examine(key, dtype, _SMALL_CONTEXT):
            if finding.topic == "memory" and finding.level == "fault":
                raise SpecvizError(f"{finding.sentence} {finding.advice}".strip(), field="pair")
    return load_pair(key, dtype=dtype, strict=False)


def _race(pair: Any, prompt: str, settings: Settings, plain: bool) -> Race:
    from specviz.decoding.race import race

    return race(pair, prompt, settings, plain)


def _measure(lanes: Sequence[LaneOf], prompts: Sequence[PromptText], repeats: int) -> Measurement:
    from specviz.decoding.bench import LanePlan, measure

    return measure([LanePlan(lane.label, lane.pair, lane.settings) for lane in lanes], prompts, repeats)


def _step_times(
    pair: Any, settings: Settings, widths: Sequence[int], context: int, repeats: int, tick: Callable[[], None]
) -> list[StepTimes]:
    from specviz.decoding.widths import step_times

    return step_times(pair, settings, widths, context, repeats, tick)


def _examine(key: str, dtype: str | None = None, context: int | None = None) -> list[Finding]:
    from specviz.models.doctor import examine

    entry = find(key)
    return examine(
        entry.target, entry.draft, tokenizer=entry.tokenizer, others=entry.others, dtype=dtype, context=context
    )


def _sample_place(
    pair: Any, prompt: str, rules: Sequence[Rule | Fault], draws: int, settings: Settings, tokens: int, every: int
) -> Sampling:
    from specviz.decoding.lossless import sample_place

    return sample_place(pair, prompt, rules, draws, settings, tokens=tokens, every=every)


def _compare_greedy(
    pair: Any, prompts: Sequence[PromptText], settings: Settings
) -> Generator[Compared | None, None, None]:
    from specviz.decoding.recheck import compare_greedy

    return compare_greedy(pair, prompts, settings)


@dataclass(frozen=True, slots=True)
class Engine:
    """What the page may ask for; all but the first three have the local engine's answer unless told otherwise.

    entries: the pairs there are. load: a pair by key, and by dtype if one is given. race: (pair, prompt, settings,
    plain lane?). measure: (lanes, prompts, repeats). step_times: (pair, settings, widths, context, repeats, tick).
    prompt_kinds, prompt_set: the kinds of prompts there are, and the prompts of one. examine: what the doctor finds
    about a pair by key and dtype, without loading it. sample_place: (pair, prompt, rules, draws, settings, tokens,
    every). compare_greedy: (pair, prompts, settings).
    """

    entries: Callable[[], list[CatalogEntry]]
    load: Callable[..., Any]
    race: Callable[[Any, str, Settings, bool], Race]
    measure: Callable[[Sequence[LaneOf], Sequence[PromptText], int], Measurement] = _measure
    step_times: Callable[..., list[StepTimes]] = _step_times
    sample_place: Callable[..., Sampling] = _sample_place
    compare_greedy: Callable[..., Generator[Compared | None, None, None]] = _compare_greedy
    examine: Callable[[str, str | None], list[Finding]] = _examine
    prompt_kinds: Callable[[], list[PromptKind]] = kinds
    prompt_set: Callable[[str], list[PromptText]] = load_set


def local_engine() -> Engine:
    """The engine of this process; torch is imported at the first load."""
    return Engine(entries, _load, _race)
