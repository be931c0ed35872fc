"""Steps of training and evaluation, recorded and plain, from a model, a loss and an optimiser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..autodiff.backward import Gradients
from ..capture.jit import jit
from ..core.dtype import float32
from ..core.events import emit
from ..core.modes import no_grad
from ..core.training import in_eval
from ..core.tree import is_mapping, is_sequence, rebuild
from ..data.dataset import timed
from ..device import Device, DeviceLike, get_device
from ..nn.parameter import has_lazy
from ..nn.placement import is_placement
from ..nn.routes import settle_output
from ..optim.clip import clip_grad_norm
from ..runtime.exchange import transfer
from ..runtime.run import realize
from ..tensor import Tensor, tensor
from .checks import one_number
from .meters import RecordedMeter, SplitMeter, count, count_unrecorded

Step = Callable[[tuple[Any, ...], Any], tuple[Tensor, Any]]


class PlacedBatch(NamedTuple):
    """A batch on the device: the model's inputs, the target, and the number of items."""

    inputs: tuple[Any, ...]
    target: Any
    items: int


class Trained(NamedTuple):
    """The objects that a recorded training step uses."""

    model: Any
    loss: Callable[[Any, Any], Tensor]
    optimizer: Any
    scaler: Any
    clip: float | None


def to_batch(item: Any, prepare: Callable[[Any], Any] | None, device: Device) -> PlacedBatch:
    """Convert a loader's item to a batch on the device. Its last part is the target. ValueError for fewer
    than two parts."""
    parts = item if prepare is None else timed("prepare", prepare, item)
    if not is_sequence(parts) or len(parts) < 2:
        rule = "a batch must be (inputs..., target): change the loader, or pass prepare= to Learner"
        raise ValueError(f"fit({type(parts).__name__}): {rule}")
    *inputs, target = (move_to_device(part, device) for part in parts)
    return PlacedBatch(tuple(inputs), target, items_in(inputs[0]))


def inputs_of(item: Any, prepare: Callable[[Any], Any] | None, device: Device) -> tuple[Any, ...]:
    """Return the model's inputs in a loader's item, which may have a target or not."""
    parts = item if prepare is None else timed("prepare", prepare, item)
    if not is_sequence(parts):
        parts = (parts,)
    return tuple(move_to_device(part, device) for part in (parts[:-1] if len(parts) > 1 else parts))


def move_to_device(value: Any, device: Device) -> Any:
    """Convert arrays and tensors, also inside tuples, lists and dicts, to tensors on the device."""
    if isinstance(value, Tensor):
        return value if value.device is device else value.to(device)
    if is_mapping(value):
        return {key: move_to_device(part, device) for key, part in value.items()}
    if is_sequence(value):
        return rebuild(value, (move_to_device(part, device) for part in value))
    return tensor(value, device=device) if hasattr(value, "__array__") else value


def items_in(value: Any) -> int:
    """Return the number of items of a part of a batch: the size of its first dim."""
    if is_mapping(value):
        # such as a tokenizer's dict: all entries have the same batch size
        value = next(iter(value.values()))
    while is_sequence(value) and value:
        value = value[0]
    shape = getattr(value, "shape", ())
    return shape[0] if shape else 1


def gradients(t: Trained, inputs: tuple[Any, ...], target: Any) -> tuple[Tensor, Any, Gradients]:
    """Compute (loss, output, gradients) of a batch. With a scaler, the gradients are scaled."""
    output = t.model(*inputs)
    loss = one_number(t.loss(output, target))
    return loss, output, (loss if t.scaler is None else t.scaler.scale(loss)).backward()


def apply(t: Trained, grads: Gradients) -> None:
    """Clip the gradients, and step the optimizer."""
    if t.scaler is not None and t.clip is not None:
        # `clip` bounds the norm of the unscaled gradients.
        t.scaler.unscale_(grads)
    if t.clip is not None:
        grads, _ = clip_grad_norm(grads, t.clip)
    if t.scaler is None:
        t.optimizer.step(grads)
    else:
        t.scaler.step(t.optimizer, grads)
        t.scaler.update()


def make_train(t: Trained, into: RecordedMeter) -> Step:
    """Make the function of a training step: batch -> (loss, output)."""

    def step(inputs: tuple[Any, ...], target: Any) -> tuple[Tensor, Any]:
        loss, output, grads = gradients(t, inputs, target)
        with no_grad():
            # Metrics are part of the recorded step, so they need no reads.
            count(into, loss, output, target, items_in(inputs[0]))
        apply(t, grads)
        # One submit for the loss, the metrics and the update; nothing waits for it.
        realize(loss)
        return loss, output if into.needs_output else None

    return step


def make_accumulate(
    t: Trained, into: RecordedMeter, sums: list[tuple[Any, Tensor]], total: Tensor
) -> Callable[[tuple[Any, ...], Any], tuple[Tensor, Any, tuple[int, ...]]]:
    """Make the function that adds a batch's gradients to `sums` and its loss to `total`. Its third result
    lists the parameters that have a gradient, by their numbers."""

    def step(inputs: tuple[Any, ...], target: Any) -> tuple[Tensor, Any, tuple[int, ...]]:
        loss, output, grads = gradients(t, inputs, target)
        updated: list[int] = []  # parameters with a gradient
        with no_grad():
            count(into, loss, output, target, items_in(inputs[0]))
            for i, (p, s) in enumerate(sums):
                # A parameter without a gradient in every batch must not be updated (weight decay would shrink
                # it).
                if (g := grads.get(p)) is not None:
                    updated.append(i)
                    # Sums are float32 even for 16-bit gradients: small batches would be lost in a large
                    # sum.
                    s.assign_(s + g.float())
            total.assign_(total + loss.detach().float())
        realize(loss, total, *(s for _, s in sums))
        return loss, output if into.needs_output else None, tuple(updated)

    return step


def make_apply(
    t: Trained, sums: list[tuple[Any, Tensor]], total: Tensor
) -> Callable[[Tensor, tuple[int, ...]], Tensor]:
    """Make the function that steps the optimizer with the mean gradients, sets the sums to zero, and returns
    the mean loss."""

    # share []: 1 / number of batches
    def step(share: Tensor, updated: tuple[int, ...]) -> Tensor:
        with no_grad():
            loss = total * share
            grads = Gradients({}, loss)
            for p, s in (sums[i] for i in updated):
                grads.replace(p, s * transfer(share, s.device))
            apply(t, grads)
            for s in [total, *(s for _, s in sums)]:
                # Not `s * 0`, which leaves NaN and infinity.
                s.assign_(Tensor.zeros(s.shape, dtype=s.dtype, device=s.device))
        realize(loss, total, *(s for _, s in sums))
        return loss

    return step


def make_evaluate(model: Any, loss: Callable[[Any, Any], Tensor], into: RecordedMeter) -> Step:
    """Make the function that evaluates and counts a batch without gradients: batch -> (loss, output)."""

    def step(inputs: tuple[Any, ...], target: Any) -> tuple[Tensor, Any]:
        with no_grad():
            output = model(*inputs)
            value = one_number(loss(output, target))
            count(into, value, output, target, items_in(inputs[0]))
            realize(value)
        return value, output if into.needs_output else None

    return step


def set_sizes(model: Any, inputs: tuple[Any, ...]) -> None:
    """Give lazy layers their sizes by a call in evaluation mode, before a step is recorded."""
    with no_grad(), in_eval(model):
        model(*inputs)


def make_predict(model: Any) -> Callable[..., Any]:
    """Make the function that computes the model's output without gradients."""

    def predict(*inputs: Any) -> Any:
        with no_grad():
            return model(*inputs)

    return predict


def move(model: Any, optimizer: Any, device: DeviceLike | None) -> Any:
    """Move a model and its optimizer's state to a device, if it is not None. Returns the device
    of the model's outputs."""
    first = next(iter(model.parameters()), None)
    if first is None:
        raise ValueError(f"Learner({type(model).__name__}): it has no parameters: pass a model that has some")
    is_placed = is_placement(device)
    if is_placed or (device is not None and get_device(device) is not first.device):
        model.to(device if is_placed else get_device(device))
        # Loading moves the state to the device of the parameters.
        optimizer.load_state_dict(optimizer.state_dict())
    return settle_output(model)


class Steps:
    """The recorded steps of a run. `accumulate` batches make one step of the optimiser."""

    def __init__(self, trained: Trained, meter: SplitMeter, accumulate: int, device: Device):
        self.meter, self.accumulate, self.device, self.waiting = meter, accumulate, device, 0
        self.trained = trained
        # Part of the recording's key: which parameters are updated decides which kernels run.
        self.updated: set[int] = set()  # parameters with a gradient in the accumulated batches
        self.sums: list[Tensor] = []
        self.is_lazy = has_lazy(trained.model)  # until the first batch, which sets the sizes
        if not self.is_lazy:
            self._record()

    def _record(self) -> None:
        """Make the functions of a step, for parameters that have their shapes."""
        trained, meter, device = self.trained, self.meter, self.device
        # The plain case has one recording per step and no sums.
        if self.accumulate == 1:
            self.step = jit(make_train(trained, meter.recorded))
            return
        sums = [(p, Tensor.zeros(p.shape, dtype=float32, device=p.device)) for p in trained.optimizer.params]
        total = Tensor.zeros((), dtype=float32, device=device)
        self.sums = [total, *(s for _, s in sums)]
        self.step = jit(make_accumulate(trained, meter.recorded, sums, total))
        self.apply = jit(make_apply(trained, sums, total))

    def train(self, batch: PlacedBatch) -> Tensor | None:
        """Train with a batch. Returns the loss of a finished step; None if it needs more batches."""
        if self.is_lazy:
            set_sizes(self.trained.model, batch.inputs)
            self.is_lazy = False
            self._record()
        # The inspector follows the steps by this event.
        emit("step", self.step, (batch.inputs, batch.target), {})
        loss, output, *updated = self.step(batch.inputs, batch.target)
        self.updated.update(*updated)
        count_unrecorded(self.meter, output, batch.target, batch.items)
        self.waiting += 1
        if self.accumulate == 1:
            self.waiting = 0
            return loss
        return self.flush() if self.waiting == self.accumulate else None

    def each(self, batches: Iterable[PlacedBatch]) -> Iterator[tuple[Tensor, list[PlacedBatch]]]:
        """Yield the unread loss of each step and its batches: `accumulate`, or fewer in the last step."""
        group: list[PlacedBatch] = []
        for batch in batches:
            group.append(batch)
            if (loss := self.train(batch)) is not None:
                yield loss, group
                group = []
        if (loss := self.flush()) is not None:
            yield loss, group

    def flush(self) -> Tensor | None:
        """Finish a step with the batches accumulated so far; None without batches."""
        if not self.waiting:
            return None
        # A tensor, so that the last step of an epoch with fewer batches replays the same recording.
        share, updated = tensor(1 / self.waiting, float32, device=self.device), tuple(sorted(self.updated))
        self.waiting, self.updated = 0, set()
        return self.apply(share, updated)

    def forget(self) -> None:
        """Drop the accumulated batches."""
        self.waiting, self.updated = 0, set()
        for s in self.sums:
            s.assign_(Tensor.zeros(s.shape, dtype=s.dtype, device=s.device))


@runtime_checkable
class LentBackward(Protocol):
    """Computes gradients of batches with others' help; `flambeau.tabs.TabWorkers` is one."""

    program: Any
    shards: int

    def backward(self, *batch: Any) -> Gradients:
        """Compute the loss and the gradients of a batch (inputs..., target)."""
        ...


def make_update(t: Trained) -> Callable[[list[Tensor], tuple[int, ...], Tensor], None]:
    """Make the function that steps the optimizer with gradients of the parameters with these numbers."""

    def step(values: list[Tensor], numbers: tuple[int, ...], loss: Tensor) -> None:
        grads = Gradients({}, loss)
        for i, value in zip(numbers, values, strict=True):
            grads.replace(t.optimizer.params[i], value)
        apply(t, grads)

    return step


class LentSteps(Steps):
    """Steps whose gradients browser tabs help to compute. tabs: of the same model and loss.

    ValueError for another model, and for a Learner with a scaler or with `accumulate`.
    """

    def __init__(
        self, trained: Trained, meter: SplitMeter, accumulate: int, device: Device, tabs: LentBackward
    ):
        if tabs.program.model is not trained.model:
            raise ValueError(
                "fit(engine=TabWorkers): they have another model: make them of the Learner's model"
            )
        if trained.scaler is not None or accumulate != 1:
            rule = "tabs compute in float32, one batch a step: leave scaler and accumulate out"
            raise ValueError(f"fit(engine=TabWorkers): {rule}")
        self.tabs = tabs
        self.update = jit(make_update(trained))
        self.output = jit(make_predict(trained.model))
        super().__init__(trained, meter, accumulate, device)

    def train(self, batch: PlacedBatch) -> Tensor | None:
        """Train with a batch. Returns its loss."""
        grads, meter = self.tabs.backward(*batch.inputs, batch.target), self.meter
        pairs = [
            (i, g) for i, p in enumerate(self.trained.optimizer.params) if (g := grads.get(p)) is not None
        ]
        # Tabs return no outputs: metrics take another forward pass, of the weights before the update.
        output = self.output(*batch.inputs) if meter.metrics else None
        with no_grad():
            count(meter.recorded, grads.loss, output, batch.target, batch.items)
        count_unrecorded(meter, output, batch.target, batch.items)
        self.update([g for _, g in pairs], tuple(i for i, _ in pairs), grads.loss)
        return grads.loss
