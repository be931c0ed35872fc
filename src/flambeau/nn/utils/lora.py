"""Fine-tuning a few parameters: low-rank additions to linear layers (LoRA), and freezing by name."""

from fnmatch import fnmatchcase
from math import sqrt
from typing import Any

from ...core.docstrings import explained
from ...core.modes import no_grad
from ...ops.contract import linear
from ...ops.random import dropout
from ...tensor import Tensor
from .. import init
from ..linear import Linear, new_parameter, positive
from ..module import Module


@explained
class LoRALinear(Module):
    """A frozen linear layer plus a product of two thin matrices that are learned (Hu et al., 2021).

    [..., in] -> [..., out]; base: the layer. r: the rank of what is added. alpha: what is added is scaled by
    alpha / r. ValueError for a rank that is none.
    """

    def __init__(self, base: Linear, r: int = 8, alpha: float = 16.0, dropout: float = 0.0):
        positive("LoRALinear", r=r)
        self.base, self.r, self.alpha, self.dropout = base.requires_grad_(False), r, alpha, dropout
        device = base.weight.device
        self.lora_A = new_parameter(r, base.in_features, device=device)
        self.lora_B = new_parameter(base.out_features, r, device=device)  # zeros: nothing is added at first
        init.kaiming_uniform_(self.lora_A, a=sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        thin = dropout(x, self.dropout, self.training) if self.dropout else x
        return self.base(x) + linear(linear(thin, self.lora_A), self.lora_B) * (self.alpha / self.r)

    @no_grad()
    def merged(self) -> Linear:
        """The linear layer with what was learned added to its weight."""
        self.base.weight.assign_(self.base.weight + (self.lora_B @ self.lora_A) * (self.alpha / self.r))
        return self.base.requires_grad_(True)  # type: ignore[return-value]

    def extra_repr(self) -> str:
        return f"r={self.r}, alpha={self.alpha}"


def _matches(name: str, pattern: str | tuple[str, ...]) -> bool:
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    return any(fnmatchcase(name, p) for p in patterns)


def _replaced(model: Module, kind: type, make: Any, pattern: str | tuple[str, ...]) -> int:
    """Put make(module) in the place of each module of a kind whose dotted name matches; how many."""
    found = [
        (owner, last, f"{prefix}{last}")
        for prefix, owner in model._tree()
        for last, m in owner._own(Module)
        if type(m) is kind
    ]
    chosen = [(owner, last) for owner, last, name in found if _matches(name, pattern)]
    for owner, last in chosen:
        setattr(owner, last, make(getattr(owner, last)))
    return len(chosen)


def lora(
    model: Module, r: int = 8, alpha: float = 16.0, pattern: str | tuple[str, ...] = "*", dropout: float = 0.0
) -> Module:
    """Freeze a model and add low ranks to its linear layers whose dotted names match; returns it.

    pattern: one or several, as of files: "blocks.*.qkv". ValueError where no linear layer matches.
    """
    model.requires_grad_(False)
    if not _replaced(model, Linear, lambda m: LoRALinear(m, r, alpha, dropout), pattern):
        names = [name for name, m in model.named_modules() if type(m) is Linear]
        given = f"linear layers are {', '.join(names[:8]) or 'none'}{', ...' * (len(names) > 8)}"
        raise ValueError(f"lora(pattern={pattern!r}): matches no linear layer: {given}")
    return model


def merge_lora(model: Module) -> Module:
    """Put linear layers with what was learned added in the places of all LoRALinear; returns the model."""
    _replaced(model, LoRALinear, LoRALinear.merged, "*")
    return model


def freeze(model: Module, pattern: str | tuple[str, ...] = "*", frozen: bool = True) -> list[str]:
    """Let gradients be taken no more (frozen=False: again) by the parameters whose dotted names match; their
    names.

    pattern: one or several, as of files: "encoder.*". ValueError where no parameter matches.
    """
    chosen = [(name, p) for name, p in model.named_parameters() if _matches(name, pattern)]
    if not chosen:
        raise ValueError(f"freeze(pattern={pattern!r}): matches no parameter: see named_parameters()")
    for _, p in chosen:
        p.requires_grad_(not frozen)
    return [name for name, _ in chosen]
