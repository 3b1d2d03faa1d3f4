"""Synthetic measurements: decodes whose hazards, costs and texts are known, for tests of what a measurement says."""

from collections.abc import Sequence

import numpy as np
from made import made_round, made_trace

from specviz.trace.measured import Decoded, PromptKind
from specviz.trace.schema import Round


def synthetic(
    hazards: Sequence[float],
    gamma: int,
    prompts: int = 12,
    rounds: int = 25,
    seed: int = 0,
    *,
    draft: float = 0.001,
    target: float = 0.01,
    wider: float = 0.0,
    fixed: float = 0.0005,
    noise: float = 0.0,
    spread: float = 0.0,
    censored: float = 0.0,
    repeats: int = 1,
    lane: str = "draft",
    kind: PromptKind = "code",
    memory: int | None = None,
    **settings,
) -> list[Decoded]:
    """One lane over `prompts` prompts ("prompt 0", ...), `rounds` rounds each, repeats of a prompt next to each other.

    hazards: chance to accept position 1, 2, ... once it is reached; the last one holds from there on. spread:
    standard deviation over prompts of a shift of their logits. censored: share of rounds that draft fewer than gamma
    tokens (0 to gamma - 1, all equally likely). settings: of the runs (greedy unless a temperature is given; then the
    plain lane writes another text).

    Times in seconds: draft a step, target + wider * drafts the pass, fixed the rest of a round, half of it sampling; a
    plain step takes target + fixed, and the plain lane writes as many tokens. noise: standard deviation of the log of
    each round's times. Repeats have the same tokens and other noise.
    """
    random = np.random.default_rng(seed)
    costs = (draft, target, wider, fixed)
    decodes = []
    for prompt in range(prompts):
        chances = prompt_hazards(hazards, gamma, spread * random.standard_normal())
        marks = [draw_marks(chances, random, censored) for _ in range(rounds)]
        tokens = sum(m.count("y") + 1 for m in marks)
        alone = [""] * tokens  # what the plain lane drafts
        for repeat in range(repeats):
            stretch = np.exp(noise * random.standard_normal((2, rounds * (gamma + 1)))).tolist()
            lane_rounds, plain = (
                _rounds(each, chances, costs, s) for each, s in zip((marks, alone), stretch, strict=True)
            )
            _write(lane_rounds, prompt)
            _write(plain, prompt, shift=int(settings.get("temperature", 0.0) > 0))
            trace = made_trace(lane_rounds, plain, gamma=gamma, **settings)
            decodes.append(Decoded(lane, trace, f"prompt {prompt}", kind, repeat, memory))
    return decodes


def prompt_hazards(hazards: Sequence[float], gamma: int, shift: float = 0.0) -> np.ndarray:
    """Hazards of positions 1..gamma, [gamma], their logits shifted."""
    h = np.array([hazards[min(i, len(hazards) - 1)] for i in range(gamma)])
    odds = h * np.exp(shift)
    return odds / (odds + 1 - h)


def draw_marks(chances: np.ndarray, random: np.random.Generator, censored: float = 0.0) -> str:
    """Verdicts of one round: y accepted, n rejected, . not judged."""
    gamma = len(chances)
    length = int(random.integers(gamma)) if gamma and random.random() < censored else gamma
    failed = np.flatnonzero(random.random(length) >= chances[:length])
    return "y" * length if not failed.size else "y" * failed[0] + "n" + "." * (length - failed[0] - 1)


def _rounds(marks: Sequence[str], chances: np.ndarray, costs: tuple[float, ...], stretch: list[float]) -> list[Round]:
    rounds = []
    for index, (row, factor) in enumerate(zip(marks, stretch, strict=False)):
        draft, target, wider, fixed = (factor * cost for cost in costs)
        record = made_round(index, row, (draft, target + wider * len(row), fixed / 2, fixed / 2))
        for token, chance in zip(record.drafted, chances, strict=False):
            token.beta = token.accept_prob = float(chance)
        rounds.append(record)
    return rounds


def _write(rounds: list[Round], prompt: int, shift: int = 0) -> None:
    """Give the output of these rounds the ids of the prompt's one text."""
    place = 0
    for record in rounds:
        record.start = place + 1
        for order, token in enumerate(record.emitted):
            token.id = 9 + (13 * place + 5 * prompt + shift) % 80
            if token.origin == "accepted":
                record.drafted[order].id = token.id
            place += 1
