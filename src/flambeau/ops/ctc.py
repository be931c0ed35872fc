"""CTC and transducer (RNN-T) losses: log-probabilities of labels, summed over alignments.

States of CTC are the labels with blanks around each: [blank, a, blank, b, blank] for "ab". One kernel runs
the forward recursion over time for all items of a batch. A second one runs a linear recursion, of which the
gradient and the gradient of the gradient are composed. A transducer's lattice uses the same kernel, two
steps a diagonal.
"""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed, kernel, like_first
from ..core.node import is_tensor
from ..core.op import Family, Launch, on_device
from .elementwise import as_float
from .index.indices import checked_places
from .join import stack
from .reduce import in_float32

if TYPE_CHECKING:
    from ..core.limits import Limits
    from ..core.node import Node
    from ..core.rules import Array, LaunchRule, Prepared
    from ..device.array_namespace import Namespace
    from ..tensor import Tensor

GROUP = 64  # threads per item, which share its states
LOWEST = -1e30  # the logarithm of probability 0: finite, so that a difference of two is finite


def _walk_launch(semiring: str, weights: int) -> LaunchRule:
    def launch(limits: Limits, x: Node, *_: Any) -> list[Launch]:
        n, steps, states = x.shape
        sizes: dict[str, int | float] = {"items": n, "steps": steps, "states": states}
        if semiring == "log":
            sizes["lowest"] = LOWEST
        reads = tuple(range(1, 1 + weights))
        turns = 1 + -(-states // GROUP)
        span = max(limits.turns // turns, 1)  # steps per launch; the next launch continues from its result
        return [
            Launch(
                "signal/ctc.wgsl",
                reads,
                n,
                sizes | {"start": start, "stop": min(start + span, steps)},
                {"semiring": semiring},
                traced=0,
                turns=turns * min(span, steps),
            )
            for start in range(0, max(steps, 1), span)
        ]

    return launch


def _shift_states(xp: Namespace, row: Array, by: int, fill: float) -> Array:
    """A row's states shifted by `by`. [n, l] -> [n, l]"""
    return xp.pad(row, [(0, 0), (by, 0)], constant_values=fill)[:, : row.shape[1]]


def _alphas_reference(xp: Namespace, x: Array, jump: Array) -> Array:
    y = xp.full_like(x, LOWEST)
    y[:, 0, :2] = x[:, 0, :2]  # an alignment begins with a blank or the first label
    for t in range(1, x.shape[1]):
        last = y[:, t - 1]
        reached = xp.logaddexp(last, _shift_states(xp, last, 1, LOWEST))
        reached = xp.logaddexp(reached, _shift_states(xp, last, 2, LOWEST) + jump)
        y[:, t] = xp.maximum(reached + x[:, t], x.dtype.type(LOWEST))  # sums of LOWEST stay at LOWEST
    return y


def _walk_reference(xp: Namespace, x: Array, *weights: Array) -> Array:
    y = xp.array(x)
    for t in range(1, x.shape[1]):
        y[:, t] += sum(w[:, t] * _shift_states(xp, y[:, t - 1], k, 0.0) for k, w in enumerate(weights))
    return y


def _earlier_value(y: Tensor, k: int) -> Tensor:
    """The value of state s - k one step before; 0 outside. [n, t, s] -> [n, t, s]"""
    return y._pad((0, 1, k), (0, -1, -k))


def _walk_back(g: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """The adjoint of the recursion: the same recursion from the last step and state to the first."""
    # Weight k leads from state s - k at step t - 1 to state s at step t: shifted to where it starts from.
    later = [w._pad((0, -1, -k), (0, 1, k)).flip((1, 2)) for k, w in enumerate(weights)]
    return g.flip((1, 2))._ctc_walk(*later).flip((1, 2))


def _alphas_grad(g: Tensor, y: Tensor, x: Tensor, jump: Tensor) -> list[Tensor | None]:
    """The weights of a step are the fractions that its three source states contribute."""
    arange = type(x).arange
    step = arange(x.shape[1], dtype=dt.int32, device=x.device).reshape(-1, 1)
    state = arange(x.shape[2], dtype=dt.int32, device=x.device)
    weights: list[Tensor] = []
    for k in range(3):
        # log of exp(y[t - 1, s - k]) / the sum over k of them; y - x is the logarithm of this sum
        share = _earlier_value(y, k) - (y - x)
        share = share + jump.unsqueeze(1) if k == 2 else share
        # fractions are at most 1, apart from rounding: the clamp keeps differences of LOWEST finite
        weights.append(((step > 0) & (state >= k)).where(share.clamp(max=1.0), LOWEST).exp())
    return [_walk_back(g, weights), None]


def _walk_grad(g: Tensor, y: Tensor, x: Tensor, *weights: Tensor) -> list[Tensor | None]:
    # by the input; a weight's gradient is this times the value that it multiplied
    back = _walk_back(g, weights)
    return [back, *(back * _earlier_value(y, k) for k in range(3))]


class Ctc(Family):
    @kernel(
        "opaque",
        shape=lambda x, jump: x,
        dtype=lambda x, jump: x,
        grad=_alphas_grad,
        xp=_alphas_reference,
        launch=_walk_launch("log", 1),
    )
    def _ctc_alphas(self: Any, jump: Tensor) -> Prepared:
        """The log-probability of each state. [n, t, s], [n, s] -> [n, t, s]

        jump: 0 for states that can be reached from two states before, else LOWEST
        """
        return (as_float(self), as_float(jump)), {}

    @kernel(
        "opaque",
        shape=like_first,
        dtype=like_first,
        grad=_walk_grad,
        xp=_walk_reference,
        launch=_walk_launch("linear", 3),
    )
    def _ctc_walk(self: Any, own: Tensor, before: Tensor, two_before: Tensor) -> Prepared:
        """y[t, s] = self[t, s] + the sum over k of weights_k[t, s] * y[t - 1, s - k]; all are [n, t, s]."""
        return tuple(as_float(t) for t in (self, own, before, two_before)), {}


def _lengths(
    lengths: Tensor | Sequence[int] | int, n: int, beside: Tensor, span: range, check: str
) -> Tensor:
    """Lengths as a tensor of n on the device of `beside`. Numbers are checked now, tensors at the next read.

    check: the name of the check on the device; its last word is the argument's name.
    """
    name = check.split()[-1]
    if is_tensor(lengths):
        flat = on_device(lengths.reshape(-1), beside.device)  # PyTorch takes lengths of the CPU
    else:
        numbers = [lengths] if isinstance(lengths, int) else [*lengths]
        if any(m not in span for m in numbers):
            raise ValueError(f"{name} {numbers} are not all in {span[0]} to {span[-1]}")
        flat = beside.new_tensor(numbers, dtype=dt.int32)
    if flat.shape != (n,):
        raise ValueError(f"{name} needs {n} numbers, one for each item")
    return checked_places(flat, span.stop, "inside", check) if is_tensor(lengths) else flat


def _split_targets(targets: Tensor, lengths: Tensor | Sequence[int]) -> Tensor:
    """Concatenated targets as rows. [sum of lengths] -> [n, longest]"""
    counts: list[int] = lengths.tolist() if is_tensor(lengths) else [*lengths]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    if sum(counts) != targets.shape[0]:
        raise ValueError(f"target_lengths add up to {sum(counts)}, but there are {targets.shape[0]} targets")
    # Row i has elements starts[i] + 0, 1, ...; indices beyond its length are read, and ignored by their
    # users.
    place = type(targets).arange(max(counts, default=0), dtype=dt.int32, device=targets.device)
    place = place + targets.new_tensor(starts, dtype=dt.int32).reshape(-1, 1)
    return targets[place.clamp(max=max(targets.shape[0] - 1, 0))] if targets.shape[0] else place


def _labels(targets: Tensor, lengths: Tensor, classes: int, blank: int, loss: str = "ctc_loss") -> Tensor:
    """Targets as classes; elements beyond a length become blanks. [n, s] -> [n, s]"""
    own = type(targets).arange(targets.shape[1], dtype=dt.int32, device=targets.device) < lengths.reshape(
        -1, 1
    )
    return checked_places(own.where(targets.int(), blank), classes, "inside", loss)


def _states(targets: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """Labels with blanks around each, and 0 for states that a jump over a blank can reach, else LOWEST.
    [n, s] -> [n, 2s + 1] * 2"""
    n, count = targets.shape
    state = type(targets).arange(2 * count + 1, dtype=dt.int32, device=targets.device)
    label = state % 2 == 1
    index = (state // 2).clamp(max=max(count - 1, 0)).expand(n, 2 * count + 1)
    classes = label.where(targets._gather(index, 1), blank) if count else (state * 0 + blank).expand(n, 1)
    # A blank between two labels may be left out unless the labels are equal.
    differs = classes != classes._pad((0, 2), (0, -2))
    return classes, (label & (state > 1) & differs).where(0.0, LOWEST)


def _negative_log(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> Tensor:
    """-log p(targets), at least -LOWEST / 2 if no alignment exists. [t, n, c], [n, s] -> [n]"""
    steps, n, _ = log_probs.shape
    states, jump = _states(targets, blank)
    count = states.shape[1]
    index = states.unsqueeze(1).expand(n, steps, count)
    scores = log_probs.permute(1, 0, 2)._gather(index, 2).clamp(min=LOWEST)
    alphas = scores._ctc_alphas(jump).reshape(n, steps * count)
    # An alignment ends in the last blank or in the last label.
    last = (input_lengths - 1).clamp(min=0) * count + target_lengths * 2
    a = alphas._gather(last.unsqueeze(1), 1).squeeze(1)
    b = alphas._gather((last - 1).clamp(min=0).unsqueeze(1), 1).squeeze(1)
    b = (target_lengths > 0).where(b, LOWEST)
    top = a.maximum(b).detach()
    y = -(top + ((a - top).exp() + (b - top).exp()).log())  # log(exp(a) + exp(b))
    # Without steps only the empty target is possible, with probability 1.
    return (input_lengths > 0).where(y, (target_lengths > 0).where(-LOWEST, 0.0))


@composed
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log p(targets), summed over alignments (Graves et al., 2006); "mean" divides each by its target's
    length.

    Targets are rows, or concatenated (then lengths in a tensor are read, which waits). The loss is
    infinite, or 0 with zero_infinity, if a target is too long. [t, n, c], [n, s], [n], [n] -> []

    log_probs: logarithms of probabilities. [steps, n, classes]
    input_lengths: the number of steps of each sequence
    target_lengths: the number of labels of each sequence
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none"
    Raises ValueError if shapes do not fit together, blank is not a class, or reduction is unknown.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    if log_probs.ndim not in (2, 3) or not targets.dtype.is_int or 0 in log_probs.shape:
        raise ValueError("needs log_probs [t, n, c] or [t, c] without sizes of 0, and integer targets")
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    steps, n, classes = x.shape
    if not 0 <= blank < classes:
        raise ValueError(f"blank={blank} is not one of {classes} classes")
    rows = targets.unsqueeze(0) if single else targets
    rows = _split_targets(rows, target_lengths) if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[0] != n:
        raise ValueError(f"targets need shape [{n}, longest], or all in one dim")
    lengths = _lengths(input_lengths, n, x, range(steps + 1), "input_lengths")
    counts = _lengths(target_lengths, n, x, range(rows.shape[1] + 1), "target_lengths")
    x, dtype = in_float32(x)
    y = _negative_log(x, _labels(rows, counts, classes, blank), lengths, counts, blank)
    y = (y < -LOWEST / 2).where(y, 0.0 if zero_infinity else float("inf"))  # no alignment
    if reduction == "none":
        return (y.squeeze(0) if single else y).to(dtype)
    return (y.sum() if reduction == "sum" else (y / counts.clamp(min=1)).mean()).to(dtype)


def _by_diagonals(x: Tensor) -> Tensor:
    """Row u shifted by u, with LOWEST around it, so that columns are diagonals.
    [n, u, t] -> [n, u, t + u - 1]"""
    n, rows, steps = x.shape
    # Padded rows have one element more than the result's: reading them in the shorter length shifts each
    # row by one.
    lines = x.pad((0, rows), value=LOWEST).reshape(n, rows * (steps + rows))
    return lines[:, : rows * (steps + rows - 1)].reshape(n, rows, steps + rows - 1)


def _lattice(log_probs: Tensor, labels: Tensor, blank: int) -> Tensor:
    """A transducer's lattice as states of CTC: two for each number u of emitted labels, two steps a diagonal.

    At step 2 d, state 2 u is at node (d - u, u). At step 2 d + 1, state 2 u leaves it by a blank, and state
    2 u + 1 by a label, which leads to u + 1. [n, t, u, c], [n, u - 1] -> [n, 2 (t + u - 1), 2 u]
    """
    n, steps, rows = log_probs.shape[:3]
    # The label that each node may emit; the last row has emitted all of them.
    index = labels.reshape(n, 1, rows - 1, 1).expand(n, steps, rows - 1, 1)
    emitted = log_probs[:, :, : rows - 1]._gather(index, 3).squeeze(3).pad((0, 1), value=LOWEST)
    ways = [_by_diagonals(scores.permute(0, 2, 1)) for scores in (log_probs[..., blank], emitted)]
    leaving = stack(ways, 2).flatten(1, 2)
    # At even steps the even states are nodes; at odd steps both states are ways that leave them.
    state = type(log_probs).arange(2 * rows, dtype=dt.int32, device=log_probs.device).reshape(1, -1, 1)
    being = (state % 2 == 0).where(0.0, LOWEST).expand(leaving.shape)
    return stack([being, leaving], 3).flatten(2).permute(0, 2, 1)


@composed
def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = -1,
    reduction: str = "mean",
) -> Tensor:
    """-log p(targets) of a transducer, summed over alignments (Graves, 2012), as in torchaudio.

    logits are for each frame and each number of labels emitted before; log-probabilities give the same loss.
    "mean" is over the batch. [n, t, s + 1, c], [n, s], [n], [n] -> []

    logit_lengths: the number of frames of each sequence, at least 1
    target_lengths: the number of labels of each sequence
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none"
    Raises ValueError if shapes do not fit together, blank is not a class, or reduction is unknown.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    if logits.ndim != 4 or not targets.dtype.is_int or 0 in logits.shape:
        raise ValueError("needs logits [n, t, s + 1, c] without sizes of 0, and integer targets")
    n, steps, rows, classes = logits.shape
    if targets.shape != (n, rows - 1):
        raise ValueError(f"targets need shape [{n}, {rows - 1}], one label less than the third dim of logits")
    if not -classes <= blank < classes:
        raise ValueError(f"blank={blank} is not one of {classes} classes")
    blank %= classes
    lengths = _lengths(logit_lengths, n, logits, range(1, steps + 1), "rnnt_loss logit_lengths")
    counts = _lengths(target_lengths, n, logits, range(rows), "rnnt_loss target_lengths")
    x, dtype = in_float32(logits)
    x = x.log_softmax(-1).clamp(min=LOWEST)  # a probability of 0 has a finite logarithm here, too
    lattice = _lattice(x, _labels(targets, counts, classes, blank, "rnnt_loss"), blank)
    alphas = lattice._ctc_alphas(x.new_full((n, 2 * rows), LOWEST)).flatten(1)
    last = (lengths.clamp(min=1) + counts) * 2 - 1  # leaves the last node by a blank
    y = -alphas._gather((last * 2 * rows + counts * 2).unsqueeze(1), 1).squeeze(1)
    y = (y < -LOWEST / 2).where(y, float("inf"))
    return (y if reduction == "none" else getattr(y, reduction)()).to(dtype)
