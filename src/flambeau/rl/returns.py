"""Advantages of the actions of a rollout."""

from __future__ import annotations

from typing import Any

from ..core import dtype as dt
from ..core.node import Node
from ..core.op import Launch, Op
from ..tensor import Tensor

GROUP = 64  # threads of a workgroup


def generalized_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    *,
    gamma: float = 0.99,
    lam: float = 0.95,
) -> Tensor:
    """How much better than `value` each action of a rollout was (Schulman et al., 2016). [t, n] -> [t, n]

    value: of each observation. next_value: of the observation after the step, before an ended episode was
    reset. terminated, truncated: whether an episode ended there; only a terminated one has no later value.
    ValueError for shapes that differ.
    """
    shapes = {x.shape for x in (reward, value, next_value, terminated, truncated)}
    if len(shapes) > 1 or reward.ndim != 2:
        names = ", ".join(str(list(s)) for s in sorted(shapes))
        raise ValueError(f"generalized_advantages({names}): all are [steps, environments]: pass equal shapes")
    error = reward + gamma * next_value * (1 - terminated) - value
    goes_on = gamma * lam * (1 - terminated) * (1 - truncated)
    return DISCOUNTED_SUM(error, goes_on)


def _reference(xp: Any, x: Any, factor: Any) -> Any:
    y = xp.array(x)
    for t in range(x.shape[0] - 2, -1, -1):
        y[t] += factor[t] * y[t + 1]
    return y


def _launch(limits: Any, x: Node, factor: Node) -> list[Launch]:
    rows, columns = x.shape
    return [
        Launch(
            "rl/discounted_sum.wgsl",
            (0, 1),
            -(-columns // GROUP),
            {"rows": rows, "columns": columns},
            workgroup=(GROUP, 1, 1),
            turns=rows,
        )
    ]


DISCOUNTED_SUM = Op(
    "opaque",
    name="discounted_sum",
    xp=_reference,
    dtype=lambda *_: dt.float32,
    launch=_launch,
    doc="y[t] = x[t] + factor[t] * y[t + 1]. [t, n], [t, n] -> [t, n]",
)
