"""Optimizer: gradients become new values of parameters, all of them and the state in one run."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..autodiff.backward import Gradients
from ..core.docstrings import explained
from ..core.interrupts import uninterrupted
from ..core.modes import no_grad
from ..core.node import describe
from ..core.notes import NO_GRAD_KEPT, note
from ..errors import nearest
from ..runtime.exchange import leaf
from ..runtime.readback import Readback
from ..runtime.run import realize
from ..tensor import HostScalar, Tensor, tensor

HOST = "cpu"


@explained
class Optimizer:
    """What optimisers share; one of its own writes `update` and lists the names of its state.

    Steps are counted on the device, once for all parameters, so that a recorded step counts as well. With
    `offload` the state lives in the host's memory: a step brings that of one parameter after the other to
    the device and back, which takes time and is not recorded by jit.
    """

    names: tuple[str, ...] = ()  # a zero tensor of the parameter's shape each

    def __init__(self, params: Iterable[Tensor], lr: float, weight_decay: float = 0.0, offload: bool = False):
        self.offload = offload
        self.params = list(params)
        self._check_params()
        self._lr = HostScalar(0.0)
        self.lr = lr
        self.weight_decay = self._at_least_0("weight_decay", weight_decay)
        self.state = [
            {name: Tensor.zeros(p.shape, device=HOST if offload else p.device) for name in self.names}
            for p in self.params
        ]
        devices = dict.fromkeys(p.device for p in self.params)
        self._steps = {d: Tensor.full((), 0.0, device=d) for d in devices}
        realize(*self.params, *self._tensors())

    @property
    def lr(self) -> float:
        """The learning rate; setting it reaches a recorded step too."""
        return self._lr.value

    @lr.setter
    def lr(self, value: float) -> None:
        self._lr.value = self._at_least_0("lr", value)

    def update(self, p: Tensor, g: Tensor, state: dict[str, Tensor], step: Tensor) -> Tensor:
        """The parameter's new value; new state is assigned to `state`'s tensors. `step` starts at 1, []."""
        raise NotImplementedError(f"{type(self).__name__}.update(...): is not written: return the new value")

    def step(self, grads: Gradients) -> None:
        """Move the parameters that have a gradient, leave the others alone; one run computes all of it.

        A Ctrl-C comes before it or after it, never between two parameters.
        """
        updates = [(p, grads.get(p), state) for p, state in zip(self.params, self.state, strict=True)]
        updates = [(p, g, state) for p, g, state in updates if g is not None]
        if not updates:
            rule = "the loss depends on none of the parameters: make the optimizer of the model's parameters"
            raise ValueError(f"{type(self).__name__}.step({len(grads)} gradients): {rule}")
        with uninterrupted(), no_grad():
            for t in self._steps.values():
                t.assign_(t + 1)
            if self.offload:
                return self._stream(updates, grads.loss)
            for p, g, state in updates:
                # in float32, also of 16-bit parameters: squares of their gradients would overflow or vanish
                p.assign_(self.update(p.float(), g.float(), state, self._steps[p.device]))
        realize(*(p for p, _, _ in updates), *self._tensors(), grads.loss)

    def _stream(self, updates: list[tuple[Tensor, Tensor, dict[str, Tensor]]], loss: Tensor) -> None:
        """Compute all gradients, then the updates one by one: while one is computed, the state of the one
        before is on its way back to the host."""
        realize(*self._steps.values(), loss, *(g for _, g, _ in updates))
        way_back: Callable[[], None] | None = None
        for p, g, state in updates:
            near = {name: t.to(p.device) for name, t in state.items()}
            p.assign_(self.update(p.float(), g.float(), near, self._steps[p.device]))
            realize(p, *near.values())
            if way_back is not None:
                way_back()
            way_back = partial(_return, list(state.values()), Readback(list(near.values())))
        if way_back is not None:
            way_back()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Does nothing, and says so once: no gradients are kept, each backward() returns its own.

        set_to_none: taken, and of no meaning.
        """
        note(NO_GRAD_KEPT)

    def state_dict(self) -> dict[str, Tensor]:
        """All that a later run needs to go on, as tensors by name: lr, step, and `0.exp_avg` and the like."""
        device, step = next(iter(self._steps.items()))
        out = {"lr": Tensor.full((), float(self.lr), device=device), "step": tensor(step)}
        out.update((name, tensor(t)) for name, t in self._named())
        return out

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where state_dict was taken; ValueError lists all names and shapes that do not fit.

        `lr` may be a number: where it is a tensor, its value is waited for.
        """
        own = dict(self._named())
        shapes = {**{n: t.shape for n, t in own.items()}, "lr": (), "step": ()}
        problems = [f"missing: {n!r}" for n in shapes if n not in state]
        problems += [f"unexpected: {n!r}{_near(n, shapes)}" for n in state if n not in shapes]
        both = [n for n in shapes if n in state and tuple(getattr(state[n], "shape", ())) != shapes[n]]
        problems += [f"{n!r} is {list(shapes[n])}, given {list(state[n].shape)}" for n in both]
        if problems:
            cure = "give the state of the same optimizer and model"
            raise ValueError(f"load_state_dict({len(state)} tensors): {'; '.join(problems)}: {cure}")
        lr = float(state["lr"])
        with uninterrupted():
            self.lr = lr
            for t in self._steps.values():
                t.assign_(state["step"])
            for name, t in own.items():
                t.assign_(state[name])
        realize(*self._tensors())

    def _named(self):
        return ((f"{i}.{name}", t) for i, state in enumerate(self.state) for name, t in state.items())

    def _tensors(self) -> list[Tensor]:
        return [*self._steps.values(), *(t for _, t in self._named())]

    def _check_params(self) -> None:
        name = type(self).__name__
        if not self.params:
            raise ValueError(f"{name}([]): there is nothing to optimise: give model.parameters()")
        for i, p in enumerate(self.params):
            if not isinstance(p, Tensor):
                raise TypeError(f"{name}([..., {p!r:.40}]): takes tensors: give model.parameters()")
            if not p.requires_grad:
                rule = "has requires_grad=False: leave it out, or call requires_grad_()"
                raise ValueError(f"{name}([..., {describe(p)}]): parameter {i} {rule}")
        if len({id(p) for p in self.params}) < len(self.params):
            raise ValueError(f"{name}({len(self.params)} tensors): one is given twice: give each once")

    def _at_least_0(self, name: str, value: float) -> float:
        if not value >= 0:
            raise ValueError(f"{type(self).__name__}({name}={value}): must be at least 0: give another")
        return value

    def _below_1(self, name: str, value: float) -> float:
        if not 0 <= value < 1:
            raise ValueError(
                f"{type(self).__name__}({name}={value}): must be in 0 to 1, 1 left out: give another"
            )
        return value

    def __repr__(self) -> str:
        own = {
            k: v
            for k, v in vars(self).items()
            if k not in ("names", "params", "state") and not k.startswith("_")
        }
        shown = ", ".join(f"{k}={v}" for k, v in {"lr": self.lr, **own}.items())
        return f"{type(self).__name__}({len(self.params)} tensors, {shown})"


def _return(homes: list[Tensor], fetch: Readback) -> None:
    """Take values that were fetched home, to the host."""
    for t, raw in zip(homes, fetch.wait(), strict=True):
        t.assign_(Tensor(leaf(raw, t.shape, t.dtype, t.device)))
    realize(*homes)


def _near(name: str, known: Iterable[str]) -> str:
    hint = nearest(name, known)
    return f" ({hint})" if hint else ""
