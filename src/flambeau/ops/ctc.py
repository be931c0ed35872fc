"""Connectionist temporal classification: the probability of labels under any alignment, in logarithms.

States are the labels with blanks around each, [blank, a, blank, b, blank] for "ab". One kernel walks all
items of the batch through time, another the linear walk that its gradient, and that one's own, are made of.
"""

from ..core import dtype as dt
from ..core.declare import composed, kernel
from ..core.op import Family, Launch
from .elementwise import as_float
from .index.indices import placed
from .reduce import in_float32

NN = ("ctc_loss",)
GROUP = 64  # threads that share the states of an item
LOWEST = -1e30  # the logarithm of no probability: finite, so that differences of two are


def _walk_launch(semiring: str, weights: int):
    def launch(limits, x, *_):
        n, steps, states = x.shape
        sizes = {"items": n, "steps": steps, "states": states}
        sizes |= {"lowest": LOWEST} if semiring == "log" else {}
        reads = tuple(range(1, 1 + weights))
        turns = 1 + -(-states // GROUP)
        span = max(limits.turns // turns, 1)  # steps of a launch: the next goes on from what it wrote
        return [
            Launch(
                "signal/ctc.wgsl",
                reads,
                n,
                sizes | {"start": at, "stop": min(at + span, steps)},
                {"semiring": semiring},
                traced=0,
                turns=turns * min(span, steps),
            )
            for at in range(0, max(steps, 1), span)
        ]

    return launch


def _behind(xp, row, by: int, fill: float):
    """A row's states moved up. [n, l] -> [n, l]"""
    return xp.pad(row, [(0, 0), (by, 0)], constant_values=fill)[:, : row.shape[1]]


def _alphas_reference(xp, x, jump):
    y = xp.full_like(x, LOWEST)
    y[:, 0, :2] = x[:, 0, :2]
    for t in range(1, x.shape[1]):
        last = y[:, t - 1]
        reached = xp.logaddexp(last, _behind(xp, last, 1, LOWEST))
        reached = xp.logaddexp(reached, _behind(xp, last, 2, LOWEST) + jump)
        y[:, t] = xp.maximum(reached + x[:, t], x.dtype.type(LOWEST))
    return y


def _walk_reference(xp, x, *weights):
    y = xp.array(x)
    for t in range(1, x.shape[1]):
        y[:, t] += sum(w[:, t] * _behind(xp, y[:, t - 1], k, 0.0) for k, w in enumerate(weights))
    return y


def _earlier(y, k: int):
    """What state s - k had a step before, 0 where there is none. [n, t, s] -> [n, t, s]"""
    return y._pad((0, 1, k), (0, -1, -k))


def _walk_back(g, weights):
    """The adjoint of a walk by what is added: the same walk from the last step and state to the first."""
    later = [w._pad((0, -1, -k), (0, 1, k)).flip((1, 2)) for k, w in enumerate(weights)]
    return g.flip((1, 2))._ctc_walk(*later).flip((1, 2))


def _alphas_grad(g, y, x, jump):
    """Each step's weights are the shares that its three sources have in it."""
    arange = type(x).arange
    step = arange(x.shape[1], dtype=dt.int32, device=x.device).reshape(-1, 1)
    state = arange(x.shape[2], dtype=dt.int32, device=x.device)
    weights = []
    for k in range(3):
        share = _earlier(y, k) - (y - x)
        share = share + jump.unsqueeze(1) if k == 2 else share
        # rounding aside no share is above 1: the clamp keeps differences of lowest values finite
        weights.append(((step > 0) & (state >= k)).where(share.clamp(max=1.0), LOWEST).exp())
    return [_walk_back(g, weights), None]


def _walk_grad(g, y, x, *weights):
    back = _walk_back(g, weights)
    return [back, *(back * _earlier(y, k) for k in range(3))]


class Ctc(Family):
    @kernel(
        "whole",
        shape=lambda x, jump: x,
        dtype=lambda x, jump: x,
        grad=_alphas_grad,
        xp=_alphas_reference,
        launch=_walk_launch("log", 1),
    )
    def _ctc_alphas(self, jump):
        """Logarithms of the probability to be in each state. [n, t, s], [n, s] -> [n, t, s]

        jump is 0 for states that may be reached from two before, else LOWEST.
        """
        return (as_float(self), as_float(jump)), {}

    @kernel(
        "whole",
        shape=lambda x, *weights: x,
        dtype=lambda x, *weights: x,
        grad=_walk_grad,
        xp=_walk_reference,
        launch=_walk_launch("linear", 3),
    )
    def _ctc_walk(self, own, before, two_before):
        """y[t, s] = self[t, s] + the sum of weights k [t, s] * y[t - 1, s - k], all four [n, t, s]."""
        return tuple(as_float(t) for t in (self, own, before, two_before)), {}


def _lengths(given, n: int, beside, most: int, name: str):
    """Lengths as a tensor of n on the device of `beside`; those known on the host are checked."""
    if hasattr(given, "node"):
        found = given.reshape(-1)
    else:
        given = [given] if isinstance(given, int) else list(given)
        if any(not 0 <= m <= most for m in given):
            raise ValueError(f"{name} {given} are not all in 0 to {most}")
        found = beside.new_tensor(given, dtype=dt.int32)
    if found.shape != (n,):
        raise ValueError(f"{name} needs {n} numbers, one for each item")
    return placed(found, most + 1, "inside", name) if hasattr(given, "node") else found


def _spread_out(targets, lengths):
    """Targets one after another as rows. [sum of lengths] -> [n, longest]"""
    lengths = lengths.tolist() if hasattr(lengths, "node") else list(lengths)
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    if sum(lengths) != targets.shape[0]:
        raise ValueError(f"target_lengths add up to {sum(lengths)}, and there are {targets.shape[0]} targets")
    place = type(targets).arange(max(lengths, default=0), dtype=dt.int32, device=targets.device)
    place = place + targets.new_tensor(starts, dtype=dt.int32).reshape(-1, 1)
    return targets[place.clamp(max=max(targets.shape[0] - 1, 0))] if targets.shape[0] else place


def _labels(targets, lengths, classes: int, blank: int):
    """Targets as classes; behind their lengths may be anything, which becomes blanks. [n, s] -> [n, s]"""
    own = type(targets).arange(targets.shape[1], dtype=dt.int32, device=targets.device) < lengths.reshape(
        -1, 1
    )
    return placed(own.where(targets.int(), blank), classes, "inside", "ctc_loss")


def _states(targets, blank: int):
    """Labels with blanks around each, and LOWEST where no jump leads to. [n, s] -> [n, 2s + 1] * 2"""
    n, count = targets.shape
    state = type(targets).arange(2 * count + 1, dtype=dt.int32, device=targets.device)
    label = state % 2 == 1
    index = (state // 2).clamp(max=max(count - 1, 0)).expand(n, 2 * count + 1)
    found = label.where(targets._gather(index, 1), blank) if count else (state * 0 + blank).expand(n, 1)
    differs = found != found._pad((0, 2), (0, -2))
    return found, (label & (state > 1) & differs).where(0.0, LOWEST)


def _negative_log(log_probs, targets, input_lengths, target_lengths, blank: int):
    """-log p(targets), at least -LOWEST / 2 where there is no alignment. [t, n, c], [n, s] -> [n]"""
    steps, n, _ = log_probs.shape
    states, jump = _states(targets, blank)
    count = states.shape[1]
    index = states.unsqueeze(1).expand(n, steps, count)
    found = log_probs.permute(1, 0, 2)._gather(index, 2).clamp(min=LOWEST)
    alphas = found._ctc_alphas(jump).reshape(n, steps * count)
    last = (input_lengths - 1).clamp(min=0) * count + target_lengths * 2
    a = alphas._gather(last.unsqueeze(1), 1).squeeze(1)
    b = alphas._gather((last - 1).clamp(min=0).unsqueeze(1), 1).squeeze(1)
    b = (target_lengths > 0).where(b, LOWEST)
    top = a.maximum(b).detach()
    y = -(top + ((a - top).exp() + (b - top).exp()).log())
    return (input_lengths > 0).where(y, (target_lengths > 0).where(-LOWEST, 0.0))


@composed
def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
):
    """-log p(targets) under any alignment (Graves et al., 2006); "mean" divides each by its target's length.

    Targets are rows, or one after another (then lengths given as a tensor are read, and waited for). The loss
    is infinite, or 0 with zero_infinity, where a target is too long. [t, n, c], [n, s], [n], [n] -> []
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    if log_probs.ndim not in (2, 3) or not targets.dtype.is_int or 0 in log_probs.shape:
        raise ValueError("needs log_probs [t, n, c] or [t, c], none of them 0, and integer targets")
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    steps, n, classes = x.shape
    if not 0 <= blank < classes:
        raise ValueError(f"blank={blank} is none of {classes} classes")
    rows = targets.unsqueeze(0) if single else targets
    rows = _spread_out(rows, target_lengths) if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[0] != n:
        raise ValueError(f"targets need shape [{n}, longest], or all in one dim")
    lengths = _lengths(input_lengths, n, x, steps, "input_lengths")
    counts = _lengths(target_lengths, n, x, rows.shape[1], "target_lengths")
    x, dtype = in_float32(x)
    y = _negative_log(x, _labels(rows, counts, classes, blank), lengths, counts, blank)
    y = (y < -LOWEST / 2).where(y, 0.0 if zero_infinity else float("inf"))
    if reduction == "none":
        return (y.squeeze(0) if single else y).to(dtype)
    return (y.sum() if reduction == "sum" else (y / counts.clamp(min=1)).mean()).to(dtype)
