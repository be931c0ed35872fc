"""DiLoCo: workers train independently for many steps, then the mean of their updates is applied to all
(2311.08105)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autodiff.backward import Gradients
from ..core.modes import no_grad
from ..errors import ValueError
from ..optim import SGD
from ..runtime.run import realize
from ..tensor import Tensor
from .elastic import membership
from .group import ProcessGroup
from .optimizer import DistributedOptimizer
from .sums import ParallelOptions


def nesterov(params: list[Tensor]) -> SGD:
    """The outer optimiser of the paper: SGD with Nesterov's momentum 0.9 and rate 0.7.

    params: the tensors to update
    """
    return SGD(params, lr=0.7, momentum=0.9, nesterov=True)


class DiLoCo:
    """An optimiser whose workers communicate once in `every` steps, for slow links (Douillard et al., 2023).

    Each worker steps alone on its own batches. Then the mean over the workers of (weights before - weights
    now) is the gradient of an outer optimiser, and all workers adopt its weights. A worker that joins
    begins with these.

    optimizer: of the steps between, such as AdamW
    every: steps between two exchanges
    outer: makes the outer optimiser of a list of tensors
    wire: "float32", "float16", "bfloat16" or "int8", with error feedback
    group: the workers; None: the group of init_process_group, or this process alone

    Raises ValueError if every is below 1, or the wire is unknown.
    """

    def __init__(
        self,
        optimizer: Any,
        *,
        every: int = 500,
        outer: Callable[[list[Tensor]], Any] = nesterov,
        wire: str = "int8",
        group: ProcessGroup | None = None,
    ):
        if every < 1:
            raise ValueError(
                f"DiLoCo(every={every}): must be at least 1: pass the steps between two exchanges"
            )
        self.optimizer, self.every = optimizer, every
        self.params: list[Tensor] = list(optimizer.params)
        # float32, whatever the parameters are: an outer step may be smaller than their rounding.
        self._anchors = [p.detach().clone().float().requires_grad_() for p in self.params]
        options = ParallelOptions(wire=wire)
        group = membership.current() if group is None else group
        self.outer = DistributedOptimizer(outer(self._anchors), None, group, options)
        self.count = self.outer.count * every  # steps of this worker
        self._take_over()

    @property
    def sent(self) -> int:
        """Bytes that this worker sent to others in exchanges."""
        return self.outer.sums.sent

    def step(self, grads: Gradients) -> None:
        """Update this worker's weights with gradients; after `every` steps, exchange.

        grads: what backward returned
        """
        self.optimizer.step(grads)
        self.after_step(grads.loss)

    def after_step(self, loss: Tensor) -> None:
        """Count a step that a recorded function made, and exchange after `every`.

        loss: of the step, a tensor []
        """
        self.count += 1
        if self.count % self.every == 0:
            self.exchange(loss)

    def exchange(self, loss: Tensor) -> float:
        """Apply the mean of the workers' updates to all of them. All workers call this. Returns their mean
        loss.

        loss: of this worker, a tensor []
        """
        with no_grad():
            grads = Gradients({}, loss.detach())
            for anchor, p in zip(self._anchors, self.params, strict=True):
                grads.replace(anchor, anchor - p.float())  # the negative of its update
        mean = self.outer.step(grads)
        self._take_over()
        return mean

    def _take_over(self) -> None:
        """Give the parameters the weights of the outer optimiser."""
        with no_grad():
            for anchor, p in zip(self._anchors, self.params, strict=True):
                p.assign_(anchor.detach().clone().to(p.dtype))
        realize(*self.params)

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a later run needs: the states of both optimisers, the outer weights, the
        count."""
        anchors = [a.detach().clone() for a in self._anchors]
        states = {"inner": self.optimizer.state_dict(), "outer": self.outer.state_dict()}
        return {**states, "anchors": anchors, "count": self.count}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state_dict, on all workers."""
        self.optimizer.load_state_dict(state_dict["inner"])
        self.outer.load_state_dict(state_dict["outer"])
        with no_grad():
            for anchor, value in zip(self._anchors, state_dict["anchors"], strict=True):
                anchor.assign_(value.to(anchor.device))
        self.count = state_dict["count"]
