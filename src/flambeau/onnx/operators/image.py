"""ImageDecoder, by Pillow."""

from io import BytesIO
from typing import Any

from ...tensor import Tensor
from ..values import host, to_array
from .table import operator
from .window import check_count

LARGEST = 1 << 26  # the most pixels: more means a damaged or malicious file
FORMATS = ("JPEG", "PNG", "BMP", "WEBP", "TIFF", "JPEG2000", "PPM")


@operator("ImageDecoder", since=20, moves=False, sized_by_values=True)
def image_decoder(encoded: Tensor, *, pixel_format: str = "RGB") -> Tensor:
    """Decode an image file. [bytes] uint8 -> [h, w, c] uint8"""
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise ValueError("needs Pillow: pip install 'flambeau[data]'") from None
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        raise ValueError(f"pixel_format {pixel_format!r} is unknown: use RGB, BGR or Grayscale")
    try:
        image: Any = Image.open(BytesIO(to_array(encoded).tobytes()), formats=FORMATS)
        check_count(image.width * image.height, "an image's pixels", LARGEST)
        pixels = np.array(image.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except Exception as e:  # for damaged files Pillow's readers raise arbitrary exceptions
        raise ValueError(f"can't read the image: {e}") from None
    pixels = pixels[..., None] if pixel_format == "Grayscale" else pixels
    return host(np.ascontiguousarray(pixels[..., ::-1] if pixel_format == "BGR" else pixels), "uint8")
