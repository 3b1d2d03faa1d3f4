"""Small traces made by hand, for tests of the analysis, the charts and the page."""

from specviz.trace.schema import (
    Drafted,
    Emitted,
    ModelInfo,
    Piece,
    Prompt,
    Provenance,
    Round,
    Settings,
    Timing,
    Top,
    Trace,
    round_ids,
)

VERDICTS = {"y": "accepted", "n": "rejected", ".": "not_judged", "c": "cut"}
TOP = Top([1, 2], [0.5, 0.25], 0.25)


def drafted(mark: str, chance: float = 0.5, beta: float = 0.5) -> Drafted:
    """A drafted token; mark: y accepted, n rejected, . not judged, c cut."""
    judged = mark in "yn"
    return Drafted(7, 0.4, 0.8, chance, VERDICTS[mark], beta, 1.0, 1.1, TOP, TOP, 0.3 if judged else None)


def made_round(
    index: int,
    marks: str,
    times: tuple[float, ...] = (1.0, 5.0, 0.5, 0.5),
    chance: float = 0.5,
    beta: float = 0.5,
) -> Round:
    """A round with these verdicts; times: one draft step, verify, sampling, other, in seconds.

    The token that closes a round is left out where the marks end in a cut.
    """
    tokens = [drafted(mark, chance, beta) for mark in marks]
    emitted = [Emitted(7, "accepted", 0.4) for mark in marks if mark == "y"]
    if not marks.endswith("c"):
        origin = "plain" if not marks else "resampled" if "n" in marks else "bonus"
        emitted.append(Emitted(8, origin, 0.5, gap=0.25))
    step, verify, sampling, other = times
    timing = Timing([step] * len(marks), verify, sampling, other, recording=0.25)
    return Round(index, 5 + index, tokens, emitted, timing)


def info(name: str = "target") -> ModelInfo:
    """A model that does not exist."""
    return ModelInfo(name, "llama", 1000, 2, 97, "float32", "cpu", 256)


def provenance(method: str = "draft-model") -> Provenance:
    draft = info("draft") if method == "draft-model" else None
    versions = ("0.1.0", "2.13.0", "5.24.0", "3.12")
    return Provenance("2026-01-01T00:00:00Z", *versions, "test", 2, method, "rejection", info(), draft, "made")


def made_trace(rounds: list[Round], plain: list[Round] | None = None, **settings) -> Trace:
    """A finished trace of these rounds, with a plain lane if `plain` is given."""
    lane = _lane(rounds, "draft-model", Settings(**settings))
    if plain is not None:
        lane.baseline = _lane(plain, "plain", lane.settings)
    return lane


def plain_rounds(count: int, seconds: float) -> list[Round]:
    """`count` plain steps of `seconds` each."""
    return [made_round(i, "", (0.0, seconds, 0.0, 0.0)) for i in range(count)]


def race_trace(rounds: int = 6) -> Trace:
    """A race of mixed rounds: 2 of 3 drafts accepted, then all, then none, and so on."""
    marks = ["yyn", "yyy", "n.."]
    speculative = [made_round(i, marks[i % 3], (0.001, 0.01, 0.0005, 0.0005)) for i in range(rounds)]
    tokens = sum(len(r.emitted) for r in speculative)
    return made_trace(speculative, plain_rounds(tokens, 0.01), gamma=3, temperature=1.0)


def _lane(rounds: list[Round], method: str, settings: Settings) -> Trace:
    ids = {5}.union(*map(round_ids, rounds))
    pieces = {i: Piece(f" t{i}") for i in sorted(ids)}
    output = [e.id for r in rounds for e in r.emitted]
    text = "".join(pieces[i].text for i in output)
    return Trace(settings, provenance(method), Prompt([5], " t5"), pieces, rounds, output, text, 0.1, "budget")
