"""Pruning: a hook sets a parameter to NAME_orig * NAME_mask before each call."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...core.modes import no_grad
from ...errors import TypeError, ValueError
from ...ops.creation import ones_like
from ...ops.distribution import rand
from ...ops.join import cat
from ...tensor import Tensor
from ..hooks import own_hooks
from ..module import Module
from ..parameter import Parameter


def _count(method: str, amount: float, size: int) -> int:
    """The number of elements to prune among `size`, from a fraction or a number."""
    is_share = isinstance(amount, float)
    # bool is an int: amount=True would prune one element
    if isinstance(amount, bool) or amount < 0 or (is_share and amount > 1):
        raise ValueError(f"{method}(amount={amount}): must be a fraction from 0 to 1 or an integer: pass one")
    n = round(amount * size) if is_share else int(amount)
    if n > size:
        raise ValueError(f"{method}(amount={amount}): only {size} are left: pass a smaller amount")
    return n


def _mask_smallest(scores: Tensor, n: int) -> Tensor:
    """0 for the n smallest, 1 for the others. [size] -> [size]"""
    return (scores.argsort().argsort() >= n).to(scores.dtype)  # argsort of argsort is the rank


class BasePruningMethod(ABC):
    """A pruning method: subclass it with compute_mask(t, default_mask), and call `apply`.

    PRUNING_TYPE is the unit of an amount: "unstructured" (elements), "structured" (slices along a dim) or
    "global".
    """

    PRUNING_TYPE = "unstructured"
    name = ""

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """1 for elements to keep and 0 for those to prune, among those whose default_mask is 1; t: the
        importance of each."""

    def __call__(self, module: Module, _args: tuple[Any, ...]) -> None:
        setattr(module, self.name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        return getattr(module, f"{self.name}_orig") * getattr(module, f"{self.name}_mask")

    @no_grad()
    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Any = None) -> Tensor:
        """A tensor with pruned elements 0; importance_scores: used instead of its values."""
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, mask)

    @classmethod
    @no_grad()
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kw: Any
    ) -> "BasePruningMethod":
        """Prune a parameter further; earlier pruning is kept. Returns the method.

        name: of the parameter. importance_scores: used instead of its values.
        """
        method = cls(*args, **kw)
        method.name = name
        # The first pruning of a parameter; later ones multiply its mask.
        if _hook(module, name) is None:
            weight = getattr(module, name)
            # the parameter gives way to a plain attribute, which the hook sets: gradients reach NAME_orig
            delattr(module, name)
            module.register_parameter(f"{name}_orig", Parameter(weight.detach(), weight.requires_grad))
            module.register_buffer(f"{name}_mask", ones_like(weight.detach()))
            module.register_forward_pre_hook(method)
        before = getattr(module, f"{name}_mask")
        scores = getattr(module, f"{name}_orig").detach() if importance_scores is None else importance_scores
        # a mask only shrinks: pruned elements stay pruned
        before.assign_(method.compute_mask(scores, before) * before)
        method(module, ())  # the pruned value is there before the next call
        return method

    def remove(self, module: Module) -> None:
        """Turn the pruned tensor into a plain parameter again."""
        remove(module, self.name)


def _hook(module: Module, name: str) -> int | None:
    """The key of the hook that prunes a parameter."""
    for key, hook in own_hooks(module, "forward_pre").items():
        if isinstance(hook.call, BasePruningMethod) and hook.call.name == name:
            return key
    return None


class KeepsAll(BasePruningMethod):
    """Prunes nothing: adds a mask of ones, to edit manually."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Unstructured(BasePruningMethod):
    """Prunes an amount of the least important remaining elements."""

    def __init__(self, amount: float):
        _count(type(self).__name__, amount, 1 << 62)  # checks the amount; the size is not known yet
        self.amount = amount

    def scores(self, t: Tensor) -> Tensor:
        return t.abs()

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        left = int(default_mask.sum().item())
        n = _count(type(self).__name__, self.amount, left)
        pruned = default_mask.numel() - left  # they are the least important
        # Pruned elements have score -1, below all others, and are counted with the new ones.
        flat = (default_mask > 0).where(self.scores(t), -1.0).reshape(-1)
        return _mask_smallest(flat, n + pruned).reshape(t.shape)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the smallest absolute value. amount: their number, or share of those left."""


class RandomUnstructured(_Unstructured):
    """Prunes elements at random. amount: their number, or share of those left."""

    def scores(self, t: Tensor) -> Tensor:
        return rand(*t.shape, device=t.device)


class _Structured(BasePruningMethod):
    """Prunes an amount of the least important remaining slices along a dim."""

    PRUNING_TYPE = "structured"
    amount: float
    dim: int

    def slices(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def _other_dims(self, t: Tensor) -> tuple[int, ...]:
        return tuple(d for d in range(t.ndim) if d != self.dim % t.ndim)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        own = self.dim % t.ndim
        remaining = default_mask.amax(self._other_dims(t)) > 0  # slices that have unpruned elements
        left = int(remaining.sum().item())
        # slices that were pruned before have score -1 and are the first n
        n = _count(type(self).__name__, self.amount, left) + t.shape[own] - left
        mask = _mask_smallest(remaining.where(self.slices(t), -1.0), n)
        return mask.reshape(*(-1 if d == own else 1 for d in range(t.ndim))) * default_mask


class LnStructured(_Structured):
    """Prunes the slices along a dim that have the smallest n-norm; amount: their number, or share."""

    def __init__(self, amount: float, n: float, dim: int = -1):
        self.amount, self.n, self.dim = amount, n, dim

    def slices(self, t: Tensor) -> Tensor:
        own = self.dim % t.ndim
        return t.movedim(own, 0).flatten(1).norm(self.n, 1)


class RandomStructured(_Structured):
    """Prunes slices along a dim at random; amount: their number, or share."""

    def __init__(self, amount: float, dim: int = -1):
        self.amount, self.dim = amount, dim

    def slices(self, t: Tensor) -> Tensor:
        return rand(t.shape[self.dim % t.ndim], device=t.device)


class CustomFromMask(BasePruningMethod):
    """Prunes the elements whose mask is 0."""

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones; returns the module."""
    KeepsAll.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements at random, an amount of those left (share or number); returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Any = None) -> Module:
    """Prune the elements of the smallest absolute value, an amount of those left (share or number); returns
    the module. importance_scores: used instead of the values."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices along a dim at random, an amount of those left; returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: float, dim: int, importance_scores: Any = None
) -> Module:
    """Prune the slices along a dim of the smallest n-norm, an amount of those left; returns the module.
    importance_scores: used instead of the values."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


@no_grad()
def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None, **kw: Any
) -> None:
    """Prune the least important elements of several parameters together.

    parameters: (module, name) pairs. pruning_method: a class as L1Unstructured. importance_scores: a dict
    from (module, name) to scores used instead of the values. kw: arguments of the method. TypeError for
    slices.
    """
    pairs = list(parameters)
    scores: dict[tuple[Module, str], Tensor] = importance_scores or {}
    if pruning_method.PRUNING_TYPE != "unstructured":
        rule = "slices of several shapes can't be compared: use an unstructured method"
        raise TypeError(f"global_unstructured({pruning_method.__name__}): {rule}")
    values: list[Tensor] = [(scores[pair] if pair in scores else getattr(*pair)).detach() for pair in pairs]
    masks: list[Tensor] = [
        vars(m).get(f"{name}_mask", ones_like(v)) for (m, name), v in zip(pairs, values, strict=True)
    ]
    joined = cat([m.reshape(-1) for m in masks])
    # One ranking over all parameters' elements.
    mask = pruning_method(**kw).compute_mask(cat([v.reshape(-1) for v in values]), joined)
    offset = 0
    for (module, name), v in zip(pairs, values, strict=True):
        # each gets its part of the common mask
        custom_from_mask(module, name, mask[offset : offset + v.numel()].reshape(v.shape))
        offset += v.numel()


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune the elements of a parameter whose mask is 0; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of a submodule, is pruned."""
    hooks = (h.call for m in module.modules() for h in own_hooks(m, "forward_pre").values())
    return any(isinstance(call, BasePruningMethod) for call in hooks)


@no_grad()
def remove(module: Module, name: str) -> Module:
    """Turn a pruned tensor into a plain parameter again, with pruned elements 0; returns the module.
    ValueError if it is not pruned."""
    key = _hook(module, name)
    if key is None:
        rule = f"{type(module).__name__} has no pruned parameter of that name: check the name"
        raise ValueError(f"remove({name!r}): {rule}")
    method: Any = own_hooks(module, "forward_pre").pop(key).call
    value, requires_grad = method.apply_mask(module), getattr(module, f"{name}_orig").requires_grad
    for last in (name, f"{name}_orig", f"{name}_mask"):
        delattr(module, last)
    module.register_parameter(name, Parameter(value.detach(), requires_grad))
    return module


Identity = KeepsAll
