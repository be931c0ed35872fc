"""Runs a graph in an environment of names: each node by its row, its function, or ONNX's function body."""

import re
from collections import ChainMap
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..capture.recorder import Recorder
from ..core.lru_cache import Recent
from ..core.modes import settings
from ..core.tree import is_list, is_tuple
from ..device import Device
from ..errors import FlambeauError
from ..runtime.state import record_with, thread
from .bodies import body_of
from .fixed import Fixed, fixed_names
from .graph import REQUIRED, FunctionDef, GraphDef, ModelDef, NodeDef, OnnxError, Ref, printable
from .operators.table import Operator, find
from .passes import (
    ROOM,
    Folded,
    GraphPlan,
    Initializers,
    folded_nodes,
    names_read_outside,
    plan_of,
)
from .values import (
    as_constant,
    by_places,
    check_room,
    common_device,
    cpu,
    dtype_name,
    move_to,
    numbers,
    own_bytes,
    store,
    to_value,
)
from .verify import DEEPEST, misuse

PLANS_KEPT = 16
FOLDINGS_KEPT = 2  # one with gradients, and one without
CHANGES = 4  # after this many weight changes fold no weights: the model is being trained
Values = MutableMapping[str, Any]
# a function with the attributes of a node, and its opsets
Bound = tuple[NodeDef, FunctionDef, dict[str, int]]


@dataclass(frozen=True)
class NodeCall:
    """The node that an operator runs for: its keyword argument `node`."""

    definition: NodeDef
    opset: int
    runner: "Runner"
    values: Values
    opsets: dict[str, int]
    depth: int
    around: tuple[NodeDef, ...] = ()  # all nodes of its graph

    @property
    def device(self) -> Any:
        """The model's device."""
        return self.runner.device

    @property
    def training(self) -> bool:
        """Whether the model is in training mode."""
        return self.runner.training

    @property
    def outputs(self) -> tuple[bool, ...]:
        """Which of the outputs are used."""
        return tuple(bool(name) for name in self.definition.outputs)

    def number(self, value: Any) -> Any:
        """Return a value as a Python number if it is the same in all calls with these shapes, else None."""
        # [[2]] counts as the number 2: exporters write scalars as tensors of one element.
        fixed_value = self.runner.known(value)
        while is_list(fixed_value) and len(fixed_value) == 1:
            fixed_value = fixed_value[0]
        return fixed_value if isinstance(fixed_value, int | float) else None

    def once(self, make: Callable[..., Any], *args: Any, of: tuple[int, ...]) -> Any:
        """make(*args), cached if it depends on constant weights only. of: the inputs that are such weights;
        other arguments are part of the key if they are not tensors."""
        # Inside a loop or function (depth > 0) the same node runs with different values: don't cache there.
        inputs = self.definition.inputs
        names = {inputs[k] for k in of if k < len(inputs)} - {""}
        if self.depth or not self.runner.folded.names >= names:
            return make(*args)
        rest = tuple(a for a in args if a is not None and not hasattr(a, "__array__"))
        return self.runner.keep_value((id(self.definition), make, rest), lambda: make(*args), names)

    def wants(self, k: int) -> bool:
        """Whether output k is used."""
        return k < len(self.outputs) and self.outputs[k]

    def run(self, graph: GraphDef, *inputs: Any) -> list[Any]:
        """Run a graph among the attributes. It sees the values around the node."""
        # A subgraph reads outer names (ONNX's lexical scope), and its own outputs must not leak out.
        inside = ChainMap({}, self.values)
        inside.update(zip([v.name for v in graph.inputs], inputs, strict=True))
        return self.runner.graph(graph, inside, self.opsets, self.depth + 1)

    def again(self, name: str, values: dict[str, Any]) -> Any:
        """Recompute a value of the node's graph with other values for some names."""
        # Walk backwards from the value; names that `values` overrides cut the walk.
        needed = {name}
        nodes: list[NodeDef] = []
        for node in reversed(self.around):
            if any(out in needed and out not in values for out in node.outputs):
                nodes.append(node)
                needed |= {n for n in node.inputs if n} - values.keys()
        inside = ChainMap({**values}, self.values)
        self.runner.nodes(tuple(reversed(nodes)), inside, self.opsets, self.depth + 1)
        return inside[name]


class Runner:
    """Runs a model's graphs on a device and computes constants once."""

    # recordings' guards (capture/guards.py) ignore it: the file does not change, the rest is derived
    is_unwatched = True

    def __init__(self, model: ModelDef, device: Device):
        self.model, self.device, self.training = model, device, False
        self._constants: dict[int, tuple[Any, Any]] = {}  # by node, or array of an initializer
        self._moved: dict[int, Any] = {}  # constants on the model's device by id; None until needed
        self._bodies: dict[tuple[Any, ...], Bound] = {}
        self._held: list[FunctionDef] = []  # kept alive, since their ids are keys of `_bodies`
        # plans of the graph, by shapes and dtypes of its inputs
        self._plans: Recent[Any, GraphPlan] = Recent()
        self._plan = GraphPlan()  # the current plan
        self._foldings: Recent[Any, Folded] = Recent()
        self.folded = Folded()  # the constants of the current plan
        self._changes = 0  # the number of weight changes after folding

    def to(self, device: Device) -> None:
        """Run on another device."""
        self.device = device
        self._constants, self._moved, self._plans, self._foldings = {}, {}, Recent(), Recent()

    def run_model(self, weights: Initializers, fed: dict[str, Any], frozen: bool = False) -> list[Any]:
        """`_run_model`; errors about sizes name the file."""
        try:
            return self._run_model(weights, fed, frozen)
        except (MemoryError, ValueError) as e:
            raise OnnxError(f"{self.model.place}: {reason(e, [])}") from e

    def _run_model(self, weights: Initializers, fed: dict[str, Any], frozen: bool) -> list[Any]:
        """Return the outputs of the model's graph for inputs by name.

        Values that depend on shapes only are computed at the first call with such inputs, and kept. If
        weights are `frozen` (they have no gradients), values that depend on them only are kept until they
        change.
        """
        graph = self.model.graph
        with record_with(None):  # a recording must not repeat what is precomputed here
            self.folded = self._begin_folding(weights, frozen)
            # Later entries win: a folded value replaces the weight of its name.
            values = {**weights.constants.values, **weights.tensors, **self.folded.values}
            key = self.folded, kinds(fed)
            plan = self._plans.get(key) or self._plans.keep(key, self._plan_for(values, fed), PLANS_KEPT)
        self._plan = plan
        values |= {**fed, **plan.known}
        self.nodes(plan.nodes, values, self.model.opsets, 0, graph.nodes)
        # A replay must notice that a folded weight was assigned: tie the recording to these nodes.
        if isinstance(thread.recorder, Recorder):
            for t, node in self.folded.sources.values():
                thread.recorder.fix(t, node)
        return [self._value_of(values, v.name, "the graph's outputs") for v in graph.outputs]

    def _begin_folding(self, weights: Initializers, frozen: bool) -> Folded:
        """Return the values folded from the current weights."""
        frozen = frozen and self._changes < CHANGES
        # The modes (autocast, default dtype) change what folding computes; the names are those not fed.
        key = frozen and settings(), frozenset(weights.tensors), frozenset(weights.constants.values)
        folded = self._foldings.get(key)
        if folded is not None and not folded.holds(weights):
            # Plans hold values folded from the old weights: drop them too.
            self._changes += 1
            self._plans = Recent({k: plan for k, plan in self._plans.items() if k[0] is not folded})
            folded = None
        return folded or self._foldings.keep(key, self._fold(weights, frozen), FOLDINGS_KEPT)

    def _fold(self, weights: Initializers, frozen: bool) -> Folded:
        """Run the nodes that read only constants and frozen weights."""
        graph, fold = self.model.graph, Folded.of(weights, frozen)
        # The nodes run with an empty plan, since the current one belongs to other weights.
        self._plan, self.folded = GraphPlan(), fold
        values = {**weights.constants.values, **weights.tensors, **fold.values}
        nodes = folded_nodes(graph, fold.names, self.model.functions)
        for node in nodes:
            self.nodes((node,), values, self.model.opsets, 0, graph.nodes)
        names = {name for node in nodes for name in node.outputs if name}
        sizes = {name: own_bytes(values[name]) for name in names & names_read_outside(graph, nodes)}
        if sum(sizes.values()) > ROOM:  # each call computes the large ones again
            sizes = {name: 0 for name, size in sizes.items() if not size}
        # Compute now: otherwise each call's lazy graph would contain the folding again.
        fold.room -= sum(sizes.values())
        store([values[name] for name, size in sizes.items() if size])
        return fold.with_values({name: values[name] for name in sizes}, nodes)

    def keep_value(self, key: Any, make: Callable[[], Any], names: set[str]) -> Any:
        """Return make(), cached with the weights of these names while the cache has room."""
        folded = self.folded
        if key not in folded.kept:
            with record_with(None):
                value: Any = make()
                parts: list[Any] = [t for t in (value if is_tuple(value) else (value,)) if own_bytes(t)]
                fits = sum(map(own_bytes, parts)) <= folded.room
                if fits:
                    folded.room -= sum(map(own_bytes, parts))
                    folded.follow(names)
                    store(parts)
            # An empty tuple remembers that it did not fit.
            folded.kept[key] = (value,) if fits else ()
        return folded.kept[key][0] if folded.kept[key] else make()

    def _plan_for(self, values: dict[str, Any], fed: dict[str, Any]) -> GraphPlan:
        """Return the plan for inputs of these shapes and dtypes. values: weights, constants and folded
        values."""
        graph, self._plan, values = self.model.graph, GraphPlan(), {**values, **fed}
        # Weights have fixed shapes; folded values without trainable floats are fixed too; inputs only by
        # shape.
        levels = {**dict.fromkeys(values, Fixed.SHAPE), **dict.fromkeys(self.folded.static, Fixed.VALUE)}
        levels |= dict.fromkeys(fed, Fixed.SHAPE)
        nodes = [n for n in graph.nodes if not self.folded.names.issuperset(filter(None, n.outputs))]
        for node in nodes:
            self.nodes((node,), values, self.model.opsets, 0, graph.nodes)
        static = fixed_names(self.model, nodes, levels)
        return plan_of(graph, nodes, values, static)

    def graph(self, graph: GraphDef, values: Values, opsets: dict[str, int], depth: int) -> list[Any]:
        """Run a graph inside another. Its inputs are among the values."""
        for name, array in graph.initializers.items():
            if name not in values:
                values[name] = self.constant(
                    array, lambda array=array: to_value(array, device_of(array, self.device))
                )
        self.nodes(graph.nodes, values, opsets, depth)
        return [self._value_of(values, v.name, "the graph's outputs") for v in graph.outputs]

    def nodes(
        self, nodes: tuple[NodeDef, ...], values: Values, opsets: dict[str, int], depth: int, around: Any = ()
    ) -> None:
        """Run nodes in order. around: all nodes of their graph, if these are a part."""
        if depth > DEEPEST:
            raise OnnxError(f"{self.model.place}: graphs and functions are nested more than {DEEPEST} deep")
        for node in nodes:
            inputs = [self._value_of(values, name, node.label) if name else None for name in node.inputs]
            results = self._call(
                node, inputs, NodeCall(node, 0, self, values, opsets, depth, around or nodes)
            )
            if len(results) < sum(map(bool, node.outputs)):
                rule = f"returned {len(results)} outputs, but {len(node.outputs)} are named"
                raise OnnxError(f"{self.model.place}: {node.label}: {rule}")
            values.update((name, v) for name, v in zip(node.outputs, results) if name)

    def constant(self, of: Any, make: Callable[[], Any]) -> Any:
        """make(), cached for a node or an array."""
        if id(of) not in self._constants:
            value: Any = make()
            self._constants[id(of)] = of, value  # kept alive, since another object could get its id
            parts: tuple[Any, ...] = value if is_tuple(value) else (value,)
            self._moved |= dict.fromkeys(map(id, parts))
        return self._constants[id(of)][1]

    def _value_of(self, values: Values, name: str, asker: str) -> Any:
        if name not in values:
            raise OnnxError(f"{self.model.place}: {asker}: no earlier node produces {name!r}")
        return values[name]

    def _call(self, node: NodeDef, inputs: list[Any], call: NodeCall) -> Any:
        """Return a node's results. OnnxError names file and node if it fails or its results are too large."""
        try:
            results = self._results(node, inputs, call)
            check_room(results)
            return results
        except OnnxError:
            raise
        except RecursionError:
            raise OnnxError(f"{self.model.place}: graphs are nested too deep") from None
        except Exception as e:
            raise OnnxError(f"{self.model.place}: {node.label}: {reason(e, inputs)}") from e

    def _results(self, node: NodeDef, inputs: list[Any], call: NodeCall) -> tuple[Any, ...]:
        """Return a node's results, by a function of the file, the operator's row, or ONNX's own function
        body."""
        opsets, depth = call.opsets, call.depth
        own = self.model.functions.get((node.domain, node.op, node.overload))
        if own is not None:  # ONNX's rule: a function of the file overrides the operator of that name
            return self._function(*self._bind(node, own, own.opsets or opsets), inputs, depth)
        opset = opsets.get(node.domain, 1)
        row = find(node.domain, node.op, opset)
        if row is not None:
            return self._row(row, replace(call, opset=opset), inputs)
        return self._function(*self._body(node, opset, inputs, opsets), inputs, depth)

    def _row(self, row: Operator, call: NodeCall, inputs: list[Any]) -> tuple[Any, ...]:
        node = call.definition
        # One value for all calls, so that it is moved to a device once.
        if node.op == "Constant" and not node.domain:
            return self.constant(node, lambda: (row.function(**node.attributes),))
        problem = misuse(row, [v is not None for v in inputs], node.attributes)
        if problem:
            raise TypeError(problem)
        # Order matters: lists are made from host values before the others move to a common device.
        arguments = self._arrange(row, inputs)
        if row.moves:
            arguments = self._to_one_device(arguments)
        extra = {"node": call} if row.takes_node else {}
        run = partial(row.function, **node.attributes, **extra)
        result: Any = by_places(run, arguments) if row.places else run(*arguments)
        return result if is_tuple(result) else (result,)

    def _arrange(self, row: Operator, inputs: list[Any]) -> list[Any]:
        """Convert inputs for the function: those of `numbers` to lists. TypeError if unsupported."""
        names = [*row.inputs, *[""] * len(inputs)] if row.numbers else ()
        arguments = [self._numbers(v) if n in row.numbers else v for n, v in zip(names, inputs)] or inputs
        check_arrays(arguments, row)
        return arguments

    def _numbers(self, value: Any) -> Any:
        """Return a value as Python numbers and lists; values that depend on shapes only are already known."""
        array = self.known(value)
        return numbers(value) if array is None else array

    def known(self, value: Any) -> Any:
        """Return a value that depends on shapes only, as Python numbers and lists; else None."""
        return self._plan.lists.get(id(value))

    def _to_one_device(self, values: list[Any]) -> list[Any]:
        """Move values to one device; a constant is moved once."""
        # None means that all inputs are on one device already.
        device = common_device(values, self.device)
        if device is None:
            return values
        return [self._move_once(v, device) for v in values]

    def _move_once(self, value: Any, device: Any) -> Any:
        """Move a value to a device; one that all calls share is moved once, outside of recordings."""
        store = next((s for s in (self._plan.moved, self._moved) if id(value) in s), None)
        if store is None or device is not self.device:
            return move_to(value, device)
        if store[id(value)] is None:
            with record_with(None):
                store[id(value)] = as_constant(value, device)
            if id(value) in self._plan.lists:  # a number needs no move
                self._plan.lists[id(store[id(value)])] = self._plan.lists[id(value)]
        return store[id(value)]

    def _body(self, node: NodeDef, opset: int, inputs: list[Any], opsets: dict[str, int]) -> Bound:
        """ONNX's function body for an operator; created once for inputs of the same types."""
        # A context-dependent body (ONNX's term) may differ by the inputs' dtypes and ranks.
        types = [v if v is None else (str(getattr(v, "dtype", "")), getattr(v, "ndim", 0)) for v in inputs]
        key = id(node), opset, tuple(types)
        if key not in self._bodies:
            self._bodies[key] = self._bind(node, *body_of(node, opset, inputs, opsets))
        return self._bodies[key]

    def _bind(self, node: NodeDef, f: FunctionDef, opsets: dict[str, int]) -> Bound:
        """Return a function with a node's attributes substituted; f is kept alive, since its id is the
        key."""
        key = id(node), id(f)
        if key not in self._bodies:
            self._bodies[key] = node, replace(f, nodes=bind_attributes(f, node.attributes)), opsets
            self._held.append(f)
        return self._bodies[key]

    def _function(
        self, node: NodeDef, f: FunctionDef, opsets: dict[str, int], inputs: list[Any], depth: int
    ) -> tuple[Any, ...]:
        if len(inputs) > len(f.inputs):
            raise ValueError(f"takes {len(f.inputs)} inputs, got {len(inputs)}")
        # Omitted trailing inputs are None.
        values: Values = dict.fromkeys(f.inputs)
        values.update(zip(f.inputs, inputs))
        self.nodes(f.nodes, values, opsets, depth + 1)
        return tuple(
            self._value_of(values, name, f"outputs of {f.name}") for name, _ in zip(f.outputs, node.outputs)
        )


UNKNOWN = re.compile(r"^\w+\.__new__\(\) got an unexpected keyword argument (.*)$", re.DOTALL)


def reason(e: Exception, inputs: list[Any]) -> str:
    """Return the text of an operator's exception; unexpected ones are reported with the inputs."""
    # Operators with many attributes are NamedTuples: Python's error names the unknown keyword.
    if unknown := UNKNOWN.search(str(e)):
        return printable(f"has no attribute {unknown[1]}")
    if isinstance(e, MemoryError):
        return (
            (f"needs more memory than is available: {e}") if str(e) else "needs more memory than is available"
        )
    if isinstance(e, ValueError | TypeError | FlambeauError):
        return str(e)
    # An IndexError or KeyError from inside an operator: show the inputs, which are the likely cause.
    shapes = ", ".join("none" if v is None else describe_value(v) for v in inputs)
    return f"its inputs ({shapes}) and attributes are inconsistent: {type(e).__name__}: {e}"


def describe_value(value: Any) -> str:
    """Return a value's dtype and shape."""
    return f"{dtype_name(value)}{list(value.shape)}" if hasattr(value, "shape") else type(value).__name__


def device_of(array: Any, device: Device) -> Any:
    """Return the device of a constant: few integers, which are mostly shapes, stay on the host."""
    return cpu() if array.dtype.kind in "iub" and array.size <= 64 else device


def check_arrays(values: list[Any], row: Operator) -> None:
    """Raise TypeError for arrays that the operator does not support."""
    import numpy as np

    kind: type[Any] = np.ndarray
    bad = None if row.arrays or row.places else next((v for v in values if isinstance(v, kind)), None)
    if bad is not None:
        raise TypeError(
            f"does not support {'strings' if bad.dtype == object else bad.dtype.name}: cast first"
        )


def kinds(fed: dict[str, Any]) -> tuple[Any, ...]:
    """Return the shapes and dtypes of inputs by name: a key of plans."""
    return tuple([(name, *_kind(v)) for name, v in fed.items()])


def _kind(value: Any) -> tuple[Any, ...]:
    """Return the dtype and shape of an input."""
    if is_list(value):
        return ("sequence", *map(_kind, value))
    return (str(getattr(value, "dtype", "")), tuple(getattr(value, "shape", ())), value is None)


def bind_attributes(f: FunctionDef, attributes: dict[str, Any]) -> tuple[NodeDef, ...]:
    """Return a function's nodes with a call's attributes substituted."""
    values = {name: v for name, v in f.attributes.items() if v is not REQUIRED} | attributes
    return tuple(_substitute(node, values) for node in f.nodes)


def _substitute(node: NodeDef, values: dict[str, Any]) -> NodeDef:
    """Replace a node's Refs by values; attributes without a value are omitted."""
    pairs = ((name, values.get(v.name) if isinstance(v, Ref) else v) for name, v in node.attributes.items())
    attributes = {name: _substitute_in(v, values) for name, v in pairs if v is not None}
    return replace(node, attributes=attributes)


def _substitute_in(value: Any, values: dict[str, Any]) -> Any:
    if isinstance(value, GraphDef):
        return replace(value, nodes=tuple(_substitute(n, values) for n in value.nodes))
    return value
