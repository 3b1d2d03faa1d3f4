"""One place of a text, sampled thousands of times by the engine's own rules on the pair's own p and q.

The rows of p and q after each visited continuation are kept as long as there is room for them: a draw costs a forward
pass only where its continuation is new, or was not visited for long.
"""

from bisect import bisect_left
from collections.abc import Generator, Sequence
from time import monotonic

import torch

from specviz.decoding.acceptance import Judged
from specviz.decoding.closing import Closing
from specviz.decoding.faults import Way, way
from specviz.decoding.proposers.base import Proposal, one_hot
from specviz.decoding.rows import Kept, Path, Rows
from specviz.decoding.sampling import Processor, sample
from specviz.models.forward import model_device
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
SILENCE = 0.2  # seconds of work after which None tells that it goes on
_OBJECTS = 4_000  # bytes that a draft's objects take beside their numbers, about
_JUDGED = 64_000_000  # bytes of drafts that are ready to be judged again


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

    Where the next tally takes longer, None comes every `SILENCE` seconds or after the pass that was under way then.

    A draw is a round of gamma drafted tokens of the pair's draft model, judged by the rule; where it emits fewer than
    `tokens` tokens another round follows that drafts no more than are missing. All rules are given the same random
    numbers, from one generator with the seed of `settings`. Raises SpecvizError for settings that cannot be sampled
    so, a pair without a draft model, or a prompt that does not fit.
    """
    _require_possible(pair, settings, rules, draws, tokens)
    return Sampling(pair, prompt_ids(pair, prompt, settings), rules, draws, settings, tokens, every)


class Sampling(Closing):
    """Yields tallies, and None while there is no new one. Closing it frees the caches and the kept rows."""

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
        self._rounds: _Rounds | None = _Rounds(pair, ids, settings, tokens, any(way(rule).raw for rule in rules))
        self._place: Place | None = None
        self._steps = self._sample(rules, draws, every)

    @property
    def place(self) -> Place:
        """The exact distribution; known before the first tally, computed now if asked for earlier (not once closed)."""
        if self._place is None:
            for _ in self._placed():
                pass
        return self._place

    def _placed(self) -> Generator[None, None, None]:
        self._place = yield from self._rounds.place()

    def _sample(self, rules: Sequence[Rule | Fault], draws: int, every: int) -> Generator[Tally | None, None, None]:
        if self._place is None:
            yield from self._placed()
        yield from _tallies(self._rounds, self._place, rules, draws, every)
        self._rounds = None

    def __next__(self) -> Tally | None:
        return next(self._steps)

    def close(self) -> None:
        """Stop; harmless if it has ended."""
        self._steps.close()
        self._rounds = None


def _tallies(
    rounds: "_Rounds", place: Place, rules: Sequence[Rule | Fault], draws: int, every: int
) -> Generator[Tally | None, None, None]:
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
                if path is None:
                    yield None
                else:
                    counts[rule][index.get(path, -1)] += 1
            yield Tally(rule, done, tuple(counts[rule][:-1]), counts[rule][-1])


class _Pace:
    """Says when it is time to tell that work goes on."""

    def __init__(self) -> None:
        self._told = monotonic()

    def due(self) -> bool:
        """Whether `SILENCE` has passed since this was last true."""
        now = monotonic()
        if now - self._told < SILENCE:
            return False
        self._told = now
        return True


class _Rounds:
    """Rounds at one place: drafts from the rows of q, and the rule's own code on the rows of p and q.

    raw: also keep q before processing, for a rule that asks for it. Generators yield None when that is due.
    """

    def __init__(self, pair: Pair, ids: list[int], settings: Settings, tokens: int, raw: bool) -> None:
        self._pair, self._settings, self._tokens, self._raw = pair, settings, tokens, raw
        self._ends, self._gamma = pair.eos_ids, settings.gamma
        room = len(ids) + settings.gamma + tokens
        for limit in (pair.target_info.context, pair.draft_info.context):
            if limit is not None and room > limit:
                raise SpecvizError(f"The prompt has {len(ids)} tokens and leaves no room to draft in a context of "
                                   f"{limit}; shorten it.", field="prompt")  # fmt: skip
        processor = Processor(settings, ids, pair.width, pair.allowed, model_device(pair.target))
        self._target = Rows(pair.target, ids, room, processor, "target")
        self._draft = Rows(pair.draft, ids, room, processor, "draft", raw)
        self._judged: Kept[tuple[Path, Path, bool], tuple[Judged, list[int]]] = Kept(_JUDGED)
        self._pace = _Pace()

    def place(self) -> Generator[None, None, Place]:
        """The exact distribution of the next tokens: products of the rows of p."""
        chances: dict[Path, float] = {(): 1.0}
        for _ in range(self._tokens):
            longer: dict[Path, float] = {}
            for path, chance in chances.items():
                longer |= self._longer(path, chance)
                if self._pace.due():
                    yield
            chances = longer
        pieces = self._pair.text.pieces({token for path in chances for token in path})
        provenance = self._pair.provenance("draft-model", self._settings.rule)
        return Place(tuple(chances), tuple(chances.values()), self._tokens, self._settings, pieces, provenance)

    def _longer(self, path: Path, chance: float) -> dict[Path, float]:
        if path and path[-1] in self._ends:
            return {path: chance}
        row = self._target.row(path)
        probs = row.probs.double() / row.probs.double().sum()  # as `sample` draws from it
        return {(*path, token): chance * p for token, p in zip(row.ids, probs.tolist(), strict=True)}

    @torch.inference_mode()
    def continuations(
        self, way: Way, uniforms: Sequence[Sequence[Sequence[float]]]
    ) -> Generator[Path | None, None, None]:
        """What comes out for each row of random numbers [draws][tokens][2 gamma + 1]."""
        for numbers in uniforms:
            yield (yield from self._continuation(way, numbers))

    def _continuation(self, way: Way, uniforms: Sequence[Sequence[float]]) -> Generator[None, None, Path]:
        path: Path = ()
        depth = self._gamma
        for numbers in uniforms:
            path += yield from self._emit(way, path, depth, numbers)
            if len(path) == self._tokens or path[-1] in self._ends:
                break
            depth = min(self._gamma, self._tokens - len(path))
        return path

    def _emit(self, way: Way, path: Path, depth: int, numbers: Sequence[float]) -> Generator[None, None, Path]:
        """The tokens of one round after `path`, cut at the end of the text and where enough are written."""
        drafted = yield from self._drafted(way, path, depth, numbers)
        judged, columns = self._ready(path, drafted, way.one_hot)
        if self._pace.due():
            yield
        judged.uniforms = numbers[self._gamma : self._gamma + len(drafted)]
        judged.draw = numbers[-1]
        outcome = way.judge(judged)
        tokens = [*(drafted[node] for node in outcome.path), columns[outcome.token]][: self._tokens - len(path)]
        end = next((n for n, token in enumerate(tokens) if token in self._ends), len(tokens))
        return tuple(tokens[: end + 1])

    def _drafted(self, way: Way, path: Path, depth: int, numbers: Sequence[float]) -> Generator[None, None, Path]:
        drafted: Path = ()
        while len(drafted) < depth and not (drafted and drafted[-1] in self._ends):
            row = self._draft.row(path + drafted)
            if self._pace.due():
                yield
            place = row.best if way.argmax else sample(row.probs, numbers[len(drafted)])
            drafted += (row.ids[place],)
        return drafted

    def _ready(self, path: Path, drafted: Path, certain: bool) -> tuple[Judged, list[int]]:
        """A draft with its rows, but for the random numbers, and the id of each column; kept for the next draws."""
        key = (path, drafted, certain)
        if (found := self._judged.get(key)) is None:
            found = self._judge_of(*key)
            columns = 4 * len(found[1])  # bytes of a row
            self._judged.put(key, found, columns * (3 * len(drafted) + 2) + _OBJECTS)
        return found

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
        raw = [row.raw[columns] if self._raw else None for row in qs]
        chain = list(range(-1, len(drafted) - 1))
        proposal = Proposal(places, list(q), raw, chain, [None] * len(drafted))
        return Judged(p, q, proposal, [], 0.0, self._settings), columns


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
