"""What torch.distributed has beside flambeau.distributed: objects, names of backends, the group WORLD."""

import io
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .. import distributed
from ..distributed import ProcessGroup
from ..errors import ValueError
from .saving import load, save
from .switch import with_torch_name

F = TypeVar("F", bound=Callable[..., Any])
Group = ProcessGroup | None


class Backend(str):
    """The name of a backend: all choose the same transports here."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"


class _World(type):
    @property
    def WORLD(cls) -> Group:
        """The group of all ranks, None without one."""
        return distributed.get_default_group() if distributed.is_initialized() else None


@with_torch_name
class TorchGroupMember(distributed.GroupMember, metaclass=_World):
    """The group of all ranks, `WORLD`, and what stands for a group that this rank is not in."""


GroupMember = TorchGroupMember


class group(metaclass=_World):
    """The group of all ranks: `group.WORLD`."""


class _Begun:
    backend = Backend.GLOO


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """flambeau.distributed.init_process_group, which remembers the backend's name.

    Arguments and errors are its own.
    """
    distributed.init_process_group(
        backend, init_method, timeout, world_size, rank, store, group_name, pg_options, device_id
    )
    _Begun.backend = (backend or Backend.GLOO).lower().rpartition(":")[2]


def get_backend(group: Group = None) -> str:
    """The name that init_process_group was called with; ValueError without a group."""
    distributed.get_backend(group)
    return _Begun.backend


def _is_outside(group: Any) -> bool:
    return group is distributed.GroupMember.NON_GROUP_MEMBER


def _bytes_of(obj: Any) -> Any:
    file = io.BytesIO()
    save(obj, file)
    return np.frombuffer(file.getvalue(), np.uint8).copy()


def _object_of(raw: Any) -> Any:
    # A worker is as trusted as a file: no code of the bytes is executed.
    return load(io.BytesIO(raw.tobytes()), map_location="cpu")


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Put the object of each rank i in object_list[i] of all ranks.

    obj: of this rank: what torch.load reads with weights_only=True: tensors, numbers, text, containers
    group: None for the group of all ranks; outside of the group this does nothing

    ValueError if object_list is shorter than the group.
    """
    if _is_outside(group):
        return
    count = distributed.get_world_size(group)
    if len(object_list) < count:
        raise ValueError(f"all_gather_object(a list of {len(object_list)}): the group has {count} ranks")
    own = _bytes_of(obj)
    sizes = [np.zeros(1, np.int64) for _ in range(count)]
    distributed.all_gather(sizes, np.array([own.size]), group)
    largest = max(int(size[0]) for size in sizes)
    parts = [np.zeros(largest, np.uint8) for _ in sizes]
    distributed.all_gather(parts, np.concatenate([own, np.zeros(largest - own.size, np.uint8)]), group)
    object_list[:count] = [_object_of(p[: int(n[0])]) for p, n in zip(parts, sizes, strict=True)]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Put the objects of all ranks in object_gather_list of rank `dst`.

    obj: of this rank, as in all_gather_object. dst: in the group of all ranks; group_dst: within the group
    """
    if _is_outside(group):
        return
    objects: list[Any] = [None] * distributed.get_world_size(group)
    all_gather_object(objects, obj, group)
    if object_gather_list is not None and distributed.get_rank(group) == _root(group, dst, group_dst):
        object_gather_list[:] = objects


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the list of rank `src` to the lists of all ranks; objects as in all_gather_object.

    src: in the group of all ranks; group_src: within the group. device: accepted and ignored

    ValueError if the lists differ in length.
    """
    if _is_outside(group):
        return
    root = _root(group, src, group_src)
    is_root = distributed.get_rank(group) == root
    data = _bytes_of(list(object_list)) if is_root else np.zeros(0, np.uint8)
    size = np.array([data.size])
    distributed.broadcast(size, group=group, group_src=root)
    data = data if is_root else np.zeros(int(size[0]), np.uint8)
    distributed.broadcast(data, group=group, group_src=root)
    values = _object_of(data)
    if len(values) != len(object_list):
        rule = f"rank {root} has {len(values)} objects, this one {len(object_list)}"
        raise ValueError(f"broadcast_object_list: {rule}")
    object_list[:] = list(object_list) if is_root else values


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Put object i of the list of rank `src` in the first place of rank i's list."""
    if _is_outside(group):
        return
    count = distributed.get_world_size(group)
    objects = list(scatter_object_input_list or [None] * count)
    broadcast_object_list(objects, src, group, group_src=group_src)
    scatter_object_output_list[0] = objects[distributed.get_rank(group)]


def _root(group: Group, rank: int | None, group_rank: int | None) -> int:
    """The rank within the group."""
    if group_rank is not None:
        return group_rank
    return (rank or 0) if group is None else distributed.get_group_rank(group, rank or 0)


def monitored_barrier(group: Group = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """`barrier`, whose error names the ranks that are missing. timeout, wait_all_ranks: accepted and
    ignored."""
    distributed.barrier(group)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this worker on its host: LOCAL_RANK, or fallback_rank."""
    number = os.environ.get("LOCAL_RANK")
    if number is None and fallback_rank is None:
        raise ValueError("get_node_local_rank(): LOCAL_RANK is not set: pass fallback_rank")
    return int(number) if number is not None else int(fallback_rank or 0)


def record(fn: F, error_handler: Any = None) -> F:
    """The function itself: `flambeau launch` prints the traceback of the first worker that fails."""
    return fn
