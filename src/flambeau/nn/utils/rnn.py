"""Sequences of several lengths: padded to the longest, or packed step by step, as in torch.nn.utils.rnn."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...core.node import describe
from ...errors import ValueError
from ...functions import where
from ...ops.join import cat, stack
from ...tensor import Tensor, tensor


class PackedSequence(NamedTuple):
    """Sequences of several lengths without padding: all first elements, then all second ones, and so on.

    data: the elements, [sum of lengths, ...]. batch_sizes: the number of sequences that have an element at
    each step, on the host. sorted_indices: the original positions of the sequences, the longest first;
    unsorted_indices: the inverse. Both are None if the sequences were sorted already.
    """

    data: Tensor
    batch_sizes: tuple[int, ...]
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kw: Any) -> "PackedSequence":
        """The same with other data: on another device, or of another dtype."""
        return self._replace(data=self.data.to(*args, **kw))

    @property
    def device(self) -> Any:
        """The device of the elements."""
        return self.data.device

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a GPU."""
        return self.data.is_cuda

    def cpu(self) -> "PackedSequence":
        """The same on the host."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kw: Any) -> "PackedSequence":
        """The same on the GPU."""
        return self._replace(data=self.data.cuda(*args, **kw))

    def float(self) -> "PackedSequence":
        """The same in float32."""
        return self._replace(data=self.data.float())

    def half(self) -> "PackedSequence":
        """The same in float16."""
        return self._replace(data=self.data.half())

    def double(self) -> "PackedSequence":
        """The same in float64, which no GPU has: TypeError there."""
        return self._replace(data=self.data.double())

    def long(self) -> "PackedSequence":
        """The same in int64."""
        return self._replace(data=self.data.long())

    def int(self) -> "PackedSequence":
        """The same in int32."""
        return self._replace(data=self.data.int())


def _as_integers(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def lengths_of(batch_sizes: Sequence[int]) -> list[int]:
    """The length of each sequence, the longest first."""
    return [sum(n > b for n in batch_sizes) for b in range(batch_sizes[0])]  # steps that reach this sequence


def pack_steps(x: Tensor, batch_sizes: Sequence[int], order: Sequence[int] | None = None) -> Tensor:
    """The elements without padding, step by step. [t, b, ...] -> [sum, ...]"""
    rows, batch = list(range(x.shape[1])) if order is None else order, x.shape[1]
    # row-major positions in [t, b]
    rows_of_steps = [t * batch + rows[i] for t, n in enumerate(batch_sizes) for i in range(n)]
    return x.flatten(0, 1).index_select(0, tensor(rows_of_steps, device=x.device))


def pad_steps(
    data: Tensor, batch_sizes: Sequence[int], value: float = 0.0, order: Sequence[int] | None = None
) -> Tensor:
    """Packed elements as padded sequences, with `value` after the shorter ones. [sum, ...] -> [t, b, ...]"""
    batch = batch_sizes[0]
    # the position of each sequence among the sorted ones
    places = list(range(batch)) if order is None else order
    starts = [sum(batch_sizes[:t]) for t in range(len(batch_sizes))]
    # -1 where a sequence has ended
    rows_of_steps = [
        [a + i if i < n else -1 for i in places] for a, n in zip(starts, batch_sizes, strict=True)
    ]
    index = tensor(rows_of_steps, device=data.device)
    # padding has an index too, and its row is replaced
    rows = data.index_select(0, index.flatten().clamp(min=0)).reshape(*index.shape, *data.shape[1:])
    if all(n == batch for n in batch_sizes):  # equal lengths: no padding to fill
        return rows
    return where((index >= 0).reshape(*index.shape, *(1,) * (data.ndim - 1)), rows, value)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences. [t, b, ...], or [b, t, ...] with batch_first

    lengths: the length of each sequence, numbers or a tensor, which is read. enforce_sorted: require
    descending lengths; otherwise the sequences are sorted. ValueError for lengths that are not sorted, or of
    a wrong number.
    """
    x, all_sizes = input.transpose(0, 1) if batch_first else input, _as_integers(lengths)
    call = f"pack_padded_sequence({describe(input)}, {all_sizes})"
    if len(all_sizes) != x.shape[1] or not all_sizes:
        raise ValueError(f"{call}: there are {x.shape[1]} sequences: pass the length of each")
    if min(all_sizes) < 1 or max(all_sizes) > x.shape[0]:
        raise ValueError(f"{call}: lengths must be from 1 to {x.shape[0]}: pass others")
    if enforce_sorted and all_sizes != sorted(all_sizes, reverse=True):
        raise ValueError(
            f"{call}: lengths are not in descending order: sort them, or pass enforce_sorted=False"
        )
    # sorted is stable: equal lengths keep their order
    order = sorted(range(len(all_sizes)), key=lambda i: -all_sizes[i])
    # sequences that have an element at step t
    sizes = tuple(sum(n > t for n in all_sizes) for t in range(max(all_sizes)))
    data = pack_steps(x, sizes, order)
    if enforce_sorted:
        return PackedSequence(data, sizes)
    index = tensor(order, device=x.device)
    return PackedSequence(data, sizes, index, invert_permutation(index))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Packed sequences padded to the longest, and their lengths (int64). -> [t, b, ...] or [b, t, ...], [b]

    padding_value: the value after the shorter ones. total_length: pad to this length. ValueError if a
    sequence is longer than total_length.
    """
    longest = len(sequence.batch_sizes)
    x = pad_steps(sequence.data, sequence.batch_sizes, padding_value)
    if total_length is not None:
        if total_length < longest:
            rule = f"the longest sequence has {longest} elements: pass at least that"
            raise ValueError(f"pad_packed_sequence(total_length={total_length}): {rule}")
        more = Tensor.full((total_length - longest, *x.shape[1:]), padding_value, x.dtype, x.device)
        x = cat([x, more]) if total_length > longest else x
    lengths = tensor(lengths_of(sequence.batch_sizes), device=x.device)
    if sequence.unsorted_indices is not None:  # back to the caller's order
        x = x.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return x.transpose(0, 1) if batch_first else x, lengths


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences [n, ...] padded to the longest. -> [t, b, ...], or [b, t, ...] with batch_first

    padding_value: the value to pad with. padding_side: "right" or "left". ValueError for another side, or
    without sequences.
    """
    tensors = list(sequences)
    if padding_side not in ("right", "left") or not tensors:
        rule = "needs at least one sequence and the side 'right' or 'left': pass these"
        raise ValueError(f"pad_sequence({len(tensors)} sequences, padding_side={padding_side!r}): {rule}")
    longest = max(len(x) for x in tensors)
    pads = [(longest - len(x), 0) if padding_side == "left" else (0, longest - len(x)) for x in tensors]
    rows = [
        # pad takes the last dim's ends first: zeros for all dims but the first
        x.pad((*(0,) * (2 * (x.ndim - 1)), *end), "constant", padding_value)
        for x, end in zip(tensors, pads, strict=True)
    ]
    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences without padding, each in its own length. [t, b, ...], [b] -> list of [n, ...]

    padded_sequences: the result of pad_sequence. lengths: of each, numbers or a tensor, which is read.
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows, _as_integers(lengths), strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences [n, ...] packed; enforce_sorted and errors as of pack_padded_sequence."""
    tensors = list(sequences)
    return pack_padded_sequence(
        pad_sequence(tensors), [len(x) for x in tensors], enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences before packing, in their original order. -> list of [n, ...]

    packed_sequences: the result of pack_sequence.
    """
    x, lengths = pad_packed_sequence(packed_sequences)
    return unpad_sequence(x, lengths)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse permutation; None stays None. int [n] -> int [n]"""
    return None if permutation is None else permutation.argsort()
