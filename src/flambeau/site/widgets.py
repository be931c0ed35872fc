"""Chooses how a demo page asks for each input of a saved program and shows each output."""

import re
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from ..core import dtype as dt
from ..core.dtype import DType
from ..errors import FlambeauError
from ..export.inputs import Spec

Widget = dict[str, Any]  # a JSON object that web/demo reads; its "kind" selects the script

FLOATS = (dt.float32, dt.float16, dt.bfloat16)
CHANNELS = (1, 3, 4)
LEAST_SIDE = 8  # pixels; smaller arrays are shown as numbers
DIGIT = 28  # the side of MNIST's pictures, for which visitors draw
FIELDS = 64  # the most numbers with one field each
LISTED = 4096  # the most numbers that one text field takes
IMAGENET = 1000  # classes
MASK, TYPES, POSITIONS = re.compile("mask"), re.compile("type_id|segment"), re.compile("position")
PICTURE = re.compile("image|picture|pixel|img", re.IGNORECASE)
SHOWS = ("classes", "numbers", "picture", "map")

# For colours of 0 to 255: the value to subtract and the divisor of each channel.
SCALES: dict[str, tuple[Sequence[float], Sequence[float]]] = {
    "unit": ((0.0,), (255.0,)),
    "symmetric": ((127.5,), (127.5,)),
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "bytes": ((0.0,), (1.0,)),
}


class Wishes(NamedTuple):
    """Settings by the author of a demo: names of classes, inputs and tokens, and how to treat pictures.

    names: of the numbers of a table's row. vocabulary: the token of each id, in order. scale: a name of
    SCALES, or "MEAN/DEVIATION" for colours of 0 to 1. show: one of SHOWS, for the first output.
    """

    labels: Sequence[str] = ()
    names: Sequence[str] = ()
    vocabulary: Sequence[str] = ()
    scale: str | None = None
    show: str | None = None


class ProgramValue(NamedTuple):
    """An input or an output of a program at batch size 1."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.dtype.short}{list(self.shape)}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape without a first dim of 1, the batch."""
        return self.shape[1:] if self.shape[:1] == (1,) else self.shape


def widgets(
    inputs: Sequence[Spec], outputs: Sequence[ProgramValue], wishes: Wishes, call: str
) -> tuple[list[Widget], list[Widget]]:
    """Return the widgets of the inputs and of the outputs.

    FlambeauError if a page can't ask for an input, or if a wish fits no input or output.
    """
    values = [ProgramValue(s.name, s.dtype, s.at(1)) for s in inputs]
    entered: list[Widget] = [
        {"name": v.name, "dtype": v.dtype.short, "shape": list(v.shape), **_ask(v, wishes, call)}
        for v in values
    ]
    kinds: set[str] = {w["kind"] for w in entered}
    if not kinds & {"picture", "fields", "list", "tokens"}:
        raise FlambeauError(
            f"{call}: the inputs {_listed(values)} are all derived from tokens: name token ids 'input_ids'"
        )
    _check_wishes(entered, wishes, call)
    shown = [_show(v, i, entered, wishes, call) for i, v in enumerate(outputs)]
    if wishes.labels and not any(w.get("labels") == list(wishes.labels) for w in shown):
        count, kind = len(wishes.labels), _listed(outputs)
        raise FlambeauError(f"{call}: {count} labels fit no output ({kind}): pass one for each class")
    if wishes.scale is None and "picture" in kinds:
        _scale_for_classes(entered, shown)
    return entered, shown


def _listed(values: Sequence[ProgramValue]) -> str:
    return ", ".join(map(str, values))


def _check_wishes(asked: list[Widget], wishes: Wishes, call: str) -> None:
    if wishes.vocabulary and not any(w["kind"] == "tokens" for w in asked):
        raise FlambeauError(f"{call}: --vocab: no input takes token ids: leave it out")
    if wishes.scale and not any(w["kind"] == "picture" for w in asked):
        raise FlambeauError(f"{call}: --scale: no input takes a picture: leave it out")
    fields = sum(prod(w["shape"]) for w in asked if w["kind"] == "fields")
    if wishes.names and len(wishes.names) != fields:
        raise FlambeauError(f"{call}: {len(wishes.names)} names for {fields} numbers: pass one for each")
    left = list(wishes.names)
    for w in asked:
        if w["kind"] == "fields":
            count = prod(w["shape"])
            named, left = left[:count], left[count:]
            names = [w["name"]] if count == 1 else [f"{w['name']}[{i}]" for i in range(count)]
            w["names"] = named or names


# --- inputs ---


def _ask(value: ProgramValue, wishes: Wishes, call: str) -> Widget:
    """Return the widget of an input."""
    if len(value.shape) == 4 and value.shape[0] > 1:
        raise FlambeauError(f"{call}: {value}: its batch is fixed: export the model with a batch of 1 or N")
    is_float, count = value.dtype in FLOATS, prod(value.shape)
    if (is_float or value.dtype is dt.uint8) and (picture := _picture(value)):
        return {**picture, **_scale(wishes.scale, value, picture["channels"], call)}
    if MASK.search(value.name):
        return {"kind": "mask"}
    if not is_float and value.dtype is not dt.bool_ and count > 1 and len(value.sizes) == 1:
        return _tokens(value, wishes)
    if count <= FIELDS and len(value.sizes) <= 1:
        return {"kind": "fields", "whole": not is_float}
    if count <= LISTED:
        return {"kind": "list", "whole": not is_float}
    rule = f"a page asks for pictures, token ids and up to {LISTED:,} numbers: wrap the model to take these"
    raise FlambeauError(f"{call}: {value}: {rule}")


def _tokens(value: ProgramValue, wishes: Wishes) -> Widget:
    if TYPES.search(value.name):
        return {"kind": "zeros"}
    if POSITIONS.search(value.name):
        return {"kind": "positions"}
    words = list(wishes.vocabulary)
    if not words:
        return {"kind": "tokens", "by": "ids"}
    pieces = any(word.startswith("##") for word in words)
    by = "wordpiece" if pieces else "letters" if all(len(w) == 1 or w[:1] in "[<" for w in words) else "words"
    return {"kind": "tokens", "by": by, "vocabulary": words}


def _picture(value: ProgramValue) -> Widget | None:
    """Return the widget of an input or output that has the form of a picture."""
    sizes = value.sizes
    if len(sizes) == 3 and sizes[0] in CHANNELS and min(sizes[1:]) >= LEAST_SIDE:
        return _sides(sizes[0], sizes[1], sizes[2], True)
    if len(sizes) == 3 and sizes[2] in CHANNELS and min(sizes[:2]) >= LEAST_SIDE:
        return _sides(sizes[2], sizes[0], sizes[1], False)
    if sizes in ((DIGIT, DIGIT), (DIGIT * DIGIT,)):
        return _sides(1, DIGIT, DIGIT, True)
    if len(sizes) == 2 and min(sizes) >= LEAST_SIDE and PICTURE.search(value.name):
        return _sides(1, sizes[0], sizes[1], True)
    return None


def _sides(channels: int, high: int, wide: int, first: bool) -> Widget:
    draws = channels == 1 and (high, wide) == (DIGIT, DIGIT)
    return {
        "kind": "picture",
        "channels": channels,
        "high": high,
        "wide": wide,
        "first": first,
        "draws": draws,
    }


def _scale(wish: str | None, value: ProgramValue, channels: int, call: str) -> Widget:
    """Return the values to subtract from each channel of 0 to 255, and the divisors."""
    if wish is None or wish in SCALES:
        offset, by = SCALES[wish or ("bytes" if value.dtype is dt.uint8 else "unit")]
    else:
        try:
            offset, by = ([255 * float(n) for n in part.split(",")] for part in wish.split("/"))
        except ValueError:
            choices = ", ".join(SCALES)
            rule = f"pass {choices}, or MEAN/DEVIATION of colours from 0 to 1, as in 0.1307/0.3081"
            raise FlambeauError(f"{call}: --scale {wish!r}: {rule}") from None
    if not {len(offset), len(by)} <= {1, channels} or 0 in by:
        raise FlambeauError(
            f"{call}: --scale {wish!r} does not fit {channels} channels: pass one number, or one a channel"
        )
    return {"less": _each(offset, channels), "by": _each(by, channels)}


def _each(numbers: Sequence[float], channels: int) -> list[float]:
    return [*numbers] * (channels // len(numbers))


def _scale_for_classes(asked: list[Widget], shown: list[Widget]) -> None:
    """Prepare pictures as ImageNet's networks expect them, for a network with its number of classes."""
    if not any(w["kind"] == "classes" and w["count"] == IMAGENET for w in shown):
        return
    for w in asked:
        if w["kind"] == "picture" and w["channels"] == 3 and w["dtype"] != "u8":
            offset, by = SCALES["imagenet"]
            w |= {"less": [*offset], "by": [*by]}


# --- outputs ---


def _show(value: ProgramValue, place: int, asked: list[Widget], wishes: Wishes, call: str) -> Widget:
    """Return the widget of an output; wishes.show is the kind of the first."""
    head = {"name": value.name, "dtype": value.dtype.short, "shape": list(value.shape)}
    wish = wishes.show if place == 0 else None
    for kind, widget in _ways(value, asked, wishes):
        if wish in (None, kind):
            return {**head, "kind": kind, **widget}
    raise FlambeauError(f"{call}: --show {wish}: {value} can't be shown this way: leave the option out")


def _ways(value: ProgramValue, asked: list[Widget], wishes: Wishes) -> list[tuple[str, Widget]]:
    """Return the kinds that can show an output, the best first."""
    sizes, is_float, labels = value.sizes, value.dtype in FLOATS, list(wishes.labels)
    ways: list[tuple[str, Widget]] = []
    tokens = next((w for w in asked if w["kind"] == "tokens"), None)
    if tokens and is_float and len(sizes) == 2 and sizes[0] == prod(tokens["shape"]):
        ways.append(("next", {"count": sizes[1]}))
    classes = {"count": prod(sizes), **({"labels": labels} if len(labels) == prod(sizes) else {})}
    certain = "labels" in classes or any(w["kind"] in ("picture", "tokens") for w in asked)
    if is_float and len(sizes) == 1 and sizes[0] > 1:
        ways.append(("classes", {**classes, "softmax": certain}))
    if not is_float and prod(sizes) == 1 and labels:
        ways.append(("label", {"labels": labels}))
    is_map = is_float and len(sizes) == 3 and sizes[0] > 1 and min(sizes[1:]) >= LEAST_SIDE
    if is_map and (len(labels) == sizes[0] or sizes[0] not in CHANNELS):
        ways.append(
            (
                "map",
                {"labels": labels if len(labels) == sizes[0] else [f"class {i}" for i in range(sizes[0])]},
            )
        )
    if picture := _picture(value) or _grey(value):
        ways.append(("picture", {k: picture[k] for k in ("channels", "high", "wide", "first")}))
    return [*ways, ("numbers", {})]


def _grey(value: ProgramValue) -> Widget | None:
    sizes = value.sizes
    is_grey = len(sizes) == 2 and min(sizes) >= 2 * LEAST_SIDE
    return _sides(1, sizes[0], sizes[1], True) if is_grey else None
