"""The reverse walk: from a loss back to its parameters, by each op's gradient, in Tensor ops."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..core import op as ops
from ..core.autocast import without_autocast
from ..core.dtype import DType
from ..core.events import emit, stage
from ..core.modes import checkpoint_strategy, enable_grad, is_anomaly_enabled, no_grad
from ..core.node import Node, describe
from ..core.printing import table_in_html
from ..core.shape import Shape
from ..core.siblings import compute_together
from ..core.tree import Branch
from ..device import get_device
from ..errors import FlambeauError, TypeError, ValueError
from ..runtime import run
from ..runtime.state import taken_by, thread
from .budget import fit
from .checkpoint import Tape, recompute
from .hooks import call_hooks, has_hooks

if TYPE_CHECKING:
    from ..tensor import Tensor

SHOWN = 8  # gradients whose shapes are printed


class MissingGradient(KeyError):
    """There is no gradient with respect to a tensor. Unlike KeyError, it prints its text without quotes."""

    def __str__(self) -> str:
        return str(self.args[0])


class Gradients:
    """The result of backward: grads[tensor] is the gradient with respect to a tensor. Tensors store none.

    by_key: the gradients; the keys are those of parameters. loss: the tensor that backward was called on.
    found_inf: a tensor [] of `GradScaler.unscale_`: if it is true, optimisers change nothing.
    """

    def __init__(self, by_key: dict[int, Any], loss: Any, found_inf: "Tensor | None" = None):
        self.by_key, self.loss, self.found_inf = by_key, loss, found_inf
        compute_together([*by_key.values(), loss])

    def __getitem__(self, tensor: Any) -> Any:
        """The gradient with respect to a tensor; for a module, a dict of the gradients by parameter name."""
        if hasattr(tensor, "named_parameters"):
            return {name: self[p] for name, p in tensor.named_parameters() if p in self}
        if isinstance(tensor, Branch):  # a named tensor: its gradient has the names
            return tensor.with_parts([self[part] for part in tensor.parts()])
        # The key of a parameter survives updates: its tensor has another node after each step.
        key = tensor.node.param
        if key in self.by_key:
            return self.by_key[key]
        rule = "the loss does not depend on it: check requires_grad and detach"
        if key is None and tensor.requires_grad:
            rule = (
                "it is not a leaf: autograd.grad(loss, [y]) computes gradients with respect to such tensors"
            )
        raise MissingGradient(f"grads[{describe(tensor)}]: {rule}")

    def __setitem__(self, tensor: Any, gradient: Any) -> None:
        self.replace(tensor, gradient)

    def __contains__(self, tensor: Any) -> bool:
        return tensor.node.param in self.by_key

    def __len__(self) -> int:
        return len(self.by_key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.by_key.values())

    def values(self) -> list[Any]:
        """The gradients."""
        return list(self)

    def keys(self) -> list[Any]:
        """The tensors that have gradients and still exist."""
        return [t for t, _ in self.items()]

    def items(self) -> list[tuple[Any, Any]]:
        """(tensor, gradient) of the tensors that still exist."""
        pairs = ((taken_by.get(key), g) for key, g in self.by_key.items())
        return [(t, g) for t, g in pairs if t is not None]

    def __repr__(self) -> str:
        shown = [describe(g) for g in list(self)[:SHOWN]] + ["..."] * (len(self) > SHOWN)
        return f"Gradients({len(self)}: {', '.join(shown)}; grads[p], grads[model])"

    def _repr_html_(self) -> str:
        """A table for notebooks. It reads no values."""
        rows = [(g.dtype.name, list(g.shape), g.device.name) for g in self]
        heads = ("dtype", "shape", "device")
        return table_in_html(f"{len(self)} gradients: grads[p], grads[model]", heads, rows)

    def get(self, tensor: "Tensor", default: Any = None) -> Any:
        """The gradient, or `default` if the loss does not depend on the tensor."""
        return self.by_key.get(tensor.node.param, default)

    def replace(self, tensor: "Tensor", gradient: "Tensor") -> None:
        """Replace the gradient of a tensor, or add one."""
        if tensor.node.param is None:
            raise ValueError(f"replace({describe(tensor)}): has requires_grad=False: call requires_grad_()")
        if gradient.shape != tensor.shape:
            arguments = f"{describe(tensor)}, {describe(gradient)}"
            raise ValueError(f"replace({arguments}): shapes differ: a gradient has the shape of its tensor")
        self.by_key[tensor.node.param] = gradient

    def remove(self, tensor: "Tensor") -> Any:
        """Remove a gradient and return it; None if there is none."""
        return self.by_key.pop(tensor.node.param, None)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Gradients":
        """Copies of the gradients, of the same tensors."""
        same = {k: g.detach().clone() for k, g in self.by_key.items()}
        return Gradients(same, self.loss.detach(), self.found_inf)

    def __reduce__(self) -> tuple[Any, ...]:
        rule = "gradients can't be pickled: save {name: grads[p] for name, p in ...}"
        raise TypeError(f"pickle({self!r}): {rule} of model.named_parameters()")

    def map(self, f: Callable[[Any], Any]) -> "Gradients":
        """New gradients, each f(gradient), as for clipping."""
        return Gradients({k: f(g) for k, g in self.by_key.items()}, self.loss, self.found_inf)

    def map_(self, f: Callable[[Any], Any]) -> "Gradients":
        """Replace each gradient by f(gradient); returns self."""
        self.by_key = {k: f(g) for k, g in self.by_key.items()}
        compute_together(self.by_key.values())
        return self

    def __add__(self, other: "Gradients") -> "Gradients":
        """The sums of gradients by tensor, and the sum of the losses, for steps of several batches.
        ValueError if a GradScaler unscaled only one of them."""
        mine, theirs = self.found_inf, other.found_inf
        if (mine is None) != (theirs is None):
            rule = "only one of the two is unscaled: add them first and unscale the sum"
            raise ValueError(f"Gradients({len(self)}) + Gradients({len(other)}): {rule}")
        sums = dict(self.by_key)
        for k, g in other.by_key.items():
            sums[k] = sums[k] + g if k in sums else g
        found_inf = None if mine is None or theirs is None else mine | theirs
        return Gradients(sums, self.loss + other.loss, found_inf)

    def __radd__(self, other: Any) -> "Gradients":
        """0 + gradients are the gradients: `grads = 0; grads += loss.backward()`, and sum([...])."""
        if not isinstance(other, int) or other != 0:
            return NotImplemented
        return self

    def __mul__(self, factor: float) -> "Gradients":
        """Every gradient and the loss times a number."""
        scaled = self.map(lambda g: g * factor)
        scaled.loss = self.loss * factor
        return scaled

    __rmul__ = __mul__

    def __truediv__(self, factor: float) -> "Gradients":
        return self * (1 / factor)

    def accumulate(self, other: "Gradients") -> "Gradients":
        """Add other gradients in place and compute the sums, so that the graph does not grow; returns
        self."""
        total = self + other
        self.by_key, self.loss, self.found_inf = total.by_key, total.loss, total.found_inf
        run.realize(*self, self.loss)
        return self


def backward(
    loss: Any,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> Gradients:
    """Gradients of `loss` with respect to every tensor with requires_grad that it depends on.
    `gradient` is the initial gradient, if the loss is not a single number.

    inputs: the parameters to differentiate by, one or several; by default all. ValueError if the loss
    depends on no such tensor, or if one of inputs was computed.
    retain_graph: keep the graph for another backward
    create_graph: gradients can be differentiated themselves
    """
    root = loss.node
    if not root.requires_grad:
        raise ValueError(f"backward({describe(loss)}): it depends on no tensor with requires_grad=True")
    start = first_gradient("backward", loss, gradient)
    by = None if inputs is None else _input_nodes(loss, inputs)
    if by is not None and root.released:
        check_graph_retained(root, root)
    with stage("backward"):
        gradients = walk([(root, start)], by, create_graph)
    if not (create_graph if retain_graph is None else retain_graph):
        root.released = True  # the graph may be dropped once the loss is computed
    return Gradients(gradients, loss)


def _input_nodes(loss: Any, inputs: Any) -> list[Node]:
    """The nodes of `inputs`."""
    tensors = [inputs] if isinstance(inputs, ops.Tensor) else list(inputs)
    if not tensors:
        raise ValueError(
            f"backward({describe(loss)}, inputs=[]): the list is empty: pass at least one tensor"
        )
    for t in tensors:
        if t.node.param is None:
            rule = "it is not a leaf with requires_grad=True: use autograd.grad(loss, [t])"
            raise ValueError(f"backward({describe(loss)}, inputs={describe(t)}): {rule}")
    return [t.node for t in tensors]


def first_gradient(call: str, output: Any, gradient: Any) -> Any:
    """The gradient that a walk starts with: `gradient`, or 1 if the output is a single number."""
    if gradient is None:
        if output.shape != (1,) * output.ndim:
            raise ValueError(
                f"{call}({describe(output)}): the loss must be one number: use .sum() or .mean(),"
                " or pass gradient"
            )
        if output.dtype.is_complex:
            rule = "the loss is complex: use .abs() or .real, or pass gradient"
            raise ValueError(f"{call}({describe(output)}): {rule}")
        return ops.Tensor.full(output.shape, 1, dtype=output.dtype, device=output.device)
    if not isinstance(gradient, ops.Tensor) or gradient.shape != output.shape:
        arguments = f"{describe(output)}, gradient={describe(gradient)}"
        raise ValueError(f"{call}({arguments}): shapes differ: pass a tensor of shape {list(output.shape)}")
    return gradient.to(output.dtype)


def known_by(node: Node) -> Any:
    """The key of a node in a walk: a parameter's key, which survives writes to it, or the node itself."""
    return node if node.param is None else node.param


def walk(starts: list[tuple[Node, Any]], wanted: Iterable[Node] | None, create_graph: bool) -> dict[Any, Any]:
    """The gradients with respect to the wanted nodes, or by all parameters (None), from (output, gradient)
    pairs.

    The keys are those of `known_by`: for a parameter that was written to, the sum over its values so far.
    """
    device = starts[0][0].device or get_device()
    # by key, so that a parameter that was written to is found under its earlier values too
    targets = None if wanted is None else {known_by(n) for n in wanted}
    with device.lock:  # a thread that computes nodes drops their inputs
        order = _order([n for n, _ in starts], targets)
        parents = {n: n.parents for n in order}
    # Autocast is off below: a gradient computes in the dtype of its op, wherever backward is called.
    tape = Tape()
    with without_autocast(), enable_grad() if create_graph else no_grad():
        gradients = _walk(starts, parents, targets, tape)
    # 'auto' recomputes in recorded steps only; a memory budget chooses by itself
    recorded = thread.recorder is not None
    balanced = checkpoint_strategy() == "balanced" or (recorded and checkpoint_strategy() == "auto")
    # A budget's plan is that of one device: it changes nothing in a graph over several.
    is_budgeted = device.kind == "gpu" and device.pool.budget is not None
    if is_budgeted and len({n.device for n in order} - {None}) == 1:
        gpu: Any = device
        with gpu.lock:
            fit([n for n, _ in starts], [g.node for g in gradients.values()], tape, gpu)
    elif balanced or any(n.segment is not None for n in order):
        with device.lock:
            recompute([g.node for g in gradients.values()], tape, balanced)
    return gradients


def _order(roots: list[Node], wanted: set[Any] | None) -> list[Node]:
    """The nodes through which gradients flow to the wanted nodes, each after all nodes that use it."""
    order: list[Node] = []
    seen: set[Node] = set()
    useful: set[Node] = set()
    stack = [(root, False) for root in roots]
    while stack:
        node, ready = stack.pop()
        # Second visit: all parents are decided, so post-order gives a topological order.
        if ready:
            inside = wanted is None or known_by(node) in wanted or any(p in useful for p in node.parents)
            if inside:
                useful.add(node)
                order.append(node)
        elif node not in seen:
            if node.released and wanted is None:
                check_graph_retained(node, roots[0])
            seen.add(node)
            stack.append((node, True))
            # The walk ends at leaves: the graph that computed an earlier value of a parameter is not part
            # of this loss.
            if node.param is None:
                stack.extend((p, False) for p in node.parents if p.requires_grad and p not in seen)
    return order[::-1]


def check_graph_retained(node: Node, loss: Node) -> None:
    """ValueError if an earlier backward has dropped the graph of a node."""
    if not node.parents and node.param is None:
        part = "" if node is loss else f" of {describe(node)}, which it depends on,"
        raise ValueError(
            f"backward({describe(loss)}): the graph{part} was freed by an earlier backward:"
            " pass retain_graph=True to that call"
        )


def _walk(
    starts: list[tuple[Node, Any]],
    parents: dict[Node, tuple[Node, ...]],
    wanted: set[Any] | None,
    tape: Tape,
) -> dict[Any, Any]:
    """`walk` over nodes in order, each with its parents."""
    grads: dict[Node, Any] = {}
    for root, g in starts:
        grads[root] = grads[root] + g if root in grads else g
    gradients: dict[Any, Any] = {}
    any_hooks = has_hooks()
    for node, sources in parents.items():
        # Popped, not read: a gradient that is complete can be freed as soon as it is used.
        g = grads.pop(node, None)
        # Nodes come after all their readers, so this sum is complete.
        if g is None:  # the ops that use it have no gradient by it
            continue
        g = call_hooks(node, g) if any_hooks else g
        key = known_by(node)
        if node.param is not None if wanted is None else key in wanted:
            gradients[key] = gradients[key] + g if key in gradients else g
        if node.param is not None or node.op.grad is None:
            continue
        tape.begin(g.node)
        emit("gradient", node)
        y = ops.Tensor(node)  # the rule may use the op's result, as exp's does
        inputs = [ops.Tensor(p) for p in sources]
        parts = slopes(node.op, g, y, inputs, node.attrs)
        if is_anomaly_enabled():
            _check_numbers(node, sources, parts)
        for parent, part in zip(sources, parts, strict=True):
            if part is None or not parent.requires_grad or parent not in parents:
                continue
            # An op that broadcast its input returns a larger gradient; a rule may compute in a wider dtype.
            part = like(unbroadcast(part, parent.shape), parent.dtype)
            grads[parent] = grads[parent] + part if parent in grads else part
    return gradients


def _check_numbers(node: Node, sources: tuple[Node, ...], parts: Any) -> None:
    """FlambeauError if a gradient has NaN. The op that it names is the first of the reverse walk."""
    name, inputs = node.attrs.get("label", node.op.name).lstrip("_"), ", ".join(map(describe, sources))
    for i, part in enumerate(parts):
        if part is not None and sources[i].requires_grad and part.isnan().any().item():
            raise FlambeauError(
                f"backward(...): the gradient of {name}({inputs}) with respect to input {i} has NaN"
            )


def slopes(op: ops.Op, g: Any, y: Any, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """The gradients with respect to an op's inputs. A complex gradient is the derivative with respect to the
    real part plus i times that by the imaginary part, as in PyTorch: g times the conjugate of the
    derivative."""
    # Gradient rules are written for real numbers. For a holomorphic op the vector-Jacobian product with the
    # conjugate derivative equals conj(rule(conj(g))).
    if not g.dtype.is_complex or not op.holomorphic or op.kind in ("movement", "gather"):
        return op.grad(g, y, *inputs, **attrs)  # type: ignore[misc]
    parts = op.grad(g.conj(), y, *inputs, **attrs)  # type: ignore[misc]
    return [None if p is None else p.conj() for p in parts]


def like(g: Any, dtype: DType) -> Any:
    """A gradient in the dtype of its tensor; of a complex gradient with respect to a real tensor, the real
    part."""
    return (g.real if g.dtype.is_complex and not dtype.is_complex else g).to(dtype)


def unbroadcast(g: Any, shape: Shape) -> Any:
    """Sum a gradient over the dims along which its tensor was broadcast. -> shape"""
    if g.shape == shape:
        return g
    # Broadcasting adds dims on the left and stretches dims of size 1: its adjoint sums over both.
    lead = g.ndim - len(shape)
    dims = [*range(lead), *(d for d in range(lead, g.ndim) if shape[d - lead] == 1 and g.shape[d] != 1)]
    return g.sum(tuple(dims), keepdim=True).reshape(*shape)
