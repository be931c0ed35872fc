"""Faults: what a kernel noted of an index outside its dim into an error, at the next read on its device.

A kernel that uses indices from a device has one binding more, `faults`: words that say whether there was a
fault, and of one of them the site, the index and the size of the dim.
"""

from typing import Any, NamedTuple

from ..errors import IndexFault

WORDS = 4  # 0 where there is none, site, index, size
SIGNED = 1  # the first word, where the index is signed
BYTES = 4 * WORDS
DECLARED = "var<storage, read_write> faults:"  # in the text of each kernel that notes faults
CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss", "multilabel_margin_loss", "one_hot")
# Saved programs name these by their place: new ones go to the end.
NAMES = (
    *CLASSES,
    "gather",
    "index_select",
    "take",
    "take_along_dim",
    "__getitem__",
    "gather_nd",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "index_add",
    "index_copy",
    "index_fill",
    "index_reduce",
    "put",
    "scatter_nd",
    "embedding",
    "embedding_bag",
    "bincount",
    "ctc_loss",
    "searchsorted",
    "max_unpool",
)
ADVICE = "call it inside debug.check_indices() to see the line"
DIMS = 256  # a site is the place of a name and the dim


class Fault(NamedTuple):
    """An index outside its dim: where it was used, the index and the size of the dim."""

    site: int
    index: int
    size: int


def site_of(name: str, dim: int) -> int:
    """The number of a check: what is indexed by which op."""
    return NAMES.index(name) * DIMS + dim


def text_of(site: int) -> str:
    """What an error says of a site, with {index} and {size} to be filled in."""
    name, dim = NAMES[site // DIMS], site % DIMS
    if name in CLASSES:
        return f"{name}({{size}} classes): class {{index}} is out of range"
    return f"{name}(dim {dim} of size {{size}}): index {{index}} is out of range"


def error_of(fault: Fault) -> IndexFault:
    """The error for a fault."""
    told = text_of(fault.site).format(index=fault.index, size=fault.size)
    return IndexFault(f"{told}: {ADVICE}")


def raise_noted(device: Any, seen: int, words: Any) -> None:
    """IndexFault for what a read brought along, once: of several reads under way the first tells.

    seen: how many faults the device had told of when the read began.
    """
    kind, site, index, size = memoryview(words).cast("B").cast("I")
    if not kind:
        return
    with device.lock:
        if device.told != seen:
            return
        device.told += 1
        device.write(device.faults, bytes(BYTES))
    raise error_of(Fault(site, index - (index >> 31 << 32 if kind == SIGNED else 0), size))


def raise_found(device: Any) -> None:
    """IndexFault for what an array device came upon, once."""
    for library in (device.xp, device.numpy):
        found, library.fault = library.fault, None
        if found is not None:
            raise error_of(found)
