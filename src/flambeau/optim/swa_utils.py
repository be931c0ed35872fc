"""Averages of weights during training, uniform (SWA) or exponential (EMA), and SWA's rate schedule."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from math import cos, pi
from typing import TYPE_CHECKING, Any

from ..core.dtype import float32
from ..core.modes import no_grad
from ..core.training import modes_of, restore_modes
from ..core.tree import is_sequence
from ..device import DeviceLike
from ..runtime.run import realize
from ..tensor import Tensor
from .optimizer import Optimizer
from .schedules import LRScheduler, one_each

if TYPE_CHECKING:
    from ..nn.module import Module

Average = Callable[[Tensor, Tensor, Tensor], Tensor]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The function decay * average + (1 - decay) * new, for AveragedModel's avg_fn.
    ValueError if decay is not in 0 to 1.
    """
    _check_decay("get_ema_avg_fn", decay)
    return lambda average, new, count: average * decay + new * (1 - decay)


def get_swa_avg_fn() -> Average:
    """The function that computes the mean of all weights so far, for AveragedModel's avg_fn."""
    # the mean of count + 1 values from that of `count`
    return lambda average, new, count: average + (new - average) / (count + 1)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """`get_ema_avg_fn(decay)` for lists of tensors, updated in place, for AveragedModel's multi_avg_fn.
    ValueError if decay is not in 0 to 1.
    """
    _check_decay("get_ema_multi_avg_fn", decay)
    return _for_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """`get_swa_avg_fn` for lists of tensors, updated in place, for AveragedModel's multi_avg_fn."""
    return _for_lists(get_swa_avg_fn())


def _for_lists(average: Average) -> Callable[..., None]:
    def update(averages: Sequence[Tensor], news: Sequence[Tensor], count: Tensor) -> None:
        for a, new in zip(averages, news, strict=True):
            a.assign_(average(a, new, count))

    return update


def _check_decay(call: str, decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"{call}(decay={decay}): must be in 0 to 1: pass another value")


class AveragedModel:
    """A model whose parameters are averages of another's. Call `update_parameters` after each step.

    `avg_fn(average, new, count)` returns the new average, `multi_avg_fn` assigns a list of averages; without
    either, each is the mean of all weights so far. `use_buffers` averages buffers too, else they are
    copied. An update is one run, and may be part of a function that jit records: the count is on the device.
    ValueError if both functions are passed.
    """

    def __init__(
        self,
        model: "Module",
        device: DeviceLike | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ):
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel(avg_fn=..., multi_avg_fn=...): both define the average: pass one")
        self.module = deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.use_buffers = use_buffers
        self.average = multi_avg_fn or _for_lists(avg_fn or get_swa_avg_fn())
        place = next(iter(self.module.parameters())).device
        self.n_averaged = Tensor.zeros((), dtype=float32, device=place)
        realize(self.n_averaged, *self._tensors(self.module))

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self.module(*args, **kw)

    def _tensors(self, model: "Module") -> list[Tensor]:
        return [*model.parameters(), *model.buffers()]

    @no_grad()
    def update_parameters(self, model: "Module") -> None:
        """Add the model's current weights to the average; the first call copies them."""
        averaged = list(zip(self.module.parameters(), model.parameters(), strict=True))
        buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))
        floats = [pair for pair in buffers if self.use_buffers and pair[0].dtype.is_float]
        averaged += floats
        copied = [pair for pair in buffers if not any(pair[0] is mine for mine, _ in floats)]
        mine = [a for a, _ in averaged]
        news = [new.detach().to(a.device) for a, new in averaged]
        self.average(mine, news, self.n_averaged)
        # The count is on the device, so the first call is chosen there too: the average functions run each
        # time.
        is_first = self.n_averaged.eq(0)
        for a, new in zip(mine, news, strict=True):
            a.assign_(is_first.where(new, a))
        for a, new in copied:
            a.assign_(new.detach())
        self.n_averaged.assign_(self.n_averaged + 1)
        realize(self.n_averaged, *self._tensors(self.module))

    def parameters(self) -> Iterable[Tensor]:
        """The averages."""
        return self.module.parameters()

    def train(self, mode: bool = True) -> "AveragedModel":
        """Set the averaged model to training, or not; returns self."""
        self.module.train(mode)
        return self

    def eval(self) -> "AveragedModel":
        """Set the averaged model to evaluation; returns self."""
        return self.train(False)

    def state_dict(self) -> dict[str, Any]:
        """`n_averaged`, and the averages by names as "module.weight"."""
        averages = {f"module.{name}": t for name, t in self.module.state_dict().items()}
        return {"n_averaged": self.n_averaged.clone(), **averages}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what state_dict returned; ValueError if it does not fit."""
        self.module.load_state_dict(
            {k.removeprefix("module."): v for k, v in state.items() if k != "n_averaged"}
        )
        self.n_averaged.assign_(state["n_averaged"])
        realize(self.n_averaged)


@no_grad()
def update_bn(loader: Iterable[Any], model: "Module", device: DeviceLike | None = None) -> None:
    """Compute the running statistics of a model's batch norms again, over all batches of a loader.

    A batch is a tensor, or a list or tuple that begins with one. loader: gives batches; model: an
    AveragedModel, or any other; device: where batches are moved to.
    """
    inner = getattr(model, "module", model)
    norms: list[Any] = [m for m in inner.modules() if getattr(m, "running_mean", None) is not None]
    if not norms:
        return
    # momentum None makes batch norms average all batches equally, from a count of 0
    momenta, modes = [m.momentum for m in norms], modes_of(inner)
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    inner.train()
    for batch in loader:
        x = batch[0] if is_sequence(batch) else batch
        inner(x if device is None else x.to(device))
        # one run for a batch, or the graph of all batches would grow
        realize(*(t for m in norms for t in (m.running_mean, m.running_var, m.num_batches_tracked)))
    for m, momentum in zip(norms, momenta, strict=True):
        m.momentum = momentum
    restore_modes(modes)


class SWALR(LRScheduler):
    """Move the rate to `swa_lr` along half a cosine or linearly in `anneal_epochs` steps.

    `anneal_strategy` is "cos" or "linear". ValueError for others.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        if anneal_strategy not in ANNEALED:
            names = ", ".join(map(repr, ANNEALED))
            raise ValueError(f"SWALR(anneal_strategy={anneal_strategy!r}): unknown: use one of {names}")
        if type(anneal_epochs) is not int or anneal_epochs < 0:
            raise ValueError(f"SWALR(anneal_epochs={anneal_epochs}): must be at least 0: pass another value")
        rates = list(swa_lr) if isinstance(swa_lr, list | tuple) else [swa_lr] * len(optimizer.param_groups)
        one_each(self, "swa_lr", rates, len(optimizer.param_groups))
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps."""
        # The constructor's step is step 0; without annealing the rate is swa_lr at once.
        step = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = self._share(step - 1), self._share(step)
        rates: list[float] = []
        for group in self.optimizer.param_groups:
            # The rate without SWA, computed back from the current one, so that another schedule may change it
            # meanwhile.
            first = group["lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + (0.0 if before == 1 else first * (1 - now)))
        return rates

    def _share(self, step: int) -> float:
        return ANNEALED[self.anneal_strategy](max(0.0, min(1.0, step / max(1, self.anneal_epochs))))


ANNEALED: dict[str, Callable[[float], float]] = {
    "cos": lambda share: (1 - cos(pi * share)) / 2,
    "linear": lambda share: share,
}
