"""One place of a text, sampled thousands of times by the engine's own rules on the pair's own p and q.

The rows of p and q after each visited continuation are computed once and kept, so a draw costs no forward pass.
"""

from bisect import bisect_left
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from specviz.decoding.acceptance import Judged
from specviz.decoding.faults import Way, way
from specviz.decoding.proposers.base import Proposal, one_hot
from specviz.decoding.sampling import Processor, sample
from specviz.models.forward import Stepper, model_device
from specviz.models.pair import Pair
from specviz.models.prompt import prompt_ids
from specviz.trace.checked import FAULTS, SAMPLED, Fault, Place, Tally
from specviz.trace.choices import Rule
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import RULES
from specviz.trace.schema import Settings
from specviz.trace.settings import require_valid

MOST_DRAWS, MOST_GAMMA, MOST_KEPT, MOST_TOKENS = 1_000_000, 8, 32, 2
EVERY = 500  # draws between two tallies of a rule

Path = tuple[int, ...]  # ids that follow the prompt


def sample_place(
    pair: Pair,
    prompt: str | Sequence[int],
    rules: Sequence[Rule | Fault],
    draws: int = 20_000,
    settings: Settings = SAMPLED,
    *,
    tokens: int = 2,
    every: int = EVERY,
) -> "Sampling":
    """Sample what follows `prompt` under each of `rules`: an iterator of tallies, one per rule every `every` draws.

    A draw is a round of gamma drafted tokens of the pair's draft model, judged by the rule; where it emits fewer than
    `tokens` tokens another round follows that drafts no more than are missing. All rules are given the same random
    numbers, from one generator with the seed of `settings`. Raises SpecvizError for settings that cannot be sampled
    so, a pair without a draft model, or a prompt that does not fit.
    """
    _require_possible(pair, settings, rules, draws, tokens)
    return Sampling(pair, prompt_ids(pair, prompt, settings), rules, draws, settings, tokens, every)


class Sampling:
    """Yields tallies; `place` has the exact distribution. Closing it frees the caches and the kept rows."""

    def __init__(
        self,
        pair: Pair,
        ids: list[int],
        rules: Sequence[Rule | Fault],
        draws: int,
        settings: Settings,
        tokens: int,
        every: int,
    ) -> None:
        rounds = _Rounds(pair, ids, settings, tokens)
        self.place: Place = rounds.place()
        self._steps = _tallies(rounds, self.place, rules, draws, every)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Tally:
        return next(self._steps)

    def close(self) -> None:
        """Stop; harmless if it has ended."""
        self._steps.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _tallies(
    rounds: "_Rounds", place: Place, rules: Sequence[Rule | Fault], draws: int, every: int
) -> Generator[Tally, None, None]:
    random = torch.Generator().manual_seed(place.settings.seed)
    index = {cell: n for n, cell in enumerate(place.cells)}
    counts = {rule: [0] * (len(index) + 1) for rule in rules}  # the last one: of no chance
    numbers = 2 * place.settings.gamma + 1  # of a round: one to draw and one to judge each draft, one for what follows
    done = 0
    while done < draws:
        batch = min(every, draws - done)
        uniforms = torch.rand(batch, place.tokens, numbers, generator=random, dtype=torch.float64).tolist()
        done += batch
        for rule in rules:
            for path in rounds.continuations(way(rule), uniforms):
                counts[rule][index.get(path, -1)] += 1
            yield Tally(rule, done, tuple(counts[rule][:-1]), counts[rule][-1])


class _Rounds:
    """Rounds at one place: drafts from the kept rows of q, and the rule's own code on the kept rows of p and q."""

    def __init__(self, pair: Pair, ids: list[int], settings: Settings, tokens: int) -> None:
        self._pair, self._settings, self._tokens = pair, settings, tokens
        self._ends, self._gamma = pair.eos_ids, settings.gamma
        room = len(ids) + settings.gamma + tokens
        for limit in (pair.target_info.context, pair.draft_info.context):
            if limit is not None and room > limit:
                raise SpecvizError(f"The prompt has {len(ids)} tokens and leaves no room to draft in a context of "
                                   f"{limit}; shorten it.", field="prompt")  # fmt: skip
        processor = Processor(settings, ids, pair.width, pair.allowed, model_device(pair.target))
        self._target = _Rows(pair.target, ids, room, processor, "target")
        self._draft = _Rows(pair.draft, ids, room, processor, "draft")
        self._judged: dict[tuple[Path, Path, bool], tuple[Judged, list[int]]] = {}

    def place(self) -> Place:
        """The exact distribution of the next tokens: products of the rows of p."""
        chances: dict[Path, float] = {(): 1.0}
        for _ in range(self._tokens):
            chances = {longer: c for path, chance in chances.items() for longer, c in self._longer(path, chance)}
        pieces = self._pair.text.pieces({token for path in chances for token in path})
        provenance = self._pair.provenance("draft-model", self._settings.rule)
        return Place(tuple(chances), tuple(chances.values()), self._tokens, self._settings, pieces, provenance)

    def _longer(self, path: Path, chance: float) -> list[tuple[Path, float]]:
        if path and path[-1] in self._ends:
            return [(path, chance)]
        row = self._target.row(path)
        probs = row.probs.double() / row.probs.double().sum()  # as `sample` draws from it
        return [((*path, token), chance * p) for token, p in zip(row.ids, probs.tolist(), strict=True)]

    @torch.inference_mode()
    def continuations(self, way: Way, uniforms: Sequence[Sequence[Sequence[float]]]) -> list[Path]:
        """What comes out for each row of random numbers [draws][tokens][2 gamma + 1]."""
        return [self._continuation(way, numbers) for numbers in uniforms]

    def _continuation(self, way: Way, uniforms: Sequence[Sequence[float]]) -> Path:
        path: Path = ()
        depth = self._gamma
        for numbers in uniforms:
            path += self._emit(way, path, depth, numbers)
            if len(path) == self._tokens or path[-1] in self._ends:
                break
            depth = min(self._gamma, self._tokens - len(path))
        return path

    def _emit(self, way: Way, path: Path, depth: int, numbers: Sequence[float]) -> Path:
        """The tokens of one round after `path`, cut at the end of the text and where enough are written."""
        drafted = self._drafted(way, path, depth, numbers)
        judged, columns = self._ready(path, drafted, way.one_hot)
        judged.uniforms = numbers[self._gamma : self._gamma + len(drafted)]
        judged.draw = numbers[-1]
        outcome = way.judge(judged)
        tokens = [*(drafted[node] for node in outcome.path), columns[outcome.token]][: self._tokens - len(path)]
        end = next((n for n, token in enumerate(tokens) if token in self._ends), len(tokens))
        return tuple(tokens[: end + 1])

    def _drafted(self, way: Way, path: Path, depth: int, numbers: Sequence[float]) -> Path:
        drafted: Path = ()
        while len(drafted) < depth and not (drafted and drafted[-1] in self._ends):
            row = self._draft.row(path + drafted)
            place = row.best if way.argmax else sample(row.probs, numbers[len(drafted)])
            drafted += (row.ids[place],)
        return drafted

    def _ready(self, path: Path, drafted: Path, certain: bool) -> tuple[Judged, list[int]]:
        """A draft with its rows, but for the random numbers, and the id of each column; kept for the next draws."""
        key = (path, drafted, certain)
        if key not in self._judged:
            self._judged[key] = self._judge_of(*key)
        return self._judged[key]

    def _judge_of(self, path: Path, drafted: Path, certain: bool) -> tuple[Judged, list[int]]:
        """Only columns with a chance in some row are kept, in the order of ids, so no rule sees a difference."""
        self._target.row(path + drafted)  # one pass for all of its rows
        ps = [self._target.row(path + drafted[:n]) for n in range(len(drafted) + 1)]
        qs = [self._draft.row(path + drafted[:n]) for n in range(len(drafted))]
        columns = sorted({token for row in (*ps, *qs) for token in row.ids})
        places = [bisect_left(columns, token) for token in drafted]
        p, q = (torch.stack([row.spread(columns) for row in rows]) for rows in (ps, qs))
        if certain:
            q = torch.stack([one_hot(place, q[0]) for place in places])
        raw = [row.raw[columns] for row in qs]
        chain = list(range(-1, len(drafted) - 1))
        proposal = Proposal(places, list(q), raw, chain, [None] * len(drafted))
        return Judged(p, q, proposal, [], 0.0, self._settings), columns


@dataclass(frozen=True, slots=True)
class _Row:
    """One processed distribution: its ids of any chance, lowest first, and theirs. raw: before processing, log, [W]."""

    ids: list[int]
    probs: Tensor
    raw: Tensor | None

    @property
    def best(self) -> int:
        """Where in `ids` the arg max is."""
        return int(self.probs.argmax())

    def spread(self, columns: list[int]) -> Tensor:
        """Probabilities of `columns` (ids in order, with all of `ids` among them)."""
        row = torch.zeros(len(columns))
        row[[bisect_left(columns, token) for token in self.ids]] = self.probs
        return row


class _Rows:
    """The processed rows of one model after the prompt and a path of ids, on the CPU; each is computed once."""

    def __init__(self, model: Any, ids: list[int], room: int, processor: Processor, who: str) -> None:
        self._stepper, self._processor, self._who = Stepper(model, room), processor, who
        self._last, self._known = ids[-1], len(ids) - 1
        if ids[:-1]:
            self._stepper.absorb(ids[:-1])
        self._rows: dict[Path, _Row] = {}

    def row(self, path: Path) -> _Row:
        """What follows `path`; one pass over it gives the rows of all its beginnings too."""
        if path not in self._rows:
            self._compute(path)
        return self._rows[path]

    @torch.inference_mode()
    def _compute(self, path: Path) -> None:
        self._stepper.rollback(self._stepper.length - self._known)
        logits = self._stepper.feed([self._last, *path], keep=len(path) + 1)
        paths = [path[:n] for n in range(len(path) + 1)]
        scores = self._processor.scores(logits, paths, self._who)
        probs = self._processor.probabilities(scores).cpu()
        raw = scores.log_softmax(-1).cpu() if self._who == "draft" else None
        for n, at in enumerate(paths):
            ids = probs[n].nonzero()[:, 0]
            self._rows.setdefault(at, _Row(ids.tolist(), probs[n][ids], None if raw is None else raw[n]))


def _require_possible(pair: Pair, settings: Settings, rules: Sequence[Rule | Fault], draws: int, tokens: int) -> None:
    require_valid(settings)
    for rule in rules:
        if rule not in RULES and rule not in FAULTS:
            names = ", ".join([*RULES, *FAULTS])
            raise SpecvizError(f"There is no rule {str(rule)[:40]!r}; choose one of {names}.", field="rule")
    if problem := pair.why_not("draft-model"):
        raise SpecvizError(problem, field="pair")
    if settings.greedy:
        raise SpecvizError(
            "At temperature 0 only one text can follow, so there is nothing to sample; choose a temperature above 0, "
            "or compare greedy texts.",
            field="temperature",
        )
    limits = {
        "gamma": ("Gamma", settings.gamma, MOST_GAMMA),
        "top_k": ("Top-k", settings.top_k, MOST_KEPT),  # each first token needs a target pass of its own
        "draws": ("The number of draws", draws, MOST_DRAWS),
        "tokens": ("The number of tokens to look at", tokens, MOST_TOKENS),
    }
    for name, (title, value, most) in limits.items():
        if not 1 <= value <= most:
            raise SpecvizError(f"{title} must be a whole number from 1 to {most:,} for this test.", field=name)
