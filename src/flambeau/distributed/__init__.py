"""Collectives between processes under torch.distributed's names; all ranks get the same bits."""

import atexit
import builtins
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import numpy as np

from ..core import dtype as dtypes
from ..core.modes import no_grad
from ..device import DeviceLike
from ..errors import DistributedError, TypeError, ValueError
from ..nn.device_split import split
from ..tensor import Tensor, tensor
from . import wire
from .diloco import DiLoCo
from .elastic import alone, membership
from .group import TIMEOUT, ProcessGroup, Work
from .launcher import end_with_parent
from .mesh import Mesh
from .optimizer import DistributedOptimizer, wrap
from .reductions import BFLOAT16, Array, ReduceOp, narrow_bfloat16, tree_reduce, widen_bfloat16
from .rendezvous import Worker, new_token
from .store import Store, StoreServer
from .sums import ParallelOptions
from .threads import as_rank, connect_threads, run_threads, thread_group

TCPStore = Store
default_pg_timeout = timedelta(seconds=TIMEOUT)
SWITCH_SECONDS = 0.0005
BACKENDS = ("auto", "sockets", "gloo", "nccl", "mpi")  # torch's names mean "auto"
STORE_IN_LAUNCHER = "FLAMBEAU_STORE"  # set by the launcher, which runs the store at MASTER_ADDR:MASTER_PORT


class GroupMember:
    """The result of `new_group` on ranks outside of the group: calls with it do nothing."""

    NON_GROUP_MEMBER: "GroupMember"


GroupMember.NON_GROUP_MEMBER = GroupMember()
AnyGroup: TypeAlias = ProcessGroup | GroupMember | None  # None: the group of all ranks
Data: TypeAlias = Tensor | Array

_default: ProcessGroup | None = None
_server: StoreServer | None = None
_hooks_installed = False


# Beginning and end


def is_available() -> bool:
    """Whether this package can join processes to a group: always True."""
    return True


def is_initialized() -> bool:
    """Whether this process belongs to a group."""
    return thread_group.get() is not None or _default is not None


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | float | None = None,
    world_size: int = -1, rank: int = -1, store: Store | None = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Join this process to the others of a run, and wait until all have joined.

    `flambeau launch` sets all that this needs.
    backend: "sockets" keeps large arrays out of shared memory, all others choose per host
    init_method: "env://" (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE) or "tcp://host:port"
    timeout: of this call and of each collective, in seconds or as a timedelta; None: 300 s
    world_size, rank: of this worker, instead of the environment's
    store: an open one
    group_name, pg_options, device_id: accepted and ignored

    Raises DistributedError if ranks are missing after `timeout`, the port is in use, or the tokens or the
        versions differ; ValueError if there is a group already, the backend is unknown, or the environment or
        an argument is incomplete.
    """
    global _default
    if _default is not None:
        raise ValueError(
            "init_process_group: a process group already exists: call destroy_process_group first"
        )
    names = {part.rpartition(":")[2] for part in (backend or "auto").lower().split(",")}
    if not names <= set(BACKENDS):
        raise ValueError(
            f"init_process_group(backend={backend!r}): unknown: use one of {', '.join(BACKENDS)}"
        )
    seconds = _seconds(timeout, TIMEOUT)
    host, port, rank, world_size = _place(init_method, rank, world_size, store)
    try:
        _default = _join(names, (host, port), rank, world_size, store, seconds)
    except BaseException:
        destroy_process_group()
        raise
    end_with_parent()
    # Threads move the data while the main thread computes: with Python's 5 ms they would wait that long for
    # the interpreter at each frame of a call.
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
    _install_hooks()


def _join(
    names: set[str], place: tuple[str, int], rank: int, size: int, store: Store | None, seconds: float
) -> ProcessGroup:
    """Join the run of a store, which rank 0 serves unless the launcher does."""
    global _server
    host, port = place
    token = os.environ.get(wire.TOKEN, "")
    if store is None and size == 1 and not host:
        return ProcessGroup(Mesh(0, {}), timeout=seconds)
    if store is None:
        if rank == 0 and not os.environ.get(STORE_IN_LAUNCHER):
            _server = StoreServer(host, port, token)
        store = Store(host, port, token, seconds)
    return Worker(store, token, rank, size, "sockets" not in names).join(seconds)


def _place(init_method: str | None, rank: int, size: int, store: Store | None) -> tuple[str, int, int, int]:
    """Where the store is, and this worker's rank and the number of workers."""
    environment = os.environ
    url = urlsplit(init_method or "env://")
    if url.scheme not in ("env", "tcp") or (url.scheme == "tcp" and (not url.hostname or not url.port)):
        raise ValueError(
            f"init_process_group(init_method={init_method!r}): unknown: use 'env://' or 'tcp://host:port'"
        )
    rank = rank if rank >= 0 else int(environment.get("RANK", -1))
    size = size if size > 0 else int(environment.get("WORLD_SIZE", -1))
    host = url.hostname if url.scheme == "tcp" else environment.get("MASTER_ADDR")
    port = url.port if url.scheme == "tcp" else int(environment.get("MASTER_PORT", 0))
    if "TORCHELASTIC_RUN_ID" in environment and url.scheme == "env":
        port = (port or 0) + 1  # torchrun's own store has the port itself
    missing = [
        name
        for name, is_missing in (
            ("RANK", rank < 0),
            ("WORLD_SIZE", size < 1),
            ("MASTER_ADDR", not (host and port)),
        )
        if is_missing and not (name == "MASTER_ADDR" and (store is not None or size == 1))
    ]
    if missing:
        raise ValueError(
            f"init_process_group: {', '.join(missing)} not set: start the script by 'flambeau launch"
            " --devices 2 script.py', or pass init_method='tcp://host:port', rank and world_size"
        )
    if rank >= size:
        raise ValueError(f"init_process_group(rank={rank}, world_size={size}): ranks are 0 to {size - 1}")
    return host or "", port or 0, rank, size


def _install_hooks() -> None:
    """At the process's end: leave the group. At an uncaught exception: stop the others with its text."""
    global _hooks_installed
    if _hooks_installed:
        return
    _hooks_installed = True
    atexit.register(destroy_process_group)
    previous = sys.excepthook

    def stop(kind: Any, value: Any, traceback: Any) -> None:
        # The other ranks know of a DistributedError already.
        if _default is not None and not isinstance(value, DistributedError):
            _default.abort(f"{kind.__name__}: {value}")
        previous(kind, value, traceback)

    sys.excepthook = stop


def destroy_process_group(group: AnyGroup = None) -> None:
    """Leave the group of all ranks; without one this does nothing.

    group: None or the group of all ranks; one of `new_group` has nothing to close
    """
    global _default, _server
    if group is not None and group is not _default:
        return
    closing, _default = _default, None
    if closing is not None:
        closing.close()
    server, _server = _server, None
    if server is not None:
        server.close()


def reconfigure(timeout: float = 30.0) -> ProcessGroup:
    """Form a new group of the living ranks and of new workers; all living ranks call this.

    timeout: seconds after which ranks that do not call it are left out

    Raises DistributedError if the group was not made by a store, or the store is gone; ValueError if there is
        no process group.
    """
    global _default
    group = _group(None)
    following = group.reconfigure(timeout)
    if thread_group.get() is not None:
        thread_group.set(following)
    else:
        _default = following
    return following


def abort(reason: str) -> None:
    """Stop all ranks: each of their calls raises a DistributedError that names this rank and the reason.

    Raises ValueError if there is no process group.
    """
    _group(None).abort(reason)


def stragglers(group: AnyGroup = None) -> list[tuple[int, float]]:
    """Return the other ranks and the seconds that this one waited for each since the last call, the slowest
    first.

    group: None for the group of all ranks

    Raises ValueError if there is no process group; TypeError if group is not a process group.
    """
    return _group(group).stragglers()


# Groups and ranks


def get_default_group() -> ProcessGroup:
    """Return the group of all ranks. In a thread that is a rank, that of the thread.

    Raises ValueError if there is no process group.
    """
    group = thread_group.get() or _default
    if group is None:
        raise ValueError("no process group exists: call flambeau.distributed.init_process_group first")
    return group


def _group(group: AnyGroup) -> ProcessGroup:
    if group is None:
        return get_default_group()
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"group={group!r}: pass the result of new_group, or None for all ranks")
    return group


def _is_outside(group: AnyGroup) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER


def get_rank(group: AnyGroup = None) -> int:
    """Return this process's rank in a group, -1 outside of it.

    group: None for the group of all ranks

    Raises ValueError if there is no process group; TypeError if group is not a process group.
    """
    return -1 if _is_outside(group) else _group(group).rank


def get_world_size(group: AnyGroup = None) -> int:
    """Return the number of ranks of a group, -1 outside of it.

    group: None for the group of all ranks

    Raises ValueError if there is no process group; TypeError if group is not a process group.
    """
    return -1 if _is_outside(group) else _group(group).size


def get_backend(group: AnyGroup = None) -> str:
    """Return the name of the backend: "flambeau".

    group: None for the group of all ranks

    Raises ValueError if there is no process group; TypeError if group is not a process group.
    """
    _group(group)
    return "flambeau"


def get_process_group_ranks(group: AnyGroup = None) -> list[int]:
    """Return the ranks of a group's members in the group of all ranks.

    group: None for the group of all ranks

    Raises ValueError if there is no process group; TypeError if group is not a process group.
    """
    return list(_group(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the rank, in the group of all, of a group's member.

    group_rank: the member's rank in `group`

    Raises ValueError if group_rank is out of range.
    """
    if not 0 <= group_rank < group.size:
        raise ValueError(f"rank {group_rank} is not in the group: its ranks are 0 to {group.size - 1}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Translate a global rank to its rank in `group`.

    global_rank: the rank in the group of all

    Raises ValueError if global_rank is not a member of the group.
    """
    if global_rank not in group.ranks:
        raise ValueError(f"rank {global_rank} is not in the group of the ranks {group.ranks}")
    return group.ranks.index(global_rank)


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | float | None = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
    device_id: Any = None,
) -> AnyGroup:  # fmt: skip
    """Make a group of some ranks. All ranks call this, in the same order; those outside get a group whose
    calls do nothing.

    ranks: of the group of all ranks; None for all ranks
    timeout: of its calls, in seconds or as a timedelta; None: that of the group of all
    backend, pg_options, use_local_synchronization, group_desc, device_id: accepted and ignored

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group, or a rank is out of range.
    """
    parent = get_default_group()
    group = parent.new_group(range(parent.size) if ranks is None else ranks)
    if group is None:
        return GroupMember.NON_GROUP_MEMBER
    group.timeout = _seconds(timeout, parent.timeout)
    return group


def _seconds(timeout: timedelta | float | None, default: float) -> float:
    if timeout is None:
        return default
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def _root(group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = 0) -> int:
    """A root's rank in the group: torch gives it in the group of all, or as group_src and group_dst."""
    if rank is not None and group_rank is not None:
        raise ValueError("pass a global rank or a group rank, not both")
    if group_rank is not None:
        return group_rank
    if rank is None and default is None:
        raise ValueError("pass the other rank")
    return get_group_rank(group, rank if rank is not None else default or 0)


# Arrays of tensors


class _Buffer:
    """The elements of a tensor or an array, and the function that writes them back."""

    def __init__(self, data: Data, read: bool = True):
        self.data = data
        if not isinstance(data, Tensor):
            self.array, self.dtype = data, None
            return
        self.dtype = BFLOAT16 if data.dtype is dtypes.bfloat16 else None
        if read:
            values = data.detach().numpy()
            values = narrow_bfloat16(values) if self.dtype else values
            # In memory that peers of this host read in place.
            self.array = get_default_group().empty(values.shape, values.dtype)
            self.array[...] = values
        else:
            self.array = np.empty(tuple(data.shape), np.uint16 if self.dtype else data.dtype.numpy)

    def copy_back(self) -> None:
        """Copy the array to the tensor, also to a view or a parameter."""
        if isinstance(self.data, Tensor):
            values = widen_bfloat16(self.array) if self.dtype else self.array
            with no_grad():
                self.data.copy_(tensor(values, dtype=self.data.dtype, device=self.data.device))


def _call(
    group: ProcessGroup, async_op: bool, results: Sequence[_Buffer], start: Callable[[bool], Work | None]
) -> Work | None:
    """Run a collective on buffers and write their tensors when it is done."""

    def copy_back() -> None:
        for buffer in results:
            buffer.copy_back()

    work = start(async_op)
    if work is None:
        copy_back()
        return None
    return work.then(copy_back)


def all_reduce(
    tensor: Data, op: ReduceOp = ReduceOp.SUM, group: AnyGroup = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks into each of them, in place. tensor: [...]

    float16 and bfloat16 are added in float32 and rounded once.
    op: a ReduceOp
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once: its `wait` writes the result; don't use the tensor until then

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; TypeError if tensor is neither a tensor nor
        a NumPy array, or its dtype has no such op.
    """
    if _is_outside(group):
        return None
    members, buffer = _group(group), _Buffer(tensor)
    return _call(
        members, async_op, [buffer],
        lambda later: members.all_reduce(buffer.array, op, dtype=buffer.dtype, async_op=later),
    )  # fmt: skip


def reduce(
    tensor: Data, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: AnyGroup = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Reduce the tensors of all ranks into that of rank `dst`; others keep theirs. tensor: [...]

    dst: the receiving rank in the group of all ranks; None: 0
    op: a ReduceOp
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does
    group_dst: the receiving rank within the group, instead of dst

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; TypeError if tensor is neither a tensor nor
        a NumPy array, or its dtype has no such op; ValueError if both dst and group_dst are given, or the
        rank is not in the group.
    """
    if _is_outside(group):
        return None
    members, buffer = _group(group), _Buffer(tensor)
    root = _root(members, dst, group_dst)
    results = [buffer] if members.rank == root else []
    return _call(
        members, async_op, results,
        lambda later: members.reduce(buffer.array, root, op, dtype=buffer.dtype, async_op=later),
    )  # fmt: skip


def all_gather(
    tensor_list: Sequence[Data], tensor: Data, group: AnyGroup = None, async_op: bool = False
) -> Work | None:
    """Copy the tensor of each rank i to tensor_list[i] of all ranks. tensor and each of the list: [...]

    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; ValueError if tensor_list does not have one
        tensor of the same dtype and number of elements for each rank.
    """
    if _is_outside(group):
        return None
    members, own, outputs = _group(group), _Buffer(tensor), [_Buffer(t, read=False) for t in tensor_list]
    return _call(
        members, async_op, outputs,
        lambda later: members.all_gather([o.array for o in outputs], own.array, async_op=later),
    )  # fmt: skip


def all_gather_into_tensor(
    output_tensor: Data, input_tensor: Data, group: AnyGroup = None, async_op: bool = False
) -> Work | None:
    """Join the tensors of all ranks in the output. input [n, ...] -> output [size * n, ...] or [size, n, ...]

    output_tensor: on each rank
    input_tensor: of this rank
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; ValueError if output_tensor does not have
        the dtype and the elements of all inputs.
    """
    if _is_outside(group):
        return None
    members, own, output = _group(group), _Buffer(input_tensor), _Buffer(output_tensor)
    parts = _equal_parts("all_gather_into_tensor", output.array, members.size)
    flat = own.array.reshape(-1)
    return _call(members, async_op, [output], lambda later: members.all_gather(parts, flat, async_op=later))


def gather(
    tensor: Data, gather_list: Sequence[Data] | None = None, dst: int | None = None, group: AnyGroup = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Copy the tensors of all ranks to gather_list of rank `dst`. tensor and each of the list: [...]

    gather_list: one tensor for each rank on `dst`, None on the others
    dst: the receiving rank in the group of all ranks; None: 0
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does
    group_dst: the receiving rank within the group, instead of dst

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; ValueError if both dst and group_dst are
        given, or the rank is not in the group; ValueError if gather_list does not have one tensor of the same
        dtype and number of elements for each rank, or another rank passes one.
    """
    if _is_outside(group):
        return None
    members, own = _group(group), _Buffer(tensor)
    root = _root(members, dst, group_dst)
    outputs = [_Buffer(t, read=False) for t in gather_list] if gather_list else None
    arrays = [o.array for o in outputs] if outputs is not None else None
    return _call(
        members,
        async_op,
        outputs or [],
        lambda later: members.gather(own.array, arrays, root, async_op=later),
    )


def scatter(
    tensor: Data, scatter_list: Sequence[Data] | None = None, src: int | None = None, group: AnyGroup = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Copy scatter_list[i] of rank `src` to the tensor of rank i. tensor and each of the list: [...]

    scatter_list: one tensor for each rank on `src`, None on the others
    src: the sending rank in the group of all ranks; None: 0
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does
    group_src: the sending rank within the group, instead of src

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; ValueError if both src and group_src are
        given, or the rank is not in the group; ValueError if scatter_list does not have one tensor of the
        same dtype and number of elements for each rank, or another rank passes one.
    """
    if _is_outside(group):
        return None
    members, output = _group(group), _Buffer(tensor, read=False)
    root = _root(members, src, group_src)
    arrays = [_Buffer(t).array for t in scatter_list] if scatter_list else None
    return _call(
        members, async_op, [output], lambda later: members.scatter(output.array, arrays, root, async_op=later)
    )


def reduce_scatter(
    output: Data, input_list: Sequence[Data], op: ReduceOp = ReduceOp.SUM, group: AnyGroup = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Reduce a list of tensors over the ranks; rank i gets the i-th result. output and each of the list:
    [...]

    output: of this rank
    input_list: one tensor for each rank
    op: a ReduceOp
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; TypeError if the dtype has no such op;
        ValueError if input_list does not have one tensor of the same dtype and number of elements for each
        rank.
    """
    if _is_outside(group):
        return None
    members, result, inputs = _group(group), _Buffer(output, read=False), [_Buffer(t) for t in input_list]
    return _call(
        members, async_op, [result],
        lambda later: members.reduce_scatter(
            result.array, [i.array for i in inputs], op, dtype=result.dtype, async_op=later
        ),
    )  # fmt: skip


def reduce_scatter_tensor(
    output: Data, input: Data, op: ReduceOp = ReduceOp.SUM, group: AnyGroup = None, async_op: bool = False
) -> Work | None:
    """Reduce one tensor over the ranks; rank i gets its i-th part. input [size * n, ...] -> output [n, ...]

    output: of this rank
    op: a ReduceOp
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; TypeError if the dtype has no such op;
        ValueError if the input does not have the dtype and the elements of all outputs.
    """
    if _is_outside(group):
        return None
    members, result, own = _group(group), _Buffer(output), _Buffer(input)
    parts = _equal_parts("reduce_scatter_tensor", own.array, members.size)
    flat = _flat("reduce_scatter_tensor", result.array)
    return _call(
        members, async_op, [result],
        lambda later: members.reduce_scatter(flat, parts, op, dtype=result.dtype, async_op=later),
    )  # fmt: skip


def broadcast(
    tensor: Data, src: int | None = None, group: AnyGroup = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Copy the tensor of rank `src` to the tensors of all ranks. tensor: [...]

    src: the sending rank in the group of all ranks; None: 0
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does
    group_src: the sending rank within the group, instead of src

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; ValueError if both src and group_src are
        given, or the rank is not in the group.
    """
    if _is_outside(group):
        return None
    members = _group(group)
    root = _root(members, src, group_src)
    buffer = _Buffer(tensor, read=members.rank == root)
    results = [] if members.rank == root else [buffer]
    return _call(
        members, async_op, results, lambda later: members.broadcast(buffer.array, root, async_op=later)
    )


def all_to_all(
    output_tensor_list: Sequence[Data], input_tensor_list: Sequence[Data], group: AnyGroup = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Copy input_tensor_list[j] of rank i to output_tensor_list[i] of rank j. Shapes may differ from pair to
    pair.

    output_tensor_list, input_tensor_list: one tensor for each rank, all of one dtype
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does

    Raises DistributedError if ranks differ in the call, die or miss the timeout, or a pair's sizes differ;
        ValueError if there is no process group; TypeError if group is not a process group; ValueError if a
        list does not have one tensor for each rank, or this rank's own two tensors differ in size; TypeError
        if the dtypes differ.
    """
    if _is_outside(group):
        return None
    members = _group(group)
    outputs = [_Buffer(t, read=False) for t in output_tensor_list]
    inputs = [_Buffer(t).array for t in input_tensor_list]
    return _call(
        members, async_op, outputs,
        lambda later: members.all_to_all([o.array for o in outputs], inputs, async_op=later),
    )  # fmt: skip


def all_to_all_single(
    output: Data, input: Data, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: AnyGroup = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send the j-th part of dim 0 to rank j, and concatenate the received parts. input [n, ...] -> output [m,
    ...]

    output_split_sizes, input_split_sizes: rows for each rank; None for equal parts
    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, as `all_reduce` does

    Raises DistributedError if ranks differ in the call, die or miss the timeout, or a pair's sizes differ;
        ValueError if there is no process group; TypeError if group is not a process group; ValueError if the
        split sizes do not add up to the rows, or the rows are not a multiple of the ranks; TypeError if the
        dtypes differ.
    """
    if _is_outside(group):
        return None
    members, result, own = _group(group), _Buffer(output), _Buffer(input)
    outputs = _split("output_split_sizes", result.array, output_split_sizes, members.size)
    inputs = _split("input_split_sizes", own.array, input_split_sizes, members.size)
    return _call(
        members, async_op, [result], lambda later: members.all_to_all(outputs, inputs, async_op=later)
    )


def barrier(
    group: AnyGroup = None, async_op: bool = False, device_ids: Sequence[int] | None = None
) -> Work | None:
    """Wait until all ranks call this.

    group: None for the group of all ranks; outside of the group this does nothing
    async_op: return a `Work` at once, whose `wait` waits for the ranks
    device_ids: accepted and ignored

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group.
    """
    return None if _is_outside(group) else _group(group).barrier(async_op=async_op)


def isend(
    tensor: Data, dst: int | None = None, group: AnyGroup = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to rank `dst`, which calls `recv` or `irecv`. tensor: [...]

    dst: the receiving rank in the group of all ranks
    group: None for the group of all ranks; outside of the group this does nothing
    tag: only a receive with the same tag gets it
    group_dst: the receiving rank within the group, instead of dst
    Returns a `Work`; its `wait` raises DistributedError if that rank dies or misses the timeout.

    Raises DistributedError if a rank died; ValueError if there is no process group; TypeError if group is not
        a process group; ValueError if neither or both of dst and group_dst are given, or the rank is this one
        or not in the group.
    """
    if _is_outside(group):
        return None
    members = _group(group)
    return members.send(_Buffer(tensor).array, _root(members, dst, group_dst, None), tag, async_op=True)


def send(
    tensor: Data, dst: int | None = None, group: AnyGroup = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Send a tensor to rank `dst`, which calls `recv` or `irecv`. tensor: [...]

    dst: the receiving rank in the group of all ranks
    group: None for the group of all ranks; outside of the group this does nothing
    tag: only a receive with the same tag gets it
    group_dst: the receiving rank within the group, instead of dst

    Raises DistributedError if a rank died or misses the timeout; ValueError if there is no process group,
        neither or both of dst and group_dst are given, or the rank is this one or not in the group; TypeError
        if group is not a ProcessGroup.
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def irecv(
    tensor: Data, src: int | None = None, group: AnyGroup = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from rank `src`, which sends one of the same dtype, shape and tag. tensor:
    [...]

    src: the sending rank in the group of all ranks
    group: None for the group of all ranks; outside of the group this does nothing
    tag: of the send
    group_src: the sending rank within the group, instead of src
    Returns a `Work`; its `wait` writes the tensor, and raises DistributedError if the ranks differ in dtype
    or shape, one dies, or the timeout passes.

    Raises ValueError if there is no process group; TypeError if group is not a process group; ValueError if
        neither or both of src and group_src are given, or the rank is this one or not in the group.
    """
    if _is_outside(group):
        return None
    members, buffer = _group(group), _Buffer(tensor, read=False)
    source = _root(members, src, group_src, None)
    return _call(
        members, True, [buffer], lambda later: members.recv(buffer.array, source, tag, async_op=later)
    )


def recv(
    tensor: Data, src: int | None = None, group: AnyGroup = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receive a tensor and return the sender's rank, -1 outside of the group. tensor: [...]

    src: the sending rank in the group of all ranks; None for any rank
    group: None for the group of all ranks
    tag: of the send
    group_src: the sending rank within the group, instead of src

    Raises DistributedError if the ranks differ in dtype or shape, one dies, or the timeout passes; ValueError
        if there is no process group; TypeError if group is not a process group; ValueError if both src and
        group_src are given, or the rank is this one or not in the group.
    """
    if _is_outside(group):
        return -1
    members, buffer = _group(group), _Buffer(tensor, read=False)
    source = None if src is None and group_src is None else _root(members, src, group_src)
    members.recv(buffer.array, source, tag)
    buffer.copy_back()
    return members.ranks[members.last_source]


class P2POp:
    """A send or receive for `batch_isend_irecv`.

    op: isend or irecv
    tensor: the one that it sends or receives
    peer: the other rank in the group of all ranks
    group, tag: as those of `isend`
    group_peer: the other rank within the group, instead of peer
    """

    def __init__(
        self, op: Callable[..., Work | None], tensor: Data, peer: int | None = None, group: AnyGroup = None,
        tag: int = 0, group_peer: int | None = None,
    ):  # fmt: skip
        self.start = lambda: op(tensor, peer, group, tag, group_peer)


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work | None]:
    """Begin several sends and receives, and return their `Work`s in order.

    p2p_op_list: of P2POp
    """
    return [op.start() for op in p2p_op_list]


# Objects


def all_gather_object(object_list: list[Any], obj: Any, group: AnyGroup = None) -> None:
    """Put the object of each rank i in object_list[i] of all ranks. Objects are JSON values: nothing is
    pickled.

    obj: of this rank
    group: None for the group of all ranks; outside of the group this does nothing

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; TypeError if obj is not a JSON value;
        ValueError if object_list is shorter than the group.
    """
    if _is_outside(group):
        return
    members = _group(group)
    if len(object_list) < members.size:
        raise ValueError(
            f"all_gather_object(a list of {len(object_list)}): the group has {members.size} ranks"
        )
    own = _encode("all_gather_object", obj)
    sizes = [np.zeros(1, np.int64) for _ in range(members.size)]
    members.all_gather(sizes, np.array([own.size]))
    largest = max(int(size[0]) for size in sizes)
    parts = [np.zeros(largest, np.uint8) for _ in sizes]
    members.all_gather(parts, np.concatenate([own, np.zeros(largest - own.size, np.uint8)]))
    for rank, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        object_list[rank] = json.loads(part[: int(size[0])].tobytes())


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: AnyGroup = None, device: DeviceLike | None = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Copy the list of rank `src` to the lists of all ranks. Objects are JSON values: nothing is pickled.

    object_list: of as many objects on all ranks
    src: the sending rank in the group of all ranks; None: 0
    group: None for the group of all ranks; outside of the group this does nothing
    device: accepted and ignored
    group_src: the sending rank within the group, instead of src

    Raises DistributedError if ranks differ in the call, die or miss the timeout; ValueError if there is no
        process group; TypeError if group is not a process group; TypeError if object_list has other than JSON
        values; ValueError if the lists differ in length; ValueError if both src and group_src are given, or
        the rank is not in the group.
    """
    if _is_outside(group):
        return
    members = _group(group)
    root = _root(members, src, group_src)
    own = _encode("broadcast_object_list", object_list)
    size = np.array([own.size])
    members.broadcast(size, root)
    data = own if members.rank == root else np.zeros(int(size[0]), np.uint8)
    members.broadcast(data, root)
    values = json.loads(data.tobytes())
    if len(values) != len(object_list):
        raise ValueError(
            f"broadcast_object_list: rank {root} has {len(values)} objects, this one {len(object_list)}"
        )
    object_list[:] = values


def _encode(call: str, value: Any) -> Array:
    try:
        return np.frombuffer(json.dumps(value).encode(), np.uint8).copy()
    except (builtins.TypeError, builtins.ValueError) as e:
        raise TypeError(
            f"{call}: {e}: only JSON values are sent (numbers, text, lists, dicts), nothing is pickled"
        ) from None


def _flat(call: str, array: Array) -> Array:
    """All elements in one dim, as a view."""
    if not array.flags.c_contiguous:
        raise ValueError(f"{call}: the array is not contiguous: pass numpy.ascontiguousarray(array)")
    return array.reshape(-1)


def _equal_parts(call: str, array: Array, size: int) -> list[Array]:
    if array.size % size:
        raise ValueError(
            f"{call}({list(array.shape)}): {array.size} elements are not a multiple of {size} ranks"
        )
    return np.split(_flat(call, array), size)


def _split(name: str, array: Array, sizes: Sequence[int] | None, ranks: int) -> list[Array]:
    rows = array.shape[0] if array.ndim else 0
    if sizes is None:
        if rows % ranks:
            rule = f"{rows} rows are not a multiple of {ranks} ranks"
            raise ValueError(f"all_to_all_single: {rule}: pass {name}")
        sizes = [rows // ranks] * ranks
    if len(sizes) != ranks or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError(
            f"all_to_all_single({name}={list(sizes)}): {ranks} numbers have to add up to {rows} rows"
        )
    return np.split(array, np.cumsum(sizes)[:-1])


# Training


def current_group() -> ProcessGroup:
    """Return the group of this process, or one of this process alone."""
    return get_default_group() if is_initialized() else alone()


def next_group(group: ProcessGroup) -> ProcessGroup:
    """Return the group of the living and the new workers; it replaces `group` as the group of this process.

    Raises DistributedError if the group was not made by a store, or the store is gone.
    """
    return reconfigure() if is_initialized() and get_default_group() is group else group.reconfigure()


membership.current, membership.following = current_group, next_group


__all__ = [
    "DiLoCo",
    "DistributedError",
    "DistributedOptimizer",
    "ProcessGroup",
    "GroupMember",
    "P2POp",
    "ParallelOptions",
    "ReduceOp",
    "Store",
    "StoreServer",
    "TCPStore",
    "Work",
    "abort",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "as_rank",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "connect_threads",
    "current_group",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_default_group",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "irecv",
    "is_available",
    "is_initialized",
    "isend",
    "new_group",
    "new_token",
    "next_group",
    "reconfigure",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "run_threads",
    "scatter",
    "send",
    "split",
    "stragglers",
    "tree_reduce",
    "wrap",
]
