"""Transformers' own generation as a reference, on fair terms: the same models, ids, budget, ends and sampling.

Assisted generation gets exactly gamma assistant tokens in every round: a constant schedule and no confidence cut,
where its defaults are up to 20 tokens and a threshold. Nothing that a checkpoint's generation config sets
(penalties, top-k, ...) takes part. `generate` cannot be paused, so each decode is whole.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import torch
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer
from transformers.utils import logging

from specviz.models.forward import model_device, synchronize
from specviz.models.pair import Pair
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Reference
from specviz.trace.schema import Settings, Trace

Way = Literal["generate", "assisted", "prompt lookup"]
_WAYS: dict[str, Way] = {"draft-model": "assisted", "prompt-lookup": "prompt lookup"}
_WARM_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Outside:
    """One way of transformers to decode with a pair. settings: what our lane beside it has; lane: its label."""

    label: str
    way: Way
    pair: Pair
    settings: Settings
    lane: str = ""

    def warm_up(self, ids: Sequence[int]) -> None:
        """Decode a few tokens and throw them away."""
        few = min(self.settings.max_new_tokens, _WARM_TOKENS + self.settings.gamma)
        replace(self, settings=replace(self.settings, max_new_tokens=few)).decode(ids)

    def decode(self, ids: Sequence[int]) -> Reference:
        """One whole decode of prompt ids; the reference's prompt has no name yet. Raises SpecvizError."""
        arrivals = _Arrivals()
        inputs = torch.tensor([list(ids)], device=model_device(self.pair.target))
        try:
            with _quiet(), _config_of(self.pair.target, GenerationConfig()), self._assistant() as options:
                synchronize(self.pair.devices)
                self.pair.target.generate(
                    inputs, attention_mask=torch.ones_like(inputs), generation_config=self._config(len(ids)),
                    streamer=arrivals, **options,
                )  # fmt: skip
            return arrivals.reference(self.label)
        except Exception as error:
            reason = f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0][:200]}"
        # raised when the old error is gone: its frames hold the caches
        raise SpecvizError(f"{self.label} failed: {reason}")

    def _config(self, length: int) -> GenerationConfig:
        settings, ends = self.settings, sorted(self.pair.eos_ids)
        room = (self.pair.target_info.context or length + settings.max_new_tokens) - length
        sampling: dict[str, Any] = {"do_sample": False}
        if not settings.greedy:
            sampling = {"do_sample": True, "temperature": settings.temperature, "top_k": settings.top_k,
                        "top_p": settings.top_p, "min_p": settings.min_p or None}  # fmt: skip
        lookup = {"prompt_lookup_num_tokens": settings.gamma, "max_matching_ngram_size": settings.ngram_max}
        return GenerationConfig(
            max_new_tokens=min(settings.max_new_tokens, room),
            eos_token_id=ends or None,
            pad_token_id=ends[0] if ends else 0,
            repetition_penalty=settings.repetition_penalty,
            **sampling,
            **(lookup if self.way == "prompt lookup" else {}),
        )

    @contextmanager
    def _assistant(self) -> Iterator[dict[str, Any]]:
        """Options of `generate`; the random numbers of sampling start from the seed and end as if none was drawn."""
        devices = {d.index or 0 for d in self.pair.devices if d.type == "cuda"}
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(self.settings.seed)
            if self.way != "assisted":
                yield {}
                return
            # generate reads these from the assistant's own config, wherever else they are given
            constant = GenerationConfig(
                num_assistant_tokens=self.settings.gamma,
                num_assistant_tokens_schedule="constant",
                assistant_confidence_threshold=0.0,
            )
            with _config_of(self.pair.draft, constant):
                yield {"assistant_model": self.pair.draft}


def outside_lanes(lanes: Sequence[Any]) -> dict[str, Outside]:
    """What transformers can do beside these lanes (`bench.LanePlan`), by label.

    `generate` once for each target and sampling; assisted generation for a constant chain by a draft model; its
    prompt lookup for ours. With several targets the label names the target and its dtype. Raises SpecvizError for
    settings that transformers does not have.
    """
    several = len({id(plan.pair.target) for plan in lanes}) > 1
    ways: dict[tuple, Outside] = {}
    for plan in lanes:
        _require_known(plan.settings)
        for way in ("generate", *_counterpart(plan.settings)):
            outside = Outside("", way, plan.pair, plan.settings, plan.label)
            ways.setdefault(_key(outside), outside)
    named: dict[str, Outside] = {}
    for outside in ways.values():
        label = f"transformers {outside.way}"
        if outside.way != "generate":
            label += f", gamma {outside.settings.gamma}"
        if several:
            label += f", {outside.pair.target_info.name} {outside.pair.target_info.dtype}"
        same = sum(known == label or known.startswith(f"{label} #") for known in named)
        label += f" #{same + 1}" if same else ""
        named[label] = replace(outside, label=label)
    return named


def same_footing(label: str, trace: Trace) -> Reference:
    """Our own decode timed as a reference is: from the end of its first round on. Recording is left out of it."""
    first = len(trace.rounds[0].emitted) if trace.rounds else 0
    seconds = sum(r.timing.total for r in trace.rounds[1:])
    return Reference(label, "", list(trace.output_ids), seconds, first=first)


class _Arrivals(BaseStreamer):
    """When each token came out of `generate`; the first `put` is the prompt."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._ids: list[list[int]] = []

    def put(self, value: torch.Tensor) -> None:
        self._ids.append(value.flatten().tolist())  # on the CPU already, so what came before it is done
        self._times.append(perf_counter())

    def end(self) -> None:
        """Nothing is left to flush."""

    def reference(self, label: str) -> Reference:
        emitted, times = self._ids[1:], self._times[1:]
        ids = [token for chunk in emitted for token in chunk]
        return Reference(
            label, "", ids, times[-1] - times[0] if times else 0.0, first=len(emitted[0]) if emitted else 0
        )


@contextmanager
def _config_of(model: Any, config: GenerationConfig) -> Iterator[None]:
    """The model's generation config is `config` for a while: `generate` fills gaps from it."""
    own = model.generation_config
    model.generation_config = config
    try:
        yield
    finally:
        model.generation_config = own


@contextmanager
def _quiet() -> Iterator[None]:
    """Assisted generation warns of the arguments that it gives itself."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _counterpart(settings: Settings) -> list[Way]:
    chain = settings.gamma > 0 and not settings.tree and settings.draft_length == "constant"
    return [_WAYS[settings.method]] if chain and settings.method in _WAYS else []


def _key(outside: Outside) -> tuple:
    s = outside.settings
    shared = (id(outside.pair.target), s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty, s.seed,
              s.max_new_tokens, s.chat, s.control_tokens)  # fmt: skip
    if outside.way == "generate":
        return (outside.way, *shared)
    return (outside.way, *shared, s.gamma, id(outside.pair.draft) if outside.way == "assisted" else s.ngram_max)


def _require_known(settings: Settings) -> None:
    if settings.presence_penalty or settings.frequency_penalty or settings.stop:
        raise SpecvizError(
            "transformers' generate knows no presence or frequency penalty, and stops elsewhere at a stop text; leave "
            "them out, or measure without the references of transformers."
        )
