"""torch.layout, torch.memory_format, torch.qscheme and float8 dtypes: constants that libraries name."""

from typing import Any

from ..core.dtype import FLOATS, DType, FloatInfo


class Marker:
    """A constant of torch that prints as its name."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return marker, (self._name,)

    def __deepcopy__(self, memo: Any) -> "Marker":
        return self


class layout(Marker):
    """How elements are stored: tensors here are torch.strided."""


class memory_format(Marker):
    """The order of elements in memory, which is accepted and ignored here."""


class qscheme(Marker):
    """A scheme of quantised tensors, which Flambeau lacks."""


_NAMES: dict[type[Marker], str] = {
    layout: "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn",
    memory_format: "contiguous_format preserve_format channels_last channels_last_3d",
    qscheme: "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric"
    " per_channel_affine_float_qparams",
}
MARKERS = {name: kind(name) for kind, names in _NAMES.items() for name in names.split()}

# Dtypes without tensors here, with their bytes: code compares dtypes with them.
_OTHER = {
    "float8_e4m3fnuz": "f",
    "float8_e5m2fnuz": "f",
    "float8_e8m0fnu": "f",
    "float4_e2m1fn_x2": "f",
    "complex32": "c",
    "qint8": "i",
    "quint8": "u",
    "qint32": "i",
    "quint4x2": "u",
    "quint2x4": "u",
    **{f"uint{n}": "u" for n in range(1, 8)},
    **{f"int{n}": "i" for n in range(1, 8)},
    **{f"bits{n}": "u" for n in ("1x8", "2x4", "4x2", "8", "16")},
}
DTYPES = {name: DType(name, name, "", "", kind, -1, "B", 1) for name, kind in _OTHER.items()}
DTYPES["chalf"] = DTYPES["complex32"]
# eps, the largest and the least normal number, for finfo
_LIMITS = {
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7),
    "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127),
}
for _name, _limits in _LIMITS.items():
    FLOATS[DTYPES[_name]] = FloatInfo(DTYPES[_name], *_limits, 1.0)


def marker(name: str) -> Marker:
    """The marker of a name."""
    return MARKERS[name]


def __getattr__(name: str) -> Any:
    """A marker, or a dtype without tensors."""
    if name in MARKERS:
        return MARKERS[name]
    if name in DTYPES:
        return DTYPES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
