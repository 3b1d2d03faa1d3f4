"""Logits to the one processed distribution, and a draw from it.

Target, draft, recording, ratio and residual all use what this module returns. Logits become fp32 before
anything else. Order, as in transformers: penalties, temperature, top-k, top-p, min-p. Ties: the lowest id.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings

_FIRST_LOOK = 512  # entries; the nucleus of a language model is nearly always among them


class Processor:
    """Turns logits into probabilities for one run; holds the token counts that penalties need.

    allowed: [W] bool, ids that stand for a token (None: all W do). W is the target's vocabulary width; narrower
    or wider logits (a draft padded differently) are padded with nothing or cut.
    """

    def __init__(
        self, settings: Settings, prompt: Sequence[int], width: int, allowed: Tensor | None, device: torch.device
    ) -> None:
        self._settings, self._width, self._device = settings, width, device
        self._emitted = 0
        self._blocked = None if allowed is None or bool(allowed.all()) else ~allowed.to(device)
        self._penalised = (
            settings.repetition_penalty != 1 or settings.presence_penalty != 0 or settings.frequency_penalty != 0
        )
        self._filtered = 0 < settings.top_k < width or settings.top_p < 1 or settings.min_p > 0
        if self._penalised:
            self._in_prompt = torch.zeros(width, dtype=torch.bool, device=device)
            self._in_prompt[torch.tensor(list(prompt), device=device)] = True
            self._counts = torch.zeros(width, device=device)  # of each id in the output so far

    def commit(self, ids: Sequence[int]) -> None:
        """These tokens entered the output."""
        self._emitted += len(ids)
        if self._penalised:
            for i in ids:
                self._counts[i] += 1

    @torch.inference_mode()
    def scores(self, logits: Tensor, paths: Sequence[Sequence[int]] = ((),), who: str = "target") -> Tensor:
        """Penalised fp32 logits [R, W]; unused ids at -inf.

        Row r is conditioned on the output so far and on the drafts paths[r], not yet judged.
        Raises SpecvizError, naming `who`, if a row has NaN, +inf, or no finite entry.
        """
        scores = self._fit(logits.to(self._device, torch.float32))
        if self._penalised:
            scores = self._penalise(scores, paths)
        if self._blocked is not None:
            scores = scores.masked_fill(self._blocked, -torch.inf)
        if not bool(scores.amax(-1).isfinite().all()):
            dtype = str(logits.dtype).removeprefix("torch.")
            raise SpecvizError(
                f"After {self._emitted} tokens the {who} returned numbers that are not finite (in {dtype}), so no "
                "token can be chosen; load it in another dtype, or choose another model."
            )
        return scores

    @torch.inference_mode()
    def probabilities(self, scores: Tensor) -> Tensor:
        """Distribution of each row of `scores`, [R, W] fp32; greedy gives one-hot rows."""
        s = self._settings
        if s.greedy:
            return torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
        scores = scores / s.temperature
        if not self._filtered:
            return scores.softmax(-1)
        if 0 < s.top_k < self._width:
            scores = _keep_largest(scores, torch.full(scores.shape[:1], s.top_k, device=scores.device))
        if s.top_p < 1:
            scores = _keep_largest(scores, _nucleus_sizes(scores.softmax(-1), s.top_p))
        probs = scores.softmax(-1)
        if s.min_p > 0:
            probs = torch.where(probs >= s.min_p * probs.amax(-1, keepdim=True), probs, 0.0)
            probs = probs / probs.sum(-1, keepdim=True)
        return probs

    def blank(self) -> Tensor:
        """A row of zeros [W] fp32 on the device of the target."""
        return torch.zeros(self._width, device=self._device)

    def _fit(self, scores: Tensor) -> Tensor:
        missing = self._width - scores.shape[-1]
        if missing > 0:
            return torch.nn.functional.pad(scores, (0, missing), value=-torch.inf)
        return scores[..., : self._width]

    def _penalise(self, scores: Tensor, paths: Sequence[Sequence[int]]) -> Tensor:
        s = self._settings
        counts = self._counts.repeat(len(scores), 1)  # [R, W]
        for row, path in enumerate(paths):
            for token in path:
                counts[row, token] += 1
        seen = self._in_prompt | (counts > 0)
        divided = torch.where(scores > 0, scores / s.repetition_penalty, scores * s.repetition_penalty)
        scores = torch.where(seen, divided, scores)
        return scores - s.presence_penalty * (counts > 0) - s.frequency_penalty * counts


def sample(probs: Tensor, uniform: float) -> int:
    """The id that `uniform` in [0, 1) selects from probs [W] (need not sum to 1) by inverse CDF in float64.

    Never returns an id of probability 0.
    """
    total = probs.double().cumsum(-1)
    place = torch.searchsorted(total, uniform * total[-1], right=True)
    return int(place) if place < len(total) else int(probs.nonzero()[-1])


def without(probs: Tensor, token: int) -> Tensor | None:
    """probs [W] with `token` removed, renormalised; None if nothing is left."""
    rest = probs.clone()
    rest[token] = 0.0
    mass = rest.sum()
    return rest / mass if mass > 0 and mass.isfinite() else None


def largest(scores: Tensor, count: int) -> list[int]:
    """The ids of the `count` largest finite entries of scores [1, W], largest first; of equal ones the lowest id."""
    sizes = torch.tensor([min(count, scores.shape[-1])], device=scores.device)
    kept = _keep_largest(scores, sizes)[0]
    ids = (kept > -torch.inf).nonzero()[:, 0]  # in the order of ids, so a stable sort keeps the lowest first
    return ids[kept[ids].sort(descending=True, stable=True).indices].tolist()


def _keep_largest(scores: Tensor, sizes: Tensor) -> Tensor:
    """Each row's `sizes[r]` largest scores, the rest -inf. Of equal scores the lowest ids stay: exactly that many."""
    most = int(sizes.max())
    ordered = scores.topk(most, dim=-1).values  # [R, most]
    cut = ordered.gather(-1, sizes[:, None] - 1)  # [R, 1] the smallest score that stays
    above, level = scores > cut, scores == cut
    room = sizes[:, None] - above.sum(-1, keepdim=True)
    keep = above | (level & (level.cumsum(-1) <= room))
    return scores.masked_fill(~keep, -torch.inf)


def _nucleus_sizes(probs: Tensor, top_p: float) -> Tensor:
    """How many of the largest entries reach the mass top_p, at least one (Holtzman et al. 2020). [R]"""
    width = probs.shape[-1]
    for count in (min(_FIRST_LOOK, width), width):  # sorting a whole vocabulary is slow, and seldom needed
        ordered = probs.topk(count, dim=-1).values
        before = ordered.cumsum(-1) - ordered  # mass of the larger entries
        if bool((before[:, -1] >= top_p).all()):
            break
    return (before < top_p).sum(-1).clamp(min=1)
