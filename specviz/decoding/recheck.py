"""Greedy text against plain decoding on a set of prompts, and a first difference computed again in float32."""

import copy
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import torch

from specviz.decoding.loop import speculate
from specviz.decoding.plain import decode_plain
from specviz.decoding.sampling import Processor
from specviz.models.forward import Stepper, model_device
from specviz.models.memory import free_bytes, weight_bytes
from specviz.models.pair import Pair
from specviz.trace.checked import Compared, Recheck
from specviz.trace.measured import Decoded, PromptText
from specviz.trace.schema import Settings, Trace

LANE = "speculative"


def compare_greedy(
    pair: Pair, prompts: Sequence[PromptText], settings: Settings
) -> Generator[Compared | None, None, None]:
    """Decode every prompt greedily in both lanes: None after each round, a `Compared` when a prompt is done.

    The temperature of `settings` is set to 0. Where ids differ the place is computed again in float32. Closing the
    generator frees everything. Raises SpecvizError as `speculate`.
    """
    checker = Rechecker(pair)
    for prompt in prompts:
        trace = yield from _both_lanes(pair, prompt, replace(settings, temperature=0.0, chat=prompt.chat))
        yield Compared(Decoded(LANE, trace, prompt.name, prompt.kind), checker.recheck(trace))


def _both_lanes(pair: Pair, prompt: PromptText, settings: Settings) -> Generator[None, None, Trace]:
    with speculate(pair, prompt.text, settings) as run, decode_plain(pair, prompt.text, settings) as plain:
        run.trace.baseline = plain.trace
        for lane in (run, plain):
            for _ in lane:
                yield None
        return run.trace


class Rechecker:
    """Computes places of greedy traces again in float32; keeps the float32 copy of the target that it needs."""

    def __init__(self, pair: Pair) -> None:
        self._pair, self._exact = pair, None

    @torch.inference_mode()
    def recheck(self, trace: Trace) -> Recheck | None:
        """The scores of both lanes' ids where they first differ, from one pass over the whole prefix.

        None if no id differs. Where there can be no float32 copy, `problem` says why.
        """
        plain = trace.baseline
        pairs = enumerate(zip(trace.output_ids, plain.output_ids, strict=False))
        found = next(((place, ids) for place, ids in pairs if ids[0] != ids[1]), None)
        if found is None:
            return None
        place, (ours, theirs) = found
        if problem := self._problem():
            return Recheck(place, ours, theirs, problem=problem)
        written, model = trace.output_ids[:place], self._target()
        prefix = [*trace.prompt.ids, *written]
        processor = Processor(
            trace.settings, trace.prompt.ids, self._pair.width, self._pair.allowed, model_device(model)
        )
        processor.commit(written)
        scores = processor.scores(Stepper(model, len(prefix)).feed(prefix))[0]
        values = scores[[ours, theirs]].tolist()
        return Recheck(place, ours, theirs, *values, best_score=float(scores.max()))

    def _problem(self) -> str | None:
        """Why there can be no float32 copy."""
        model = self._pair.target
        if self._exact is not None or model.dtype == torch.float32:
            return None
        if getattr(model, "is_quantized", False):
            return "The target is quantised, so it was not computed again in float32."
        free = free_bytes(str(model_device(model)))
        needed = weight_bytes(model) * (1 + 4 // model.dtype.itemsize)  # the copy, and the copy in float32
        if free is not None and needed > free:
            return "There is no memory for a copy of the target in float32, so it was not computed again."
        return None

    def _target(self) -> Any:
        """The target in float32: itself, or a copy, as models are shared and never changed."""
        if self._pair.target.dtype == torch.float32:
            return self._pair.target
        if self._exact is None:
            self._exact = copy.deepcopy(self._pair.target).float()
        return self._exact
