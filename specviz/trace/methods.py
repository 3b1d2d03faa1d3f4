"""The methods and rules by name: what each is, who uses it, and which settings it listens to. Plain data."""

from dataclasses import dataclass

from specviz.trace.choices import Method, Rule, Settings


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """A way to draft. uses: names of the settings that only some methods listen to. trees: can draft trees.

    needs: what the pair must have ("draft", "medusa", "foreign" or nothing beyond the target).
    """

    title: str
    about: str
    uses: frozenset[str]
    needs: str | None = None
    trees: bool = False


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """A rule of acceptance. exact: the output keeps the target's distribution. used_by: who decodes with it.

    argmax: the proposer drafts its arg max, and q is one-hot. trees: judges trees as well as chains.
    """

    title: str
    about: str
    used_by: str
    exact: bool = True
    argmax: bool = False
    trees: bool = True
    uses: frozenset[str] = frozenset()


_STEPWISE = frozenset({"gamma", "draft_length", "confidence"})  # drafts token by token and knows its own probability
_NGRAM = frozenset({"ngram_max", "ngram_min", "ngram_tie"})

METHODS: dict[Method, MethodInfo] = {
    "draft-model": MethodInfo(
        "Draft model",
        "A smaller model of the same vocabulary drafts, one token a step.",
        _STEPWISE | {"tree"},
        needs="draft",
        trees=True,
    ),
    "prompt-lookup": MethodInfo(
        "Prompt lookup",
        "No model drafts: what followed the same last words earlier in the text is proposed again.",
        _NGRAM | {"gamma", "draft_length"},
    ),
    "composite": MethodInfo(
        "Lookup, else draft model",
        "Prompt lookup where it finds a match, the draft model where it does not.",
        _STEPWISE | _NGRAM,
        needs="draft",
    ),
    "early-exit": MethodInfo(
        "Early exit",
        "The target's own first layers draft, with its final norm and output layer.",
        _STEPWISE | {"exit_layer"},
    ),
    "medusa": MethodInfo(
        "Medusa heads",
        "Small heads on the target's last hidden state each guess one of the next tokens at once.",
        frozenset({"gamma", "draft_length", "tree"}),
        needs="medusa",
        trees=True,
    ),
    "cross-tokenizer": MethodInfo(
        "Draft with another tokenizer",
        "A draft with its own vocabulary proposes only tokens that both vocabularies spell alike.",
        _STEPWISE,
        needs="foreign",
    ),
}

RULES: dict[Rule, RuleInfo] = {
    "rejection": RuleInfo(
        "Rejection sampling",
        "Accept with probability min(1, p/q); at the first rejection draw from max(0, p - q).",
        "Leviathan et al. 2023, Chen et al. 2023; transformers, vLLM (probabilistic drafts)",
    ),
    "greedy-draft": RuleInfo(
        "Greedy draft",
        "The proposer drafts its most likely token and q is one-hot: accept with probability p(x).",
        "vLLM's default",
        argmax=True,
    ),
    "match": RuleInfo(
        "Sample and match",
        "The target draws its own token at each place; the draft stands as long as it is the same.",
        "mlx-lm, llama.cpp",
    ),
    "block": RuleInfo(
        "Block verification",
        "The whole block is judged at once and the longest passing prefix stands; never shorter in expectation.",
        "Sun et al. 2024",
        trees=False,
    ),
    "typical": RuleInfo(
        "Typical acceptance",
        "A draft stands if p(x) exceeds min(epsilon, delta exp(-entropy of p)). This changes the output.",
        "Medusa (Cai et al. 2024)",
        exact=False,
        uses=frozenset({"typical_epsilon", "typical_delta"}),
    ),
}


# settings that only some methods and rules listen to; the others are for every run
OPTIONAL = frozenset[str]().union(*(info.uses for info in (*METHODS.values(), *RULES.values())))


def used_settings(method: Method, rule: Rule, settings: Settings | None = None) -> frozenset[str]:
    """Which of the settings that only some methods or rules use take part in this combination.

    With `settings` also what their values switch off: no confidence without its policy, no gamma with a tree.
    """
    used = METHODS[method].uses | RULES[rule].uses
    if not (METHODS[method].trees and RULES[rule].trees):
        used -= {"tree"}
    if settings is not None:
        if settings.tree and "tree" in used:
            used -= {"gamma", "draft_length", "confidence"}
        elif settings.draft_length != "confidence":
            used -= {"confidence"}
    return used
