"""Fine-tuning few parameters: low-rank additions to linear layers and attention weights (LoRA), and freezing
by name."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from math import sqrt
from typing import Any

from ...core.modes import no_grad
from ...errors import ValueError
from ...ops.contract import linear
from ...ops.random import dropout
from ...tensor import Tensor
from .. import init
from ..attention import MultiheadAttention
from ..blocks import BlockLinear
from ..linear import Linear, new_parameter, positive
from ..members import Owner, own_members
from ..module import Module, tree_of
from ..parameter import Parameter
from ..quantized import QuantizedLinear
from .parametrize import is_parametrized, register_parametrization, remove_parametrizations

LINEAR = (Linear, QuantizedLinear, BlockLinear)
AnyLinear = Linear | QuantizedLinear | BlockLinear
PACKED = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")  # of MultiheadAttention


class LoRALinear(Module):
    """A frozen linear layer plus a product of two thin matrices that are learned (Hu et al., 2021).

    [..., in] -> [..., out]; base: the layer, which may be quantised. r: the rank of the addition, which is
    scaled by alpha / r. alpha: see r. dropout: the fraction of inputs that the addition drops. ValueError for
    an invalid rank.
    """

    def __init__(self, base: AnyLinear, r: int = 8, alpha: float = 16.0, dropout: float = 0.0):
        positive("LoRALinear", r=r)
        self.base, self.r, self.alpha, self.dropout = base.requires_grad_(False), r, alpha, dropout
        device = _weight_of(base).device
        self.lora_A = new_parameter(r, base.in_features, device=device)
        # zeros, so that the addition is 0 at first
        self.lora_B = new_parameter(base.out_features, r, device=device)
        init.kaiming_uniform_(self.lora_A, a=sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        thin = dropout(x, self.dropout, self.training) if self.dropout else x
        # B (A x) and not (B A) x: two thin products of rank r
        return self.base(x) + linear(linear(thin, self.lora_A), self.lora_B) * (self.alpha / self.r)

    @no_grad()
    def merged(self) -> Linear:
        """The linear layer with the addition merged into its weight, dequantised if it was quantised."""
        base = self.base if isinstance(self.base, Linear) else _floats(self.base)
        # a new parameter: the weight may be shared with an embedding, which is not adapted
        base.weight = Parameter(base.weight + (self.lora_B @ self.lora_A) * (self.alpha / self.r))
        return base.requires_grad_(True)  # trained again

    def extra_repr(self) -> str:
        return f"r={self.r}, alpha={self.alpha}"


def _weight_of(m: AnyLinear) -> Tensor:
    """The weight of a layer as floats, lazily."""
    return m.weight.dequantize() if isinstance(m, QuantizedLinear) else m.weight


def _floats(m: QuantizedLinear | BlockLinear) -> Linear:
    weight = _weight_of(m)
    layer = Linear(m.in_features, m.out_features, m.bias is not None, weight.device)
    layer.weight.assign_(weight)
    if layer.bias is not None and m.bias is not None:
        layer.bias.assign_(m.bias)
    return layer


class LowRank(Module):
    """A parametrization: a weight plus the product of two thin learned matrices. [n, k] -> [n, k]"""

    def __init__(self, weight: Tensor, r: int, alpha: float):
        positive("LowRank", r=r)
        self.r, self.alpha = r, alpha
        self.lora_A = new_parameter(r, weight.shape[1], device=weight.device)
        self.lora_B = new_parameter(weight.shape[0], r, device=weight.device)
        init.kaiming_uniform_(self.lora_A, a=sqrt(5))

    def forward(self, weight: Tensor) -> Tensor:
        # an attention weight is used inside the op, so B A is added to the weight itself
        return weight + (self.lora_B @ self.lora_A) * (self.alpha / self.r)


def _packed_weights(model: Module) -> list[tuple[str, MultiheadAttention, str]]:
    """(dotted name, module, name) of each attention weight that no linear layer owns."""
    return [
        (f"{prefix}{name}", m, name)
        for prefix, m in tree_of(model)
        if isinstance(m, MultiheadAttention)
        for name in PACKED
        if isinstance(vars(m).get(name), Parameter)
    ]


def _matches(name: str, pattern: str | tuple[str, ...]) -> bool:
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    return any(fnmatchcase(name, p) for p in patterns)


def _replace(
    model: Module, kinds: tuple[type, ...], make: Callable[[Any], Module], pattern: str | tuple[str, ...]
) -> int:
    """Replace each module of these kinds whose dotted name matches by make(module), inner ones first and a
    shared one everywhere; returns the number of replacements."""
    places = [
        (owner, last, m, f"{prefix}{last}")
        for prefix, owner in tree_of(model)
        for last, m in own_members(owner, Owner)
        if type(m) in kinds  # exactly these classes: subclasses may compute something else
    ]
    chosen = [(owner, last, m) for owner, last, m, name in places if _matches(name, pattern)]
    replacements: dict[Module, Module] = {}
    # Inner modules first: an outer one may contain them. A shared module gets one replacement.
    for owner, last, m in reversed(chosen):
        if m not in replacements:
            replacements[m] = make(m)
        setattr(owner, last, replacements[m])
    return len(chosen)


def lora(
    model: Module, r: int = 8, alpha: float = 16.0, pattern: str | tuple[str, ...] = "*", dropout: float = 0.0
) -> Module:
    """Freeze a model and add low ranks to its linear layers whose dotted names match, quantised ones too, and
    to the weights of MultiheadAttention's queries, keys and values ("*.in_proj_weight"); returns it.

    r: the rank of the additions, which are scaled by alpha / r. pattern: one or several file-name patterns:
    "blocks.*.qkv". dropout: the fraction of a layer's inputs that the addition drops in training. ValueError
    if no linear layer matches, or for a dropout if an attention weight matches.
    """
    weights = [(m, name) for path, m, name in _packed_weights(model) if _matches(path, pattern)]
    if weights and dropout:
        rule = f"{weights[0][1]} of MultiheadAttention supports no dropout: pass 0, or a pattern without it"
        raise ValueError(f"lora(pattern={pattern!r}, dropout={dropout}): {rule}")
    model.requires_grad_(False)  # LoRALinear's own parameters, made below, are trained
    layers = _replace(model, LINEAR, lambda m: LoRALinear(m, r, alpha, dropout), pattern)
    for m, name in weights:
        register_parametrization(m, name, LowRank(getattr(m, name), r, alpha))
    if not layers and not weights:
        names = [name for name, m in model.named_modules() if type(m) in LINEAR]
        names += [name for name, _, _ in _packed_weights(model)]
        layer_names = f"the linear layers are {', '.join(names[:8]) or 'none'}{', ...' * (len(names) > 8)}"
        raise ValueError(f"lora(pattern={pattern!r}): matches no linear layer: {layer_names}")
    return model


def merge_lora(model: Module) -> Module:
    """Replace each LoRALinear by a linear layer with the addition merged, and merge those of attention
    weights; returns the model. Quantised layers become Linear: `nn.quantize_` makes them small again."""
    _replace(model, (LoRALinear,), LoRALinear.merged, "*")
    for m in list(model.modules()):
        adapted = [name for name in PACKED if _is_adapted(m, name)]
        for name in adapted:
            remove_parametrizations(m, name)
        # The norm and biases of a merged attention are trained again.
        for _, p in own_members(m, Parameter) if adapted else ():
            p.requires_grad_(True)
    return model


def _is_adapted(m: Module, name: str) -> bool:
    return is_parametrized(m, name) and any(isinstance(p, LowRank) for p in vars(m)["parametrizations"][name])


def freeze(model: Module, pattern: str | tuple[str, ...] = "*", frozen: bool = True) -> list[str]:
    """Set requires_grad to False (frozen=False: True) for the parameters of a model whose dotted names match;
    returns their names. The running statistics of batch norms still change, unless those layers are in eval
    mode.

    pattern: one or several file-name patterns: "encoder.*". ValueError if no parameter matches.
    """
    chosen = [(name, p) for name, p in model.named_parameters() if _matches(name, pattern)]
    if not chosen:
        raise ValueError(f"freeze(pattern={pattern!r}): matches no parameter: see named_parameters()")
    for _, p in chosen:
        p.requires_grad_(not frozen)
    return [name for name, _ in chosen]
