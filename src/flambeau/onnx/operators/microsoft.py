"""com.microsoft's fused forms of products, activations and norms, as ONNX Runtime's optimiser writes them."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from ...functions import inverse as inverted
from ...nn import functional as F
from ...tensor import Tensor
from ..values import first_number
from .conv import conv
from .creation import range_of, trilu
from .index import gather_nd, unique
from .norm import layer_normalization
from .product import gemm
from .quantized import dequantize_linear, quantize_linear
from .sampling import grid_sample
from .shape import pad
from .table import operator

MS = "com.microsoft"

# ONNX adopted these unchanged, except for additional attributes
operator("QuantizeLinear", domain=MS, arrays=True)(quantize_linear)
operator("DequantizeLinear", domain=MS, arrays=True)(dequantize_linear)
operator("Trilu", domain=MS, numbers="k")(trilu)
operator("GatherND", domain=MS, places=True)(gather_nd)
operator("GridSample", domain=MS)(grid_sample)


def _fast_gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


# --- activations ---


@operator("Gelu", domain=MS)
def gelu(x: Tensor) -> Tensor:
    return F.gelu(x)


@operator("BiasGelu", domain=MS)
def bias_gelu(a: Tensor, b: Tensor) -> Tensor:
    return F.gelu(a + b)


@operator("FastGelu", domain=MS)
def fast_gelu(x: Tensor, bias: Tensor | None = None) -> Tensor:
    return _fast_gelu(x if bias is None else x + bias)


@operator("QuickGelu", domain=MS)
def quick_gelu(x: Tensor, *, alpha: float = 1.702) -> Tensor:
    return x * (x * alpha).sigmoid()


@operator("BiasSplitGelu", domain=MS)
def bias_split_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """Return the first half of x + bias times gelu of the other. [..., 2 * n] -> [..., n]"""
    a, b = (x + bias).chunk(2, -1)
    return a * F.gelu(b)


@operator("BiasAdd", domain=MS)
def bias_add(x: Tensor, bias: Tensor, skip: Tensor) -> Tensor:
    return x + bias + skip


@operator("BiasSoftmax", domain=MS)
def bias_softmax(x: Tensor, bias: Tensor, *, axis: int = 1, is_inner_broadcast: int) -> Tensor:
    """Softmax of x + bias over the dims from the axis on; the bias has no inner dims, or no outer ones."""
    axis = axis % x.ndim
    # is_inner_broadcast: the bias repeats over the dims just before the axis, else over the leading ones.
    missing = x.ndim - bias.ndim
    if missing > 0:
        first = axis - missing if is_inner_broadcast else 0
        bias = bias.reshape(*bias.shape[:first], *(1,) * missing, *bias.shape[first:])
    y = (x + bias).reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))
    return F.softmax(y, 1).reshape(*x.shape)


# --- products ---


class MatMulAttributes(NamedTuple):
    """The attributes of FusedMatMul, under its names."""

    alpha: float = 1.0
    transA: int = 0
    transB: int = 0
    transBatchA: int = 0
    transBatchB: int = 0


def _transpose(x: Tensor, last: int, batch: int) -> Tensor:
    """Transpose the last two dims, or move the batch dims after the first matrix dim."""
    if batch:
        # transBatchA: [m, batch..., k] -> [batch..., m, k]
        x = x.movedim(0, -2)
    return x.mT if last and x.ndim > 1 else x


@operator("FusedMatMul", "TransposeMatMul", domain=MS)
def fused_matmul(x: Tensor, y: Tensor, **attributes: Any) -> Tensor:
    """alpha * a @ b, each optionally transposed."""
    a = MatMulAttributes(**attributes)
    product = _transpose(x, a.transA, a.transBatchA) @ _transpose(y, a.transB, a.transBatchB)
    return product if a.alpha == 1 else product * a.alpha


def _identity(x: Tensor) -> Tensor:
    return x


def _hard_sigmoid(x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return (x * alpha + beta).clamp(0, 1)


def _quick_gelu(x: Tensor, alpha: float = 1.702) -> Tensor:
    return x * (x * alpha).sigmoid()


def _activate(x: Tensor, name: str, numbers: tuple[float, ...]) -> Tensor:
    """Return the activation of a fused product."""
    # numbers: activation_alpha and _beta, or activation_params, in the order of the function's parameters
    table: dict[str, Callable[..., Tensor]] = {
        "": _identity,
        "Relu": F.relu,
        "Tanh": Tensor.tanh,
        "Sigmoid": Tensor.sigmoid,
        "LeakyRelu": F.leaky_relu,
        "Clip": Tensor.clamp,
        "HardSigmoid": _hard_sigmoid,
        "Elu": F.elu,
        "Gelu": F.gelu,
        "FastGelu": _fast_gelu,
        "QuickGelu": _quick_gelu,
        "Softplus": F.softplus,
        "Softsign": F.softsign,
    }
    if name not in table:
        raise ValueError(f"activation {name!r} is unknown: use one of {', '.join(n for n in table if n)}")
    return table[name](x, *numbers)


@operator("FusedGemm", domain=MS)
def fused_gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *, activation: str = "", **attributes: Any
) -> Tensor:
    """Gemm and an activation."""
    numbers = tuple(attributes.pop(n) for n in ("activation_alpha", "activation_beta") if n in attributes)
    return _activate(gemm(a, b, c, **attributes), activation, numbers)


@operator("GemmFastGelu", domain=MS)
def gemm_fast_gelu(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    return fast_gelu(x @ w, bias)


@operator("FusedConv", domain=MS)
def fused_conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    z: Tensor | None = None,
    *,
    activation: str = "",
    **attributes: Any,
) -> Tensor:
    """Conv, a sum with z and an activation."""
    numbers = tuple(attributes.pop("activation_params", ()))
    y = conv(x, w, b, **attributes)
    return _activate(y if z is None else y + z, activation, numbers)


@operator("NhwcConv", domain=MS)
def nhwc_conv(x: Tensor, w: Tensor, b: Tensor | None = None, **attributes: Any) -> Tensor:
    """Conv whose channels are the last dim. [n, *size, c], [o, *kernel, c] -> [n, *out, o]"""
    # NHWC to NCHW and back
    return conv(x.movedim(-1, 1), w.movedim(-1, 1), b, **attributes).movedim(1, -1)


@operator("Inverse", domain=MS)
def inverse(x: Tensor) -> Tensor:
    """[..., n, n] -> [..., n, n]"""
    return inverted(x)


# --- shapes; ONNX adopted these with changes ---


@operator("ExpandDims", domain=MS, numbers="axis", places=True)
def expand_dims(x: Tensor, axis: Any) -> Tensor:
    """Return a dim of size 1 at an axis, which is one number."""
    return x.unsqueeze(int(first_number(axis)))


@operator("Range", domain=MS, sized_by_values=True)
def ms_range(start: Tensor, limit: Tensor, delta: Tensor | None = None) -> Tensor:
    """ONNX's Range, with a default step of 1."""
    return range_of(start, limit, start.new_ones(()) if delta is None else delta)


@operator("Pad", domain=MS, numbers="pads")
def ms_pad(x: Tensor, pads: Any, value: Any = None, *, mode: str = "constant") -> Tensor:
    """ONNX's Pad; the shape of pads is [2 * n] or [1, 2 * n]."""
    return pad(x, pads[0] if pads and isinstance(pads[0], list) else pads, value, mode=mode)


@operator("Unique", domain=MS, arrays=True, sized_by_values=True)
def ms_unique(x: Any) -> tuple[Any, ...]:
    """Return the distinct elements in order of occurrence, the inverse indices, and the counts."""
    values, _, inverse, counts = unique(x, sorted=0)
    return values, inverse, counts


# --- norms ---


@operator("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Tensor, Tensor]:
    """RMS norm as ONNX Runtime names it; also 1 / the root of the mean square."""
    dims = tuple(range(axis % x.ndim, x.ndim))
    # The statistics are in float32 for float16 inputs, as stash_type=1 demands.
    wide = x.to(x.dtype.as_float)
    inverse = (wide.square().mean(dims, keepdim=True) + epsilon).rsqrt()
    return F.rms_norm(x, tuple(x.shape[dims[0] :]), scale, epsilon), inverse


def _sum(x: Tensor, skip: Tensor, bias: Tensor | None) -> Tensor:
    return x + skip if bias is None else x + skip + bias


@operator("SkipLayerNormalization", domain=MS)
def skip_layer_normalization(
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    beta: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Tensor, ...]:
    """Layer norm of x + skip + bias; also the mean, 1 / the deviation, and the sum."""
    total = _sum(x, skip, bias)
    return *layer_normalization(total, gamma, beta, epsilon=epsilon), total


@operator("SkipSimplifiedLayerNormalization", domain=MS)
def skip_simplified_layer_normalization(
    x: Tensor, skip: Tensor, gamma: Tensor, bias: Tensor | None = None, *, epsilon: float = 1e-12
) -> tuple[Tensor | None, ...]:
    """RMS norm of x + skip + bias; also 1 / the root of the mean square, and the sum."""
    total = _sum(x, skip, bias)
    y, inverse = simplified_layer_normalization(total, gamma, epsilon=epsilon)
    return y, None, inverse, total


class EmbedInputs(NamedTuple):
    """The inputs of EmbedLayerNormalization."""

    ids: Tensor
    segments: Tensor | None
    word: Tensor
    position: Tensor
    segment: Tensor | None
    gamma: Tensor
    beta: Tensor
    mask: Tensor | None = None
    places: Tensor | None = None


@operator("EmbedLayerNormalization", domain=MS)
def embed_layer_normalization(
    *inputs: Any, epsilon: float = 1e-12, mask_index_type: int = 1
) -> tuple[Any, ...]:
    """Layer norm of BERT's embeddings; also the number of each sample's valid tokens, and the sum."""
    i = EmbedInputs(*inputs)
    # BERT's input: word + position + segment embeddings, [b, n, hidden]
    places = Tensor.arange(i.ids.shape[1], device=i.ids.device).unsqueeze(0) if i.places is None else i.places
    total = F.embedding(i.ids.long(), i.word) + F.embedding(places.long(), i.position)
    if i.segments is not None and i.segment is not None:
        total = total + F.embedding(i.segments.long(), i.segment)
    if mask_index_type and i.mask is not None:
        # mask_index of onnxruntime: the number of tokens of each sample, [b] int32; 0 if it is not asked
        # for
        counted = i.mask.int().sum(1).int()
    else:
        counted = Tensor.zeros(i.ids.shape[0], device=i.ids.device).int()
    return layer_normalization(total, i.gamma, i.beta, epsilon=epsilon)[0], counted, total


@operator("GroupNorm", domain=MS)
def group_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, *, groups: int, epsilon: float = 1e-5, **more: int
) -> Tensor:
    """Group norm of channels that are the last dim, unless channels_last=0; activation=1 is SiLU."""
    activation, last = more.pop("activation"), more.pop("channels_last", 1)
    if more or activation not in (0, 1):
        raise ValueError(f"activation={activation}: takes 0 or 1, besides channels_last, epsilon and groups")
    y = F.group_norm(x.movedim(-1, 1) if last else x, groups, gamma, beta, epsilon).to(x.dtype)
    y = F.silu(y) if activation else y
    return y.movedim(1, -1) if last else y


@operator("SkipGroupNorm", domain=MS)
def skip_group_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, skip: Tensor, bias: Tensor | None = None, **attributes: Any
) -> tuple[Tensor, Tensor]:
    """GroupNorm of x + skip + bias, and the sum."""
    # skip may be [n, c], one value for each channel of a sample (a time embedding); channels are last here.
    total = _sum(x, skip if skip.ndim == x.ndim else skip.reshape(x.shape[0], 1, 1, -1), bias)
    return group_norm(total, gamma, beta, **attributes), total
