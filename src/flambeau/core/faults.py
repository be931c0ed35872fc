"""Faults: what a kernel noted of an index outside its dim, or of a value out of its range, into an error, at
the next read on its device.

A kernel that uses indices from a device has one binding more, `faults`: words that say whether there was a
fault and of which site, and of one of them the index and the size of the dim. The next read raises, whatever
it reads; what such kernels computed since the read before, and what is made of that, does at every read.
"""

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import IndexFault, ValueFault

WORDS = 4  # 0 where there is none, else kind << 16 | site; the index's low and high word; the size
SIGNED = 1  # the kind, where the index is signed
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
TEXTS = {  # of what is no index: {size} is the largest value that may be, and one
    "offsets": "embedding_bag: offsets do not begin at 0, descend, or are beyond the indices",
    "source": "masked_scatter: mask has more elements that are true than the {size} of source",
    "input_lengths": "ctc_loss: one of input_lengths is {index}: give lengths below {size}",
    "target_lengths": "ctc_loss: one of target_lengths is {index}: give lengths below {size}",
    "rnnt_loss logit_lengths": "rnnt_loss: one of logit_lengths is {index}: give lengths below {size}",
    "rnnt_loss target_lengths": "rnnt_loss: one of target_lengths is {index}: give lengths below {size}",
}
VALUES = {  # of values that are out of their range
    "bernoulli": "bernoulli: a probability is below 0, above 1 or NaN: give probabilities",
    "binary_cross_entropy input": "binary_cross_entropy: an element of input is below 0, above 1 or NaN: "
    "give probabilities, as sigmoid does, or use binary_cross_entropy_with_logits",
    "binary_cross_entropy target": "binary_cross_entropy: an element of target is below 0, above 1 or NaN: "
    "give targets from 0 to 1",
    "cov fweights": "cov: one of fweights is negative: give counts from 0",
    "cov aweights": "cov: one of aweights is negative or NaN: give weights from 0",
    "cov sum": "cov: the weights sum to 0: give one above 0",
    "gaussian_nll_loss": "gaussian_nll_loss: an element of var is negative: give variances from 0",
    "multinomial": "multinomial: a weight is negative, infinite or NaN: give finite weights from 0",
    "multinomial sum": "multinomial: all weights of a row are 0: give one above 0",
    "multinomial few": "multinomial: a row has fewer weights above 0 than num_samples: draw fewer, or "
    "replacement=True",
    "normal": "normal: an element of std is negative or NaN: give std from 0",
    "histc": "histogram: the range of the elements is not finite: give another",
    "quantile": "quantile: an element of q is below 0, above 1 or NaN: give shares",
    "repeat_interleave": "repeat_interleave: one of repeats is negative: give counts from 0",
    "masked_scatter": "masked_scatter: an element of mask is true, but source is empty: give one as long",
    "poisson": "poisson: a rate is negative or NaN: give rates from 0",
}
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
    if name in TEXTS or name in VALUES:
        return TEXTS.get(name) or VALUES[name]
    return f"{name}(dim {dim} of size {{size}}): index {{index}} is out of range"


def error_of(fault: Fault) -> IndexFault | ValueFault:
    """The error for a fault."""
    text = text_of(fault.site).format(index=fault.index, size=fault.size)
    kind = ValueFault if NAMES[fault.site // DIMS] in VALUES else IndexFault
    return kind(f"{text}: {ADVICE}")


class Doubt:
    """What values that were computed between two reads share, where an index may have been outside: `fault`
    once that is known, `settled` once it is known that none was."""

    __slots__ = ("fault", "settled")

    def __init__(self, fault: Fault | None = None):
        self.fault, self.settled = fault, False


class Doubts:
    """A device's doubts that no read has settled, in order; what is computed now has the last."""

    def __init__(self):
        self.open = [Doubt()]
        self._lock = threading.Lock()

    def begin_read(self) -> Doubt:
        """The last doubt that a read which begins now settles."""
        with self._lock:
            self.open.append(Doubt())
            return self.open[-2]

    def settle(self, last: Doubt) -> None:
        """There was no fault up to this doubt."""
        with self._lock:
            if last in self.open:
                at = self.open.index(last) + 1
                for doubt in self.open[:at]:
                    doubt.settled = True
                self.open = self.open[at:]

    def found(self, fault: Fault) -> None:
        """Whatever may be of an index outside counts as such."""
        with self._lock:
            for doubt in self.open:
                doubt.fault = fault
            self.open = [Doubt()]


def doubt_of(device: Any, checks: bool, buffers: Iterable[Any]) -> Doubt | None:
    """The doubt of what is computed now of these buffers' values, by kernels that check indices or not; None
    where there is none. The caller holds the device's lock."""
    if not device.faults:
        return None
    for buffer in buffers:
        doubt = buffer.doubt
        if doubt is not None and not doubt.settled:
            if doubt.fault is not None:
                return doubt
            checks = True
    return device.doubts.open[-1] if checks else None


def raise_doubted(doubts: Iterable[Doubt | None]) -> None:
    """The error for a value that an index or a value out of range has made: at each read of it."""
    for doubt in doubts:
        if doubt is not None and doubt.fault is not None:
            raise error_of(doubt.fault)


def raise_noted(device: Any, last: Doubt, words: Any) -> None:
    """The error for what a read brought along, once: of several reads under way the first tells.

    last: the last doubt that it settles.
    """
    told, low, high, size = memoryview(words).cast("B").cast("I")
    kind, site = divmod(told, 1 << 16)
    if not kind:
        return device.doubts.settle(last)
    with device.lock:
        if last.fault is not None:
            return
        index = low | high << 32
        fault = Fault(site, index - (index >> 63 << 64 if kind == SIGNED else 0), size)
        device.doubts.found(fault)
        device.write(device.faults, bytes(BYTES))
    raise error_of(fault)


def raise_found(device: Any) -> None:
    """The error for what an array device came upon, once."""
    fault, device.fault = device.fault, None
    if fault is not None:
        raise error_of(fault)
