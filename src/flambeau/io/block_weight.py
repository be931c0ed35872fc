"""BlockWeight: a matrix of a GGUF file as the file has it, quantised blocks, on the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import dtype as dt
from ..core.block_formats import FORMATS
from ..device import DeviceLike
from ..ops.blocks import decode_numpy
from ..runtime.exchange import leaf
from ..tensor import Tensor, tensor
from .elements import LoadOptions

Rows = Any  # a NumPy array of uint8, [n, bytes of a row]


@dataclass(frozen=True)
class BlockFormat:
    """A format: its name, its number in files, elements and bytes of a block, and the function that decodes
    bytes (int32 [n, size] -> float32 [n, elements])."""

    name: str
    number: int
    elements: int
    size: int
    decode: Callable[[Any], Any]

    @property
    def in_kernels(self) -> bool:
        """Whether kernels decode it where they load."""
        return self.name.lower() in FORMATS


@dataclass(frozen=True)
class BlockWeight:
    """A matrix of quantised blocks on the host; each of its rows is a number of whole blocks. [n, k]

    format: of its blocks. rows: uint8, the bytes of each row.
    """

    format: BlockFormat
    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of elements of each."""
        return len(self.rows), self.rows.shape[1] // self.format.size * self.format.elements

    @property
    def nbytes(self) -> int:
        """Bytes of the blocks."""
        return int(self.rows.nbytes)

    def take_rows(self, order: Any) -> "BlockWeight":
        """The rows at these places, a list or an integer array."""
        return BlockWeight(self.format, self.rows[order])

    def numpy(self) -> Any:
        """The numbers that the blocks encode. -> float32 [n, k]"""
        form, (n, k) = self.format, self.shape
        if form.in_kernels:
            return decode_numpy(form.name.lower(), self.rows.reshape(-1), 0, n * k).reshape(n, k)
        codes = tensor(self.rows.reshape(-1, form.size).astype("i4"), device="cpu")
        return form.decode(codes).reshape(n, k).numpy()

    def to(self, device: DeviceLike | None = None) -> Tensor:
        """Copy the blocks to a device: as uint32 words, the last filled up with zeros, or as uint8 if no
        kernel decodes the format. -> [words] or [blocks, bytes]"""
        raw, place, size = self.rows.tobytes(), LoadOptions.of(device).device, self.format.size
        if not self.format.in_kernels:
            return Tensor(leaf(memoryview(raw), (len(raw) // size, size), dt.uint8, place))
        raw += bytes(-len(raw) % 4)
        return Tensor(leaf(memoryview(raw), (len(raw) // 4,), dt.uint32, place))

    def __repr__(self) -> str:
        return f"BlockWeight({list(self.shape)}, {self.format.name}, {self.nbytes:,} bytes)"


def join_rows(weights: Sequence[BlockWeight]) -> BlockWeight | None:
    """The rows of several weights one below another; None if their formats or rows differ."""
    import numpy as np

    first = weights[0]
    if any(w.format is not first.format or w.rows.shape[1:] != first.rows.shape[1:] for w in weights):
        return None
    return BlockWeight(first.format, np.concatenate([w.rows for w in weights]))
