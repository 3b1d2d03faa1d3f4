"""The target's own first layers draft, with its final norm and head (LayerSkip, Elhoushi et al. 2024)."""

from collections.abc import Sequence

from torch import Tensor

from specviz.decoding.lens import exit_lens
from specviz.decoding.proposers.base import Context, Draft, Proposer
from specviz.models.layers import Split, require_split
from specviz.models.pair import Pair
from specviz.trace.schema import Settings, Trace
from specviz.trace.settings import exit_layer


class EarlyExit(Proposer):
    """Drafts one token a step with the lower layers, in the target's own cache; the upper layers go on from there.

    `check` refuses an exit layer that the target does not have, and a target that cannot be cut.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        target = context.pair.target_info
        count = exit_layer(context.settings.exit_layer, target.layers)
        self._split = Split(context.target, count)

    @classmethod
    def check(cls, pair: Pair, settings: Settings) -> None:
        count = exit_layer(settings.exit_layer, pair.target_info.layers)
        require_split(pair.target, count, pair.target_info.name)

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        token = sequence[-1]  # the one that the target's cache does not hold yet
        while draft.open:
            token = draft.choose(self._split.draft([token]))

    def verify(self, ids: Sequence[int], parents: Sequence[int] | None) -> Tensor:
        """The target's logits after each of `ids`; the lower layers run only on what drafting did not run."""
        return self._split.finish(ids)

    def conclude(self, trace: Trace) -> None:
        """How every possible exit would have agreed with the target on this output."""
        if trace.output_ids:
            ids = [*trace.prompt.ids, *trace.output_ids]
            trace.lens = exit_lens(self.context.pair, ids, self.context.settings, len(trace.prompt.ids))
