"""Operators that transform features (ai.onnx.ml): scaling, normalising, look-ups, conversions to maps."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...functions import cat, where
from ...tensor import Tensor, tensor
from ..values import host, to_array
from .table import operator
from .window import check_count

ML = "ai.onnx.ml"


@operator("Scaler", domain=ML)
def scaler(x: Tensor, *, offset: tuple[float, ...] = (0.0,), scale: tuple[float, ...] = (1.0,)) -> Tensor:
    """(x - offset) * scale, with one number for all or one for each feature."""
    shift, factor = (tensor(list(v), device=x.device) for v in (offset, scale))
    return (x.float() - shift) * factor


NORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "MAX": lambda x: x.amax(-1, keepdim=True),  # of signed elements, as in onnxruntime
    "L1": lambda x: x.abs().sum(-1, keepdim=True),
    "L2": lambda x: x.square().sum(-1, keepdim=True).sqrt(),
}


@operator("Normalizer", domain=ML)
def normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
    """Rows divided by their norm."""
    if norm not in NORMS:
        raise ValueError(f"norm {norm!r} is unknown: use MAX, L1 or L2")
    x = x.float()
    size = NORMS[norm](x)
    return x / where(size == 0, 1.0, size)


class ImputerAttributes(NamedTuple):
    """The attributes of Imputer, under ONNX's names."""

    imputed_value_floats: tuple[float, ...] = ()
    imputed_value_int64s: tuple[int, ...] = ()
    replaced_value_float: float = 0.0
    replaced_value_int64: int = 0


@operator("Imputer", domain=ML)
def imputer(x: Tensor, **attributes: Any) -> Tensor:
    """Replace elements that equal a value (which may be NaN) by one number, or by one for each feature."""
    a = ImputerAttributes(**attributes)
    is_float = x.dtype.is_float
    values = a.imputed_value_floats if is_float else a.imputed_value_int64s
    if len(values) not in (1, x.shape[-1]):
        raise ValueError(f"{len(values)} imputed values: takes 1, or {x.shape[-1]} for as many features")
    old = a.replaced_value_float if is_float else a.replaced_value_int64
    # NaN as the replaced value: compare by isnan
    hit = x.isnan() if old != old else x == old
    return where(hit, tensor(list(values), dtype=x.dtype, device=x.device), x)


@operator("FeatureVectorizer", domain=ML)
def feature_vectorizer(*xs: Tensor, inputdimensions: tuple[int, ...] = ()) -> Tensor:
    """Concatenate features as floats. [n, each] -> [n, all]"""
    rows = [(x.unsqueeze(0) if x.ndim == 1 else x.flatten(1)).float() for x in xs]
    sizes = inputdimensions or [x.shape[1] for x in rows]
    if len(sizes) != len(rows):
        raise ValueError(f"inputdimensions has {len(sizes)} numbers for {len(rows)} inputs")
    # Each input is cut or zero-padded to the width that inputdimensions declares.
    columns = [x[:, :n].pad([0, max(n - x.shape[1], 0)]) for x, n in zip(rows, sizes, strict=True)]
    return cat(columns, 1)


# --- looking up ---


def _look_up(x: Any, table: dict[Any, Any], default: Any) -> Any:
    """Look up every element in a table. The result is an array of texts, or a tensor on the host."""
    import numpy as np

    keys = to_array(x)
    values = [table.get(key, default) for key in keys.reshape(-1).tolist()]
    if isinstance(default, str):
        texts: Any = np.empty(len(values), object)
        texts[:] = values
        return texts.reshape(keys.shape)
    dtype = (
        default.dtype.name
        if hasattr(default, "dtype")
        else "int64"
        if isinstance(default, int)
        else "float32"
    )
    return host(np.array(values, dtype).reshape(keys.shape), dtype)


@operator("CategoryMapper", domain=ML, arrays=True, moves=False)
def category_mapper(
    x: Any,
    *,
    cats_int64s: tuple[int, ...] = (),
    cats_strings: tuple[str, ...] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Any:
    """Map texts to numbers, or numbers to texts."""
    pairs = list(zip(cats_strings, cats_int64s, strict=True))
    if isinstance(x, Tensor):
        return _look_up(x, {number: name for name, number in pairs}, default_string)
    return _look_up(x, dict(pairs), default_int64)


@operator("OneHotEncoder", domain=ML, arrays=True, moves=False)
def one_hot_encoder(
    x: Any, *, cats_int64s: tuple[int, ...] = (), cats_strings: tuple[str, ...] = (), zeros: int = 1
) -> Tensor:
    """1 at the index of each element's category, else 0. [...] -> [..., categories]"""
    import numpy as np

    table = {c: k for k, c in enumerate(cats_strings or cats_int64s)}
    array = to_array(x)
    # floats are looked up as integers, as in onnxruntime
    keys = (
        array.reshape(-1).tolist() if array.dtype == object else array.reshape(-1).astype(np.int64).tolist()
    )
    places = [table.get(k, -1) for k in keys]
    if not zeros and -1 in places:
        raise ValueError(f"{keys[places.index(-1)]!r} is not a category, and zeros=0 allows no others")
    hot = np.zeros((len(keys), len(table)), np.float32)
    rows = [k for k, p in enumerate(places) if p >= 0]
    hot[rows, [places[k] for k in rows]] = 1
    return host(hot.reshape(*array.shape, len(table)), "float32")


# --- maps ---


@operator("ZipMap", domain=ML, moves=False)
def zip_map(
    x: Tensor, *, classlabels_int64s: tuple[int, ...] = (), classlabels_strings: tuple[str, ...] = ()
) -> list[Any]:
    """Return each row as a map from labels to its elements."""
    labels = classlabels_strings or classlabels_int64s
    rows = (x.unsqueeze(0) if x.ndim == 1 else x).tolist()
    if rows and len(rows[0]) != len(labels):
        raise ValueError(f"rows of {len(rows[0])} elements for {len(labels)} labels")
    return [dict(zip(labels, row, strict=True)) for row in rows]


@operator("DictVectorizer", domain=ML, arrays=True, moves=False)
def dict_vectorizer(
    x: dict[Any, Any], *, int64_vocabulary: tuple[int, ...] = (), string_vocabulary: tuple[str, ...] = ()
) -> Any:
    """Return a map's values in the order of a vocabulary; 0 for missing keys. -> [1, words]"""
    import numpy as np

    values = [x.get(word) for word in string_vocabulary or int64_vocabulary]
    if any(isinstance(v, str) for v in values):
        return np.array([[v or "" for v in values]], object)
    filled = [0 if v is None else v for v in values]
    # an empty map gives floats
    are_integers = all(isinstance(v, int) for v in filled) and any(v is not None for v in values)
    return host([filled], "int64" if are_integers else "float32")


@operator("CastMap", domain=ML, arrays=True, moves=False, sized_by_values=True)
def cast_map(
    x: dict[Any, Any], *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1
) -> Any:
    """Return a map's values by ascending keys, or (SPARSE) each at the index of its key. -> [1, n]"""
    import numpy as np

    make = {"TO_FLOAT": float, "TO_INT64": int, "TO_STRING": str}.get(cast_to)
    if make is None or map_form not in ("DENSE", "SPARSE"):
        raise ValueError(
            f"cast_to {cast_to!r}, map_form {map_form!r}: cast_to must be TO_FLOAT, TO_INT64 or TO_STRING;"
            " map_form must be DENSE or SPARSE"
        )
    check_count(max_map, "the elements of a map", 1 << 24)
    if map_form == "SPARSE" and any(not 0 <= k < max_map for k in x):
        raise ValueError(f"a key lies outside of 0 to {max_map - 1}")
    values = (
        [x[k] for k in sorted(x)]
        if map_form == "DENSE"
        else [x.get(k, "" if make is str else 0) for k in range(max_map)]
    )
    row = [make(v) for v in values]
    return np.array([row], object) if make is str else host([row], "float32" if make is float else "int64")
