"""NamedTensor: a tensor and the names of its dims. The graph below has no names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..core.tree import Branch
from ..errors import TypeError, ValueError
from ..errors import suggest as near
from ..tensor import Data, Tensor
from ..tensor import tensor as plain
from .names import Names, checked, ordered, place, places, shown

# What the methods call, by name: the modules above this one fill it. "call" calls an operation of the table.
METHODS: dict[str, Callable[..., Any]] = {}
known: set[str] = set()  # the operations with a rule or a refusal

# Attributes of the tensor, which no name concerns.
SAME = {
    "backward", "data_ptr", "device", "dtype", "element_size", "get_device", "is_complex",
    "is_contiguous", "is_cpu", "is_cuda", "is_floating_point", "is_leaf", "is_signed", "item",
    "itemsize", "nbytes", "ndim", "nelement", "numel", "numpy", "plan", "register_hook",
    "requires_grad", "retain_grad", "shape", "tolist", "wgsl",
}  # fmt: skip
# Methods of the tensor whose result has the same dims.
KEPT = {
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "contiguous", "cpu", "cuda", "detach",
    "double", "float", "gpu", "half", "int", "long", "pin_memory", "realize", "requires_grad_", "short",
    "to", "to_device", "type", "type_as",
}  # fmt: skip


class NamedTensor(Branch):
    """A tensor whose dims have names; operations use these instead of positions.

    tensor: the plain tensor
    names: a name for each dim, in order; one string is split at spaces
    Raises ValueError if a name occurs twice or there are not as many as dims, TypeError if the tensor is not
    one.
    """

    __slots__ = ("names", "tensor")
    tensor: Tensor
    names: Names

    def __init__(self, tensor: Tensor, names: str | Iterable[str]):
        if not isinstance(tensor, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance] - users' arguments
            raise TypeError(f"NamedTensor({type(tensor).__name__}): takes a tensor: use fb.named.tensor")
        self.tensor = tensor
        self.names = checked(names, tensor.ndim, f"NamedTensor({list(tensor.shape)}, {names!r})")

    # --- as a part of nested containers: fb.jit, fb.grad and others see the tensor ---

    def parts(self) -> tuple[Tensor, ...]:
        """The tensor, as what transforms of functions replace."""
        return (self.tensor,)

    def with_parts(self, parts: Sequence[Any]) -> NamedTensor:
        """The same names on another value of the tensor.

        parts: the one value
        """
        new = object.__new__(NamedTensor)
        new.tensor, new.names = parts[0], self.names
        return new

    def static(self) -> Names:
        """What a recorded call must have in common: the names."""
        return self.names

    # --- what is known without running ---

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each dim by its name."""
        return dict(zip(self.names, self.tensor.shape, strict=True))

    def __repr__(self) -> str:
        return f"NamedTensor({shown(self.names, self.tensor.shape)}, {self.tensor!r})"

    def __dir__(self) -> Iterator[str]:
        return iter({*super().__dir__(), *SAME, *KEPT, *known})

    def __getattr__(self, name: str) -> Any:
        if name in SAME:
            return getattr(self.tensor, name)
        if name in KEPT:
            return partial(_keep, self, name)
        if name.startswith("__"):  # what Python or a library asks for; operations with such names are methods
            raise AttributeError(name)
        if name in known:
            return partial(METHODS["call"], name, self)
        raise AttributeError(f"NamedTensor.{name}: no such operation{near(name, known)}")

    def __len__(self) -> int:
        raise TypeError(f"len({self._text()}): dims have no order here: use x.sizes[name]")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"iter({self._text()}): dims have no order here: use x.unbind(name)")

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __float__(self) -> float:
        return float(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)

    def _text(self) -> str:
        return shown(self.names, self.tensor.shape)

    # --- names ---

    def rename(self, names: Mapping[str, str] | None = None, **new: str) -> NamedTensor:
        """The same tensor with other names.

        names: a dict from old names to new ones
        new: the same as arguments: x.rename(row="y")
        Raises IndexError for an unknown name, ValueError for a new name that another dim has.
        """
        changes = {**(names or {}), **new}
        call = f"rename({self._text()}, {changes})"
        for old in changes:
            place(self, old, call)
        return NamedTensor(
            self.tensor,
            checked([changes.get(name, name) for name in self.names], len(self.names), call),
        )

    def order(self, *names: str) -> NamedTensor:
        """The dims in another order. Names may end or begin with "...", which stands for all others.

        names: all names in the new order
        Raises ValueError if names are missing or given twice, IndexError for an unknown one.
        """
        call = f"order({self._text()}, {', '.join(map(repr, names))})"
        listed = [n for n in names if n != "..."]
        places(self, listed, call)
        rest = [n for n in self.names if n not in listed]
        if "..." in names:
            position = names.index("...")
            listed[position:position] = rest
        elif rest:
            missing = ", ".join(map(repr, rest))
            raise ValueError(f"{call}: {missing} is missing: name all dims, or write '...' for the others")
        return NamedTensor(ordered(self, listed), listed)

    def to_tensor(self, *names: str) -> Tensor:
        """The plain tensor with its dims in this order, for functions without names.

        names: all names in order, or none to take the present order
        Raises as `order`.
        """
        return self.order(*names).tensor if names else self.tensor

    def flatten(self, names: Mapping[str, Sequence[str]] | None = None, **new: Sequence[str]) -> NamedTensor:
        """Several dims as one: x.flatten(pixel=("row", "column")); the first varies slowest. The new dim is
        where the first of them was.

        names: a dict from the new name to the dims that it joins
        new: the same as arguments
        Raises IndexError for an unknown name, ValueError for a new name that another dim has.
        """
        return METHODS["flatten"](self, {**(names or {}), **new})

    def unflatten(self, dim: str, sizes: Mapping[str, int]) -> NamedTensor:
        """One dim as several: x.unflatten("pixel", {"row": 28, "column": 28}). One size may be -1.

        dim: the name
        sizes: the new names with sizes, in order
        Raises ValueError if the sizes do not fit or a name clashes, IndexError for an unknown one.
        """
        return METHODS["unflatten"](self, dim, sizes)

    def expand(self, sizes: Mapping[str, int] | None = None, **new: int) -> NamedTensor:
        """New dims in front, along which the tensor is repeated without a copy.

        sizes: new names with sizes; a name that the tensor has must have size 1 there
        new: the same as arguments: x.expand(batch=4)
        Raises ValueError if the tensor has the name with another size.
        """
        return METHODS["expand"](self, {**(sizes or {}), **new})

    # --- elements by name ---

    def isel(self, places: Mapping[str, Any] | None = None, **by_name: Any) -> Any:
        """Elements by positions along named dims: x.isel(row=3, column=slice(0, 2)). An int removes the dim;
        a slice or a 1-d integer tensor keeps it.

        places: a dict from names to ints, slices or tensors
        by_name: the same as arguments
        Raises IndexError for an unknown name or a position that is out of range.
        """
        return METHODS["isel"](self, {**(places or {}), **by_name})

    sel = isel  # there are no labels, so positions are the only coordinates

    def __getitem__(self, key: Any) -> Any:
        return METHODS["isel"](self, METHODS["by_name"](self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        METHODS["assign"](self, METHODS["by_name"](self, key), value)

    # --- in einops' words ---

    def rearrange(self, pattern: str, **sizes: int) -> NamedTensor:
        """einops' rearrange; the pattern names this tensor's dims, a group (a b) is the dim a_b.

        pattern: such as "batch row column -> batch (row column)"
        sizes: of new names
        Raises ValueError if the pattern does not fit.
        """
        return METHODS["rearrange"](self, pattern, **sizes)

    def reduce(self, pattern: str, reduction: str | Callable[..., Any], **sizes: int) -> Any:
        """einops' reduce; names that are not on the right are reduced.

        pattern: such as "batch row column -> batch"
        reduction: "sum", "mean", "max", "min", "prod", "any", "all", or a function of (tensor, dims)
        sizes: of new names
        Raises ValueError if the pattern does not fit.
        """
        return METHODS["reduce"](self, pattern, reduction, **sizes)

    def repeat(self, pattern: str, **sizes: int) -> NamedTensor:
        """einops' repeat; new names on the right are new dims.

        pattern: such as "row column -> row column channel"
        sizes: of new names
        Raises ValueError if the pattern does not fit.
        """
        return METHODS["repeat"](self, pattern, **sizes)

    # --- operators ---

    def __matmul__(self, other: Any) -> Any:
        return _call("matmul", self, other)

    def __add__(self, other: Any) -> Any:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _call("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _call("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _call("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _call("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _call("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _call("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _call("floor_divide", self, other)

    def __mod__(self, other: Any) -> Any:
        return _call("remainder", self, other)

    def __pow__(self, other: Any) -> Any:
        return _call("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _call("pow", other, self)

    def __neg__(self) -> Any:
        return _call("neg", self)

    def __abs__(self) -> Any:
        return _call("abs", self)

    def __invert__(self) -> Any:
        return _call("bitwise_not", self)

    def __and__(self, other: Any) -> Any:
        return _call("bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return _call("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return _call("bitwise_xor", self, other)

    def __lt__(self, other: Any) -> Any:
        return _call("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _call("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _call("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _call("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return _call("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _call("ne", self, other)

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let functions of the package take named tensors: fb.exp(x).

        func: the operation
        types: the classes of the arguments
        args: the arguments
        kwargs: those by name
        """
        return _call(getattr(func, "__name__", "") or func.name, *args, **(kwargs or {}))


def named(value: Tensor, names: Sequence[str]) -> Any:
    """A result with names; a plain tensor if it has no dims."""
    return NamedTensor(value, names) if value.ndim else value


def _call(name: str, *args: Any, **kw: Any) -> Any:
    return METHODS["call"](name, *args, **kw)


def _keep(x: NamedTensor, name: str, *args: Any, **kw: Any) -> NamedTensor:
    return x.with_parts([getattr(x.tensor, name)(*args, **kw)])


def tensor(data: Data | Tensor, names: str | Iterable[str], **kw: Any) -> NamedTensor:
    """A named tensor of numbers, of an array or of a tensor.

    data: as for fb.tensor; a tensor is taken without a copy
    names: a name for each dim; one string is split at spaces
    kw: dtype, device and requires_grad, as for fb.tensor
    Raises ValueError if a name occurs twice or there are not as many as dims.
    """
    value = data if isinstance(data, Tensor) and not kw else plain(data, **kw)
    return NamedTensor(value, names)
