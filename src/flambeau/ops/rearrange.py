"""Rearrangements: rolls, repeats, windows, padding and other shapes of the same elements, made of views."""

from ..core import dtype as dt
from ..core.declare import composed
from ..core.node import describe
from ..core.op import Family
from ..core.shape import normal_dim, sizes_of
from ..core.sizes import integers
from .elementwise import choose
from .index.indices import slices, valid
from .join import cat
from .movement import Movement

NN = ("pad",)


def _dims(dim) -> tuple[int, ...]:
    return (dim,) if isinstance(dim, int) else tuple(dim)


class Rearrange(Family):
    swapdims = Movement.transpose

    @composed
    def select(self, dim: int, index: int):
        """The slice at one index of a dim, without it. [..., n, ...] -> [..., ...]"""
        d = normal_dim(dim, self.ndim)
        n = self.shape[d] if self.ndim else 0
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range for dim {d} of size {n}")
        return self.narrow(d, index % n, 1).reshape(*self.shape[:d], *self.shape[d + 1 :])

    @composed
    def broadcast_to(self, shape):
        """The tensor expanded to a shape, without copying. [n, 1], (n, m) -> [n, m]"""
        return self.expand(*shape)

    @composed
    def expand_as(self, other):
        """The tensor expanded to the shape of another."""
        return self.expand(*other.shape)

    @composed
    def view_as(self, other):
        """The same elements in order, in the shape of another."""
        return self.reshape(*other.shape)

    reshape_as = view_as

    @composed
    def ravel(self):
        """The same elements in order, in one dim; a view of what lies in order. [...] -> [n]"""
        return self.contiguous().reshape(self.numel())

    @composed
    def movedim(self, source, destination):
        """One dim or several moved to other places, the others in order."""
        a, b = _dims(source), _dims(destination)
        a, b = ([normal_dim(d, self.ndim) for d in dims] for dims in (a, b))
        if len(a) != len(b) or len(set(a)) != len(a) or len(set(b)) != len(b):
            raise ValueError(f"source {a} and destination {b} must be as many dims, none of them twice")
        rest = iter(d for d in range(self.ndim) if d not in a)
        return self.permute(*(a[b.index(d)] if d in b else next(rest) for d in range(self.ndim)))

    moveaxis = movedim

    @composed
    def fliplr(self):
        """Dim 1 in reverse order. [n, m, ...] -> [n, m, ...]"""
        if self.ndim < 2:
            raise ValueError(f"rank {self.ndim} has no columns: use 2 or more dims")
        return self.flip(1)

    @composed
    def flipud(self):
        """Dim 0 in reverse order. [n, ...] -> [n, ...]"""
        if self.ndim < 1:
            raise ValueError("a 0-d tensor has no rows: use 1 or more dims")
        return self.flip(0)

    @composed
    def rot90(self, k: int = 1, dims=(0, 1)):
        """k quarter turns from the first dim towards the second. [n, m] -> [m, n]"""
        a, b = (normal_dim(d, self.ndim) for d in dims)
        if a == b or self.ndim < 2:
            raise ValueError(f"dims {list(dims)} must be two different ones")
        turns = {0: lambda: self, 2: lambda: self.flip((a, b)), 1: lambda: self.flip(b).transpose(a, b)}
        return turns.get(k % 4, lambda: self.flip(a).transpose(a, b))()

    @composed
    def roll(self, shifts, dims=None):
        """Elements moved on along dims (or flattened, without), those past the end to the front."""
        if dims is None:
            return self.reshape(-1).roll(shifts, 0).reshape(*self.shape)
        shifts, dims = _dims(shifts), _dims(dims)
        if len(shifts) != len(dims):
            raise ValueError(f"{len(shifts)} shifts for {len(dims)} dims: give one for each")
        if dims and not self.ndim:
            raise IndexError(f"dims={tuple(dims)}: a 0-d tensor has no dim: leave dims out")
        x = self
        for shift, dim in zip(shifts, dims, strict=True):
            d = normal_dim(dim, x.ndim)
            n = x.shape[d] if x.ndim else 0
            by = shift % n if n else 0
            x = cat([x.narrow(d, n - by, by), x.narrow(d, 0, n - by)], d) if by else x
        return x

    @composed
    def repeat(self, *repeats):
        """Copies of the tensor side by side, along each dim. [n, m], (2, 3) -> [2 * n, 3 * m]"""
        times = sizes_of(repeats)
        if len(times) < self.ndim or any(r < 0 for r in times):
            raise ValueError(f"repeats {list(times)} must be counts for all {self.ndim} dims, or for more")
        shape = (1,) * (len(times) - self.ndim) + self.shape
        joined = tuple(r * n for r, n in zip(times, shape, strict=True))
        x = self.reshape(*(n for s in shape for n in (1, s)))
        x = x.expand(*(n for pair in zip(times, shape, strict=True) for n in pair))
        return x.reshape(*joined)

    @composed
    def clone(self):
        """The same value as a tensor of its own: assigning to one leaves the other. [...] -> [...]"""
        another = (1, *self.shape)  # a reshape to the shape that it has would be no node of its own
        return self.reshape(another).reshape(self.shape)

    @composed
    def sum_to_size(self, *size):
        """Sums over what broadcasting from that size has repeated. [n, m], (1, m) -> [1, m]"""
        wanted = sizes_of(size)
        lead = self.ndim - len(wanted)
        if lead < 0 or any(w not in (1, n) for w, n in zip(wanted, self.shape[lead:], strict=True)):
            raise ValueError(f"{list(wanted)} does not broadcast to {list(self.shape)}")
        dims = [d for d in range(self.ndim) if d < lead or wanted[d - lead] != self.shape[d]]
        if not wanted:
            return self.sum()
        return self.sum(dims, keepdim=True).reshape(wanted) if dims else self

    @composed
    def tile(self, *dims):
        """repeat, where counts for leading dims may be left out. [n, m], (2,) -> [n, 2 * m]"""
        times = sizes_of(dims)
        return self.repeat(*(1,) * (self.ndim - len(times)), *times)

    @composed
    def repeat_interleave(self, repeats=None, dim: int | None = None, output_size: int | None = None):
        """Each element so many times in a row: a count, a list, or a tensor of counts. Without
        any, the tensor has the counts, and its places are repeated.

        Counts in a tensor take one read for their sum, unless it is given as output_size.
        [..., n, ...] -> [..., sum of the counts, ...]
        """
        if repeats is None:
            return self.arange(self.shape[0], device=self.device).repeat_interleave(self, 0, output_size)
        x = self.reshape(-1) if dim is None else self
        d = normal_dim(0 if dim is None else dim, x.ndim)
        n = x.shape[d]
        if not hasattr(repeats, "node"):
            repeats = integers(repeats, "repeats")
        elif repeats.dtype.kind not in "iu":
            raise TypeError(f"repeats must be integers, not {describe(repeats)}: use .long()")
        if isinstance(repeats, int):
            if repeats < 0:
                raise ValueError(f"repeats={repeats} is below 0")
            y = x.unsqueeze(d + 1).expand(*x.shape[: d + 1], repeats, *x.shape[d + 1 :])
            return y.reshape(*x.shape[:d], n * repeats, *x.shape[d + 1 :])
        if not hasattr(repeats, "node"):
            return slices(x, x.new_tensor(_repeated(repeats, n), dtype=dt.int32), dim=d)
        repeats = repeats.reshape(-1)
        repeats = valid(repeats, repeats < 0, "repeat_interleave")
        if repeats.shape[0] == 1:
            repeats = repeats.expand(n)
        if repeats.shape[0] != n:
            raise ValueError(f"{repeats.shape[0]} counts for {n} elements: give one for each")
        size = int(repeats.sum()) if output_size is None else output_size
        return slices(x, _spans(repeats, size), dim=d)

    @composed
    def tensor_unfold(self, dimension: int, size: int, step: int):
        """Windows sliding over a dim, as a new last dim. [.., n, ..] -> [.., positions, .., size]"""
        d = normal_dim(dimension, self.ndim)
        if not self.ndim:
            return self.reshape(1).unfold(0, size, step)[0]
        if not 0 <= size <= self.shape[d] or step < 1:
            raise ValueError(f"size {size} and step {step} do not fit in dim {d} of size {self.shape[d]}")
        if size == 0:
            shape = (*self.shape[:d], self.shape[d] // step + 1, *self.shape[d + 1 :], 0)
            return type(self).zeros(shape, dtype=self.dtype, device=self.device)
        return self.movedim(d, -1)._windows(((size, step, 1, 0, 0),)).movedim(-2, d)

    unfold = tensor_unfold

    @composed
    def pad(self, pad, mode: str = "constant", value: float | None = None):
        """Padding, (left, right) of the last dim first; mode constant, reflect, replicate or circular.

        Negative amounts cut. [..., n] -> [..., left + n + right]
        """
        pairs = [tuple(pad[i : i + 2]) for i in range(0, len(pad), 2)]
        if len(pad) % 2 or len(pairs) > self.ndim:
            raise ValueError(f"padding needs pairs for at most {self.ndim} dims")
        pairs = [(0, 0)] * (self.ndim - len(pairs)) + pairs[::-1]
        for d, (before, after) in enumerate(pairs):
            if before + self.shape[d] + after < 0:
                raise ValueError(f"{before} and {after} cut more than dim {d} of size {self.shape[d]} has")
        if mode == "constant":
            return _constant(self, pairs, value)
        if mode not in EDGES or value:
            raise ValueError(
                f"mode={mode!r} with value={value}: use 'constant' with a value, or 'reflect',"
                " 'replicate' or 'circular'"
            )
        x = self
        for d, (before, after) in enumerate(pairs):
            x = _padded(x, d, before, after, mode)
        return x


def _constant(x, pairs, value):
    before, after = (tuple(p[i] for p in pairs) for i in (0, 1))
    out = x._pad(before, after)
    if not value:
        return out
    inside = type(x).full(x.shape, True, device=x.device)
    return choose(inside._pad(before, after), out, value).to(x.dtype)


def _padded(x, d, before, after, mode):
    """One dim with both ends padded by views of itself."""
    cut = [min(b, 0) for b in (before, after)]
    if mode == "replicate" and x.shape[d] and x.shape[d] + sum(cut) <= 0:  # the end that was cut last is left
        end = x.narrow(d, x.shape[d] - 1 if before < 0 else 0, 1)
        return end.expand(*(before + n + after if e == d else n for e, n in enumerate(x.shape)))
    if any(cut):
        x = x.narrow(d, -cut[0], x.shape[d] + sum(cut))
    before, after, n = max(before, 0), max(after, 0), x.shape[d]
    most = EDGES[mode](n)
    if max(before, after) > most >= 0 or (n == 0 and before + after):
        raise ValueError(f"mode={mode!r} can pad dim {d} of size {n} by at most {max(most, 0) if n else 0}")
    ends = {"circular": _wrapped, "reflect": _mirrored}.get(mode, _repeated_ends)
    if not before and not after:
        return x
    first, last = ends(x, d, before, after)
    return cat([first, x, last], d)


def _wrapped(x, d, before, after):
    return x.narrow(d, x.shape[d] - before, before), x.narrow(d, 0, after)


def _mirrored(x, d, before, after):
    n = x.shape[d]
    return x.narrow(d, min(1, n), before).flip(d), x.narrow(d, max(n - 1 - after, 0), after).flip(d)


def _repeated_ends(x, d, before, after):
    sizes = ((*x.shape[:d], count, *x.shape[d + 1 :]) for count in (before, after))
    return [x.narrow(d, at, 1).expand(*s) for at, s in zip((0, x.shape[d] - 1), sizes, strict=True)]


EDGES = {"reflect": lambda n: max(n - 1, 0), "replicate": lambda n: -1, "circular": lambda n: n}
EDGES["edge"] = EDGES["replicate"]


def _repeated(repeats, n):
    """Which element each place of the result takes, on the host."""
    counts = list(repeats)
    if any(c < 0 for c in counts) or len(counts) not in (1, n):
        raise ValueError(f"repeats must be {n} counts that are not below 0")
    return [i for i, c in enumerate(counts * n if len(counts) == 1 else counts) for _ in range(c)]


def _spans(repeats, size):
    """Which element each of `size` places takes: as many as end at or before it."""
    before = repeats.cumsum(0).reshape(1, -1)
    places = type(repeats).arange(size, dtype=dt.int32, device=repeats.device).reshape(-1, 1)
    return (before <= places).sum(1)
