"""Settings that choose an implementation of attention, which have no effect: the results are those of one."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def sdpa_kernel(backends: Any = None, set_priority: bool = False) -> Generator[None]:
    """A block without effect on attention. backends, set_priority: accepted and ignored."""
    yield


@contextmanager
def sdp_kernel(*_args: Any, **_kw: Any) -> Generator[None]:
    """A block without effect on attention. Arguments are accepted and ignored."""
    yield


def enable_flash_sdp(enabled: bool) -> None:
    """Do nothing."""


enable_math_sdp = enable_mem_efficient_sdp = enable_cudnn_sdp = enable_flash_sdp
allow_fp16_bf16_reduction_math_sdp = enable_flash_sdp


def math_sdp_enabled() -> bool:
    """True: attention is computed."""
    return True


def flash_sdp_enabled() -> bool:
    """False: none of CUDA's implementations is used."""
    return False


mem_efficient_sdp_enabled = cudnn_sdp_enabled = is_flash_attention_available = flash_sdp_enabled


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """False: none of CUDA's implementations is used."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention
