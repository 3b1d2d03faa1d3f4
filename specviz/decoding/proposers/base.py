"""What a proposer is: something that drafts, and is then told what became of its draft."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from specviz.decoding.clock import Clock
from specviz.decoding.sampling import Processor


@dataclass(slots=True)
class Proposal:
    """Drafted ids and the distribution each was drawn from.

    q: one row [W] fp32 per id, as processed; scores: the penalised logits row per id, for the record only.
    note: why fewer than asked were drafted, if a limit was the cause.
    """

    ids: list[int] = field(default_factory=list)
    q: list[Tensor] = field(default_factory=list)
    scores: list[Tensor] = field(default_factory=list)
    note: str | None = None

    def q_rows(self, p: Tensor) -> Tensor:
        """q as one tensor [k, W], like p [k+1, W]."""
        return torch.stack(self.q) if self.q else p[:0]


class Proposer(Protocol):
    """One object per run. Adding a method is adding a file here and a line in `registry`."""

    def prefill(self, ids: Sequence[int]) -> None:
        """Take in the prompt, except its last token."""

    def propose(
        self, sequence: Sequence[int], budget: int, uniforms: Sequence[float], processor: Processor, clock: Clock
    ) -> Proposal:
        """Draft at most `budget` tokens after `sequence`; one uniform per token; one `clock.step()` per token."""

    def settle(self, length: int) -> None:
        """The round is over: of the sequence that `propose` saw and its draft, the first `length` tokens stand."""
