"""Rows of the quantised family: weights of 8 and 4 bits, and products with them."""

import numpy as np

import flambeau as fb
from flambeau.ops.blocks import decode_numpy

from .row import COMPOSED, OPS, In, Row


def bfloat16(x):
    """Rounded to bfloat16: to nearest, halves to even."""
    b = x.astype("f4").view("u4").astype("u8")
    return ((b + 0x7FFF + ((b >> 16) & 1)) >> 16 << 16).astype("u4").view("f4").astype("f8")


def rounded(w, bits, block):
    """The matrix that is left of w: whole multiples of a scale for each block."""
    most = 2 ** (bits - 1) - 1
    blocks = w.reshape(len(w), -1, block)
    scales = bfloat16(np.abs(blocks).max(-1, keepdims=True) / most)
    return (np.clip(np.round(blocks / scales), -most, most) * scales).reshape(w.shape)


def unpacked(words, scales, bits, block):
    shifts = np.arange(0, 32, bits)
    cells = (words[..., None].astype("u8") >> shifts.astype("u8")) & (2**bits - 1)
    values = cells.astype("f8") - 2 ** (bits - 1)
    return (values.reshape(len(words), -1, block) * scales[..., None]).reshape(len(words), -1)


def there_and_back(w, bits, block):
    return COMPOSED["quantize"](w, bits, block).dequantize().to(w.dtype)


def product(x, w, b, bits, block):
    return COMPOSED["quantized_linear"](x, COMPOSED["quantize"](w, bits, block), b)


def decoded(words, form, shape):
    """The numbers of blocks; the mask makes all bits that may be a scale finite."""
    return OPS["_decode_blocks"](words.to(fb.uint32) & 0x3BFF3BFF, form, shape)


def numbers_of(words, form, shape):
    masked = (words.astype("u4") & np.uint32(0x3BFF3BFF)).astype("u4")
    return decode_numpy(form, masked, 0, shape[0] * shape[1]).reshape(shape).astype("f8")


QUANTIZED: dict[str, Row] = {
    "_decode_blocks": Row(
        numbers_of,
        (In((27,), 0, 2**31 - 2, "u"),),
        {"form": "q4_0", "shape": (3, 64)},
        grads=0,
        call=decoded,
    ),
    "_quantized_product": Row(
        lambda x, w, s, b, bits, block: x @ unpacked(w, s, bits, block).T + b,
        (In((2, 3, 64)), In((5, 8), 0, 2**31 - 2, "u"), In((5, 2), 0.1, 1.0), In((5,))),
        {"bits": 4, "block": 32},
        grads=0,
        tol=5e-6,
    ),
    "quantize": Row(rounded, (In((3, 128)),), {"bits": 8, "block": 64}, grads=0, call=there_and_back),
    "quantized_linear": Row(
        lambda x, w, b, bits, block: x @ rounded(w, bits, block).T + b,
        (In((3, 96)), In((7, 96)), In((7,))),
        {"bits": 4, "block": 32},
        grads=0,
        tol=5e-6,
        call=product,
    ),
}
