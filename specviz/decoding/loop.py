"""speculate(): speculative decoding as an iterator of rounds. Leviathan et al. 2023; Chen et al. 2023."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from traceback import format_exception

import torch
from torch import Tensor

from specviz.decoding.acceptance import JUDGES, Judged
from specviz.decoding.clock import Clock
from specviz.decoding.lengths import DraftLength
from specviz.decoding.proposers.base import Context, Draft, Proposal, Proposer
from specviz.decoding.proposers.registry import PROPOSERS
from specviz.decoding.recorder import Facts, record
from specviz.decoding.run import Buffers, Rounds, Run
from specviz.decoding.sampling import Processor
from specviz.decoding.stopping import Ending
from specviz.models.forward import Stepper, model_device, synchronize
from specviz.models.pair import Pair
from specviz.models.prompt import prompt_ids
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import used_settings
from specviz.trace.schema import Prompt, Round, Settings, Trace, round_ids
from specviz.trace.settings import node_count, require_valid

logger = logging.getLogger(__name__)


def speculate(pair: Pair, prompt: str | Sequence[int], settings: Settings | None = None) -> Run:
    """Start a speculative run by settings.method and settings.rule: each step of the returned Run is one round.

    With gamma 0 nothing drafts and every round is plain. Raises SpecvizError, before any forward pass, for a bad
    setting, an empty or too long prompt, or a pair that the method cannot use.
    """
    settings = settings or Settings()
    require_valid(settings)
    settings = _only_used(settings)
    if settings.gamma == 0:
        return start_plain(pair, prompt, settings)
    if problem := pair.why_not(settings.method):
        raise SpecvizError(problem, field="method")
    if settings.tree and (problem := pair.tree_problem):
        raise SpecvizError(f"This target cannot judge trees: {problem}. Leave the tree empty.", field="tree")
    PROPOSERS[settings.method].check(pair, settings)
    return _start(pair, prompt, settings, settings.method, settings.rule, PROPOSERS[settings.method])


def start_plain(pair: Pair, prompt: str | Sequence[int], settings: Settings) -> Run:
    """Start a run in which nothing drafts; errors as `speculate`."""
    require_valid(settings)
    return _start(pair, prompt, settings, "plain", "none", None)


def _only_used(settings: Settings) -> Settings:
    """Settings that this method and rule do not listen to go back to their defaults; a tree says how deep gamma is."""
    used, plain = used_settings(settings.method, settings.rule), Settings()
    if "tree" not in used:
        settings = replace(settings, tree=plain.tree)
    if "draft_length" not in used or settings.tree:
        settings = replace(settings, draft_length=plain.draft_length)
    if "confidence" not in used and settings.draft_length == "confidence":
        settings = replace(settings, draft_length=plain.draft_length)
    return replace(settings, gamma=len(settings.tree)) if settings.tree and settings.gamma else settings


def _start(
    pair: Pair, prompt: str | Sequence[int], settings: Settings, method: str, rule: str, make: type[Proposer] | None
) -> Run:
    notes = []
    if settings.chat and not pair.has_chat_template:
        settings = replace(settings, chat=False)
        notes = [f"{pair.target_info.name} has no chat template, so the text was sent as it is."]
    ids = prompt_ids(pair, prompt, settings)
    trace = Trace(
        settings=settings,
        provenance=pair.provenance(method, rule),
        prompt=Prompt(ids, prompt if isinstance(prompt, str) else None),
        pieces=pair.text.pieces(ids),
    )
    trace.provenance.notes += notes
    return Run(trace, lambda buffers: _rounds(pair, trace, make, buffers))


def _rounds(pair: Pair, trace: Trace, make_proposer: type[Proposer] | None, buffers: Buffers) -> Rounds:
    sequence = _Sequence(pair, trace, make_proposer)
    sequence.prefill()
    while trace.finish == "running":
        done = sequence.round()
        buffers.most = max(buffers.most, sequence.bytes)
        yield done
    if sequence.proposer:
        _conclude(sequence.proposer, trace)


def _conclude(proposer: Proposer, trace: Trace) -> None:
    """What can be said of the run as a whole; the run has ended well even if that fails."""
    try:
        proposer.conclude(trace)
    except Exception as error:
        logger.error("the run ended, what follows it failed\n%s", "".join(format_exception(error)))
        trace.provenance.notes.append(f"What is measured after the run is missing: {type(error).__name__}.")


class _Sequence:
    """One sequence under decoding: its ids, everything that follows them, and its trace.

    Invariant: when a round begins, the target's cache holds all ids but the last, the draft's a prefix of them.
    """

    def __init__(self, pair: Pair, trace: Trace, make_proposer: type[Proposer] | None) -> None:
        self.pair, self.trace, self.ids = pair, trace, list(trace.prompt.ids)
        settings = trace.settings
        room = (pair.target_info.context or len(self.ids) + settings.max_new_tokens) - len(self.ids)
        self.ending = Ending(settings, pair.eos_ids, pair.text, room)
        capacity = len(self.ids) + max(1, self.ending.budget)
        # a tree holds its rejected branches until the round is over
        self.target = Stepper(pair.target, capacity + node_count(settings.tree))
        self.proposer = make_proposer(Context(pair, settings, self.target, capacity)) if make_proposer else None
        self.length = DraftLength(settings)
        self.judge = JUDGES[settings.rule]
        self.processor = Processor(settings, self.ids, pair.width, pair.allowed, model_device(pair.target))
        # one generator per run; on the CPU whatever the device, so that a seed means the same everywhere
        self.random = torch.Generator().manual_seed(settings.seed)
        self.output = bytearray()

    @property
    def bytes(self) -> int:
        """Of all key-value buffers."""
        return self.target.bytes + (self.proposer.bytes if self.proposer else 0)

    def prefill(self) -> None:
        """All but the last prompt token into both caches: the same split in every method, off the decode clock."""
        begun = perf_counter()
        if self.ids[:-1] and self.ending.budget > 0:
            self.target.absorb(self.ids[:-1])
            if self.proposer:
                self.proposer.prefill(self.ids[:-1])
        synchronize(self.pair.devices)
        self.trace.prefill = perf_counter() - begun
        self.trace.finish = self.ending.finish

    @torch.inference_mode()
    def round(self) -> Round:
        """Draft, verify, judge, emit, roll back; then, off the clock, record."""
        clock, start = Clock(partial(synchronize, self.pair.devices)), len(self.ids)
        proposal, judges, draw = self._propose(clock)
        logits = self._verify([self.ids[-1], *proposal.ids], proposal)  # [n+1, V]
        clock.mark("verify")
        paths = [proposal.path_ids(node) for node in range(-1, len(proposal.ids))]
        scores = self.processor.scores(logits, paths)
        p = self.processor.probabilities(scores)  # row 0 follows the sequence, row j+1 node j
        judged = Judged(p, proposal.q_rows(p), proposal, judges, draw, self.trace.settings)
        outcome = self.judge(judged)
        clock.mark("sampling")
        standing = self._emit([*(proposal.ids[node] for node in outcome.path), outcome.token], outcome.path, proposal)
        timing = clock.timing()
        rows = record(Facts(judged, scores, outcome), standing, self.trace.settings)
        notes = {"note": proposal.note, "copied": proposal.copied, "by": proposal.by if proposal.ids else None}
        done = Round(len(self.trace.rounds), start, *rows, timing, **notes)
        self._append(done)
        timing.recording = max(0.0, clock.elapsed() - timing.total)
        return done

    def _propose(self, clock: Clock) -> tuple[Proposal, list[float], float]:
        """The draft, one uniform per node to judge it by, and the uniform of the token that follows."""
        settings = self.trace.settings
        budget = min(self.length.gamma, self.ending.budget - 1) if self.proposer else 0
        nodes = node_count(settings.tree[:budget]) if settings.tree else budget
        uniforms = torch.rand(2 * nodes + 1, generator=self.random, dtype=torch.float64).tolist()
        draft = Draft(settings, self.processor, clock, self.pair.eos_ids, budget, uniforms[:nodes])
        if budget > 0:
            self.proposer.propose(self.ids, draft)
            clock.skip()  # looking for a draft and finding none is not verification
        return draft.proposal, uniforms[nodes : 2 * nodes], uniforms[-1]

    def _verify(self, ids: list[int], proposal: Proposal) -> Tensor:
        parents = [-1, *(parent + 1 for parent in proposal.parents)] if proposal.tree else None
        if self.proposer:
            return self.proposer.verify(ids, parents)
        return self.target.feed(ids, keep=len(ids))

    def _emit(self, tokens: list[int], path: list[int], proposal: Proposal) -> int:
        """Append what stands of `tokens`; drop the rest from all caches. Returns how many stand."""
        standing = self.ending.cut(tokens)
        self.ids += tokens[:standing]
        self.processor.commit(tokens[:standing])
        path = path[: standing - 1]  # nodes that stay in the cache: the last token never does
        if proposal.tree:
            self.target.keep_path([0, *(node + 1 for node in path)])
        else:
            self.target.rollback(self.target.length - (len(self.ids) - 1))
        if self.proposer:
            self.proposer.settle(len(self.ids) - 1, path)
        return standing

    def _append(self, done: Round) -> None:
        trace, ids = self.trace, [e.id for e in done.emitted]
        trace.rounds.append(done)
        trace.output_ids += ids
        self.output += b"".join(map(self.pair.text.to_bytes, ids))
        trace.output_text = self.output.decode(errors="replace")
        trace.pieces |= self.pair.text.pieces(round_ids(done) - trace.pieces.keys())
        trace.finish = self.ending.finish
        self.length.learn(done)
