"""Runs whose drafts agree at known places of their text, written as the engine writes them, at any gamma."""

from collections.abc import Callable, Sequence

import numpy as np
from made import made_round, made_trace, plain_rounds

from specviz.trace.measured import Decoded, PromptKind
from specviz.trace.schema import Round, Top

Seconds = Callable[[int], tuple[float, float, float, float]]  # by drafts: one draft step, verify, sampling, other


def clock(draft: float = 0.001, target: float = 0.01, wider: float = 0.0, rest: float = 0.0005) -> Seconds:
    """Times of a round: `wider` seconds more of the pass for each draft, half of `rest` sampling."""
    return lambda drafts: (draft, target + wider * drafts, rest / 2, rest / 2)


def decode(
    agrees: Sequence[bool],
    length: Callable[[int], int] | int,
    seconds: Seconds | None = None,
    prompt: str = "p",
    kind: PromptKind = "code",
    repeat: int = 0,
    eos: bool = False,
    sure: Sequence[float] | None = None,
    **settings,
) -> Decoded:
    """A run over len(agrees) tokens; the draft stands at a place if agrees says so.

    length: gamma, or the draft length of the round that begins at a place. eos: the text ends with an end token inside
    a larger budget. sure: the draft's probability of its token at each place; None where it has none (a copy).
    """
    seconds = seconds or clock()
    gamma = length if isinstance(length, int) else max(length(i) for i in range(len(agrees)))
    budget = 2 * len(agrees) if eos else len(agrees)
    rounds: list[Round] = []
    place = 0
    while place < len(agrees):
        asked = min(length if isinstance(length, int) else length(place), budget - place - 1)
        rounds.append(_round(len(rounds), place, agrees, asked, seconds, sure))
        place += len(rounds[-1].emitted)
    step = seconds(0)
    plain = plain_rounds(len(agrees), 0.0)
    for record in plain:
        record.timing.verify, record.timing.sampling, record.timing.other = step[1:]
    trace = made_trace(rounds, plain, gamma=gamma, max_new_tokens=budget, **settings)
    trace.finish = "eos" if eos else "budget"
    return Decoded("lane", trace, prompt, kind, repeat)


def stretches(length: int, seed: int, easy: float = 0.9, hard: float = 0.3, stay: float = 0.9) -> list[bool]:
    """Agreement along a text with easy and hard stretches, as real texts have."""
    random, now, places = np.random.default_rng(seed), True, []
    for _ in range(length):
        now = now if random.random() < stay else not now
        places.append(bool(random.random() < (easy if now else hard)))
    return places


def _round(
    index: int, place: int, agrees: Sequence[bool], asked: int, seconds: Seconds, sure: Sequence[float] | None
) -> Round:
    marks = ""
    for token in range(asked):
        at = place + token
        if "n" in marks:
            marks += "."
        elif at == len(agrees):
            break  # the end token was drafted
        else:
            marks += "y" if agrees[at] else "n"
    record = made_round(index, marks, seconds(len(marks)))
    del record.emitted[len(agrees) - place :]
    for token, drafted in enumerate(record.drafted):
        drafted.q = 1.0
        if sure is not None and place + token < len(sure):
            drafted.draft_top = Top([drafted.id], [sure[place + token]], 1 - sure[place + token])
    return record
