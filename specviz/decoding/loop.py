"""speculate(): speculative decoding as an iterator of rounds. Leviathan et al. 2023; Chen et al. 2023."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

import torch

from specviz.decoding.acceptance import rejection
from specviz.decoding.clock import Clock
from specviz.decoding.proposers.base import Proposal
from specviz.decoding.proposers.registry import PROPOSERS, MakeProposer
from specviz.decoding.recorder import Facts, record
from specviz.decoding.run import Rounds, Run
from specviz.decoding.sampling import Processor
from specviz.decoding.stopping import Ending
from specviz.models.forward import Stepper, model_device, synchronize
from specviz.models.pair import Pair
from specviz.models.prompt import prompt_ids
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Prompt, Round, Settings, Trace, round_ids
from specviz.trace.settings import require_valid


def speculate(
    pair: Pair, prompt: str | Sequence[int], settings: Settings | None = None, method: str = "draft-model"
) -> Run:
    """Start a speculative run: each step of the returned Run is one round.

    With gamma 0 no draft takes part and every round is plain. Raises SpecvizError, before any forward pass, for
    a bad setting, an empty or too long prompt, or a pair without a usable draft.
    """
    settings = settings or Settings()
    if method != "plain" and method not in PROPOSERS:
        raise SpecvizError(f"There is no method {method[:40]!r}; choose one of {', '.join(PROPOSERS)}.", field="method")
    if settings.gamma == 0 or method == "plain":
        return _start(pair, prompt, settings, "plain", "none")
    if pair.draft is None:
        raise SpecvizError(pair.draft_problem or "No draft model is loaded; choose a pair that has one.")
    return _start(pair, prompt, settings, method, "rejection")


def _start(pair: Pair, prompt: str | Sequence[int], settings: Settings, method: str, rule: str) -> Run:
    require_valid(settings)
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
    return Run(trace, lambda: _rounds(pair, trace, PROPOSERS.get(method)))


def _rounds(pair: Pair, trace: Trace, make_proposer: MakeProposer | None) -> Rounds:
    sequence = _Sequence(pair, trace, make_proposer)
    sequence.prefill()
    while trace.finish == "running":
        yield sequence.round()


class _Sequence:
    """One sequence under decoding: its ids, everything that follows them, and its trace.

    Invariant: when a round begins, the target's cache holds all ids but the last, the draft's a prefix of them.
    """

    def __init__(self, pair: Pair, trace: Trace, make_proposer: MakeProposer | None) -> None:
        self.pair, self.trace, self.ids = pair, trace, list(trace.prompt.ids)
        settings = trace.settings
        room = (pair.target_info.context or len(self.ids) + settings.max_new_tokens) - len(self.ids)
        self.ending = Ending(settings, pair.eos_ids, pair.text, room)
        capacity = len(self.ids) + max(1, self.ending.budget)
        self.target = Stepper(pair.target, capacity)
        self.proposer = make_proposer(pair, capacity) if make_proposer else None
        self.processor = Processor(settings, self.ids, pair.width, pair.allowed, model_device(pair.target))
        # one generator per run; on the CPU whatever the device, so that a seed means the same everywhere
        self.random = torch.Generator().manual_seed(settings.seed)
        self.output = bytearray()

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
        budget = min(self.trace.settings.gamma, self.ending.budget - 1) if self.proposer else 0
        uniforms = torch.rand(2 * budget + 1, generator=self.random, dtype=torch.float64).tolist()
        proposal = self._propose(budget, uniforms[:budget], clock)
        logits = self.target.feed([self.ids[-1], *proposal.ids], keep=len(proposal.ids) + 1)  # [k+1, V]
        clock.mark("verify")
        scores = self.processor.scores(logits, proposal.ids)
        p = self.processor.probabilities(scores)  # row i judges draft i; row k is the bonus
        q, judges = proposal.q_rows(p), uniforms[budget : 2 * budget]
        outcome = rejection(p, q, proposal.ids, judges, uniforms[-1])
        clock.mark("sampling")
        standing = self._emit([*proposal.ids[: outcome.accepted], outcome.token])
        timing = clock.timing()
        rows = record(Facts(p, q, scores, proposal, judges, outcome), standing, self.trace.settings)
        done = Round(len(self.trace.rounds), start, *rows, timing, proposal.note)
        self._append(done)
        timing.recording = max(0.0, clock.elapsed() - timing.total)
        return done

    def _propose(self, budget: int, uniforms: list[float], clock: Clock) -> Proposal:
        if budget == 0 or not self.proposer:
            return Proposal()
        return self.proposer.propose(self.ids, budget, uniforms, self.processor, clock)

    def _emit(self, tokens: list[int]) -> int:
        """Append what stands of `tokens`; drop the rest from both caches. Returns how many stand."""
        standing = self.ending.cut(tokens)
        self.ids += tokens[:standing]
        self.processor.commit(tokens[:standing])
        self.target.rollback(self.target.length - (len(self.ids) - 1))
        if self.proposer:
            self.proposer.settle(len(self.ids) - 1)
        return standing

    def _append(self, done: Round) -> None:
        trace, ids = self.trace, [e.id for e in done.emitted]
        trace.rounds.append(done)
        trace.output_ids += ids
        self.output += b"".join(map(self.pair.text.to_bytes, ids))
        trace.output_text = self.output.decode(errors="replace")
        trace.pieces |= self.pair.text.pieces(round_ids(done) - trace.pieces.keys())
        trace.finish = self.ending.finish
