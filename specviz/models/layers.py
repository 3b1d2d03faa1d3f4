"""A model cut at one of its layers, without a change to it: views, a split target, what each layer has to say.

A view is a copy of the shell (the few modules on the way to the list of layers) around the same parameters, with
other modules in some of the layers' places. Embeddings, positions, masks, final norm, head and soft caps are thus
the model's own code, whatever its family, and other threads may use the model meanwhile.
"""

import copy
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache

from specviz.models.forward import BufferLayer, Stepper
from specviz.trace.errors import SpecvizError

REFUSED = "{name} cannot exit early: its layers cannot be run apart ({why}). Choose another method."


class _Slot(nn.Module):
    """Stands in a view where `layer` stands in the model; what the model's loop reads of a layer it finds here."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def __getattr__(self, name: str) -> Any:
        layer = self.__dict__["_modules"]["layer"]
        return layer if name == "layer" else getattr(layer, name)


class Tap(_Slot):
    """Runs its layer and holds what it returned."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__(layer)
        self.held: Any = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.held = self.layer(*args, **kwargs)
        return self.held

    @property
    def states(self) -> Tensor:
        """Hidden states after this layer, [1, n, H]; some families return them as the first of a tuple."""
        return self.held[0] if isinstance(self.held, tuple) else self.held

    def hold(self, states: Tensor) -> None:
        """Hold `states` [1, n, H] in the form in which the layer returns its own."""
        self.held = (states, *self.held[1:]) if isinstance(self.held, tuple) else states


class Echo(_Slot):
    """Stands for a layer that is left out: whatever comes in, it returns what `tap` holds."""

    def __init__(self, layer: nn.Module, tap: Tap) -> None:
        super().__init__(layer)
        self.__dict__["_tap"] = tap  # not as a module: the view would own it twice

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._tap.held


def layers_path(model: Any) -> str:
    """Dotted name of the list of decoder layers. Raises SpecvizError if there is not exactly one candidate."""
    count = getattr(model.config.get_text_config(), "num_hidden_layers", 0)
    lists = [name for name, part in model.named_modules() if isinstance(part, nn.ModuleList) and len(part) == count]
    outer = [name for name in lists if not any(name.startswith(f"{other}.") for other in lists)]
    if len(outer) != 1:
        why = f"it has {len(outer)} lists of {count} layers where one was expected"
        raise SpecvizError(REFUSED.format(name=type(model).__name__, why=why))
    return outer[0]


def with_layers(model: Any, path: str, layers: Sequence[nn.Module]) -> Any:
    """A view of `model` with `layers` in the list at `path`; parameters and all other modules are shared."""
    name, _, rest = path.partition(".")
    shell = copy.copy(model)
    child = with_layers(model._modules[name], rest, layers) if rest else nn.ModuleList(layers)
    shell.__dict__["_modules"] = {**model._modules, name: child}
    return shell


class _Part(Stepper):
    """A view of a stepper's model that lives in that stepper's own cache.

    layers: the cache layer in each place of the view; the model's code sizes its masks by them.
    """

    def __init__(self, view: Any, whole: Stepper, layers: Sequence[BufferLayer]) -> None:
        super().__init__(view, whole._capacity)
        self._cache = Cache(layers=list(layers))
        self._whole = whole

    def begin(self) -> None:
        """Go on from where the whole model is."""
        self.length = self._whole.length

    def end(self) -> None:
        """The whole model is now where this part is: each of its layers has taken in the same tokens."""
        self._whole.length = self.length
        self._whole._assert_length()


def _cache_layers(whole: Stepper, count: int) -> list[BufferLayer]:
    """The cache layers of `whole`, all of them there even before the first token."""
    layers = whole._cache.layers
    layers += [BufferLayer(whole._capacity) for _ in range(count - len(layers))]
    return layers


class Split:
    """A target cut after its first `count` layers (not all): they draft, and the others check what they drafted.

    Both parts work in the target's own cache. What the lower layers computed while drafting is kept and not
    computed again: the upper layers go on from it (LayerSkip, Elhoushi et al. 2024, self-speculative decoding).
    """

    def __init__(self, target: Stepper, count: int) -> None:
        path = layers_path(target.model)
        layers = list(target.model.get_submodule(path))
        self._target, self._tap = target, Tap(layers[count - 1])
        skipped = [Echo(layer, self._tap) for layer in layers]
        lower = with_layers(target.model, path, [*layers[: count - 1], self._tap, *skipped[count:]])
        upper = with_layers(target.model, path, [*skipped[:count], *layers[count:]])
        cached = _cache_layers(target, len(layers))
        self._lower = _Part(lower, target, cached[:count])
        # the lower layers are ahead by the draft, so the upper pass may not measure its masks by them
        self._upper = _Part(upper, target, [cached[count]] * count + cached[count:])
        self._states: list[Tensor] = []  # [1, n, H] each, of the tokens that only the lower layers have taken in

    def draft(self, ids: Sequence[int]) -> Tensor:
        """Append `ids` (at least one) to the lower layers alone; what norm and head make of the last one, [1, V]."""
        if not self._states:
            self._lower.begin()
        logits = self._lower.feed(ids)
        self._states.append(self._tap.states)
        return logits

    def finish(self, ids: Sequence[int]) -> Tensor:
        """The target's logits after each of `ids` [len(ids), V]; its cache holds all of them in all layers.

        The first of `ids` are those given to `draft` since the last call, if any; the lower layers run on the rest.
        """
        ready = sum(states.shape[1] for states in self._states)
        if not ready:
            return self._target.feed(ids, keep=len(ids))
        if rest := ids[ready:]:
            self._lower.absorb(rest)
            self._states.append(self._tap.states)
        self._tap.hold(torch.cat(self._states, dim=1))
        self._states.clear()
        self._upper.begin()
        logits = self._upper.feed(ids, keep=len(ids))
        self._upper.end()
        return logits


class Taps:
    """One sequence through a model, a few tokens at a time, with what every layer returned."""

    def __init__(self, model: Any, capacity: int) -> None:
        path = layers_path(model)
        self._taps = [Tap(layer) for layer in model.get_submodule(path)]
        self._whole = Stepper(model, capacity)
        cached = _cache_layers(self._whole, len(self._taps))
        self._tapped = _Part(with_layers(model, path, self._taps), self._whole, cached)
        self._head = with_layers(model, path, [Echo(tap.layer, self._taps[-1]) for tap in self._taps])

    def absorb(self, ids: Sequence[int]) -> None:
        """Append `ids` (at least one); nothing is held of them."""
        self._whole.absorb(ids)

    def feed(self, ids: Sequence[int]) -> list[Tensor]:
        """Append `ids` (at least one); the hidden states after each layer, the last one's too, [len(ids), H]."""
        self._tapped.begin()
        self._tapped.absorb(ids)
        self._tapped.end()
        return [tap.states[0] for tap in self._taps]

    @torch.inference_mode()
    def logits(self, states: Tensor) -> Tensor:
        """What the model's final norm and head make of hidden states [n, H] after any layer, [n, V]; after `feed`."""
        self._taps[-1].hold(states[None])
        blank = torch.zeros(1, len(states), dtype=torch.long, device=self._whole._device)
        return self._head(input_ids=blank, use_cache=False).logits[0]


_PROBLEMS: WeakKeyDictionary[Any, dict[int, str | None]] = WeakKeyDictionary()  # model -> exit -> why not


def require_split(model: Any, count: int, name: str) -> None:
    """Raise SpecvizError, with the reason, if `model` cannot be cut after `count` layers.

    A draft and its check must give the same logits as the whole model; tried once per model and exit. Families
    whose layers hand each other more than hidden states fail here.
    """
    known = _PROBLEMS.setdefault(model, {})
    if count not in known:
        known[count] = _why_not(model, count)
    if known[count]:
        raise SpecvizError(REFUSED.format(name=name, why=known[count]))


def _why_not(model: Any, count: int) -> str | None:
    whole, cut = Stepper(model, 4), Stepper(model, 4)
    try:
        split = Split(cut, count)
        for stepper in (whole, cut):
            stepper.feed([0, 1])
        split.draft([1, 0])
        after, before = split.finish([1, 0]).float(), whole.feed([1, 0], keep=2).float()
    except torch.OutOfMemoryError:
        raise  # says nothing of the model, so it must not be remembered
    except (SpecvizError, AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        return f"a test failed: {str(error).splitlines()[0][:160]}" if str(error) else "a test failed"
    if torch.allclose(after, before, rtol=1e-3, atol=1e-3, equal_nan=True):
        return None
    return "lower and upper layers together do not give what the whole model gives"
