"""Depths of a draft: in a chain the place in the round, in a tree the distance from the sequence. Depth 1 is first."""

from specviz.trace.methods import used_settings
from specviz.trace.schema import Drafted, Round, Settings
from specviz.trace.settings import node_count

_JUDGED = ("accepted", "rejected")


def is_tree(record: Round) -> bool:
    """Whether the round drafted a tree: its tokens name the token before them."""
    return bool(record.drafted) and record.drafted[0].parent is not None


def depths(record: Round) -> list[int]:
    """Depth of every drafted token, in the order of `drafted`."""
    found: list[int] = []
    for place, token in enumerate(record.drafted):
        before = place - 1 if token.parent is None else token.parent
        found.append(1 if before < 0 else found[before] + 1)
    return found


def drafted_depth(record: Round) -> int:
    """How many tokens one path of the draft could have added at most."""
    return max(depths(record), default=0)


def tried_first(record: Round) -> list[Drafted]:
    """The first judged token of each depth that was judged, in order: in a chain, all judged tokens."""
    first: dict[int, Drafted] = {}
    for depth, token in zip(depths(record), record.drafted, strict=True):
        if token.verdict in _JUDGED:
            first.setdefault(depth, token)
    return [first[depth] for depth in sorted(first)]


def drafts_trees(settings: Settings) -> bool:
    """Whether a run with these settings drafts trees."""
    asked = settings.tree and settings.gamma
    return bool(asked) and "tree" in used_settings(settings.method, settings.rule)


def full_draft(settings: Settings) -> int:
    """Tokens that a round drafts if no limit cuts it: gamma, or all nodes of the tree."""
    return node_count(settings.tree) if drafts_trees(settings) else settings.gamma
