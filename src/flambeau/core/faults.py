"""Faults: a kernel records an index or a value out of range; the next read on its device raises the error.

A kernel that uses indices computed on a device has an additional binding `faults`: words with the site of a
fault, its index and the size of the dim. The next read raises, whatever it reads. Values that such kernels
computed since the last read, and values computed from these, raise at every read.
"""

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import IndexFault, ValueFault

WORDS = 4  # 0 without a fault, else kind << 16 | site; the low and high word of the index; the size
SIGNED = 1  # the kind of a signed index
BYTES = 4 * WORDS
DECLARED = "var<storage, read_write> faults:"  # in the text of each kernel that records faults
CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss", "multilabel_margin_loss", "one_hot")
# Saved programs contain positions in this tuple: append new names.
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
    "offsets",
    "source",
    "input_lengths",
    "target_lengths",
    "rnnt_loss",
    "rnnt_loss logit_lengths",
    "rnnt_loss target_lengths",
    "bernoulli",
    "binary_cross_entropy input",
    "binary_cross_entropy target",
    "cov fweights",
    "cov aweights",
    "cov sum",
    "gaussian_nll_loss",
    "multinomial",
    "multinomial sum",
    "multinomial few",
    "normal",
    "poisson",
    "histc",
    "quantile",
    "repeat_interleave",
    "masked_scatter",
)
TEXTS = {  # of faults other than an index out of range; {size} is the largest allowed value plus one
    "offsets": "embedding_bag: offsets must start at 0, not decrease, and lie within the indices",
    "source": "masked_scatter: mask has more true elements than the {size} elements of source",
    "input_lengths": "ctc_loss: one of input_lengths is {index}: pass lengths below {size}",
    "target_lengths": "ctc_loss: one of target_lengths is {index}: pass lengths below {size}",
    "rnnt_loss logit_lengths": "rnnt_loss: one of logit_lengths is {index}: pass lengths below {size}",
    "rnnt_loss target_lengths": "rnnt_loss: one of target_lengths is {index}: pass lengths below {size}",
}
VALUES = {  # of values out of range
    "bernoulli": "bernoulli: a probability is below 0, above 1 or NaN: pass probabilities",
    "binary_cross_entropy input": "binary_cross_entropy: an element of input is below 0, above 1 or NaN: "
    "pass probabilities, as sigmoid does, or use binary_cross_entropy_with_logits",
    "binary_cross_entropy target": "binary_cross_entropy: an element of target is below 0, above 1 or NaN: "
    "pass targets from 0 to 1",
    "cov fweights": "cov: one of fweights is negative: pass counts of at least 0",
    "cov aweights": "cov: one of aweights is negative or NaN: pass weights of at least 0",
    "cov sum": "cov: the weights sum to 0: make at least one positive",
    "gaussian_nll_loss": "gaussian_nll_loss: an element of var is negative: pass variances of at least 0",
    "multinomial": "multinomial: a weight is negative, infinite or NaN: pass finite weights of at least 0",
    "multinomial sum": "multinomial: all weights of a row are 0: make at least one positive",
    "multinomial few": "multinomial: a row has fewer weights above 0 than num_samples: draw fewer, or "
    "replacement=True",
    "normal": "normal: an element of std is negative or NaN: pass std of at least 0",
    "histc": "histogram: the range of the elements is not finite: pass finite elements or a range",
    "quantile": "quantile: an element of q is below 0, above 1 or NaN: pass quantiles from 0 to 1",
    "repeat_interleave": "repeat_interleave: one of repeats is negative: pass counts of at least 0",
    "masked_scatter": "masked_scatter: an element of mask is true, but source is empty: pass a source with an"
    " element for each",
    "poisson": "poisson: a rate is negative or NaN: pass rates of at least 0",
}
ADVICE = "call it inside debug.check_indices() to see the line"
DIMS = 256  # a site is position in NAMES * DIMS + dim


class Fault(NamedTuple):
    """An index out of range: the site of its use, the index and the size of the dim."""

    site: int
    at: int
    size: int


def site_of(name: str, dim: int) -> int:
    """The number of a check: the op and the dim that it indexes."""
    return NAMES.index(name) * DIMS + dim


def text_of(site: int) -> str:
    """The text of the error of a site, with {index} and {size} as placeholders."""
    name, dim = NAMES[site // DIMS], site % DIMS
    if name in CLASSES:
        return f"{name}({{size}} classes): class {{index}} is out of range"
    if name in TEXTS or name in VALUES:
        return TEXTS.get(name) or VALUES[name]
    return f"{name}(dim {dim} of size {{size}}): index {{index}} is out of range"


def error_of(fault: Fault) -> IndexFault | ValueFault:
    """Return the exception for a fault."""
    text = text_of(fault.site).format(index=fault.at, size=fault.size)
    kind = ValueFault if NAMES[fault.site // DIMS] in VALUES else IndexFault
    return kind(f"{text}: {ADVICE}")


class Doubt:
    """Shared by the values computed between two reads, if an index may have been out of range: `fault` once
    one is known, `settled` once their absence is known."""

    __slots__ = ("fault", "settled")

    def __init__(self, fault: Fault | None = None):
        self.fault, self.settled = fault, False


class Doubts:
    """The doubts of a device that no read has settled, in order. New values get the last one."""

    def __init__(self) -> None:
        self.open = [Doubt()]
        self._lock = threading.Lock()

    def begin_read(self) -> Doubt:
        """Begin a read; returns the last doubt that it settles."""
        with self._lock:
            # Values computed from now on are not covered by the words that this read copies.
            self.open.append(Doubt())
            return self.open[-2]

    def settle(self, last: Doubt) -> None:
        """Record that no fault happened up to this doubt."""
        with self._lock:
            if last in self.open:
                first_open = self.open.index(last) + 1
                for doubt in self.open[:first_open]:
                    doubt.settled = True
                self.open = self.open[first_open:]

    def record(self, fault: Fault) -> None:
        """Record a fault for all open doubts: any of their values may depend on it."""
        with self._lock:
            for doubt in self.open:
                doubt.fault = fault
            self.open = [Doubt()]


def doubt_of(device: Any, checks: bool, buffers: Iterable[Any]) -> Doubt | None:
    """The doubt of a value computed from these buffers; None without one. checks: whether its kernels check
    indices. The caller holds the device's lock."""
    if not device.faults:
        return None
    for buffer in buffers:
        doubt = buffer.doubt
        if doubt is not None and not doubt.settled:
            # A known fault wins over an open doubt: the value is wrong whatever the next read says.
            if doubt.fault is not None:
                return doubt
            checks = True
    return device.doubts.open[-1] if checks else None


def raise_doubted(doubts: Iterable[Doubt | None]) -> None:
    """Raise the error of a value that depends on an index or a value out of range."""
    for doubt in doubts:
        if doubt is not None and doubt.fault is not None:
            raise error_of(doubt.fault)


def raise_noted(device: Any, last: Doubt, words: Any) -> None:
    """Raise the error of the fault words that a read copied, once: the first of several pending reads raises.

    last: the last doubt that the read settles.
    """
    code, low, high, size = memoryview(words).cast("B").cast("I")
    kind, site = divmod(code, 1 << 16)
    if not kind:
        return device.doubts.settle(last)
    with device.lock:
        # An earlier pending read copied the same words and has raised already.
        if last.fault is not None:
            return
        # The kernel writes 64 bits; a signed index below 0 arrives as 2^64 + index.
        index = low | high << 32
        fault = Fault(site, index - (index >> 63 << 64 if kind == SIGNED else 0), size)
        device.doubts.record(fault)
        device.write(device.faults, bytes(BYTES))
    raise error_of(fault)


def raise_recorded(device: Any) -> None:
    """Raise the error of a fault that an array device recorded, once."""
    fault, device.fault = device.fault, None
    if fault is not None:
        raise error_of(fault)
