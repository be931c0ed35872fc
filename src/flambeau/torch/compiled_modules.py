"""torch.compile(model) during training: the forward pass and the backward pass are two recordings.

The forward recording returns the results and the values that the backward pass reads. At that time the
backward pass is built once, from placeholders for the results' gradients, and stored as a list of steps.
The backward recording runs these steps on the kept values and the real gradients.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..autodiff.backward import walk
from ..autograd.function import Function
from ..capture.jit import jit_what_ran
from ..core.dtype import DType
from ..core.modes import enable_grad
from ..core.node import Node, next_serial
from ..core.op import OPS, Op
from ..core.shape import Shape
from ..core.tree import leaves, like
from ..nn.module import Module
from ..runtime import run
from ..runtime.state import thread
from ..tensor import HostScalar, Tensor, own
from .trees import KnownTrees

NUMBERS = (int, float, complex, bool, HostScalar)


class BackwardStep(NamedTuple):
    """A node of the backward pass, without references to other nodes. inputs: places among the values before
    it."""

    op: Op
    inputs: tuple[int, ...]
    attrs: dict[str, Any]
    shape: Shape
    dtype: DType
    device: Any
    scalars: tuple[Any, ...]
    again: bool

    def key(self) -> tuple[Any, ...]:
        """A key that is equal for equal steps."""
        attrs = tuple(self.attrs.items())
        scalars = tuple(id(s) if isinstance(s, HostScalar) else repr(s) for s in self.scalars)
        return (self.op.name, self.inputs, attrs, self.shape, self.dtype.name, scalars, self.again)

    def node(self, values: list[Node]) -> Node:
        """The node, from the values before it."""
        inputs = tuple([values[i] for i in self.inputs])
        node = Node(self.op, inputs, self.attrs, self.shape, self.dtype, self.device, self.scalars)
        node.again = self.again
        return node


def _step_of(n: Node, inputs: tuple[int, ...]) -> BackwardStep:
    return BackwardStep(n.op, inputs, n.attrs, n.shape, n.dtype, n.device, n.scalars, n.again)


class BackwardPlan(NamedTuple):
    """A backward pass: its values are the kept forward values, the results' gradients, the parameters, then
    the steps.

    ends: the place of each gradient, of the arguments that require one and of the parameters.
    """

    arguments: tuple[int, ...]  # which tensors of the arguments are kept
    params: tuple[int, ...]  # which parameters
    wanted: tuple[int, ...]  # which parameters get gradients
    steps: tuple[BackwardStep, ...]
    ends: tuple[int | None, ...]
    differentiable: tuple[int, ...]  # which results have gradients

    def key(self) -> tuple[Any, ...]:
        """A key that is equal for equal plans."""
        return (
            self.arguments,
            self.params,
            self.wanted,
            tuple(s.key() for s in self.steps),
            self.ends,
            self.differentiable,
        )

    def run(self, inputs: list[Node]) -> list[Any]:
        """The gradients, from the kept values, the results' gradients and the parameters."""
        values = list(inputs)
        for step in self.steps:
            values.append(step.node(values))
        return [None if end is None else Tensor(values[end]) for end in self.ends]


class _Builder:
    """Builds the plan of a backward pass in the recording of the forward pass."""

    def __init__(self, arguments: list[Node], params: list[Node], placeholders: list[Node], begin: int):
        self.begin, self.placeholders = begin, placeholders
        self.of_argument = {n: i for i, n in enumerate(arguments)}
        self.of_param = {n: i for i, n in enumerate(params)}
        self.kept: dict[Node, Tensor] = {}
        self.arguments: dict[Node, int] = {}
        self.params: dict[Node, int] = {}
        self.steps: dict[Node, tuple[Node, ...]] = {}

    def visit(self, roots: list[Node]) -> None:
        """Find what the nodes of a backward pass read: kept values, parameters, other steps."""
        stack = [(n, False) for n in roots[::-1]]
        seen: set[Node] = set()
        while stack:
            node, done = stack.pop()
            if done:
                self.steps[node] = node.inputs
            elif node not in seen:
                seen.add(node)
                if not self._is_given(node):
                    stack.append((node, True))
                    stack.extend((i, False) for i in node.inputs)

    def _is_given(self, node: Node) -> bool:
        """Whether a node is an input of the steps: an argument, parameter, gradient, or a value to keep."""
        if any(node is g for g in self.placeholders):
            return True
        for places, used in ((self.of_argument, self.arguments), (self.of_param, self.params)):
            if node in places:
                used[node] = places[node]
                return True
        is_number = node.op.name in ("constant", "iota")
        is_plain = all(isinstance(s, NUMBERS) for s in node.scalars)
        # Kept: values of the forward pass. Not kept: views, which cost nothing, and nodes that a checkpoint
        # recomputes (`again`), which must not be kept.
        is_forward = node.serial < self.begin and not node.again and node.op.kind != "movement"
        is_leaf = node.buffer is not None or node.op.kind == "leaf"
        if is_plain and (is_number or not (is_forward or is_leaf)):
            return False
        self.kept[node] = Tensor(own(node) if is_leaf else node)
        return True


class Differentiated(Function):
    """The result of a recorded forward pass, whose gradient is the recorded backward pass."""

    @staticmethod
    def forward(ctx: Any, trained: Any, plan: Any, kept: Any, results: Any, *inputs: Any) -> Any:
        """The results, which are computed already."""
        ctx.trained, ctx.plan, ctx.kept = trained, plan, kept
        return tuple(Tensor(r.node) for r in results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments and parameters."""
        return (None, None, None, None, *ctx.trained.backward(ctx.plan, ctx.kept, grads))


class TrainedModule:
    """The recorded forward and backward passes of a module."""

    is_unwatched = True

    def __init__(self, module: Module):
        self.module = module
        self.plans: list[BackwardPlan] = []
        self.numbers: dict[Any, int] = {}
        self.shapes = KnownTrees()
        self.is_off = False  # calls are not recorded
        self.unrecorded: Any = None  # the result of a call that was not recorded
        self.record_forward = jit_what_ran(_forward_of(module, self))
        self.record_backward = jit_what_ran(_backward_of(self))

    def call(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        """The module's result, with its gradients."""
        if self.is_off or thread.recorder is not None or thread.computing is not None:
            return self.module(*args, **kw)
        tensors = [a for a in leaves((args, kw)) if isinstance(a, Tensor)]
        # fb.jit records nothing on a device of NumPy.
        if not tensors or any(t.device.kind != "gpu" for t in tensors):
            return self.module(*args, **kw)
        needs = tuple(t.requires_grad for t in tensors)
        params = list(self.module.parameters())
        run.realize(*params)
        # Passed as arguments: a recording would otherwise keep the buffers of the parameters of its first
        # call. The optimiser replaces these with each step.
        copies = [_leaf_of(p) for p in params]
        rest = iter([t.detach() if t.requires_grad else t for t in tensors])
        plain = like((args, kw), [next(rest) if isinstance(a, Tensor) else a for a in leaves((args, kw))])
        outcome: Any
        number: int | None
        outcome, number = self.record_forward(*plain, copies, needs)
        if number is None:  # not recorded: the result has its graph
            unrecorded, self.unrecorded = self.unrecorded, None
            if any(needs):
                self.is_off = True  # gradients stop at copies of the arguments
                return self.module(*args, **kw)
            return unrecorded[0]
        results, saved, shape = outcome
        plan = self.plans[number]
        values = [*saved, *[tensors[i].detach() for i in plan.arguments]], [copies[i] for i in plan.params]
        flat = leaves(results)
        chosen = [flat[i] for i in plan.differentiable]
        with_gradients = [t for t, need in zip(tensors, needs, strict=True) if need]
        with_gradients += [params[i] for i in plan.wanted]
        connected = Differentiated.apply(self, number, values, chosen, *with_gradients)
        for i, t in zip(plan.differentiable, connected, strict=True):
            flat[i] = t
        return self.shapes.whole(like(results, flat), shape)

    def forward(self, args: Any, kw: Any, copies: list[Tensor], needs: tuple[bool, ...]) -> Any:
        """Run the forward pass in a recording, on the values of parameters that are passed."""
        if thread.recorder is None:
            with enable_grad():
                self.unrecorded = (self.module(*args, **kw),)
            return None, None
        params = list(self.module.parameters())
        before = [p.node for p in params]
        try:
            for p, copy in zip(params, copies, strict=True):
                key, needs_grad, p.node = p.node.param, p.node.requires_grad, own(copy.node)
                p.node.param, p.node.requires_grad = key, needs_grad
            return self._forward(args, kw, params, copies, needs)
        finally:
            for p, node in zip(params, before, strict=True):
                p.node = node

    def _forward(self, args: Any, kw: Any, params: list[Any], copies: list[Tensor], needs: Any) -> Any:
        """Run the forward pass, and plan the backward pass."""
        recorder, own_nodes = thread.recorder, [p.node for p in params]
        inside = [a for a in leaves((args, kw)) if isinstance(a, Tensor)]
        inputs = [
            Tensor(t.node).requires_grad_() if need else t for t, need in zip(inside, needs, strict=True)
        ]
        rest = iter(inputs)
        with enable_grad():
            args, kw = like(
                (args, kw), [next(rest) if isinstance(a, Tensor) else a for a in leaves((args, kw))]
            )
            result = self.module(*args, **kw)
        results, shape = self.shapes.plain(result)
        flat = leaves(results)
        if thread.recorder is recorder and not all(
            isinstance(r, Tensor | int | float | str | None) for r in flat
        ):
            recorder.spoil("it returns an object that is not made of tensors and numbers")
        if thread.recorder is not recorder:
            self.unrecorded = (result,)  # with its graph
            return None, None
        places = [i for i, r in enumerate(flat) if isinstance(r, Tensor) and r.requires_grad]
        if not places:
            recorder.spoil("no result requires gradients")
            self.unrecorded = (result,)
            return None, None
        # Nodes from here on belong to the backward pass: `_is_given` recognises them by their serial number.
        begin = next_serial()
        result_nodes = [flat[i].node for i in places]
        # Placeholders of the results' gradients, which are known only when backward is called.
        starts = [Node(OPS["buffer"], (), {}, n.shape, n.dtype, n.device) for n in result_nodes]
        pairs = [(n, Tensor(g)) for n, g in zip(result_nodes, starts, strict=True)]
        gradients = walk(pairs, None, False)
        of_inputs = [gradients.pop(t.node.param, None) for t, need in zip(inputs, needs, strict=True) if need]
        numbered = {p.node.param: i for i, p in enumerate(params) if p.node.param is not None}
        parameter_gradients = [(numbered[key], g) for key, g in gradients.items() if key in numbered]
        arguments = [t.node for t in (*inside, *inputs)]
        builder = _Builder(arguments, [*own_nodes, *[c.node for c in copies]], starts, begin)
        every = [*of_inputs, *[g for _, g in parameter_gradients]]
        builder.visit([g.node for g in every if g is not None])
        sizes = len(inside), len(params)
        number = self._number_of(
            builder, tuple(i for i, _ in parameter_gradients), every, tuple(places), sizes
        )
        detached = [r.detach() if isinstance(r, Tensor) else r for r in flat]
        return (like(results, detached), list(builder.kept.values()), shape), number

    def _number_of(
        self, b: _Builder, wanted: tuple[int, ...], every: list[Any], places: tuple[int, ...], sizes: Any
    ) -> int:
        inputs = [*b.kept, *b.arguments, *b.placeholders, *b.params]
        place = {node: i for i, node in enumerate([*inputs, *b.steps])}
        steps = tuple(_step_of(node, tuple(place[i] for i in inputs)) for node, inputs in b.steps.items())
        gradient_numbers = tuple(None if g is None else place[g.node] for g in every)
        # A tensor and its copy that requires gradients stand one after the other in both lists: the same
        # argument.
        arguments = tuple(i % sizes[0] for i in b.arguments.values())
        params = tuple(i % sizes[1] for i in b.params.values())
        plan = BackwardPlan(arguments, params, wanted, steps, gradient_numbers, places)
        key = plan.key()
        if key not in self.numbers:
            self.numbers[key] = len(self.plans)
            self.plans.append(plan)
        return self.numbers[key]

    def backward(self, number: int, kept: Any, grads: tuple[Any, ...]) -> list[Any]:
        """The gradients of a call's arguments and of the parameters."""
        values, params = kept
        return self.record_backward(params, values, list(grads), number)


def _leaf_of(p: Tensor) -> Tensor:
    """A tensor of a parameter's present value that requires no gradient."""
    node = Node(OPS["buffer"], (), {}, p.node.shape, p.node.dtype, p.node.device)
    node.buffer = p.node.buffer
    node.buffer.shared = True
    return Tensor(node)


def _forward_of(module: Module, trained: TrainedModule) -> Callable[..., Any]:
    """The function of the forward recording. The closure lets recordings depend on the module."""

    def forward(args: Any, kw: Any, copies: Any, needs: Any, trained: Any = trained) -> Any:
        assert module is trained.module
        return trained.forward(args, kw, copies, needs)

    return forward


def _backward_of(trained: TrainedModule) -> Callable[..., Any]:
    """The function of the backward recording."""

    def backward(params: Any, kept: Any, grads: Any, number: int, trained: Any = trained) -> Any:
        return trained.plans[number].run([t.node for t in (*kept, *grads, *params)])

    return backward
