"""What the user chooses for a run: the settings, and the names of methods, rules and draft lengths."""

from dataclasses import dataclass
from math import exp
from typing import Literal

from pydantic import ConfigDict

GREEDY_BELOW = 1e-5  # temperatures below this are greedy (one-hot) in every room

Method = Literal["draft-model", "prompt-lookup", "composite", "early-exit", "medusa", "cross-tokenizer"]
Rule = Literal["rejection", "greedy-draft", "match", "block", "typical"]
DraftLength = Literal["constant", "confidence", "heuristic"]


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
    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    @property
    def greedy(self) -> bool:
        """Whether p and q are one-hot."""
        return self.temperature < GREEDY_BELOW

    def typical_threshold(self, entropy: float) -> float:
        """What p(x) must exceed under typical acceptance, for the entropy of p in nats (Medusa, sec. 2.3.1)."""
        return min(self.typical_epsilon, self.typical_delta * exp(-entropy))
