"""torch.distributed of a process that no launcher started: as of a PyTorch that was built without it.

Libraries ask `is_available()` first, and train in one process then. The collectives are those of
flambeau.distributed.
"""

import os

from ..distributed import is_initialized as has_group


def is_available() -> bool:
    """Whether a launcher started this process, or it is in a group."""
    return "WORLD_SIZE" in os.environ or has_group()


def is_initialized() -> bool:
    """Whether this process is in a group."""
    return has_group()


def is_torchelastic_launched() -> bool:
    """False: `flambeau launch` has no agent of torchelastic."""
    return False


def is_gloo_available() -> bool:
    """Whether groups exist here: flambeau.distributed has one backend, whose names are all accepted."""
    return is_available()


is_nccl_available = is_gloo_available


def is_mpi_available() -> bool:
    """False: MPI is not supported."""
    return False


is_ucc_available = is_xccl_available = is_mpi_available
