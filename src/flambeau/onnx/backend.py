"""Implements onnx's Backend interface, which `onnx.backend.test` and other tools use."""

from typing import Any

from onnx import helper
from onnx.backend.base import Backend, BackendRep

from ..core.modes import no_grad
from ..core.tree import is_dict
from ..device import get_device
from ..errors import DeviceError
from .model import OnnxModel
from .read import read_model
from .values import tensors_in, to_array

DEVICES = {"CPU": "cpu", "CUDA": "gpu"}  # the suite calls a GPU "CUDA"


class PreparedModel(BackendRep):
    """A model that is ready to run on arrays. ran_on: the kinds of devices of its last outputs."""

    def __init__(self, model: OnnxModel):
        self.model = model
        self.ran_on: set[str] = set()

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run on inputs in order (or in a dict by name); returns NumPy arrays."""
        names = [v.name for v in self.model.inputs]
        feeds = inputs if is_dict(inputs) else dict(zip(names, inputs, strict=True))
        with no_grad():
            outputs = self.model(feeds)
            self.ran_on = {t.device.kind for t in tensors_in(outputs)}
            return tuple(to_array(v) for v in outputs)


class FlambeauBackend(Backend):
    """Flambeau as a backend of ONNX."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Prepare a model for a device of the interface: "CPU" is NumPy, "CUDA" is any GPU."""
        return PreparedModel(OnnxModel(read_model(model), device_of(device)))

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> Any:
        """Run one node."""
        from onnx import defs

        # The test suite passes single nodes: wrap one in a graph whose inputs and outputs have no declared
        # type (element type 0, no shape).
        opset = kwargs.get("opset_version") or defs.onnx_opset_version()
        values = [
            helper.make_value_info(name, helper.make_tensor_type_proto(0, None))
            for name in node.input
            if name
        ]
        outputs = [
            helper.make_value_info(name, helper.make_tensor_type_proto(0, None)) for name in node.output
        ]
        graph = helper.make_graph([node], "node", values, outputs)
        imports = [helper.make_opsetid(node.domain, opset)]
        return cls.prepare(helper.make_model(graph, opset_imports=imports), device).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is available."""
        try:
            get_device(device_of(device))
        except (DeviceError, KeyError):
            return False
        return True


def device_of(name: str) -> str:
    """Return the device for a name of the interface."""
    kind, colon, number = name.partition(":")
    return DEVICES[kind] + (colon + number if kind != "CPU" else "")


prepare, run_model, run_node = FlambeauBackend.prepare, FlambeauBackend.run_model, FlambeauBackend.run_node
supports_device, is_compatible = FlambeauBackend.supports_device, FlambeauBackend.is_compatible
