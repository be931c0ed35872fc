"""Functions that compute the derivatives of functions of tensors."""

import functools
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Any

from ..autodiff.backward import Gradients, known_by, walk
from ..core import dtype as dt
from ..core.modes import enable_grad, is_grad_enabled
from ..core.node import Node, describe, next_serial, walk_nodes
from ..core.op import COMPOSED, OPS, apply
from ..core.siblings import compute_together
from ..core.tree import is_tuple, leaves, like, tree_map
from ..errors import TypeError, ValueError
from ..tensor import Tensor, own, tensor

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]
# the parameters with respect to which the enclosing transforms differentiate
_levels: ContextVar[tuple[frozenset[Node], ...]] = ContextVar("levels", default=())


class Level:
    """One level of differentiation: the inputs as new nodes, and their original tensors."""

    def __init__(self, call: str):
        # Nodes made since this serial number belong to the function's graph.
        self.call, self.since, self.recorded = call, next_serial(), is_grad_enabled()
        self.nodes: list[Node] = []
        self.outer: set[Node] = set().union(*_levels.get())

    def open(self, tree: Any) -> Any:
        """Rebuild containers with every tensor as an input of this level."""
        return tree_map(self._input, tree)

    def _input(self, leaf: Any) -> Any:
        if hasattr(leaf, "named_parameters"):  # a module stands for its parameters
            self.nodes += [p.node for p in leaf.parameters() if p.requires_grad]
            return leaf
        x = leaf if isinstance(leaf, Tensor) else tensor(leaf)
        if not x.dtype.has_gradients:
            rule = "only floats and complex numbers have gradients"
            raise TypeError(f"{self.call}: an argument holds {describe(x)}: {rule}")
        if self.recorded:
            node = apply(OPS["reshape"], (x.node,), {"shape": x.shape})  # a new node that depends on x
        else:
            # outside of enable_grad an input is detached: outer derivatives do not reach it
            node = own(x.node)
        node.requires_grad = True
        self.nodes.append(node)
        return Tensor(node)

    @contextmanager
    def inside(self):
        """Enable gradients around the function's code, whatever is set outside."""
        token = _levels.set((*_levels.get(), frozenset(self.nodes)))
        try:
            with enable_grad():
                yield
        finally:
            _levels.reset(token)

    def is_open(self, tensors: list[Tensor]) -> bool:
        """Whether these tensors depend on a tensor of an outer level; then their graph must be kept."""
        if not self.recorded:
            return False
        # A module's parameters may be inputs of an outer level too, which then needs the graph.
        inner_nodes = set(self.nodes) - self.outer

        def onward(node: Node) -> list[Node]:
            return [p for p in node.parents if p.requires_grad] if node.serial >= self.since else []

        # the walk stops at nodes that are older than the call
        nodes = walk_nodes((t.node for t in tensors if t.requires_grad), onward)
        return any(n.serial < self.since and n not in inner_nodes for n in nodes)

    def gradients(self, starts: list[tuple[Tensor, Any]], create_graph: bool) -> list[Any]:
        pairs = [(y.node, g) for y, g in starts if y.requires_grad]
        by_node = walk(pairs, self.nodes, create_graph) if pairs else {}
        return [by_node.get(known_by(n)) for n in self.nodes]

    def close(self, tree: Any, values: list[Any]) -> Any:
        """Return gradients in the containers of the inputs; those of a module as Gradients."""
        rest = iter(zip(self.nodes, values, strict=True))

        def result(leaf: Any) -> Any:
            if not hasattr(leaf, "named_parameters"):
                node, g = next(rest)
                return _or_zeros(node, g)
            pairs = [next(rest) for p in leaf.parameters() if p.requires_grad]
            return Gradients({n.param: g for n, g in pairs if g is not None}, None)

        return tree_map(result, tree)


def _or_zeros(node: Node, g: Any) -> Tensor:
    return Tensor.zeros(node.shape, dtype=node.dtype, device=node.device) if g is None else g


def _plain(tree: Any) -> Any:
    """Detach tensors that are not differentiated again."""
    return tree_map(lambda t: t.detach() if isinstance(t, Tensor) and t.requires_grad else t, tree)


def _read_together(*results: Any) -> None:
    """Group results, so that reading one of them computes all in one run."""
    tensors: list[Any] = []
    for leaf in leaves(results):
        tensors += leaf.values() if isinstance(leaf, Gradients) else [leaf] * isinstance(leaf, Tensor)
    compute_together(tensors)


def _split(out: Any, has_aux: bool, call: str) -> tuple[Any, Any]:
    if not has_aux:
        return out, None
    if not is_tuple(out) or len(out) != 2:
        raise TypeError(f"{call}: with has_aux=True the function must return (output, aux)")
    return out


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function's value, and the function from the value's gradient to the gradients of all
    arguments.

    Returns (output, vjp_fn) or (output, vjp_fn, aux); vjp_fn(gradient) is a tuple, one for each argument.

    func: a function of tensors, or of trees of them
    has_aux: the function returns (value, aux), and aux is returned as well
    primals: the arguments
    Raises ValueError if the gradient has another shape than the value.
    """
    level = Level("vjp(...)")
    opened = level.open(primals)
    with level.inside():
        output, aux = _split(func(*opened), has_aux, "vjp(...)")
    outputs = leaves(output)
    is_open = level.is_open(outputs)

    def pull(gradient: Any) -> tuple[Any, ...]:
        cotangents = leaves(gradient)
        if len(cotangents) != len(outputs) or any(
            g.shape != y.shape for g, y in zip(cotangents, outputs, strict=True)
        ):
            rule = f"the function returned {describe(outputs)}: pass gradients of these shapes"
            raise ValueError(f"vjp_fn({describe(cotangents)}): {rule}")
        # gradients of the gradients are kept only if a tensor needs them
        record = is_grad_enabled() and (is_open or any(g.requires_grad for g in cotangents))
        pieces = level.gradients(list(zip(outputs, cotangents, strict=True)), record)
        gradients = level.close(primals, pieces)
        _read_together(results, gradients)
        return gradients

    results = output if is_open else _plain(output)  # outside of outer transforms the results are constants
    return (results, pull, aux if is_open else _plain(aux)) if has_aux else (results, pull)


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute a function's value, and its directional derivative along the tangents of its arguments.

    Returns (output, tangent) or (output, tangent, aux). Forward mode is the gradient of a gradient: vjp_fn
    is linear, so its gradient at any point is the product with the Jacobian.

    func: a function of tensors, or of trees of them
    primals: the arguments
    has_aux: the function returns (value, aux), and aux is returned as well
    Raises ValueError if primals and tangents differ in number.
    """
    if len(primals) != len(tangents):
        raise ValueError(f"jvp(...): {len(primals)} primals but {len(tangents)} tangents: pass one for each")
    out, push, *aux = _linear(func, primals, has_aux)
    tangent = push(tangents)
    _read_together(out, tangent)
    return (out, tangent, *aux)


def _linear(func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool = False) -> tuple[Any, ...]:
    """Return (output, function from tangents of the primals to the output's tangent[, aux])."""
    # Two transposes: pull maps g to J^T g, which is linear in g, so its own vjp maps t to J t at any g; zeros
    # are cheapest.
    out, pull, *aux = vjp(func, *primals, has_aux=has_aux)
    with enable_grad():
        back, push = vjp(pull, tree_map(_zeros, out))
    shapes = [g.shape for g in leaves(back)]

    def tangent_of(tangents: tuple[Any, ...]) -> Any:
        pieces = leaves(tangents)
        if [t.shape for t in pieces] != shapes:
            raise ValueError(f"jvp(...): tangents {describe(pieces)}: a tangent has the shape of its primal")
        is_open = is_grad_enabled() and any(t.requires_grad for t in [*leaves(out), *pieces])
        with enable_grad():
            (tangent,) = push(like(back, pieces))
        return tangent if is_open else _plain(tangent)

    return (out, tangent_of, *aux)


def value_and_grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Make a function that returns (value, gradient) of a scalar-valued function, as in JAX.

    The gradient has the containers of argument `argnums` (a tuple of them for several). A module's is a
    Gradients, for an optimizer. With has_aux the function returns (value, aux), and this one
    ((value, aux), gradient).

    func: a function of tensors, or of trees of them
    Raises ValueError if the function returns no single number.
    """
    return _with_gradient("value_and_grad", func, argnums, has_aux)


def _with_gradient(
    name: str, func: Callable[..., Any], argnums: int | tuple[int, ...], has_aux: bool
) -> Callable[..., Any]:
    """value_and_grad, whose errors name the public function that was called."""
    title = f"{name}(...)"

    @functools.wraps(func)
    def call(*args: Any, **kw: Any) -> Any:
        positions = _arguments(name, args, argnums)
        level = Level(title)
        # positions of the arguments -> their new tensors
        opened = dict(zip(positions, level.open(tuple(args[i] for i in positions)), strict=True))
        with level.inside():
            out = func(*(opened.get(i, a) for i, a in enumerate(args)), **kw)
        value, aux = _split(out, has_aux, title)
        if isinstance(value, Tensor) and value.dtype.is_complex:
            raise ValueError(f"{title}: got {describe(value)}: the function must return a real number")
        if not isinstance(value, Tensor) or value.shape != (1,) * value.ndim:
            rule = "the function must return one number: use .sum() or .mean()"
            raise ValueError(f"{title}: got {describe(value)}: {rule}")
        is_open = level.is_open([value])
        start = Tensor.full(value.shape, 1, dtype=value.dtype, device=value.device)
        pieces = level.gradients([(value, start)], is_open)
        value, aux = (value, aux) if is_open else (_plain(value), _plain(aux))
        grads = level.close(tuple(args[i] for i in positions), pieces)
        for g in grads:
            if isinstance(g, Gradients):
                g.loss = value
        _read_together(value, grads)
        return (value, aux) if has_aux else value, grads[0] if isinstance(argnums, int) else grads

    return call


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Make a function that returns the gradient of a scalar-valued function; (gradient, aux) with has_aux.

    func: a function of tensors, or of trees of them
    argnums: the position, or positions, of the arguments to differentiate
    Raises ValueError if the function returns no single number.
    """
    both = _with_gradient("grad", func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kw: Any) -> Any:
        value, gradient = both(*args, **kw)
        return (gradient, value[1]) if has_aux else gradient

    return call


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like value_and_grad, but returns (gradient, value), as in torch.func; (gradient, (value, aux)) with
    has_aux.

    argnums: the position, or positions, of the arguments to differentiate
    Raises ValueError if the function returns no single number.
    """
    both = _with_gradient("grad_and_value", func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kw: Any) -> Any:
        return both(*args, **kw)[::-1]

    return call


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Compute a function's value, and the linear function from tangents of the arguments to the value's
    tangent.

    func: a function of tensors, or of trees of them
    primals: the arguments
    Raises ValueError if tangents have other shapes than the primals.
    """
    out, push = _linear(func, primals)
    return out, lambda *tangents: push(tangents)


def _arguments(call: str, args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> list[int]:
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    if any(not -len(args) <= i < len(args) for i in positions):
        raise ValueError(f"{call}(...): argnums={argnums}, but {len(args)} positional arguments were passed")
    return [i % len(args) for i in positions]  # counted from the end if negative


def _select_arguments(
    func: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any], wanted: list[int], has_aux: bool
):
    """Return the function of only the selected arguments. Its aux result is stored."""
    aside: list[Any] = []

    def call(*chosen: Any) -> Any:
        replaced = dict(zip(wanted, chosen, strict=True))
        out, aux = _split(
            func(*(replaced.get(i, a) for i, a in enumerate(args)), **kw), has_aux, "jacobian(...)"
        )
        aside.append(aux)
        return out

    return call, aside


def _each(t: Tensor):
    """Yield the one-hot tensors of a shape. They share a plan, because the position of the 1 is a uniform."""
    n = prod(t.shape)
    places = Tensor.arange(n, dtype=dt.int32, device=t.device)
    for i in range(n):
        yield (places == i).to(t.dtype).reshape(*t.shape)


def _check_real(call: str, tensors: list[Tensor]) -> None:
    """ValueError for complex numbers, whose Jacobian has two parts."""
    for t in tensors:
        if t.dtype.is_complex:
            raise ValueError(f"{call}(...): {describe(t)} is complex: use vjp or jvp, or the real parts")


def _zeros(t: Tensor) -> Tensor:
    return Tensor.zeros(t.shape, dtype=t.dtype, device=t.device)


def _rows(rows: list[Tensor], lead: tuple[Any, ...], rest: tuple[Any, ...], like: Tensor) -> Tensor:
    if not rows:
        return Tensor.zeros(*lead, *rest, dtype=like.dtype, device=like.device)
    return COMPOSED["stack"](rows).reshape(*lead, *rest)


def jacrev(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Make a function that returns the Jacobian, by one backward pass for each element of the output.

    [*output], [*input] -> [*output, *input], in the containers of the output, then of the argument.

    func: a function of tensors, or of trees of them
    argnums: the position, or positions, of the arguments to differentiate
    has_aux: the function returns (value, aux), and aux is returned as well
    Raises ValueError if argnums name no argument.
    """

    @functools.wraps(func)
    def call(*args: Any, **kw: Any) -> Any:
        positions = _arguments("jacrev", args, argnums)
        inner, aside = _select_arguments(func, args, kw, positions, has_aux)
        primals = tuple(args[i] for i in positions)
        out, pull = vjp(inner, *primals)
        outputs = leaves(out)
        _check_real("jacrev", outputs)

        def row(k: int, y: Tensor) -> Any:
            others = [_zeros(o) for o in outputs]
            # one row for each element of this output: its gradient is one-hot there and 0 elsewhere
            each = [leaves(pull(like(out, [*others[:k], e, *others[k + 1 :]]))) for e in _each(y)]
            ins = leaves(primals)
            # [*output] and [*input]: the rows are stacked along the output's elements
            rows = [_rows([e[j] for e in each], y.shape, tensor_of(x).shape, y) for j, x in enumerate(ins)]
            row_tree = like(primals, rows)
            return row_tree[0] if isinstance(argnums, int) else row_tree

        jacobian = like(out, [row(k, y) for k, y in enumerate(outputs)])
        return (jacobian, aside[0]) if has_aux else jacobian

    return call


def tensor_of(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else tensor(x)


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like jacrev, but by one forward-mode pass (see jvp) for each element of the input: for few inputs.

    func: a function of tensors, or of trees of them
    argnums: the position, or positions, of the arguments to differentiate
    has_aux: the function returns (value, aux), and aux is returned as well
    Raises ValueError if argnums name no argument.
    """

    @functools.wraps(func)
    def call(*args: Any, **kw: Any) -> Any:
        positions = _arguments("jacfwd", args, argnums)
        inner, aside = _select_arguments(func, args, kw, positions, has_aux)
        primals = tree_map(tensor_of, tuple(args[i] for i in positions))
        ins = leaves(primals)
        out, push = _linear(inner, primals)
        _check_real("jacfwd", [*ins, *leaves(out)])
        columns: list[Any] = []
        for j, x in enumerate(ins):
            others = [_zeros(o) for o in ins]
            # for each element of the input: the tangent of every output
            columns.append(
                [leaves(push(like(primals, [*others[:j], e, *others[j + 1 :]]))) for e in _each(x)]
            )
        outputs = leaves(out)

        def row(k: int, y: Tensor) -> Any:
            rows = [
                # [*input, *output] -> [*output, *input]
                _rows([e[k].reshape(-1) for e in each], x.shape, y.shape, y).permute(
                    *range(x.ndim, x.ndim + y.ndim), *range(x.ndim)
                )
                for x, each in zip(ins, columns, strict=True)
            ]
            row_tree = like(primals, rows)
            return row_tree[0] if isinstance(argnums, int) else row_tree

        jacobian = like(out, [row(k, y) for k, y in enumerate(outputs)])
        return (jacobian, aside[0]) if has_aux else jacobian

    return call


jacobian = jacrev


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """Make a function that returns the Hessian, as jacrev(jacrev(func)).

    [*output], [*input] -> [*output, *input, *input]; one backward pass for each element of the gradient.

    argnums: the position, or positions, of the arguments to differentiate
    """
    return jacrev(jacrev(func, argnums), argnums)


def hvp(func: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Compute the Hessian of a scalar-valued function times the tangents, without computing the Hessian.

    It is the gradient of the gradient. The result has the containers of `primals` (a tensor, or a tuple
    of the function's arguments).

    func: a function of tensors, or of trees of them
    Raises ValueError if the function returns no single number.
    """
    several = is_tuple(primals)
    arguments = primals if several else (primals,)
    # the Hessian is symmetric, so the gradient's vjp with the tangents is its product with them
    _, pull = vjp(grad(func, tuple(range(len(arguments)))), *arguments)
    products = pull(tangents if several else (tangents,))
    return products if several else products[0]
