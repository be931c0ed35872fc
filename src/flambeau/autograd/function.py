"""torch.autograd.Function: operations whose gradient the user writes."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from threading import get_ident
from typing import Any, ParamSpec
from warnings import warn

from ..core import dtype as dt
from ..core.declare import stand_for
from ..core.modes import is_grad_enabled, no_grad
from ..core.node import Node, describe
from ..core.op import Op, constant
from ..core.shape import broadcast
from ..core.tree import is_sequence, is_tuple
from ..errors import FlambeauError, TypeError, ValueError
from ..tensor import Tensor

P = ParamSpec("P")


class SavedTensor:
    """A tensor with its value when it was saved: later writes to it do not change the gradient."""

    def __init__(self, tensor: Any):
        self.tensor, self.node = tensor, getattr(tensor, "node", None)

    def value(self) -> Any:
        """The tensor itself, or if it was written to, a tensor of the saved value."""
        return self.tensor if self.node is None or self.tensor.node is self.node else Tensor(self.node)


class FunctionCtx:
    """Passes data from a Function's forward to its backward: saved tensors, and any attributes."""

    needs_input_grad: tuple[bool, ...] = ()  # whether each argument of apply requires a gradient
    materialize_grads = True
    non_differentiable: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    _saved: tuple[SavedTensor, ...] = ()
    _results: dict[int, Tensor] | None = None  # id of a tensor that forward returned -> the caller's tensor

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, in saved_tensors; None is allowed. TypeError for other values."""
        for place, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance] # users' arguments
                rule = "it saves tensors: set other values as attributes of ctx"
                raise TypeError(f"save_for_backward(...): argument {place} is {describe(t)}: {rule}")
        self._saved = tuple(map(SavedTensor, tensors))

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors, as they were when they were saved."""
        # A result that forward saved is the caller's tensor, so that backward can be differentiated.
        results = self._results or {}
        return tuple(results[i] if (i := id(s.tensor)) in results else s.value() for s in self._saved)

    @property
    def to_save(self) -> tuple[Any, ...]:
        """The arguments of save_for_backward."""
        return tuple(s.tensor for s in self._saved)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare inputs that forward writes to and returns: they become the results."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare outputs through which no gradient flows."""
        self.non_differentiable = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: views are known without it."""

    def set_materialize_grads(self, value: bool) -> None:
        """With False, backward gets None instead of zeros for an unused output."""
        self.materialize_grads = value


class FunctionMeta(type):
    """The class of Functions."""


class Function(FunctionCtx, metaclass=FunctionMeta):
    """An operation with a custom gradient: subclass it, define forward and backward, call `apply`.

    `forward(ctx, *args)` computes with tensor operations; `backward(ctx, *grads)` (or vjp) returns a
    gradient (or None) for each argument. It is differentiable again when backward is made of tensor
    operations on ctx.saved_tensors. As in PyTorch, forward may omit ctx if the class has a
    setup_context(ctx, inputs, output). `vmap` and `jvp` need no methods: they follow from the operations.

    args, kwargs: accepted and ignored: instances have no use.
    """

    generate_vmap_rule = False  # without effect: fb.vmap batches every Function
    boxed_grads_call = False  # backward gets a list of the gradients
    clear_saved_tensors_on_access = False  # without effect: values are dropped when nothing needs them

    def __init__(self, *args: Any, **kwargs: Any):
        name = type(self).__name__
        warn(f"{name}(...): a Function is not instantiated: call {name}.apply(...)", stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise FlambeauError(
            f"{name}(...)(...): Legacy autograd functions are not called: use {name}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the operation."""
        raise NotImplementedError("Function.forward: is not implemented: define it as a staticmethod")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save the values that backward needs, if forward takes no ctx."""
        raise NotImplementedError("Function.setup_context: is not implemented: define it as a staticmethod")

    @staticmethod
    def backward(ctx: Any, *grads: Any, **kwargs: Any) -> Any:
        """Compute the gradient of each argument from the gradient of each output."""
        raise NotImplementedError("Function.backward: is not implemented: define it as a staticmethod")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """PyTorch's forward mode; not called: fb.func.jvp differentiates backward."""
        raise NotImplementedError("Function.jvp: is not implemented: fb.func.jvp differentiates backward")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """PyTorch's rule of vmap; not called: fb.vmap batches forward's operations."""
        raise NotImplementedError("Function.vmap: is not implemented: fb.vmap batches forward's operations")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation."""
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        return _FunctionCall(cls, args).run(has_setup, kwargs)


class _FunctionCall:
    """One call of a Function: its arguments, its outputs, and the gradients that wait for backward."""

    def __init__(self, function: type[Function], args: tuple[Any, ...]):
        self.function, self.args = function, args
        # the values before forward: it may write to inputs
        self.nodes = tuple(a.node if isinstance(a, Tensor) else None for a in args)
        self.ctx = type(f"{function.__name__}Backward", (FunctionCtx,), {"_forward_cls": function})()
        self.ctx.needs_input_grad = tuple(n is not None and n.requires_grad for n in self.nodes)
        self.outs: tuple[Any, ...] = ()
        self.facts: list[tuple[Any, ...] | None] = []  # shape, dtype and device of tensors among the outputs
        self.waiting: dict[int, dict[int, Any]] = {}  # by thread: gradients of outputs by position

    def run(self, has_setup: bool, kwargs: dict[str, Any]) -> Any:
        """Call forward and connect its outputs to the graph."""
        with no_grad():  # forward's operations have no gradients: backward stands for all of them
            if has_setup:
                out = self.function.forward(*self.args, **kwargs)
                self.function.setup_context(self.ctx, self.args, out)
            else:
                out = self.function.forward(self.ctx, *self.args, **kwargs)
        self.outs = out if is_tuple(out) else (out,)
        self.facts = [(o.shape, o.dtype, o.device) if isinstance(o, Tensor) else None for o in self.outs]
        results = self._connect()
        saved = zip(self.outs, results, strict=True)
        self.ctx._results = {id(a): b for a, b in saved if isinstance(a, Tensor)}  # pyright: ignore[reportPrivateUsage]
        return results if is_tuple(out) else results[0]

    def _connect(self) -> tuple[Any, ...]:
        constant_ids = {id(t) for t in self.ctx.non_differentiable}
        flows = [
            i
            for i, o in enumerate(self.outs)
            if isinstance(o, Tensor) and id(o) not in constant_ids and o.dtype.has_gradients
        ]
        parents = tuple(n for n in self.nodes if n is not None)
        has_gradient = is_grad_enabled() and any(n.requires_grad for n in parents)
        results = [Tensor(o.node) if isinstance(o, Tensor) and self._is_input(o) else o for o in self.outs]
        if not has_gradient or not flows:
            return tuple(self._return_to_caller(o, r) for o, r in zip(self.outs, results, strict=True))
        if len(flows) == 1:
            nodes = [stand_for(self._op(self._rule_of_one(flows[0])), results[flows[0]].node, parents, {})]
        else:
            # One node for the call, which all outputs read: it calls backward once, when the gradients of
            # all outputs are complete. Its value is not read.
            call = stand_for(self._op(self._rule), constant(0.0, dtype=dt.float32), parents, {})
            nodes = [stand_for(self._op(self._collect(i)), results[i].node, (call,), {}) for i in flows]
        for i, node in zip(flows, nodes, strict=True):
            results[i] = Tensor(node)
        return tuple(self._return_to_caller(o, r) for o, r in zip(self.outs, results, strict=True))

    def _is_input(self, out: Tensor) -> bool:
        return any(out is a for a in self.args)

    def _return_to_caller(self, out: Any, result: Any) -> Any:
        """The caller's tensor: an input that was marked dirty itself, with the result's value."""
        if isinstance(out, Tensor) and any(out is t for t in self.ctx.dirty_tensors):
            out._become(result.node)  # pyright: ignore[reportPrivateUsage]
            return out
        return result

    def _op(self, gradient: Callable[..., Any]) -> Op:
        # a composite: kernels compute forward's operations, and the op itself only has the gradient rule
        doc, name = self.function.__doc__ or "", self.function.__name__
        return Op("composite", xp=_identity, grad=gradient, doc=doc, name=name, holomorphic=False)

    def _rule_of_one(self, place: int) -> Callable[..., Any]:
        def rule(g: Tensor, y: Tensor, *_: Tensor) -> list[Any]:
            return self._backward({place: g})

        return rule

    def _collect(self, place: int) -> Callable[..., Any]:
        """The gradient rule of one of several outputs: keeps its gradient for the rule of the call."""

        def rule(g: Tensor, y: Tensor, call: Tensor) -> list[Tensor]:
            self.waiting.setdefault(get_ident(), {})[place] = g
            return [Tensor(constant(0.0, dtype=dt.float32))]

        return rule

    def _rule(self, g: Tensor, y: Tensor, *_: Tensor) -> Sequence[Any]:
        return self._backward(self.waiting.pop(get_ident(), {}))

    def _backward(self, gradients: dict[int, Any]) -> list[Any]:
        """Call backward with the gradients of outputs by position; the gradients of tensor arguments."""
        grads = [gradients[i] if i in gradients else self._no_gradient(i) for i in range(len(self.outs))]
        cls = self.function
        user = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        parts = user(self.ctx, grads) if cls.boxed_grads_call else user(self.ctx, *grads)
        parts = parts if is_sequence(parts) else (parts,)
        count = len(self.args)
        if len(parts) > count and all(p is None for p in parts[count:]):  # of default arguments
            parts = parts[:count]
        if len(parts) != count:
            rule = f"backward returned {len(parts)} gradients for {count} arguments: return one for each"
            raise ValueError(f"{cls.__name__}: {rule}, with None for inputs without a gradient")
        pairs = enumerate(zip(parts, self.nodes, strict=True))
        return [self._check_gradient(i, p, n) for i, (p, n) in pairs if n is not None]

    def _check_gradient(self, place: int, part: Any, node: Node) -> Any:
        """A gradient that backward returned; an error if it is none of its argument."""
        if part is None or not node.requires_grad:
            return None
        call = f"{self.function.__name__}: backward returned {describe(part)} as gradient {place}"
        if not isinstance(part, Tensor):
            raise TypeError(f"{call}: it must be a tensor or None")
        if part.shape != node.shape and _broadcast(part.shape, node.shape) != part.shape:
            raise ValueError(f"{call}, and the argument is {describe(node)}: return one of its shape")
        return part

    def _no_gradient(self, place: int) -> Any:
        facts = self.facts[place]
        if not self.ctx.materialize_grads or facts is None:
            return None
        # zeros by default, as in PyTorch, so that backward need not handle None
        return Tensor.zeros(facts[0], dtype=facts[1], device=facts[2])


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return broadcast(a, b)
    except ValueError:
        return None


def _identity(xp: Any, x: Any) -> Any:
    return x


def once_differentiable(fn: Callable[P, Any]) -> Callable[P, Any]:
    """A decorator of backward: its results can't be differentiated again; a second backward raises."""

    @wraps(fn)
    def backward(*args: P.args, **kwargs: P.kwargs) -> Any:
        with no_grad():
            outputs = fn(*args, **kwargs)
        tensors = [a.node for a in args if isinstance(a, Tensor) and a.requires_grad]
        if not is_grad_enabled() or not tensors:
            return outputs
        parts = [
            _differentiated_once(o, tuple(tensors)) for o in (outputs if is_tuple(outputs) else (outputs,))
        ]
        return tuple(parts) if is_tuple(outputs) else parts[0]

    return backward


def _differentiated_once(output: Any, parents: tuple[Node, ...]) -> Any:
    if not isinstance(output, Tensor):
        return output
    op = Op("composite", xp=_identity, grad=_refuse_twice, name="once_differentiable")
    return Tensor(stand_for(op, output.node, parents, {}))


def _refuse_twice(*_: Any, **__: Any) -> Any:
    rule = "trying to differentiate twice a function that was marked with @once_differentiable"
    raise FlambeauError(f"backward(...): {rule}: leave the decorator out if backward is differentiable")


class InplaceFunction(Function):
    """PyTorch's base of Functions with an `inplace` argument; a Function."""


class NestedIOFunction(Function):
    """PyTorch's base of Functions of nested inputs; a Function."""
