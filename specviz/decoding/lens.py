"""The early-exit lens: how well each possible exit layer agrees with the whole model, from one pass.

It shows why an ordinary checkpoint drafts badly from its lower layers and one trained for early exits does not
(LayerSkip, Elhoushi et al. 2024), and which exit to choose. The idea of reading a layer with the final
norm and head: nostalgebraist 2020, the logit lens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from specviz.decoding.sampling import Processor
from specviz.models.forward import model_device
from specviz.models.layers import Taps
from specviz.models.pair import Pair
from specviz.trace.schema import Exit, Settings

_MOST = 128  # positions that are looked at: every layer costs one row of the head for each
_CHUNK = 32  # positions at a time: some tensors are [_CHUNK, V] fp32, and V may be 150,000


@torch.inference_mode()
def exit_lens(pair: Pair, ids: Sequence[int], settings: Settings, start: int) -> list[Exit]:
    """Agreement of every exit 1..L-1 with all L layers, over the tokens ids[start:] (at least one; start >= 1).

    The distributions are processed as in the run, but without penalties; a greedy run is read at temperature 1
    without filters, where beta still says something. Of a long output 128 positions or fewer, evenly spaced, are
    looked at. Raises SpecvizError if the logits are not finite or the model's layers cannot be found.
    """
    taps = Taps(pair.target, len(ids))
    processor = _processor(pair, settings)
    sums = torch.zeros(pair.target_info.layers - 1, 2, dtype=torch.float64)  # of beta, of agreement
    positions = 0
    for states in _states(taps, ids, start):
        sums += _compare(taps, states, processor)
        positions += len(states[-1])
    means = (sums / positions).tolist()
    return [Exit(n, min(1.0, beta), agree, positions) for n, (beta, agree) in enumerate(means, start=1)]


def _processor(pair: Pair, settings: Settings) -> Processor:
    plain = replace(settings, repetition_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0)
    if settings.greedy:
        plain = replace(plain, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
    return Processor(plain, (), pair.width, pair.allowed, model_device(pair.target))


def _states(taps: Taps, ids: Sequence[int], start: int) -> Iterator[list[Tensor]]:
    """Hidden states after each layer at the positions to look at, chunk by chunk, [n, H] each."""
    first, last = start - 1, len(ids) - 1  # position i says what follows ids[i]
    picked = range(first, last, -(-(last - first) // _MOST))
    if first:
        taps.absorb(ids[:first])
    for begin in range(first, last, _CHUNK):
        chunk = range(begin, min(begin + _CHUNK, last))
        states = taps.feed(ids[chunk.start : chunk.stop])
        if rows := [i - begin for i in chunk if i in picked]:
            yield [layer[rows] for layer in states]


def _compare(taps: Taps, states: list[Tensor], processor: Processor) -> Tensor:
    """Sums over the positions of sum min(p, q) and of equal arg max, for each layer but the last, [L-1, 2]."""
    scores = processor.scores(taps.logits(states[-1]))
    p, best = processor.probabilities(scores), scores.argmax(-1)
    found = []
    for layer in states[:-1]:  # one layer at a time: [n, V] fp32 of all of them would be too much
        scores = processor.scores(taps.logits(layer))
        beta = torch.minimum(p, processor.probabilities(scores)).sum()
        found.append(torch.stack([beta, (scores.argmax(-1) == best).sum()]))
    return torch.stack(found).double().cpu()
