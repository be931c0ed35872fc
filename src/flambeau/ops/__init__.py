"""The op table: one entry an op, grouped in families, each family a mixin of Tensor.

A module's FUNCTIONS are the composed ops that are functions of the package, its NN those of nn.functional,
its SPECIAL those of special alone.
"""

from collections.abc import Callable
from importlib import import_module

from ..core.op import COMPOSED

# module: the family of methods that it holds, "" where it holds functions alone
MODULES = {
    "activation": "",
    "attention.attention": "Attention",
    "autocast": "",
    "attention.kv_cache": "Cache",
    "bessel": "",
    "bits": "Bits",
    "complex": "Complex",
    "contract": "Contract",
    "conv.adaptive": "",
    "conv.conv": "",
    "conv.grid_sample": "",
    "conv.pool": "Pooling",
    "conv.resize": "",
    "creation": "Creation",
    "ctc": "Ctc",
    "distribution": "Drawing",
    "einsum": "Products",
    "elementwise": "Elementwise",
    "fft.fft": "",
    "fft.signal": "",
    "forms": "Forms",
    "index.embedding": "",
    "index.index": "Indexing",
    "index.indices": "Places",
    "index.scatter": "Scatter",
    "index.scatter_rows": "ScatterRows",
    "index.select": "Select",
    "inplace": "InPlace",
    "join": "Join",
    "linalg.eig": "",
    "linalg.ldl": "",
    "linalg.lobpcg": "",
    "linalg.lu": "",
    "linalg.products": "Linalg",
    "loss": "",
    "masks": "Masks",
    "movement": "Movement",
    "norm": "",
    "numeric": "Numeric",
    "polynomials": "",
    "quantized": "Quantization",
    "random": "Random",
    "rearrange": "Rearrange",
    "reduce": "Reduce",
    "rejection": "",
    "softmax": "Softmax",
    "sort.histogram": "Histogram",
    "sort.quantile": "Order",
    "sort.scan": "Scan",
    "sort.sort": "Sort",
    "special": "Special",
    "statistics": "Statistics",
}
_modules = {name: import_module(f".{name}", __name__) for name in MODULES}
FAMILIES = tuple(getattr(_modules[name], family) for name, family in MODULES.items() if family)


class Table(*FAMILIES):
    """All families in one."""


_modules["inplace"].sign(Table)
_modules["forms"].sign(Table)


def names(kind: str) -> list[str]:
    """The names that the modules list as FUNCTIONS, NN or SPECIAL."""
    return sorted(name for module in _modules.values() for name in getattr(module, kind, ()))


def named(prefix: str) -> dict[str, Callable]:
    """The composed ops whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): f for name, f in COMPOSED.items() if name.startswith(prefix)}


__all__ = ["FAMILIES", "MODULES", "Table", "named", "names"]
