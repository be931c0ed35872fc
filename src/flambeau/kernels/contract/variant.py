"""Names the ways to compute a product. Tuning files and the environment use the text of a variant."""

from typing import NamedTuple


class Variant(NamedTuple):
    """One way to compute a product; its text is `64x128/1.33`, `128x128+` or `matrix64/f16`.

    kernel: a tile of dispatch.TILES or of subgroup_matrix.TILES, a row of skinny.SKINNY,
    "skinny_short", "depthwise" or "registers". split: in how many pieces the summed dims are cut, which a
    second kernel adds up; 4/3 is three quarters and the rest. tail: only the tiles of the last round are cut.
    f16: a kernel before makes float32 operands float16.
    """

    kernel: str
    split: float = 1
    tail: bool = False
    f16: bool = False

    def __str__(self) -> str:
        split = f"/{self.split:.3g}" if self.split != 1 else ""
        return f"{self.kernel}{split}{'+' if self.tail else ''}{'/f16' if self.f16 else ''}"


REGISTERS = Variant("registers")
