"""OnnxModel: an ONNX file as a module, with its weights as parameters by their names."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from operator import is_
from typing import Any, Self

from ..capture.jit import Recordings
from ..capture.recorder import Recorder
from ..core.dtype import DTYPES, DType, DTypeLike
from ..core.events import has_listener
from ..core.lru_cache import Recent
from ..core.modes import is_grad_enabled, no_grad
from ..core.node import Node
from ..device import DeviceLike, get_device
from ..errors import FlambeauError
from ..nn import Buffer, Module, Parameter
from ..runtime import state
from ..tensor import Tensor
from .convert import numpy_dtype
from .graph import GraphDef, ModelDef, OnnxError, ValueDef, printable
from .passes import HostConstants, Initializers
from .patterns import fuse_patterns
from .run import Runner, device_of, kinds, reason
from .values import cpu, dtype_name, tensors_in, to_array, to_value
from .verify import verify

RECORDINGS_KEPT = 4  # recordings of a model by input shapes; each holds its intermediate buffers
KINDS_KEPT = 64  # remembered input shapes
MEAN_AND_VARIANCE = (3, 4)  # inputs of BatchNormalization that are buffers, not parameters


class WeightsOf(Module):
    """A module for the weights under a common name prefix."""


@dataclass(frozen=True)
class ModelCall:
    """A model's call with these weights. It does not hold the model, so that its recordings are freed with
    that."""

    runner: Runner
    weights: Initializers
    training: bool = False

    def __call__(self, fed: dict[str, Any]) -> list[Any]:
        recorder = state.thread.recorder
        # other operators need the weight as a tensor
        may_record = recorder is None or isinstance(recorder, Recorder)
        # Folding reads weights as constants; in training they change, and gradients must flow through them.
        self.runner.training = self.training
        return self.runner.run_model(
            self.weights, fed, may_record and not (self.training or is_grad_enabled())
        )

    def reads(self, weights: Initializers) -> bool:
        """Whether these are this call's weights."""
        own_tensors, other_tensors = self.weights.tensors, weights.tensors
        return own_tensors.keys() == other_tensors.keys() and all(
            map(is_, own_tensors.values(), other_tensors.values())
        )


class OnnxModel(Module):
    """An ONNX graph as a module in eval mode, whose parameters are frozen until `requires_grad_()`.

    model(x, y) takes inputs in order and returns the output, a tuple if there are several; model({"x": x})
    takes them by name and returns a list. `inputs` and `outputs` have names, dtypes and shapes. definition:
    the result of `read_model`. device: where it runs. replays: record calls in eval mode without gradients
    (`fb.jit`) when shapes repeat. fuses: run patterns that exporters write as many nodes as one operator.
    """

    def __init__(
        self, definition: ModelDef, device: DeviceLike | None = None, replays: bool = True, fuses: bool = True
    ):
        # Files are untrusted: all structural problems are reported before anything runs.
        verify(definition)
        self.definition, self.replays = definition.without_arrays(), replays
        self._recordings: Recordings | None = None
        self._can_replay: Recent[Any, bool] = Recent()  # by the shapes and dtypes of earlier inputs
        self.runner = Runner(fuse_patterns(self.definition) if fuses else self.definition, get_device(device))
        graph = definition.graph
        # Before IR version 4 initializers were listed among the inputs: these have defaults, and may be
        # fed.
        self.inputs = tuple(v for v in graph.inputs if v.name not in graph.initializers)
        self.outputs = graph.outputs
        self._weights: dict[str, tuple[Module | None, str]] = {}  # None: of the model itself
        self._constants: dict[str, Any] = {}
        self._single: dict[str, tuple[Node, Tensor]] = {}  # weights of one element, with the file's values
        state = running_state(graph)
        for name, array in graph.initializers.items():
            self._take(name, array, name in state)
        self.eval()

    @property
    def device(self) -> Any:
        """Where it runs."""
        return self.runner.device

    def __deepcopy__(self, memo: dict[int, Any]) -> "OnnxModel":
        """Return a copy with its own runner and without recordings."""
        # The runner's caches refer to this model's weights by identity: the copy begins without them.
        copy = memo[id(self)] = type(self).__new__(type(self))
        runner, own = Runner(self.runner.model, self.device), vars(self)
        fresh: dict[str, Any] = {
            "_recordings": None,
            "_single": {},
            "runner": runner,
            "definition": self.definition,
        }
        vars(copy).update({k: fresh[k] if k in fresh else deepcopy(v, memo) for k, v in own.items()})
        return copy

    def to(
        self,
        *args: Any,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Self:
        """As Module.to; the graph then runs on the weights' device."""
        super().to(*args, device=device, dtype=dtype, non_blocking=non_blocking, memory_format=memory_format)
        device = device or next((a for a in args if not isinstance(a, bool) and _is_device(a)), None)
        if device is not None:
            self.runner.to(get_device(device))
        return self

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run the graph on arrays, numbers or tensors. ValueError for too many inputs, OnnxError for ones
        that `inputs` does not allow."""
        # As in onnxruntime's session.run, a dict in gives a list out, even of one output.
        by_name = len(inputs) == 1 and isinstance(inputs[0], Mapping)
        feeds: dict[str, Any] = {**inputs[0]} if by_name else dict(zip([v.name for v in self.inputs], inputs))
        if not by_name and len(inputs) > len(self.inputs):
            rule = f"takes {len(self.inputs)} inputs ({self._signature()}), got {len(inputs)}"
            raise ValueError(f"{self.definition.place}: {rule}")
        results = self._run({**feeds, **named})
        return results if by_name or len(results) != 1 else results[0]

    def arrays(self, feeds: dict[str, Any]) -> list[Any]:
        """Run the graph on inputs by name, and return all outputs as NumPy arrays; OnnxError names file and
        node of a failure."""
        labels = {name: n.label for n in self.definition.graph.nodes for name in n.outputs}
        arrays: list[Any] = []
        for v, value in zip(self.outputs, self(feeds)):
            try:
                arrays.append(to_array(value))
            except (MemoryError, ValueError, FlambeauError) as e:
                where = labels.get(v.name, f"the output {v.name!r}")
                raise OnnxError(f"{self.definition.place}: {where}: {reason(e, [])}") from e
        return arrays

    def _run(self, feeds: dict[str, Any]) -> list[Any]:
        fed = self._check_inputs(feeds)
        if self.training or (is_grad_enabled() and self._needs_gradients(fed)):
            return self._compute(fed)
        with no_grad():
            return self._infer(fed)

    def _needs_gradients(self, fed: dict[str, Any]) -> bool:
        """Whether an input or a weight requires gradients."""
        # Read the attributes each time: the user may assign parameters or call requires_grad_().
        weights = (getattr(owner or self, last) for owner, last in self._weights.values())
        return any(requires_grad(v) for v in fed.values()) or any(w.requires_grad for w in weights)

    def _infer(self, fed: dict[str, Any]) -> list[Any]:
        """Run without gradients, by a recording if possible."""
        if not self.replays or state.thread.recorder is not None:
            return self._compute(fed)
        # a subscriber watches how it is computed
        if state.thread.computing is not None or has_listener("plan"):
            return self._compute(fed)
        # The first call with these shapes runs eagerly and shows whether everything stays on the device:
        # host values can't be recorded.
        kind = kinds(fed)
        can = self._can_replay.get(kind)
        if can is None:
            results = self._compute(fed)
            can = all(type(v) is Tensor and v.device is self.device for v in (*fed.values(), *results))
            self._can_replay.keep(kind, can and bool(fed), KINDS_KEPT)
            return results
        return self._replay(fed) if can else self._compute(fed)

    def _replay(self, fed: dict[str, Any]) -> list[Any]:
        """Run `_compute` by a recording."""
        # A recording reads the buffers of the weights that it was recorded with: start again for others.
        weights, recordings = self._weights_beside(fed), self._recordings
        known_call: Any = None if recordings is None else recordings.fn
        if recordings is None or not known_call.reads(weights):
            call = ModelCall(self.runner, weights)
            recordings = self._recordings = Recordings(call, "never", quiet=True, kept=RECORDINGS_KEPT)
        return recordings.call((fed,), {})

    def _compute(self, fed: dict[str, Any]) -> list[Any]:
        """Run on inputs by name."""
        return ModelCall(self.runner, self._weights_beside(fed), self.training)(fed)

    def _weights_beside(self, feeds: dict[str, Any]) -> Initializers:
        """Return the initializers that the inputs do not replace."""
        places = ((n, owner or self, last) for n, (owner, last) in self._weights.items() if n not in feeds)
        tensors = {n: getattr(owner, last) for n, owner, last in places}
        constants = HostConstants({n: v for n, v in self._constants.items() if n not in feeds})
        return Initializers(constants, tensors, self._single)

    def _check_inputs(self, feeds: dict[str, Any]) -> dict[str, Any]:
        """Convert inputs to values; OnnxError for names, dtypes and shapes that do not match the graph's."""
        declared = {v.name: v for v in self.definition.graph.inputs}
        place = self.definition.place
        problems = [f"it has no input {n!r}" for n in feeds if n not in declared]
        problems += [f"the input {v.name!r} is missing" for v in self.inputs if v.name not in feeds]
        if problems:
            raise OnnxError(f"{place}: {'; '.join(problems)}: it takes {self._signature()}")
        values = {name: self._value(declared[name], value) for name, value in feeds.items()}
        sizes: dict[str, int] = {}
        problems = [p for name, v in values.items() if (p := mismatch(declared[name], v, sizes))]
        if problems:
            raise OnnxError(f"{place}: {'; '.join(problems)}")
        return values

    def _value(self, wanted: ValueDef, data: Any) -> Any:
        """Convert an input to a value; Python numbers get the declared dtype."""
        if isinstance(data, int | float | list) and wanted.kind == "tensor" and not isinstance(data, Tensor):
            import numpy as np

            try:
                data = np.asarray(data, numpy_dtype(wanted.dtype or "float32"))
            except ValueError:
                rule = "is not a list of numbers in rows of equal length"
                raise OnnxError(f"{self.definition.place}: the input {wanted.name!r} {rule}") from None
        return to_value(data, self.device)

    def _signature(self) -> str:
        return ", ".join(printable(f"{v.name}: {v}") for v in self.inputs) or "no inputs"

    def _take(self, name: str, array: Any, is_state: bool) -> None:
        """Store an initializer: floats as a parameter, large integers as a buffer, others as constants."""
        # Trained later: floats. Moved with the model but not trained: large integers (quantised weights).
        # Constants of plans: strings, shapes and other small integers, which stay on the host.
        value = to_value(array, device_of(array, self.device))
        if not isinstance(value, Tensor) or (
            not value.dtype.has_gradients and value.device is not self.device
        ):
            self._constants[name] = value
            return
        owner, last = self._owner(name)
        is_buffer = is_state or not value.dtype.has_gradients
        setattr(owner, last, Buffer(value) if is_buffer else Parameter(value, requires_grad=False))
        self._weights[name] = (None if owner is self else owner), last
        # A scalar weight (a scale, an epsilon) can be a number in kernels while it is unchanged.
        if value.numel() == 1 and value.dtype.is_float:
            self._single[name] = getattr(owner, last).node, to_value(array, cpu())

    def _owner(self, name: str) -> tuple[Module, str]:
        """Return the module and the attribute for a weight: "a.b.c" is c of b of a, if these names are
        free."""
        owner: Module = self
        *path, last = name.split(".")
        for part in path:
            # Names come from the file: one that is an attribute of Module ("forward", "to") must not
            # replace it.
            inner = vars(owner).get(part)
            if inner is None and part and not hasattr(type(owner), part):
                inner = WeightsOf()
                setattr(owner, part, inner)
            if not isinstance(inner, WeightsOf):
                return self, self._free(self, name.replace(".", "_"))
            owner = inner
        return owner, self._free(owner, last)

    def _free(self, owner: Module, name: str) -> str:
        while not name or hasattr(owner, name):
            name += "_"
        return name

    def extra_repr(self) -> str:
        """Return the inputs and outputs."""
        out = ", ".join(f"{v.name}: {v}" for v in self.outputs)
        return f"{self._signature()} -> {out}"


def requires_grad(value: Any) -> bool:
    """Whether an input, or a tensor in a sequence, requires gradients."""
    return any(t.requires_grad for t in tensors_in([value]))


def _is_device(argument: Any) -> bool:
    if isinstance(argument, str):
        return argument not in DTYPES
    return argument is not None and not isinstance(argument, DType | type)


def running_state(graph: GraphDef) -> set[str]:
    """Initializers that are a batch norm's mean and variance."""
    norms = [n for n in graph.nodes if n.op == "BatchNormalization" and not n.domain]
    return {n.inputs[k] for n in norms for k in MEAN_AND_VARIANCE if k < len(n.inputs)}


def mismatch(wanted: ValueDef, value: Any, sizes: dict[str, int]) -> str:
    """Return the difference between an input and its declaration, or "". sizes: the sizes known so far, by
    name."""
    if wanted.kind != "tensor" or value is None:
        return ""
    if not hasattr(value, "shape"):
        return f"the input {wanted.name!r} must be {wanted}, got {type(value).__name__}"
    problem = f"the input {wanted.name!r} must be {wanted}, got {dtype_name(value)}{list(value.shape)}"
    if wanted.dtype and dtype_name(value) != wanted.dtype:
        return problem
    if wanted.shape is None:
        return ""
    if len(wanted.shape) != len(value.shape):
        return problem
    # A symbolic size ("batch") is bound by the first input that has it; later inputs must agree.
    for want, n in zip(wanted.shape, value.shape):
        if isinstance(want, str):
            want = sizes.setdefault(want, n)
        if want is not None and want != n:
            return problem
    return ""
