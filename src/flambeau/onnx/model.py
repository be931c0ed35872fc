"""OnnxModel: an ONNX file as a module, with its weights as parameters by their names."""

from collections.abc import Mapping
from typing import Any, Self

from ..device import get_device
from ..nn import Buffer, Module, Parameter
from ..tensor import Tensor
from .graph import GraphDef, ModelDef, OnnxError, ValueDef
from .run import Runner, place_of
from .values import dtype_name, to_value
from .verify import verify

MEAN_AND_VARIANCE = (3, 4)  # inputs of BatchNormalization that are no parameters


class WeightsOf(Module):
    """The weights whose names begin alike."""


class OnnxModel(Module):
    """An ONNX graph as a module.

    model(x, y) takes inputs in their order and returns the output, a tuple where there are several;
    model({"x": x}) takes them by name and returns a list. `inputs` and `outputs` say names, dtypes and
    shapes. definition: what a file says, as `read_model` gives it. device: where it runs.
    """

    def __init__(self, definition: ModelDef, device: Any = None):
        verify(definition)
        self.definition = definition
        self.runner = Runner(definition, get_device(device))
        graph = definition.graph
        self.inputs = tuple(v for v in graph.inputs if v.name not in graph.initializers)
        self.outputs = graph.outputs
        self._weights: dict[str, tuple[Module, str]] = {}
        self._constants: dict[str, Any] = {}
        state = running_state(graph)
        for name, array in graph.initializers.items():
            self._take(name, array, name in state)

    @property
    def device(self) -> Any:
        """Where it runs."""
        return self.runner.device

    def to(self, *args: Any, **kw: Any) -> Self:
        """As Module.to; what the graph computes moves with its weights."""
        super().to(*args, **kw)
        given = kw.get("device") or next((a for a in args if not isinstance(a, bool) and _is_device(a)), None)
        if given is not None:
            self.runner.to(get_device(given))
        return self

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The outputs for inputs: arrays, numbers or tensors."""
        by_name = len(inputs) == 1 and isinstance(inputs[0], Mapping)
        feeds = dict(inputs[0]) if by_name else dict(zip([v.name for v in self.inputs], inputs))
        if not by_name and len(inputs) > len(self.inputs):
            rule = f"takes {len(self.inputs)} inputs ({self._signature()}), given {len(inputs)}"
            raise ValueError(f"{self.definition.place}: {rule}")
        results = self._run({**feeds, **named})
        return results if by_name or len(results) != 1 else results[0]

    def _run(self, feeds: dict[str, Any]) -> list[Any]:
        weights = {name: getattr(m, last) for name, (m, last) in self._weights.items()}
        self.runner.training = self.training
        return self.runner.whole({**self._constants, **weights}, self._checked(feeds))

    def _checked(self, feeds: dict[str, Any]) -> dict[str, Any]:
        """Inputs as values; OnnxError for names, dtypes and shapes that are not the graph's."""
        known = {v.name: v for v in self.definition.graph.inputs}
        place = self.definition.place
        problems = [f"it has no input {n!r}" for n in feeds if n not in known]
        problems += [f"the input {v.name!r} is not given" for v in self.inputs if v.name not in feeds]
        if problems:
            raise OnnxError(f"{place}: {'; '.join(problems)}: it takes {self._signature()}")
        values = {name: self._value(known[name], given) for name, given in feeds.items()}
        sizes: dict[str, int] = {}
        problems = [p for name, v in values.items() if (p := mismatch(known[name], v, sizes))]
        if problems:
            raise OnnxError(f"{place}: {'; '.join(problems)}")
        return values

    def _value(self, wanted: ValueDef, given: Any) -> Any:
        """An input as a value: Python's numbers in the dtype that is wanted."""
        if (
            isinstance(given, int | float | list)
            and wanted.kind == "tensor"
            and not isinstance(given, Tensor)
        ):
            import numpy as np

            from .convert import numpy_dtype

            given = np.asarray(given, numpy_dtype(wanted.dtype or "float32"))
        return to_value(given, self.device)

    def _signature(self) -> str:
        return ", ".join(f"{v.name}: {v}" for v in self.inputs) or "no inputs"

    def _take(self, name: str, array: Any, is_state: bool) -> None:
        """Hold an initializer: floats as a parameter, large integers as a buffer, others as constants."""
        value = to_value(array, place_of(array, self.device))
        if not isinstance(value, Tensor) or (
            not value.dtype.has_gradients and value.device is not self.device
        ):
            self._constants[name] = value
            return
        owner, last = self._owner(name)
        setattr(owner, last, Buffer(value) if is_state or not value.dtype.has_gradients else Parameter(value))
        self._weights[name] = owner, last

    def _owner(self, name: str) -> tuple[Module, str]:
        """The module and the attribute for a weight: "a.b.c" is c of b of a, where these names are free."""
        owner: Module = self
        *path, last = name.split(".")
        for part in path:
            found = vars(owner).get(part)
            if found is None and part and not hasattr(type(owner), part):
                found = WeightsOf()
                setattr(owner, part, found)
            if not isinstance(found, WeightsOf):
                return self, self._free(self, name.replace(".", "_"))
            owner = found
        return owner, self._free(owner, last)

    def _free(self, owner: Module, name: str) -> str:
        while not name or hasattr(owner, name):
            name += "_"
        return name

    def extra_repr(self) -> str:
        """What goes in and out."""
        out = ", ".join(f"{v.name}: {v}" for v in self.outputs)
        return f"{self._signature()} -> {out}"


def _is_device(given: Any) -> bool:
    from ..core.dtype import DTYPES, DType

    if isinstance(given, str):
        return given not in DTYPES
    return given is not None and not isinstance(given, DType | type)


def running_state(graph: GraphDef) -> set[str]:
    """Initializers that are a batch norm's mean and variance."""
    norms = [n for n in graph.nodes if n.op == "BatchNormalization" and not n.domain]
    return {n.inputs[k] for n in norms for k in MEAN_AND_VARIANCE if k < len(n.inputs)}


def mismatch(wanted: ValueDef, value: Any, sizes: dict[str, int]) -> str:
    """How an input is not as the graph says, or ""; sizes: what names of sizes stand for so far."""
    if wanted.kind != "tensor" or value is None:
        return ""
    if not hasattr(value, "shape"):
        return f"the input {wanted.name!r} is {wanted}, given {type(value).__name__}"
    told = f"the input {wanted.name!r} is {wanted}, given {dtype_name(value)}{list(value.shape)}"
    if wanted.dtype and dtype_name(value) != wanted.dtype:
        return told
    if wanted.shape is None:
        return ""
    if len(wanted.shape) != len(value.shape):
        return told
    for want, n in zip(wanted.shape, value.shape):
        if isinstance(want, str):
            want = sizes.setdefault(want, n)
        if want is not None and want != n:
            return told
    return ""
