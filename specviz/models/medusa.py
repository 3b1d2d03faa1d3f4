"""Medusa heads: guesses of the tokens after the next one, all from one hidden state of the target.

Cai et al. 2024, "Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads",
arXiv:2401.10774, section 2.1.1. A head is a few residual blocks x + silu(W x + b) and an output layer: one of its
own, or the target's. Both kinds of published checkpoints are read; the shapes of the tensors tell them apart.
"""

import copy
import re
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specviz.trace.errors import SpecvizError

# head . layer within the head . what; residual blocks are often named "linear", prefixes such as "medusa_head." vary
_NAME = re.compile(r"(?:.+\.)?(\d+)\.(\d+)\.(?:linear\.)?(weight|bias)")
Place = tuple[int, int, str]  # head, layer within the head, "weight" or "bias"


class MedusaHeads(nn.Module):
    """Head i (0-based) guesses the token i + 2 places after the one whose hidden state it is given.

    weight [blocks, count, H, H] and bias [blocks, count, H]: the residual blocks of all heads.
    output [count, V, H]: the heads' own output layers; None if they use the target's.
    """

    def __init__(self, weight: Tensor, bias: Tensor, output: Tensor | None = None) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
        self.output = None if output is None else nn.Parameter(output)

    @property
    def count(self) -> int:
        """How many heads there are: the longest chain, the deepest tree."""
        return self.weight.shape[1]

    def states(self, hidden: Tensor) -> Tensor:
        """Hidden states [n, H] after the target's final norm -> what each head's blocks make of them, [count, n, H]."""
        x = hidden.expand(self.count, -1, -1)
        for weight, bias in zip(self.weight, self.bias, strict=True):
            x = x + F.silu(torch.baddbmm(bias[:, None], x, weight.mT))
        return x

    def logits(self, hidden: Tensor, output_layer: nn.Module) -> Tensor:
        """One hidden state [1, H] -> logits [count, V]. output_layer: the target's, used by heads without their own."""
        x = self.states(hidden)  # [count, 1, H]
        return output_layer(x[:, 0]) if self.output is None else (x @ self.output.mT)[:, 0]


class Tap(nn.Module):
    """Stands in for a model's output layer and remembers what went in last. hidden: [1, n, H], or None."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.hidden: Tensor | None = None

    def forward(self, hidden: Tensor) -> Tensor:
        self.hidden = hidden
        return self.layer(hidden)


def tapped(model: Any) -> tuple[Any, Tap]:
    """A view of a causal language model with a Tap for its output layer, and the Tap.

    The view is private to its owner, shares every other module and all parameters with the model, and leaves the
    model as it is (a hook would not: models are shared by threads). Raises SpecvizError if there is no output layer.
    """
    layer = getattr(model, "get_output_embeddings", lambda: None)()
    name = next((name for name, module in model.named_children() if module is layer), None)
    if name is None:
        raise SpecvizError(
            f"Medusa heads need the input of the target's output layer, which {type(model).__name__} does not show; "
            "choose another method or another target."
        )
    view, tap = copy.copy(model), Tap(layer)
    view._modules = {**model._modules, name: tap}
    return view, tap


def load_heads(path: Path, hidden: int, vocab: int, dtype: torch.dtype, device: torch.device | str) -> MedusaHeads:
    """Medusa heads from a .safetensors or .pt file, or from a folder with one (safetensors are preferred).

    hidden, vocab: width of the target's last hidden state and of its logits. Tensors are named HEAD.LAYER.weight,
    optionally with a prefix and a "linear" before the end. Shapes decide: (hidden, hidden) and a bias (hidden,) are
    a residual block, a last (vocab, hidden) is the head's own output layer. Any config.json is ignored.
    Raises SpecvizError for anything else.
    """
    places: dict[Place, Tensor] = {}
    for name, tensor in _read(path).items():
        if not (match := _NAME.fullmatch(name)):
            raise _refused(path, f"it has a tensor {name[:80]!r} of shape {tuple(tensor.shape)}, which no head has")
        head, layer, kind = match.groups()
        places[int(head), int(layer), kind] = tensor
    return _assemble(path, places, hidden, vocab).to(device, dtype).requires_grad_(False).eval()


def _read(path: Path) -> dict[str, Tensor]:
    """All tensors of the file or folder, by name, on the CPU."""
    from safetensors.torch import load_file

    files = [path] if path.is_file() else sorted(path.glob("*.safetensors")) or sorted(path.glob("*.pt"))
    tensors: dict[str, Tensor] = {}
    for file in files:
        try:
            tensors |= load_file(file) if file.suffix == ".safetensors" else _read_pickle(file)
        except Exception as error:  # a damaged file raises whatever its reader stumbles over
            raise _refused(path, f"{file.name} cannot be read ({type(error).__name__})") from None
    if not tensors:
        raise _refused(path, "there is no .safetensors or .pt file with tensors in it")
    return tensors


def _read_pickle(file: Path) -> dict[str, Tensor]:
    found = torch.load(file, map_location="cpu", weights_only=True)
    if not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise TypeError("not a dictionary of tensors")
    return found


def _assemble(path: Path, places: dict[Place, Tensor], hidden: int, vocab: int) -> MedusaHeads:
    """Heads from their tensors by place; a block without a bias has a bias of zeros."""
    count, layers = (1 + max(place[i] for place in places) for i in (0, 1))
    if sum(kind == "weight" for _, _, kind in places) != count * layers:
        raise _refused(path, f"not every one of its {count} heads has {layers} layers")
    last = places[0, layers - 1, "weight"]
    blocks = layers - (last.shape == (vocab, hidden))
    weight, bias = last.new_zeros(blocks, count, hidden, hidden), last.new_zeros(blocks, count, hidden)
    output = last.new_zeros(count, vocab, hidden) if blocks < layers else None
    for (head, layer, kind), tensor in places.items():
        if layer < blocks:
            room = (weight if kind == "weight" else bias)[layer, head]
        else:
            room = output[head] if kind == "weight" else None
        if room is None or tensor.shape != room.shape:
            raise _refused(
                path,
                f"the {kind} of layer {layer} of head {head} has the shape {tuple(tensor.shape)}, where this target "
                f"takes residual blocks of ({hidden}, {hidden}) and at most one output layer of ({vocab}, {hidden})",
            )
        room.copy_(tensor)
    return MedusaHeads(weight, bias, output)


def _refused(path: Path, why: str) -> SpecvizError:
    return SpecvizError(f"The Medusa heads {path.name!r} cannot be used: {why}; choose heads made for this target.")
