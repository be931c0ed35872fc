"""The quantised block formats of GGUF that kernels decode where they load: elements and bytes of a block.

A tensor of blocks is an array of uint32 words, the bytes of its blocks in file order. wgsl/lib/blocks.wgsl
has the layouts for kernels, ops/blocks.py the same for NumPy.
"""

from functools import cached_property

from .dtype import SHORT, DType, float32


class BlockDType(DType):
    """The element type of a buffer of blocks, which only loads of kernels have: an element is a float32.

    elements: numbers of a block. size: bytes of a block. reads: words that decoding four neighbours reads.
    """

    elements: int
    size: int
    reads: int

    def __init__(self, name: str, elements: int, size: int, reads: int):
        super().__init__(name, name, "f32", "u32", "f", float32.rank, "f")
        for attribute, value in (("elements", elements), ("size", size), ("reads", reads)):
            object.__setattr__(self, attribute, value)  # a dtype is frozen

    @cached_property
    def wide(self) -> DType:
        """The dtype of a decoded element."""
        return float32

    @cached_property
    def words(self) -> tuple[int, ...]:
        """Words of a cell: a load reads the words one by one, whatever its width."""
        return (1,) * 5

    def words_of(self, count: int) -> int:
        """The words of an array of this many elements; the last may be partly unused."""
        return -(-count // self.elements * self.size // 4)


FORMATS = {
    f.name: f
    for f in (
        BlockDType("q4_0", 32, 18, 3),
        BlockDType("q4_1", 32, 20, 2),
        BlockDType("q5_0", 32, 22, 5),
        BlockDType("q5_1", 32, 24, 3),
        BlockDType("q8_0", 32, 34, 3),
        BlockDType("q4_k", 256, 144, 5),
        BlockDType("q5_k", 256, 176, 6),
        BlockDType("q6_k", 256, 210, 6),
    )
}
# the element types of kernels' loads and values, by their short names
KERNEL_DTYPES: dict[str, DType] = {**SHORT, **FORMATS}
