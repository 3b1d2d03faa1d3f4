"""What a measurement leaves behind: decodes of named prompts by named lanes."""

from dataclasses import dataclass, field
from typing import Literal

from specviz.trace.schema import Trace

PromptKind = Literal["code", "prose", "edit", "question", "other"]


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt of a measurement. name: unique in its set. chat: render it with the target's chat template.

    origin: where the text comes from, in a few words.
    """

    name: str
    kind: PromptKind
    text: str
    chat: bool = False
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Decoded:
    """One decode of one prompt by one lane.

    lane: the lane's label. repeat: counts from 0; repeats of a prompt have the same settings, the seed included.
    trace.baseline: the plain decode of the same prompt and repeat that ran in turn with it; several lanes of one
    target share it. memory: bytes of weights and key-value buffers that this decode held; None if not counted.
    """

    lane: str
    trace: Trace
    prompt: str
    kind: PromptKind = "other"
    repeat: int = 0
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """One decode of one prompt by another program (transformers' generate): no rounds, only text and time.

    first: tokens that came out at once with the first one (assisted generation emits a whole round at a time).
    seconds: from then to the last token, so prefill is apart; they hold len(output_ids) - first tokens.
    beside: labels of the lanes of the same target and sampling, whose plain lane it is compared with; empty: any lane.
    """

    lane: str
    prompt: str
    output_ids: list[int]
    seconds: float
    kind: PromptKind = "other"
    repeat: int = 0
    first: int = 1
    beside: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Repeated times of one kind of forward pass, warm and synchronised, in seconds.

    part: the target, or what drafts. width: tokens fed at once (1 is a plain step). context: tokens in the cache.
    """

    part: Literal["target", "draft"]
    width: int
    seconds: list[float]
    context: int = 0
