"""Tensor: a node of the lazy graph with PyTorch's methods; reading it runs the graph."""

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import prod
from typing import Any, TypeAlias, cast

from .autodiff.backward import Gradients, backward
from .autodiff.hooks import register
from .core import dtype as dt
from .core import op as _op
from .core.alias import is_in_order
from .core.dtype import DTypeLike
from .core.handle import RemovableHandle
from .core.host import Data, Doubles, to_bytes, to_list, to_numpy
from .core.modes import is_grad_enabled
from .core.node import Node, toposort
from .core.op import COMPOSED, OPS, apply
from .core.overrides import call_default
from .core.printing import format_tensor, in_html
from .core.shape import Shape, normal_dim
from .core.torch_hints import missing_from
from .core.tree import is_tuple
from .device import DeviceLike, get_device
from .errors import TypeError, ValueError
from .fusion.planner import plan
from .kernels.ir import Kernel
from .ops import source as _source
from .ops.elementwise import with_zero_gradient
from .ops.table import Table
from .runtime import run, transfers
from .runtime.exchange import Exchange, leaf
from .runtime.protocols import Protocols
from .runtime.state import mark, note_assignment, taken_by, thread
from .runtime.writes import check_write, show_as, update_views

_param_keys = count(1)
on_subclass: list[Callable[[Any], None]] = []  # called with each new subclass of Tensor; see subclass.py
_where = OPS["where"]
_truediv = cast("Callable[..., float]", operator.truediv)  # pyright: ignore[reportUnknownMemberType] - untyped
assert _source  # its entries register themselves


class HostScalar:
    """A number on the host that kernels read at every run: a recorded step sees its new `value`.

    Arithmetic with HostScalars and numbers makes a new HostScalar, which is computed on the host from these.
    """

    def __init__(self, value: float):
        self._value = value
        # formulas of this number, cached so that equal ones are the same object
        self._formulas: dict[tuple[Any, ...], HostScalar] = {}

    @property
    def held(self) -> float:
        """The node of the number, which kernels read; a plan with it does not depend on the value."""
        return self._value

    @property
    def value(self) -> Any:
        if thread.recorder is not None:  # formulas of this number are derived state
            thread.recorder.numbers[self] = None
        return self.held

    @value.setter
    def value(self, value: float) -> None:
        if thread.recorder is not None:
            thread.recorder.spoil("it sets a HostScalar, such as a learning rate: set it outside")
        self._value = value

    def map(self, formula: Callable[..., float], *numbers: Any) -> "HostScalar":
        """formula(this, *numbers) as a HostScalar, which changes with this one and with HostScalars among the
        numbers."""
        return self._derive(formula, self, *numbers)

    def _derive(self, formula: Callable[..., float], *numbers: Any) -> Any:
        if not all(isinstance(n, HostScalar | int | float) for n in numbers):
            return NotImplemented
        return self._formulas.setdefault((formula, *numbers), HostFormula(formula, numbers))

    def __add__(self, other: Any) -> Any:
        return self._derive(operator.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return self._derive(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._derive(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._derive(operator.mul, self, other)

    def __truediv__(self, other: Any) -> Any:
        return self._derive(_truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._derive(_truediv, other, self)

    def __neg__(self) -> Any:
        return self._derive(operator.sub, 0.0, self)

    __radd__, __rmul__ = __add__, __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return HostScalar, (self.held,)

    def __repr__(self) -> str:
        return f"HostScalar({self.value})"


class HostFormula(HostScalar):
    """A HostScalar that is a formula of others."""

    def __init__(self, formula: Callable[..., float], numbers: tuple[Any, ...]):
        super().__init__(0.0)
        self._formula, self._numbers = formula, numbers

    @property
    def held(self) -> float:
        return self._formula(*[n.held if isinstance(n, HostScalar) else n for n in self._numbers])

    @property
    def value(self) -> Any:
        return super().value

    @value.setter
    def value(self, value: float) -> None:
        raise AttributeError(f"HostScalar.value={value}: it is computed from other values: set those")


class Tensor(Protocols, Exchange, Table):
    """An array of one dtype on one device. Operations are lazy; reading a value runs them.

    Tensor(2, 3) is zeros of those sizes, Tensor([1, 2]) a list's numbers in the default float.
    """

    __hash__ = object.__hash__  # type: ignore[assignment] # identity, although == compares elements
    # its base or its views (core/alias.py); guards do not watch this attribute
    __slots__ = ("gradient", "link", "writes")
    node: Node
    link: Any
    writes: int  # the number of writes in torch mode; unset until the first one
    gradient: Any  # `.grad` in torch mode (flambeau.torch); unset until the first one

    def __init__(self, node: Any = (), *sizes: int):
        self.node = node
        self.link = None
        if node.__class__ is not Node:  # a user's Tensor([1, 2]) or Tensor(2, 3), as in PyTorch
            if isinstance(node, int):
                value = Tensor.zeros(node, *sizes)
            elif is_tuple(node) and hasattr(node, "numel"):  # a torch.Size (flambeau.torch)
                value = Tensor.zeros(*cast("tuple[int, ...]", node))
            else:
                value = tensor(node, dt.default_float())
            self.node = value.node

    def __init_subclass__(cls, **kw: Any):
        super().__init_subclass__(**kw)
        for prepare in on_subclass:
            prepare(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call func, an operation or a method, for a subclass: its results get the class."""
        return call_default(cls, func, types, args, kwargs)

    # --- properties known without running ---

    @property
    def shape(self) -> Shape:
        """The size of each dim, a tuple."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.node.shape)

    @property
    def dtype(self) -> dt.DType:
        """The type of the elements."""
        return self.node.dtype

    @property
    def device(self) -> Any:
        """The device of the value, or the one that will compute it."""
        return self.node.device or get_device()

    @property
    def requires_grad(self) -> bool:
        """Whether backward() goes through this tensor; setting it is requires_grad_."""
        return self.node.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: "bool") -> None:  # type: ignore[valid-type]
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> "bool":  # type: ignore[valid-type]
        """Whether the tensor is a leaf: no gradients flow through it to other tensors."""
        # param is the key of a leaf that requires gradients
        return self.node.param is not None or not self.node.requires_grad

    def where(
        self,
        condition: "TensorLike | None" = None,
        other: "TensorLike | None" = None,
        *,
        input: "TensorLike | None" = None,
        out: "Tensor | None" = None,
    ) -> Any:
        """This tensor's elements where the condition, a tensor of bools, is true, else those of `other`. For
        a bool tensor `c` and an argument that is not a bool tensor, c.where(x, y) is where(c, x, y).
        TypeError if neither is a bool tensor.

        input: PyTorch's name of `x`. out: a tensor that receives the result, and is returned.
        [...], [...], [...] -> [...]
        """
        if input is None and isinstance(condition, Tensor) and condition.dtype is dt.bool_:
            return _where(condition, self, other, **({} if out is None else {"out": out}))
        chosen = condition if input is None else input
        if isinstance(chosen, Tensor) and self.dtype is not dt.bool_:
            call = f"where({_op.describe(self)}, {_op.describe(chosen)})"
            raise TypeError(f"{call}: the condition must be a tensor of bools: cast it with .bool()")
        return _where(self, chosen, other, **({} if out is None else {"out": out}))

    def type(self, dtype: DTypeLike) -> "Tensor":
        """Cast to a dtype, as to(dtype) does."""
        return self.to(dtype)

    @property
    def T(self) -> "Tensor":
        """The dims in reverse order. [a, ..., z] -> [z, ..., a]"""
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> "Tensor":
        """The last two dims exchanged. [..., n, m] -> [..., m, n]"""
        return self.transpose(-2, -1)

    @property
    def H(self) -> "Tensor":
        """A matrix transposed and conjugated. [n, m] -> [m, n]"""
        if self.ndim not in (0, 2):
            raise ValueError(f"H({_op.describe(self)}): takes a matrix: use mH for the last two dims")
        return self.adjoint() if self.ndim else self.conj()

    @property
    def mH(self) -> "Tensor":
        """The last two dims exchanged, and conjugates. [..., n, m] -> [..., m, n]"""
        return self.adjoint()

    @property
    def real(self) -> "Tensor":
        """The real parts, as a view; a real tensor itself. It can be assigned to."""
        return COMPOSED["real"](self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real.copy_(value)

    @property
    def imag(self) -> "Tensor":
        """The imaginary parts of complex numbers, as a view. It can be assigned to."""
        return COMPOSED["imag"](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag.copy_(value)

    @property
    def itemsize(self) -> "int":  # type: ignore[valid-type]
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> "int":  # type: ignore[valid-type]
        """Bytes of all elements."""
        return self.numel() * self.itemsize

    def size(self, dim: int | None = None):
        """The shape, or one of its sizes."""
        return self.shape if dim is None else self.shape[normal_dim(dim, self.ndim)]

    def dim(self) -> int:
        """The number of dims."""
        return self.ndim

    def numel(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    nelement, ndimension = numel, dim

    def element_size(self) -> "int":  # type: ignore[valid-type]
        """Bytes of an element."""
        return self.itemsize

    def is_contiguous(self) -> "bool":  # type: ignore[valid-type]
        """Whether the elements are in order: true except for some views."""
        return is_in_order(self)

    def is_complex(self) -> "bool":  # type: ignore[valid-type]
        """Whether the elements are complex numbers."""
        return self.dtype.is_complex

    def is_signed(self) -> "bool":  # type: ignore[valid-type]
        """Whether the dtype has numbers below 0."""
        return self.dtype.kind in "fic"

    def is_same_size(self, other: "Tensor") -> "bool":  # type: ignore[valid-type]
        """Whether the shapes are equal."""
        return self.shape == other.shape

    def is_nonzero(self) -> "bool":  # type: ignore[valid-type]
        """Whether the one element is not 0; runs the graph and waits."""
        return bool(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len(): a 0-d tensor has no length: use .item()")
        return self.shape[0]

    def __iter__(self) -> "Iterator[Tensor]":
        return (self[i] for i in range(len(self)))

    @property
    def data(self) -> "Tensor":
        """The same elements without gradients: writes to it reach the tensor, even a leaf that requires
        gradients. It can be assigned to."""
        return self.detach()

    @data.setter
    def data(self, value: "Tensor") -> None:
        self.assign_(value)

    # --- reading ---

    def realize(self) -> "Tensor":
        """Submit the kernels of the value, without waiting for them; returns self."""
        run.realize(self)
        return self

    async def read(self) -> Data:
        """The values on the host, awaited; it also works in a browser's event handlers."""
        return Data((await run.Readback([self]).arrive())[0], self.shape, self.dtype)

    def numpy(self, *, force: "bool" = False):  # type: ignore[valid-type]
        """The values as a NumPy array; runs the graph and waits. force: accepted and ignored."""
        return to_numpy(run.read([self])[0], self.shape, self.dtype)

    def tolist(self):
        """The values as nested lists; runs the graph and waits."""
        return to_list(run.read([self])[0], self.shape, self.dtype)

    def item(self):
        """The value of a tensor of one element, as a Python number; runs the graph and waits. ValueError for
        more elements, or none."""
        if self.numel() != 1:
            raise ValueError(
                f"item({_op.describe(self)}): has {self.numel()} elements, not 1: use .tolist() or .numpy()"
            )
        return to_list(run.read([self])[0], (1,), self.dtype)[0]

    def __repr__(self) -> str:
        if thread.recorder is not None:
            return f"tensor({_op.describe(self)}, being recorded)"
        if not self.device.holds_values:
            kind = "" if self.dtype is dt.default_float() else f", dtype={self.dtype!r}"
            grad = ", requires_grad=True" if self.requires_grad else ""
            return f"tensor(..., device='meta', size={tuple(self.shape)}{kind}{grad})"
        if not self.device.can_wait:
            return f"tensor({_op.describe(self)}, not read: await t.read())"

        data = Data(run.read([self])[0], self.shape, self.dtype)
        facts = [] if self.device is get_device() else [f"device={self.device.name!r}"]
        # As in PyTorch, the dtype is printed only if the values do not imply it: an empty list implies float.
        implied = [dt.dtype_of_scalar(v) for v in (1.0, 1, True, 1j)[: 4 if self.numel() else 1]]
        facts += [] if self.dtype in implied else [f"dtype={self.dtype!r}"]
        return format_tensor(data, [*facts, "requires_grad=True"] if self.requires_grad else facts)

    def _repr_html_(self) -> str | None:
        """The HTML for a notebook; None if values can't be read, as the text form then says."""
        if thread.recorder is not None or not (self.device.can_wait and self.device.holds_values):
            return None

        facts = [f"{self.dtype.name} {list(self.shape)} on {self.device.name}"]
        facts += ["requires_grad"] if self.requires_grad else []
        return in_html(Data(run.read([self])[0], self.shape, self.dtype), facts)

    # --- inspecting ---

    def plan(self):
        """The kernels that would run to compute this tensor; the list prints as a table. Of a graph over
        several devices, a table for each, and the transfers between them."""
        from .runtime.show import table, tables

        if transfers.waiting:
            return Plans(*tables([self.node]))
        plans = self._plan_kernels()
        return Plans(plans.kernels, table(plans))

    def wgsl(self) -> str:
        """The WGSL of every kernel that would run, in order, each after comments with its ops, its shapes
        and, for values made inside `fb.debug.made_at()`, the lines of Python that made them."""
        from .runtime.show import texts, texts_of_waves

        roots = [self.node]
        if transfers.waiting:
            return texts_of_waves(roots)
        order = toposort(roots)
        with self.device.lock:
            return texts(plan(roots, self.device.limits, order), order)

    def _plan_kernels(self):
        roots = [self.node]
        with self.device.lock:  # computing a node releases its inputs
            return plan(roots, self.device.limits, toposort(roots))

    # --- gradients ---

    def backward(
        self,
        gradient: "Tensor | None" = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> Gradients:
        """Gradients of this scalar with respect to every leaf with requires_grad, or only to the parameters
        `inputs`, one or several (ValueError for one that was computed); nothing is stored on tensors.

        `gradient` is the initial gradient for a non-scalar tensor, of the same shape. The graph is freed when
        the value is computed, unless `retain_graph` (default: create_graph) keeps it for another backward.
        With `create_graph` the gradients can be differentiated themselves.
        """
        return backward(self, gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call hook(gradient) in backward when this tensor's gradient is complete; its result, if not None,
        replaces the gradient.

        It is called while backward builds the gradients' graph, with lazy tensors. Returns a handle whose
        remove() unregisters the hook. ValueError if requires_grad is False.
        """
        return register(self, hook)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Set requires_grad; returns self.

        ValueError for False if gradients flow through this tensor to others.
        """
        if self.requires_grad == bool(requires_grad):
            return self
        call = f"requires_grad_({_op.describe(self)}{'' if requires_grad else ', False'})"
        if requires_grad and not self.dtype.has_gradients:
            raise TypeError(f"{call}: only floats and complex numbers have gradients: cast with .float()")
        if not self.is_leaf:
            raise ValueError(f"{call}: gradients flow through it to its inputs: use .detach()")
        self.node = own(self.node)  # a new node: tensors that share the old one keep their requires_grad
        if requires_grad:
            _take_gradients(self)
        mark()
        return self

    def detach_(self) -> "Tensor":
        """Stop gradients through this tensor; returns self."""
        self.node = own(self.node)
        return self

    def assign_(self, value: "TensorLike") -> "Tensor":
        """Replace the value by one of the same shape, which is computed with the next run. Returns self."""
        value = value if isinstance(value, Tensor) else tensor(value, dtype=self.dtype, device=self.device)
        if value.shape != self.shape:
            raise ValueError(
                f"assign_({_op.describe(self)}, {_op.describe(value)}): shapes differ: reshape the value"
            )
        # own: the caller may keep `value`, and its node must not change
        new = own(value.to(self.dtype).to(self.device).node)
        # a parameter keeps its key, by which optimisers and gradients find it
        new.requires_grad, new.param = self.node.param is not None, self.node.param
        self._become(new)
        return self

    def replace_(self, value: "Tensor") -> "Tensor":
        """assign_ with gradients; a parameter can only be assigned inside no_grad. Returns
        self."""
        check_write(self)
        if self.node.param is None and value.shape == self.shape:
            if self.requires_grad and not value.requires_grad and is_grad_enabled():
                value = with_zero_gradient(value.to(self.dtype).to(self.device), self)
            if value.requires_grad:
                self._become(value.to(self.dtype).to(self.device).node)
                return self
        return self.assign_(value)

    def _check_write(self) -> None:
        """ValueError if the tensor is a leaf that requires gradients."""
        check_write(self)

    def _show_as(self, view: "Tensor", name: str) -> "Tensor":
        """Become a view of this tensor with a new shape; `name` is the calling method."""
        with self.device.lock:
            show_as(self, view, name)
        return self

    def _become(self, new: Node) -> None:
        """Set a new value for this tensor and all views of the same elements."""
        with self.device.lock:  # no replay locates the value meanwhile
            old, self.node = self.node, new
            old.replaced = True
            if self.link is None:
                return note_assignment(self, old)
            try:
                update_views(self, old)
            except BaseException:
                self.node, old.replaced = old, False
                raise
            note_assignment(self, old)

    # --- moving ---

    def float(self) -> "Tensor":
        """As float32."""
        return self.to(dt.float32)

    def half(self) -> "Tensor":
        """As float16."""
        return self.to(dt.float16)

    def bfloat16(self) -> "Tensor":
        """As bfloat16."""
        return self.to(dt.bfloat16)

    def double(self) -> "Tensor":
        """As float64, which no GPU has: TypeError there."""
        return self.to(dt.float64)

    def cfloat(self) -> "Tensor":
        """As complex64."""
        return self.to(dt.complex64)

    def cdouble(self) -> "Tensor":
        """As complex128, which no GPU has: TypeError there."""
        return self.to(dt.complex128)

    def char(self) -> "Tensor":
        """As int8, towards 0; values that do not fit wrap."""
        return self.to(dt.int8)

    def byte(self) -> "Tensor":
        """As uint8, towards 0; values that do not fit wrap."""
        return self.to(dt.uint8)

    def is_floating_point(self) -> "bool":  # type: ignore[valid-type]
        """Whether the elements are floats."""
        return self.dtype.is_float

    def int(self) -> "Tensor":
        """As int32, towards 0."""
        return self.to(dt.int32)

    def long(self) -> "Tensor":
        """As int64, towards 0."""
        return self.to(dt.int64)

    def short(self) -> "Tensor":
        """As int16, towards 0; values that do not fit wrap."""
        return self.to(dt.int16)

    def type_as(self, other: "Tensor") -> "Tensor":
        """In the dtype of another tensor."""
        return self.to(other.dtype)

    def bool(self) -> "Tensor":
        """Whether each element is not 0."""
        return self.to(dt.bool_)

    def contiguous(self) -> "Tensor":
        """The tensor itself, or a contiguous copy of a view."""
        return self if is_in_order(self) else Tensor(self.node)

    def new_tensor(
        self, data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None
    ) -> "Tensor":
        """A tensor of host data on the device of this one, in its dtype unless another is given."""
        return tensor(data, dtype=dtype or self.dtype, device=device or self.device)


class Plans(list[Any]):
    """Kernels in order; printing shows them as a table."""

    def __init__(self, kernels: Sequence[Kernel], text: str):
        super().__init__(kernels)
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _take_gradients(x: Tensor) -> None:
    x.node.requires_grad, x.node.param = True, next(_param_keys)
    taken_by[x.node.param] = x


def own(node: Node) -> Node:
    """A new node with the same value: changing it does not affect other tensors."""
    return apply(OPS["detach"], (node,), {})


def tensor(
    data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of `data` (numbers, nested lists, an array or a tensor), copied to the device.

    Python integers become int64. Arrays of float64 become float32, and those of complex128 complex64, unless
    `dtype` (or `set_default_dtype`) says otherwise: GPUs lack float64 and complex128.
    """
    if isinstance(data, Tensor):
        out = data if dtype is None else data.to(dt.as_dtype(dtype))
        out = Tensor(own(out.to(get_device(device) if device else out.device).node))
    else:
        target = get_device(device)
        wide = Doubles.are_kept and target.kind == "cpu"
        raw, shape, stored = to_bytes(data, None if dtype is None else dt.as_dtype(dtype), wide)
        out = Tensor(leaf(raw, shape, stored, target))
        if requires_grad and stored.has_gradients:
            _take_gradients(out)  # no other tensor has this node yet
    return out.requires_grad_() if requires_grad and not out.requires_grad else out


missing_from(Tensor)
_op.bind(Tensor)


TensorLike: TypeAlias = Tensor | float | complex | HostScalar  # operands that are converted and broadcast
