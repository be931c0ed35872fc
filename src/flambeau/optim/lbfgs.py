"""L-BFGS: a quasi-Newton method, which evaluates loss and gradient several times per step."""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

from ..autodiff.backward import Gradients
from ..core.autocast import without_autocast
from ..core.dtype import float32
from ..core.modes import enable_grad, no_grad
from ..core.tree import is_list
from ..functions import cat
from ..runtime.run import realize
from ..tensor import Tensor, tensor
from .groups import ParamGroup
from .optimizer import Optimizer, Params
from .state import CURE, check_names

ENOUGH, FLAT = 1e-4, 0.9  # c1 and c2 of Wolfe's conditions: sufficient decrease, and curvature
# bounds of the next trial: 10 times the distance, or 1 % of the last step beyond it
FARTHEST, NEAREST = 10.0, 0.01
SMALLEST_CURVATURE = 1e-10  # PyTorch's bound of s . y, below which a pair is not kept
ROWS = "d", "old_dirs", "old_stps", "prev_flat_grad"  # as long as all parameters together
KEPT = (*ROWS, "func_evals", "n_iter", "t", "ro", "H_diag", "prev_loss", "al")  # PyTorch's names


class Point(NamedTuple):
    """A point of the line search: the distance, the loss, its slope along the line, and the gradient."""

    t: float
    loss: float
    slope: float
    gradient: Tensor


class LBFGS(Optimizer):
    """Steps along an estimate of Newton's direction from the last gradients (Liu and Nocedal, 1989).

    `step` takes a function that returns the Gradients of the current loss, and calls it up to `max_eval`
    times (1.25 times `max_iter`) in up to `max_iter` iterations. It ends when no gradient is above
    `tolerance_grad`, or no change above `tolerance_change`. `history_size` is the number of iterations whose
    curvature is kept; `line_search_fn` is None, for steps of `lr`, or "strong_wolfe". It reads losses, so jit
    does not record it. ValueError for several groups, and for unknown searches.

    params: the tensors to update, such as model.parameters()
    history_size: the number of iterations whose curvature is kept
    line_search_fn: None, for steps of `lr`, or "strong_wolfe"
    maximize: ascend the gradient instead of descending
    """

    counts, optional = {}, KEPT

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "max_iter": max_iter}
        options |= {"max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        options |= {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        options |= {"history_size": history_size, "line_search_fn": line_search_fn, "maximize": maximize}
        self.memory = Curvature()
        super().__init__(params, options)

    def check(self, group: ParamGroup) -> None:
        """ValueError unless there is one group and the line search is known."""
        if self.param_groups:
            raise ValueError("LBFGS(2 groups): it has one direction for all parameters: pass one group")
        name = group["line_search_fn"]
        if name not in (None, "strong_wolfe"):
            raise ValueError(f"LBFGS(line_search_fn={name!r}): unknown: use None or 'strong_wolfe'")

    def step(self, grads: Callable[[], Gradients]) -> Tensor:  # type: ignore[override]
        """Run up to max_iter iterations; returns the loss before them. TypeError if `grads` is not a
        function.
        """
        if not callable(grads):
            rule = "it evaluates the loss several times: pass a function that returns loss.backward()"
            raise TypeError(f"LBFGS.step({type(grads).__name__}): {rule}")
        for hook in self._hooks_of("step_pre"):
            hook(self, (grads,), {})
        loss = self._iterate(Objective(self.params, grads, self.param_groups[0]["maximize"]))
        for hook in self._hooks_of("step_post"):
            hook(self, (grads,), {})
        return loss

    def _iterate(self, line: "Objective") -> Tensor:
        o, memory = self.param_groups[0], self.memory
        first, loss, g = line.evaluate()
        memory.evaluations += 1
        evaluations, tolerance = 1, o["tolerance_change"]
        if _largest(g) <= o["tolerance_grad"]:  # already at a minimum: no step
            return first
        for i in range(1, o["max_iter"] + 1):
            memory.learn(g, o["history_size"])
            d = memory.direction = memory.newton(g)
            # The first direction is -g, whose length has no meaning yet: the step is at most 1 long in the
            # sum of |g|.
            rate = min(1.0, 1.0 / g.abs().sum().item()) * o["lr"] if memory.iterations == 1 else o["lr"]
            slope, memory.gradient, memory.t = _dot(g, d), g, rate
            if slope > -tolerance:  # not a descent direction, within the tolerance
                break
            start, calls = Point(0.0, loss, slope, g), 0
            if o["line_search_fn"]:
                smallest = tolerance / max(_largest(d), 1e-30)
                search = Wolfe(line.along(d), start, smallest, o["max_eval"] - evaluations)
                # the search ends when its interval moves no element by more than the tolerance
                end = search.find(rate)
                memory.t, calls = end.t, search.calls
                line.move(d, end.t)
                loss, g = end.loss, end.gradient
            else:
                line.move(d, rate)
                if i < o["max_iter"]:  # the last gradient is not used
                    _, loss, g = line.evaluate()
                    calls = 1
            evaluations += calls
            memory.evaluations += calls
            # either stops: no parameter moved, or the loss did not change
            is_close = _largest(d) * abs(memory.t) <= tolerance or abs(loss - start.loss) < tolerance
            if evaluations >= o["max_eval"] or _largest(g) <= o["tolerance_grad"] or is_close:
                break
        return first

    def _state_dict(self) -> dict[str, Any]:
        """As the other optimisers', with the curvature as the state of parameter 0."""
        return {**super()._state_dict(), "state": {0: self.memory.state()}}

    def _load(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict.get("state", {}).get(0, {})
        problems = [f"unexpected: 0.{name}" for name in saved if name not in KEPT]
        check_names(set(saved), type(self), "its curvature", bool(problems))
        size, device = sum(p.numel() for p in self.params), self.params[0].device
        rows = {name: saved[name] for name in ROWS if saved.get(name) is not None}
        for name, entry in rows.items():
            for row in entry if is_list(entry) else [entry]:
                if tuple(row.shape) != (size,):
                    problems.append(f"0.{name} is [{size}], got {list(row.shape)}")
        # All misfits are reported together, before anything is changed.
        if problems:
            raise ValueError(f"load_state_dict(...): {'; '.join(problems)}: {CURE}")
        super()._load(state_dict | {"state": {}} if "state" in state_dict else state_dict)

        def copy_entry(entry: Any) -> Any:
            if is_list(entry):
                return list(map(copy_entry, entry))
            return tensor(entry, dtype=float32, device=device)

        self.memory = Curvature(**saved | {name: copy_entry(entry) for name, entry in rows.items()})


class Curvature:
    """The curvature estimate of L-BFGS: pairs of a step and the change of the gradient that it caused."""

    def __init__(self, func_evals: int = 0, n_iter: int = 0, **state: Any):
        self.evaluations, self.iterations = func_evals, n_iter
        self.moves: list[Tensor] = list(state.get("old_stps", ()))
        self.changes: list[Tensor] = list(state.get("old_dirs", ()))
        self.scales: list[float] = [float(r) for r in state.get("ro", ())]
        self.scale, self.t = float(state.get("H_diag", 1.0)), float(state.get("t", 0.0))
        self.direction: Tensor | None = state.get("d")
        self.gradient: Tensor | None = state.get("prev_flat_grad")

    def state(self) -> dict[str, Any]:
        """Return the curvature by PyTorch's names."""
        if self.direction is None:
            return {"func_evals": self.evaluations, "n_iter": self.iterations}
        return {
            "func_evals": self.evaluations,
            "n_iter": self.iterations,
            "d": self.direction,
            "t": self.t,
            "old_dirs": list(self.changes),
            "old_stps": list(self.moves),
            "ro": list(self.scales),
            "H_diag": self.scale,
            "prev_flat_grad": self.gradient,
        }

    def learn(self, g: Tensor, most: int) -> None:
        """Add the pair of the last step."""
        self.iterations += 1
        if self.direction is None or self.gradient is None:  # the first iteration has no step before it
            return
        change, move = (g - self.gradient).realize(), (self.direction * self.t).realize()
        # s . y > 0 keeps the estimate positive definite.
        along = _dot(change, move)
        if along > SMALLEST_CURVATURE:
            self.moves, self.changes = [*self.moves, move][-most:], [*self.changes, change][-most:]
            self.scales = [*self.scales, 1 / along][-most:]
            # s . y / y . y, the size of the inverse Hessian along the last step
            self.scale = along / _dot(change, change)

    def newton(self, g: Tensor) -> Tensor:
        """The descent direction: minus the estimate of the inverse Hessian times the gradient. [n] -> [n]"""
        # The two-loop recursion (Nocedal and Wright, algorithm 7.4); the first estimate is s . y / y . y
        # times the identity.
        q = -g
        shares: list[Tensor] = []
        pairs = list(zip(self.moves, self.changes, self.scales, strict=True))
        for move, change, scale in reversed(pairs):
            shares.append((move * q).sum() * scale)
            q = q - change * shares[-1]
        q = q * self.scale
        for (move, change, scale), share in zip(pairs, reversed(shares), strict=True):
            q = q + move * (share - (change * q).sum() * scale)
        return q.realize()


class Objective:
    """The loss as a function of all parameters, concatenated to one vector."""

    def __init__(self, params: list[Tensor], closure: Callable[[], Gradients], maximize: bool):
        self.params, self.closure, self.sign = params, closure, -1.0 if maximize else 1.0

    def evaluate(self) -> tuple[Tensor, float, Tensor]:
        """Return the loss as a tensor, the number to minimise, and its gradient. -> [], a number, [n]"""
        with enable_grad():
            grads = self.closure()
        loss = grads.loss
        with no_grad(), without_autocast():
            parts = [grads.get(p) for p in self.params]
            # parameters without a gradient count as zeros, so that the vector keeps its length [n]
            flat = [
                Tensor.zeros(p.shape, device=p.device) if g is None else g.float()
                for p, g in zip(self.params, parts)
            ]
            g = cat([part.reshape(-1) for part in flat]) * self.sign
        realize(g, loss)
        return loss, loss.item() * self.sign, g

    def move(self, d: Tensor, t: float) -> None:
        """Add t times d to the parameters."""
        self._set([p.detach() for p in self.params], d, t)

    def along(self, d: Tensor) -> Callable[[float], Point]:
        """The loss and its slope at a distance along d; the parameters are restored afterwards."""
        # copies, so that restoring is exact: subtracting t d again would round
        start = [tensor(p.detach()) for p in self.params]
        realize(*start)

        def point_at(t: float) -> Point:
            self._set(start, d, t)
            _, loss, g = self.evaluate()
            slope = _dot(g, d)
            with no_grad():
                for p, x in zip(self.params, start, strict=True):
                    p.assign_(x)
            return Point(t, loss, slope, g)

        return point_at

    def _set(self, start: list[Tensor], d: Tensor, t: float) -> None:
        offset = 0
        # d is [n]: each parameter takes the part at its offset
        with no_grad():
            for p, x in zip(self.params, start, strict=True):
                p.assign_(x + d[offset : offset + p.numel()].reshape(p.shape) * t)
                offset += p.numel()
        realize(*self.params)


class Wolfe:
    """A line search for a point that satisfies Wolfe's strong conditions."""

    def __init__(self, point_at: Callable[[float], Point], start: Point, smallest: float, most: int):
        self.at, self.start, self.smallest, self.most = point_at, start, smallest, most
        self.calls = 0  # of `at`

    def find(self, t: float) -> Point:
        """Return the point, beginning at t; after `most` evaluations the best one seen."""
        low, high = self._bracket(self._try(t))
        return low if high is None else self._zoom(low, high)

    def _try(self, t: float) -> Point:
        self.calls += 1
        return self.at(t)

    def _is_high(self, p: Point) -> bool:
        # no sufficient decrease: loss(t) > loss(0) + c1 t loss'(0)
        return p.loss > self.start.loss + ENOUGH * p.t * self.start.slope

    def _is_flat(self, p: Point) -> bool:
        # the curvature condition: |loss'(t)| <= c2 |loss'(0)|
        return abs(p.slope) <= -FLAT * self.start.slope

    def _bracket(self, now: Point) -> tuple[Point, Point | None]:
        """Return two points that enclose a valid one, the lower one first; or a valid point and None."""
        # Nocedal and Wright, algorithm 3.5
        before = self.start
        while self.calls <= self.most:
            # too high, or no lower than before: a minimum lies between the last two points
            if self._is_high(now) or (self.calls > 2 and now.loss >= before.loss):
                return _by_loss(before, now)
            if self._is_flat(now):
                return now, None
            # the slope turned upwards: also enclosed
            if now.slope >= 0:
                return _by_loss(before, now)
            bounds = now.t + NEAREST * (now.t - before.t), now.t * FARTHEST
            before, now = now, self._try(cubic(before, now, *bounds))
        return _by_loss(self.start, now)

    def _zoom(self, low: Point, high: Point) -> Point:
        # Nocedal and Wright, algorithm 3.6
        was_close = False
        while self.calls <= self.most and abs(high.t - low.t) >= self.smallest:
            left, right = sorted((low.t, high.t))
            t, was_close = _move_inside(cubic(low, high, left, right), left, right, was_close)
            new = self._try(t)
            if self._is_high(new) or new.loss >= low.loss:
                low, high = _by_loss(low, new)  # a minimum lies between `low` and the trial
            elif self._is_flat(new):
                return new
            else:
                # The minimum is on the side of `new` that its slope falls to.
                low, high = new, low if new.slope * (high.t - low.t) >= 0 else high
        return low


def _by_loss(a: Point, b: Point) -> tuple[Point, Point]:
    return (a, b) if a.loss <= b.loss else (b, a)


def _move_inside(t: float, left: float, right: float, was_close: bool) -> tuple[float, bool]:
    """A distance between two points, moved away from both ends if the last one was also close to an end."""
    margin = 0.1 * (right - left)
    # A trial near an end barely shrinks the interval: allowed once, then it is moved 10 % inside.
    if min(right - t, t - left) >= margin:
        return t, False
    if was_close or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def cubic(a: Point, b: Point, low: float, high: float) -> float:
    """The minimum of the cubic through two points with their slopes, clamped to low and high."""
    if a.t > b.t:
        a, b = b, a
    # Nocedal and Wright, equation 3.59; without a minimum the midpoint
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    d2 = sqrt(square)
    least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(least, low), high)


def _dot(a: Tensor, b: Tensor) -> float:
    return (a * b).sum().item()


def _largest(x: Tensor) -> float:
    return x.abs().max().item()
