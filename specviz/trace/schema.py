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

FORMAT = "specviz-trace"
VERSION = 1
GREEDY_BELOW = 1e-5  # temperatures below this are greedy (one-hot) in every room

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0)]
TokenId = Annotated[int, Field(ge=0)]
Verdict = Literal["accepted", "rejected", "not_judged", "cut"]
Origin = Literal["accepted", "resampled", "bonus", "plain"]
Method = Literal["draft-model", "prompt-lookup", "composite", "early-exit", "medusa", "cross-tokenizer"]
Rule = Literal["rejection", "greedy-draft", "match", "block", "typical"]
DraftLength = Literal["constant", "confidence", "heuristic"]
Finish = Literal["running", "budget", "eos", "stop", "context", "stopped", "failed"]

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user chose. Every field takes part in both lanes; nothing else does.

    gamma: tokens drafted per round (0: plain decoding). temperature below 1e-5 is greedy. top_k 0 and
    top_p 1 and min_p 0 are off. repetition_penalty divides or multiplies logits of tokens seen in the
    prompt or the output (Keskar et al. 2019); presence and frequency penalties count the output only.
    top_n: how many entries of each distribution the trace keeps.
    method, rule: a key of `specviz.trace.methods`: who drafts, and what is accepted.
    draft_length: "constant" drafts exactly gamma; "confidence" stops after a token to which the proposer gave less
    than `confidence`; "heuristic" starts at gamma, then +2 after a full accept and -1 after a rejection.
    ngram_max, ngram_min, ngram_tie: prompt lookup, longest n-gram first; of equal ones the latest or the first.
    exit_layer: layers that draft in early exit (None: a quarter of them).
    tree: children per node at each depth, e.g. (3, 2); empty is a chain of gamma. With a tree its length is the depth.
    typical_epsilon, typical_delta: a token stands if p > min(epsilon, delta exp(-entropy)) (Medusa, sec. 2.3.1).
    chat: render the prompt with the target's chat template. control_tokens: text such as `<|im_end|>`
    typed in the prompt becomes the control token instead of its characters.
    """

    gamma: int = 4
    max_new_tokens: int = 64
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    chat: bool = False
    control_tokens: bool = False
    top_n: int = 8
    method: Method = "draft-model"
    rule: Rule = "rejection"
    draft_length: DraftLength = "constant"
    confidence: float = 0.4
    ngram_max: int = 3
    ngram_min: int = 1
    ngram_tie: Literal["latest", "first"] = "latest"
    exit_layer: int | None = None
    tree: tuple[int, ...] = ()
    typical_epsilon: float = 0.09
    typical_delta: float = 0.3
    __pydantic_config__ = _STRICT

    @property
    def greedy(self) -> bool:
        """Whether p and q are one-hot."""
        return self.temperature < GREEDY_BELOW


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
    residual_top: max(0, p - q) normalised, at a rejection only.
    parent: in a tree, the index in `drafted` of the token before this one, -1 for the sequence itself; None in a
    chain. p_left: in a tree, for a sibling tried after a rejected one: its probability in the residual that the
    siblings before it left, which takes the place of p in the rule.
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

    beta: mean over `positions` of sum min(p, q); agree: share of positions with the same arg max.
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
    """One proposal (0..gamma tokens) and one target pass.

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
