"""Attributes of torch.Tensor that few programs use: version counters, flags of other layouts, refusals."""

from typing import Any

from .. import linalg
from ..core.node import Node
from ..tensor import Tensor
from .placeholders import refuse
from .switch import add_patch, in_mode

_plain_become: Any = vars(Tensor)["_become"]  # the one place of all writes


def _owner(tensor: Tensor) -> Tensor:
    """The base of a view; the tensor itself if the base was freed."""
    base = tensor if tensor.link is None else tensor.link[0].base()
    return tensor if base is None else base


def _writes_of(owner: Tensor) -> int:
    try:
        return owner.writes
    except AttributeError:  # the slot is empty until the first write
        return 0


@in_mode(Tensor, "_become")
def _become_counted(self: Tensor, new: Node) -> None:
    """Set a new value for this tensor and all views of the same elements, and count the write."""
    _plain_become(self, new)
    owner = _owner(self)
    owner.writes = _writes_of(owner) + 1  # in a slot: recordings depend on a tensor's dict


@in_mode(Tensor)
@property
def _version(self: Tensor) -> int:  # pyright: ignore[reportUnusedFunction] - torch mode has it
    """The number of writes to the tensor, its views and the tensor that it is a view of."""
    return _writes_of(_owner(self))


# --- properties that tensors lack, and methods without effect ---


def _constant(value: Any) -> property:
    def fact(self: Tensor) -> Any:
        """The same for all tensors."""
        return value

    return property(fact)


for _name, _value in {
    "name": None,
    "output_nr": 0,
    "volatile": False,
    "is_xla": False,
    "is_ipu": False,
}.items():
    add_patch(Tensor, _name, _constant(_value))


@in_mode(Tensor, "is_coalesced", "is_distributed")
def _no(self: Tensor) -> bool:  # pyright: ignore[reportUnusedFunction] - torch mode has it
    """False: tensors are dense, in one process."""
    return False


@in_mode(Tensor)
def dense_dim(self: Tensor) -> int:
    """The number of dims: none is sparse."""
    return self.ndim


@in_mode(Tensor)
def sparse_dim(self: Tensor) -> int:
    """0."""
    return 0


@in_mode(Tensor, "to_dense", "to_mkldnn", "coalesce")
def _same(self: Tensor, *_args: Any, **_kw: Any) -> Tensor:  # pyright: ignore[reportUnusedFunction] - torch mode has it
    """The tensor itself: it is dense."""
    return self


@in_mode(Tensor)
def record_stream(self: Tensor, stream: Any) -> None:
    """Do nothing: memory is reused when the commands that read it are done."""


@in_mode(Tensor, "xpu", "mtia", "ipu")
def _to_gpu(self: Tensor, *_args: Any, **_kw: Any) -> Tensor:  # pyright: ignore[reportUnusedFunction] - torch mode has it
    """The tensor on the GPU."""
    return self.to("cuda")


@in_mode(Tensor)
@property
def names(self: Tensor) -> tuple[None, ...]:
    """None for each dim: dims have no names."""
    return (None,) * self.ndim


@in_mode(Tensor)
@property
def grad_dtype(self: Tensor) -> Any:
    """The dtype of gradients: that of the tensor."""
    return self.dtype


@in_mode(Tensor)
def const_data_ptr(self: Any) -> int:
    """data_ptr()."""
    return self.data_ptr()


@in_mode(Tensor)
def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """linalg.householder_product."""
    return linalg.householder_product(self, input2)


@in_mode(Tensor)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The value that a module's state takes from `other`: a copy in this tensor, or with `assign` other."""
    return other.detach() if assign else self.detach().copy_(other)


REFUSED = """
as_strided_ ccol_indices chalf col_indices crow_indices dequantize eig hash_tensor index indices int_repr
lstsq
lu q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme reinforce
resize resize_as resize_as_sparse_ row_indices slice_inverse smm solve sparse_mask sparse_resize_
sparse_resize_and_clear_ sspaddmm storage_type symeig to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr
to_sparse_coo to_sparse_csc to_sparse_csr triangular_solve values
"""


def _refusal(name: str) -> Any:
    def missing(self: Tensor, *_args: Any, **_kw: Any) -> Any:
        raise refuse(f"torch.Tensor.{name}")

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"torch.Tensor.{name}, which Flambeau lacks: a call raises."
    return missing


for _name in REFUSED.split():
    add_patch(Tensor, _name, _refusal(_name))
