"""Operators of texts, which stay on the host as NumPy arrays."""

import re
from collections.abc import Callable
from math import prod
from typing import Any

from ...core.tree import is_sequence
from ...tensor import Tensor
from ..values import check_array, cpu, host, to_array, to_value
from .table import operator


@operator("StringConcat", arrays=True)
def string_concat(a: Any, b: Any) -> Any:
    import numpy as np

    return np.asarray(a + b, object)


@operator("StringSplit", arrays=True, sized_by_values=True)
def string_split(x: Any, *, delimiter: str | None = None, maxsplit: int | None = None) -> tuple[Any, ...]:
    """Split each text, padded with "" to the largest number of pieces; also returns the numbers."""
    import numpy as np

    # Python's split: None splits at runs of whitespace, which ONNX's empty delimiter means too.
    most = -1 if maxsplit is None else maxsplit
    parts = [str(v).split(delimiter or None, most) for v in x.reshape(-1)]
    width = max(map(len, parts), default=0)
    rows = np.array([p + [""] * (width - len(p)) for p in parts], object).reshape(*x.shape, width)
    return rows, host([len(p) for p in parts]).reshape(x.shape)


@operator("RegexFullMatch", arrays=True)
def regex_full_match(x: Any, *, pattern: str | None = None) -> Tensor:
    rule = compile_pattern(pattern or "")
    return host([rule.fullmatch(str(v)) is not None for v in x.reshape(-1)], "bool").reshape(x.shape)


LONGEST, REPEATS = 1000, 6  # limits of a pattern: characters, and unbounded repetitions


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile an untrusted pattern; ValueError for nested repetitions, which can take exponential time."""
    if len(pattern) > LONGEST:
        raise ValueError(f"pattern: has {len(pattern):,} characters: {LONGEST:,} at most")
    try:
        # ONNX has RE2 syntax, which matches in linear time; Python's engine backtracks, so only patterns
        # whose cost is bounded are accepted.
        tree = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as e:
        raise ValueError(f"pattern={pattern!r}: is not a regular expression: {e}") from None
    counts = [0]
    _check(tree, False, pattern, counts)
    if counts[0] > REPEATS:
        raise ValueError(
            f"pattern={pattern!r}: has {counts[0]} unbounded repeats: at most {REPEATS} are allowed"
        )
    return re.compile(pattern)


parser: Any = re._parser  # type: ignore[attr-defined]
REFUSED = {"GROUPREF", "GROUPREF_EXISTS", "ASSERT", "ASSERT_NOT"}


def _check(tree: Any, inside: bool, pattern: str, counts: list[int]) -> None:
    for op, argument in tree:
        name = str(op)
        if name in REFUSED:
            raise ValueError(f"pattern={pattern!r}: uses lookahead or lookbehind, which RE2 lacks")
        # argument is (least, most, subpattern); up to 16 repetitions are bounded.
        repeats = name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[1] > 16
        counts[0] += repeats
        if repeats and inside:
            raise ValueError(f"pattern={pattern!r}: nests repeats: matching could take exponential time")
        for part in _subpatterns(argument):
            _check(part, inside or repeats, pattern, counts)


def _subpatterns(pattern: Any) -> Any:
    """Yield the subpatterns of a pattern."""
    if isinstance(pattern, parser.SubPattern):
        yield pattern
    elif is_sequence(pattern):
        for part in pattern:
            yield from _subpatterns(part)


@operator("StringNormalizer", arrays=True, sized_by_values=True)
def string_normalizer(
    x: Any,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str = "en_US",
    stopwords: Any = (),
) -> Any:
    """Remove stop words and change the case; [""] if none is left. locale: ignored; cases are Unicode's."""
    import numpy as np

    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError(f"takes the shape [n] or [1, n], got {list(x.shape)}")
    change = CASES[case_change_action]
    same: Callable[[str], str] = str if is_case_sensitive else str.lower
    stop = {same(w) for w in stopwords}
    remaining = [change(str(v)) for v in x.reshape(-1) if same(str(v)) not in stop] or [""]
    texts = np.array(remaining, object)
    return texts if x.ndim == 1 else texts.reshape(1, -1)


CASES = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}
MAPS = {  # kind of LabelEncoder's keys and values: their default
    "strings": "_Unused",
    "int64s": -1,
    "floats": -0.0,
}


@operator("LabelEncoder", domain="ai.onnx.ml", arrays=True)
def label_encoder(x: Any, **attributes: Any) -> Any:
    """Map each element by keys and values."""
    import numpy as np

    if "classes_strings" in attributes:
        return _encode_opset_1(
            x,
            list(attributes["classes_strings"]),
            list(range(len(attributes["classes_strings"]))),
            attributes,
        )
    keys, values = (_side(side, attributes) for side in ("keys", "values"))
    default = attributes.get("default_tensor")
    kind = next((k for k in MAPS if f"values_{k}" in attributes), None)
    if default is None:
        default = attributes.get(f"default_{(kind or 'floats')[:-1]}", MAPS[kind or "floats"])
    table = dict(zip(keys.tolist(), values.tolist()))
    if "default_tensor" in attributes:
        default = np.asarray(default).reshape(-1)[0].item()
    # NaN is not equal to itself, so a dict does not find it; a NaN key matches every NaN.
    nan = next((v for k, v in table.items() if k != k), default)
    array = to_array(x)
    labels = [table.get(v, nan if v != v else default) for v in array.reshape(-1).tolist()]
    return to_value(
        np.array(labels, values.dtype).reshape(array.shape), x.device if isinstance(x, Tensor) else cpu()
    )


def _encode_opset_1(x: Any, classes: list[str], places: list[int], attributes: dict[str, Any]) -> Any:
    """Opset 1: map texts to their index among the classes, or back."""
    import numpy as np

    array = to_array(x)
    if array.dtype == object:
        table = dict(zip(classes, places))
        numbers = [table.get(v, attributes.get("default_int64", -1)) for v in array.reshape(-1)]
        return host(numbers).reshape(array.shape)
    default = attributes.get("default_string", "_Unused")
    texts: list[str] = [classes[v] if 0 <= v < len(classes) else default for v in array.reshape(-1).tolist()]
    return np.array(texts, object).reshape(array.shape)


def _side(side: str, attributes: dict[str, Any]) -> Any:
    """Keys or values as an array."""
    import numpy as np

    tensor = attributes.get(f"{side}_tensor")
    if tensor is not None:
        return tensor.reshape(-1)
    kinds = {"strings": object, "int64s": np.int64, "floats": np.float32}
    name = next((k for k in kinds if f"{side}_{k}" in attributes), None)
    if name is None:
        raise TypeError(
            f"needs one of the attributes {side}_tensor, {', '.join(f'{side}_{k}' for k in kinds)}"
        )
    return np.array(attributes[f"{side}_{name}"], kinds[name])


@operator("TfIdfVectorizer", arrays=True)
def tf_idf_vectorizer(x: Any, *, mode: str, **attributes: Any) -> Tensor:
    """Return the count of each n-gram of a pool in a row ("TF"), its weight ("IDF") or their product."""
    import numpy as np

    array = to_array(x)
    rows = array.reshape(1, -1) if array.ndim < 2 else array
    grams = ngrams(attributes)
    places = attributes["ngram_indexes"]
    shape = len(rows), max(places, default=-1) + 1
    check_array("float32", shape, 4 * prod(shape))
    out = np.zeros(shape, np.float32)
    for r, row in enumerate(rows.tolist()):
        for gram in row_ngrams(row, attributes):
            if gram in grams:
                out[r, places[grams[gram]]] += 1
    weights = np.ones(len(places), np.float32)
    weights[:] = attributes.get("weights") or 1
    scale = np.ones(out.shape[1], np.float32)
    # weights are in the pool's order, columns in that of ngram_indexes
    scale[list(places)] = weights
    out = {"TF": out, "IDF": (out > 0) * scale, "TFIDF": out * scale}[mode].astype(np.float32)
    return to_value(out if array.ndim > 1 else out[0], x.device if isinstance(x, Tensor) else cpu())


def ngrams(attributes: dict[str, Any]) -> dict[tuple[Any, ...], int]:
    """Return the pool's n-grams, each with its number: first those of one element, then of two, and so on."""
    pool = attributes.get("pool_strings") or attributes.get("pool_int64s") or ()
    numbers: dict[tuple[Any, ...], int] = {}
    # ngram_counts[n - 1] is where the n-grams of n elements begin in the flat pool.
    starts = [*attributes["ngram_counts"], len(pool)]
    if starts != sorted(starts) or starts[0] < 0:
        raise ValueError(f"ngram_counts {starts[:-1]} do not split a pool of {len(pool)} elements")
    for n in range(1, len(starts)):
        for first in range(starts[n - 1], starts[n] - n + 1, n):
            numbers[tuple(pool[first : first + n])] = len(numbers)
    return numbers


def row_ngrams(row: list[Any], attributes: dict[str, Any]) -> Any:
    """Yield the n-grams of a row: of each length, with up to max_skip_count elements left out between two."""
    low, high = attributes["min_gram_length"], attributes["max_gram_length"]
    for n in range(max(low, 1), min(high, len(row)) + 1):
        for skip in range(min(attributes["max_skip_count"], len(row)) + 1 if n > 1 else 1):
            # the extent of an n-gram whose elements are skip + 1 apart
            span = (n - 1) * (skip + 1) + 1
            for first in range(len(row) - span + 1):
                yield tuple(row[first : first + span : skip + 1])
