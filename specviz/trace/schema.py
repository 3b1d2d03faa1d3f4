"""The trace: the records of a run and their meaning.

A trace is the product's currency: the page, the charts, the command line, exports and importers all
speak it. The records are standard dataclasses; `specviz.trace.files` reads, checks and writes them.

Notation: p is the target's distribution, q the proposer's, both after the same processing
(penalties, temperature, top-k, top-p, min-p). Probabilities are in [0, 1], entropies in nats, times in
seconds on the lane's own clock. Leviathan et al. 2023 (arXiv 2211.17192); Chen et al. 2023 (2302.01318).
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from specviz.trace.choices import Settings

FORMAT = "specviz-trace"
VERSION = 1

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0)]
TokenId = Annotated[int, Field(ge=0)]
Verdict = Literal["accepted", "rejected", "not_judged", "cut"]
Origin = Literal["accepted", "resampled", "bonus", "plain"]
Finish = Literal["running", "budget", "eos", "stop", "context", "stopped", "failed"]

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(slots=True)
class Top:
    """The largest entries of a distribution, largest first, and the mass of the rest: they sum to 1."""

    ids: list[TokenId]
    probs: list[Probability]
    rest: Probability
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Drafted:
    """One drafted token and what the rule said of it.

    p, q: probability of this token under target and proposer. accept_prob: what the rule of the run compares the
    uniform with; min(1, p/q) for rejection. uniform: the number in [0, 1) it was compared with (accepted if uniform <
    accept_prob); None if not judged, or if the rule draws no number for it (match, typical). With block verification
    every draft before one that passes stands with it. beta: sum over the vocabulary of min(p, q) at this position.
    residual_top: at a rejection only, what the next try or the token is drawn from: max(0, p - q) normalised; after
    earlier siblings with what they left in place of p; for match p without the tried tokens, for block max(0, m p - q),
    for typical p itself. Not judged is also what a rule's order skips: a typical node off the accepted path, the tail
    of a block.
    parent: in a tree, the index in `drafted` of the token before this one, -1 for the sequence itself; None in a
    chain. p_left: in a tree, for a later sibling: its probability in what the siblings before it leave when they are
    rejected, which takes the place of p in the rule (beta of a later sibling is still over the whole p).
    match: sum over the vocabulary of p times q (chance that two independent draws agree); best: p of the token that
    q prefers; block: acceptance probability of block verification here (chains only). kept: with another
    tokenizer, the mass of the draft's distribution on tokens that both vocabularies share.
    target_top, draft_top: softmax at temperature 1 of the scores whose largest greedy takes (penalties included); kept
    for greedy runs, where p and q are one-hot.
    """

    id: TokenId
    p: Probability
    q: Probability
    accept_prob: Probability
    verdict: Verdict
    beta: Probability
    entropy_p: float
    entropy_q: float
    p_top: Top
    q_top: Top
    uniform: Probability | None = None
    residual_top: Top | None = None
    target_top: Top | None = None
    draft_top: Top | None = None
    parent: Annotated[int, Field(ge=-1)] | None = None
    p_left: Probability | None = None
    match: Probability | None = None
    best: Probability | None = None
    block: Probability | None = None
    kept: Probability | None = None
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Copied:
    """Drafted token i is a copy of position start + i; the `matched` tokens before `start` end the sequence too."""

    start: Annotated[int, Field(ge=1)]
    matched: Annotated[int, Field(ge=1)]
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Exit:
    """One row of the early-exit lens: how the model's first `layers` layers agree with all of them.

    p and q as in the run but without penalties; of a greedy run at temperature 1 without filters. beta: mean
    over `positions` of sum min(p, q); agree: share of positions with the same arg max.
    """

    layers: Annotated[int, Field(ge=1)]
    beta: Probability
    agree: Probability
    positions: Annotated[int, Field(ge=1)]
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Emitted:
    """One token that entered the output, and where it came from.

    p: its probability under the target. p_top, entropy_p: the target's distribution it came from; None for an
    accepted draft or a resampled token, whose distribution stands in the drafted record of the same place.
    gap: difference of the two largest target scores (logits after penalties) at this place: a near-tie if small.
    fallback: the residual had no mass (rounding), so the token was drawn from p itself.
    """

    id: TokenId
    origin: Origin
    p: Probability
    gap: float | None = None
    p_top: Top | None = None
    entropy_p: float | None = None
    target_top: Top | None = None
    fallback: bool = False
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Timing:
    """Seconds of one round on the lane's clock; recording is not on the clock and stated beside it.

    draft: one entry per draft step. other: everything in the round that is none of the rest.
    """

    draft: list[Seconds]
    verify: Seconds
    sampling: Seconds
    other: Seconds
    recording: Seconds = 0.0
    __pydantic_config__ = _STRICT

    @property
    def total(self) -> float:
        """Seconds of the round, recording left out."""
        return sum(self.draft) + self.verify + self.sampling + self.other


@dataclass(slots=True)
class Round:
    """One proposal (a chain of 0..gamma tokens, or a tree) and one target pass.

    start: length of the sequence (prompt and output) when the round began.
    note: why fewer than gamma tokens were drafted, if a limit and not the budget was the cause.
    copied: where the draft was copied from, if it was. by: which part of a composite drafted.
    """

    index: int
    start: int
    drafted: list[Drafted]
    emitted: list[Emitted]
    timing: Timing
    note: str | None = None
    copied: Copied | None = None
    by: str | None = None
    __pydantic_config__ = _STRICT

    @property
    def judged(self) -> int:
        """Drafted tokens up to and including the first rejection."""
        return sum(d.verdict in ("accepted", "rejected") for d in self.drafted)

    @property
    def accepted(self) -> int:
        """Drafted tokens that were accepted and stand in the output."""
        return sum(d.verdict == "accepted" for d in self.drafted)


@dataclass(slots=True)
class Piece:
    """How one token id is shown. text: its true text; for kind "bytes" (part of a character) hex pairs."""

    text: str
    kind: Literal["text", "bytes", "control"] = "text"
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class ModelInfo:
    """A model of the run, as it was loaded."""

    name: str
    family: str
    parameters: int
    layers: int
    vocab: int
    dtype: str
    device: str
    context: int | None = None
    revision: str | None = None
    source: str | None = None
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Provenance:
    """Where the figures come from: enough to run it again."""

    date: str
    specviz: str
    torch: str
    transformers: str
    python: str
    machine: str
    threads: int
    method: str
    rule: str
    target: ModelInfo
    draft: ModelInfo | None = None
    pair: str | None = None
    notes: list[str] = field(default_factory=list)
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Prompt:
    """The prompt as text (what the user typed) and as the ids that every lane was given."""

    ids: list[TokenId]
    text: str | None = None
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Trace:
    """One lane of decoding, start to end; `baseline` is the plain lane that ran beside it.

    pieces: display piece of every id that occurs anywhere in this trace. output_text: the exact decoded
    output. prefill: seconds for the prompt, off the decode clock. finish: why it ended; `failure` is the
    sentence if it failed. title, about: for recorded examples, what to look at.
    """

    settings: Settings
    provenance: Provenance
    prompt: Prompt
    pieces: dict[TokenId, Piece]
    rounds: list[Round] = field(default_factory=list)
    output_ids: list[TokenId] = field(default_factory=list)
    output_text: str = ""
    prefill: Seconds = 0.0
    finish: Finish = "running"
    failure: str | None = None
    title: str | None = None
    about: str | None = None
    lens: list[Exit] | None = None
    draft_cut: list[str] | None = None
    baseline: "Trace | None" = None
    format: Literal["specviz-trace"] = FORMAT
    version: Literal[1] = VERSION
    __pydantic_config__ = _STRICT


def round_ids(record: Round) -> set[int]:
    """Every token id that a round mentions."""
    ids = {e.id for e in record.emitted} | {d.id for d in record.drafted}
    tops = [t for e in record.emitted for t in (e.p_top, e.target_top)]
    tops += [t for d in record.drafted for t in (d.p_top, d.q_top, d.residual_top, d.target_top, d.draft_top)]
    return ids.union(*(t.ids for t in tops if t))
