"""Methods and attributes of tensors that torch has, or has in another form: `data`, `type()`, flags, text."""

from typing import Any

from ..core import dtype as dt
from ..core.host import Data
from ..core.node import describe
from ..core.printing import format_tensor
from ..errors import TypeError, ValueError
from ..nn.module import Keys
from ..nn.parameter import Parameter
from ..runtime import run
from ..runtime.state import mark, thread, with_next_run
from ..tensor import Tensor, own
from .derivatives import grad_fn_of
from .devices import TorchDevice
from .grad_slots import read as read_gradient
from .grad_slots import write as write_gradient
from .legacy_types import dtype_and_device, legacy_name
from .markers import MARKERS
from .switch import add_patch, in_mode

plain_deepcopy = Tensor.__deepcopy__
plain_to = Tensor.to


# --- data ---


def _data(self: Tensor) -> Tensor:
    """The same elements without gradients: writes to it reach the tensor."""
    return self.detach()


def _set_data(self: Tensor, value: Any) -> None:
    """Replace the value by one of any shape, dtype and device; the tensor stays the same leaf."""
    if not isinstance(value, Tensor):
        raise TypeError(f"x.data = {describe(value)}: takes a tensor: pass torch.tensor(...)")
    node = self.node
    if value.node.shape == node.shape and value.node.dtype is node.dtype and value.device is self.device:
        self.assign_(value)
        return
    if node.param is not None and not value.dtype.has_gradients:
        rule = "x requires gradients, which only floats have: call x.requires_grad_(False)"
        raise ValueError(f"x.data = {describe(value)}: {rule}")
    new = own(value.node)
    new.requires_grad, new.param = node.param is not None, node.param
    with self.device.lock:
        node.replaced, self.node, self.link = True, new, None
    mark()  # recordings compare dtypes and shapes again
    with_next_run(self)


add_patch(Tensor, "data", property(_data, _set_data))


# --- types and devices ---


@in_mode(Tensor, "type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, such as torch.FloatTensor; with dtype, the tensor in that type.

    dtype: a dtype, a type such as torch.FloatTensor, or its name. non_blocking: accepted and ignored.
    """
    if dtype is None:
        return legacy_name(self.dtype, self.device.kind == "gpu")
    to, device = dtype_and_device(dtype)
    return self.to(device, to) if device is not None else self.to(to)


@in_mode(Tensor)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on the GPU. device: which; non_blocking, memory_format: accepted and ignored."""
    return self.to(TorchDevice("cuda") if device is None else TorchDevice(device))


@in_mode(Tensor)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU. memory_format: accepted and ignored."""
    return self.to("cpu")


@in_mode(Tensor)
def to(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The tensor with another dtype, on another device, or like another tensor; itself if nothing changes.

    memory_format is accepted and ignored: tensors are contiguous.
    """
    kw.pop("memory_format", None)
    if "other" in kw:
        args = (kw.pop("other"), *args)
    if type(kw.get("device")) in (str, int):
        kw["device"] = TorchDevice(kw["device"])
    return plain_to(self, *[TorchDevice(a) if type(a) in (str, int) else a for a in args], **kw)


@in_mode(Tensor)
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself, or a contiguous copy of a view. memory_format: accepted and ignored."""
    return plain_contiguous(self)


@in_mode(Tensor)
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements are in order. memory_format: accepted and ignored."""
    return plain_is_contiguous(self)


plain_contiguous, plain_is_contiguous = Tensor.contiguous, Tensor.is_contiguous


@in_mode(Tensor)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself: copies to the GPU use staging buffers. device: accepted and ignored."""
    return self


@in_mode(Tensor)
def share_memory_(self: Tensor) -> Tensor:
    """The tensor itself: threads share it already."""
    return self


def _false(self: Tensor, *_args: Any) -> bool:
    """False."""
    return False


for _name in ("is_pinned", "is_shared", "is_inference"):
    add_patch(Tensor, _name, _false)
_FLAGS = """
is_sparse is_sparse_csr is_quantized is_mps is_xpu is_mkldnn is_nested is_vulkan is_ipu is_maia is_mtia
"""
for _name in _FLAGS.split():
    add_patch(Tensor, _name, property(_false))


def _layout(self: Tensor) -> Any:
    """torch.strided."""
    return MARKERS["strided"]


add_patch(Tensor, "layout", property(_layout))


def _is_gpu(self: Tensor) -> bool:
    """Whether a GPU computes the tensor."""
    return self.device.kind == "gpu"


add_patch(Tensor, "is_cuda", property(_is_gpu))


# --- copies and text ---


@in_mode(Tensor, "__deepcopy__")
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """An independent tensor with the same value; of a tensor that is not a parameter, with its gradient."""
    copy = plain_deepcopy(self, memo)
    if (
        not isinstance(self, Parameter)
        and (gradient := read_gradient(self) if self.is_leaf else None) is not None
    ):
        write_gradient(copy, plain_deepcopy(gradient, memo))
    return copy


@in_mode(Tensor, "__repr__")
def _repr(self: Tensor, *, tensor_contents: Any = None) -> str:
    """The values, and facts that these do not show: the device, the dtype, gradients."""
    if thread.recorder is not None or not (self.device.can_wait and self.device.holds_values):
        return plain_repr(self)
    data = Data(run.read([self])[0], tuple(self.shape), self.dtype)
    facts = [] if self.device.kind != "gpu" else [f"device='{self.device}'"]
    implied = [dt.dtype_of_scalar(v) for v in (1.0, 1, True, 1j)[: 4 if self.numel() else 1]]
    facts += [] if self.dtype in implied else [f"dtype={self.dtype!r}"]
    if not self.is_leaf:
        facts.append(f"grad_fn=<{grad_fn_of(self.node).name()}>")
    elif self.requires_grad:
        facts.append("requires_grad=True")
    return format_tensor(data, facts)


plain_repr = Tensor.__repr__


@in_mode(Keys, "__repr__")
def _repr_of_keys(self: Keys) -> str:
    if not self.missing_keys and not self.unexpected_keys:
        return "<All keys matched successfully>"
    return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
