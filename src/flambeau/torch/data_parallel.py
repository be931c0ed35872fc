"""torch.nn.parallel.DistributedDataParallel: workers that compute a model's gradients on their own batches.

A worker's `backward` replaces `.grad` of the model's parameters by the mean over the workers. All workers
call the model and `backward` in the same order.
"""

import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from .. import distributed
from ..core.modes import is_grad_enabled, no_grad
from ..core.tree import tree_map
from ..distributed import ProcessGroup, ReduceOp
from ..errors import ValueError
from ..functions import cat, tensor, zeros_like
from ..nn import Module
from ..nn.single_device import statistics
from ..tensor import Tensor
from . import grad_slots
from .derivatives import after_passes
from .switch import with_torch_name

UNUSED = (
    "Expected to have finished reduction in the prior iteration before starting a new one: the loss did not"
    " depend on {}: pass find_unused_parameters=True to DistributedDataParallel"
)
_numbers: list[int] = [0]  # of the wrappers of this process: all workers synchronise them in this order


@with_torch_name
class TorchDistributedDataParallel(Module):
    """A module whose gradients are the means over the workers of a process group. state_dict has the prefix
    "module.".

    module: the model, whose parameters and buffers become those of rank 0
    device_ids: None, or its one device, to which inputs are moved
    broadcast_buffers: copy rank 0's buffers to all workers before each call
    init_sync: copy rank 0's parameters and buffers at the start
    process_group: None for the group of all ranks
    find_unused_parameters: parameters that no worker's loss depends on keep their gradients; otherwise the
        next call raises RuntimeError for those that this worker's does not depend on
    output_device, dim, bucket_cap_mb, check_reduction, gradient_as_bucket_view, static_graph, options:
        accepted and ignored: gradients are sent at the end of backward

    ValueError for several devices, or a module without parameters that require gradients.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **options: Any,
    ):
        call = f"DistributedDataParallel({type(module).__name__})"
        if not any(p.requires_grad for p in module.parameters()):
            raise ValueError(f"{call}: no parameter of it requires a gradient: leave the wrapper out")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(f"{call}: device_ids has {len(device_ids)} devices: a process uses one")
        self.process_group = process_group or distributed.get_default_group()
        self.module = module
        self.device = next(module.parameters()).device
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device, self.dim = output_device, dim
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.static_graph, self.gradient_as_bucket_view = static_graph, gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        # Not attributes of the module: they are no part of its state.
        vars(self).update(_waits=False, _unused="", _run=module, _number=_numbers[0])
        _numbers[0] += 1
        _wrappers.add(self)
        if init_sync:
            with no_grad():
                self._copy_from_first([*module.parameters(), *module.buffers()])

    def forward(self, *inputs: Any, **kw: Any) -> Any:
        """The module's result."""
        state = vars(self)
        if is_grad_enabled() and self.require_backward_grad_sync:
            if state["_unused"]:
                raise RuntimeError(UNUSED.format(state["_unused"]))
            state["_waits"] = True
        if self.will_sync_module_buffers():
            with no_grad():
                self._copy_from_first(list(self.module.buffers()))
        if self.device_ids:
            device = self.device
            inputs, kw = tree_map(lambda v: v.to(device) if isinstance(v, Tensor) else v, (inputs, kw))
        token = statistics.set(self if self.process_group.size > 1 else None)
        try:
            return state["_run"](*inputs, **kw)
        finally:
            statistics.reset(token)

    is_first = True  # as Statistics of SyncBatchNorm: each worker keeps the running statistics

    def total(self, values: Tensor) -> Tensor:
        """The sum over the workers, for SyncBatchNorm. [n] -> [n]"""
        total = values.detach().clone()
        distributed.all_reduce(total, group=self.process_group)
        return total

    def will_sync_module_buffers(self) -> bool:
        """Whether a call copies rank 0's buffers."""
        return (
            self.require_forward_param_sync
            and self.broadcast_buffers
            and self.process_group.size > 1
            and any(True for _ in self.module.buffers())
        )

    @contextmanager
    def no_sync(self) -> Generator[None]:
        """In this block gradients add up in each worker; the first backward after it exchanges the sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, *args: Any, **kw: Any) -> Any:
        """NotImplementedError: all workers need as many batches."""
        rule = "give all workers as many batches: DistributedSampler(drop_last=True)"
        raise NotImplementedError(f"DistributedDataParallel.join: {rule}")

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """NotImplementedError: gradients are exchanged in their own dtype."""
        raise NotImplementedError(
            "register_comm_hook: use flambeau.distributed.wrap(wire=...) for compression"
        )

    def _copy_from_first(self, tensors: list[Tensor]) -> None:
        """Rank 0's values, in one message for each dtype."""
        if self.process_group.size == 1:
            return
        for _, part in sorted(_by_dtype(tensors).items()):
            flat = cat([t.detach().reshape(-1) for t in part])
            distributed.broadcast(flat, group=self.process_group, group_src=0)
            if self.process_group.rank:
                _write(part, flat)

    def finish(self, reached: set[int]) -> None:
        """After a backward pass that reached the tensors with these ids: exchange gradients if this model
        was called for it."""
        state = vars(self)
        named = {n: p for n, p in self.module.named_parameters() if p.requires_grad}
        if not state["_waits"] or not any(id(p) in reached for p in named.values()):
            return
        state["_waits"] = False
        if self.process_group.size == 1:
            return
        gradients = {n: grad_slots.read(p) for n, p in named.items()}
        with no_grad():
            self._exchange(named, gradients)

    def _exchange(self, named: dict[str, Any], gradients: dict[str, Any]) -> None:
        group, size = self.process_group, self.process_group.size
        unused = [n for n, g in gradients.items() if g is None]
        used_by_any = set(named) - set(unused)
        if self.find_unused_parameters:
            flags = tensor([float(g is not None) for g in gradients.values()], device="cpu")
            distributed.all_reduce(flags, ReduceOp.MAX, group)
            used_by_any = {n for n, flag in zip(gradients, flags.tolist(), strict=True) if flag}
        elif unused:
            vars(self)["_unused"] = ", ".join(unused[:5])
        # One layout on all workers: a gradient that this one lacks counts as 0.
        full = {n: zeros_like(p) if gradients[n] is None else gradients[n] for n, p in named.items()}
        for _, part in sorted(_by_dtype(full.values()).items()):
            # divided before they are added, as PyTorch does: the sum can't overflow
            flat = cat([g.reshape(-1) for g in part]) / size
            distributed.all_reduce(flat, group=group)
            _write(part, flat)
        for name, g in full.items():
            if gradients[name] is None and name in used_by_any and self.find_unused_parameters:
                grad_slots.write(named[name], g)


DistributedDataParallel = TorchDistributedDataParallel
_wrappers: weakref.WeakSet[TorchDistributedDataParallel] = weakref.WeakSet()


def _by_dtype(tensors: Iterable[Tensor]) -> dict[str, list[Tensor]]:
    parts: dict[str, list[Tensor]] = {}
    for t in tensors:
        parts.setdefault(t.dtype.name, []).append(t)
    return parts


def _write(tensors: Sequence[Tensor], flat: Tensor) -> None:
    """Write the parts of a flat tensor to tensors."""
    pieces = flat.split([t.numel() for t in tensors])
    for t, piece in zip(tensors, pieces, strict=True):
        t.assign_(piece.reshape(t.shape))


def _after_pass(reached: set[int]) -> None:
    for wrapper in sorted(_wrappers, key=lambda w: vars(w)["_number"]):
        wrapper.finish(reached)


after_passes.append(_after_pass)
