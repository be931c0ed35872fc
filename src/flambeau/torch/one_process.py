"""torch.distributed of a process that has no group: as of a PyTorch that was built without it.

Libraries ask `is_available()` first, and train in one process then. flambeau.distributed trains on several
devices.
"""


def is_available() -> bool:
    """False: libraries train in one process."""
    return False


def is_initialized() -> bool:
    """False: there is no group of processes."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_available
is_torchelastic_launched = is_initialized
