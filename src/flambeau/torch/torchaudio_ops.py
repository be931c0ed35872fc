"""The operators of torchaudio's compiled library that its import and its filters need.

The filters are loops over samples, each of which depends on the one before: they run on the host.
"""

from typing import Any

from ..tensor import Tensor, tensor
from .placeholders import refuse


def filter_samples(input_signal_windows: Tensor, a_coeffs_flipped: Tensor, padded_output: Tensor) -> None:
    """The recursive part of a filter, written to padded_output.

    input_signal_windows: [batch, channels, samples]. a_coeffs_flipped: [channels, order], the last is 1.
    padded_output: [batch, channels, order - 1 + samples], zeros.
    """
    x, a = input_signal_windows.detach().numpy(), a_coeffs_flipped.detach().numpy()
    y, order = padded_output.detach().numpy().copy(), a.shape[1]
    for i in range(x.shape[2]):
        y[:, :, i + order - 1] = x[:, :, i] - (y[:, :, i : i + order] * a).sum(-1)
    padded_output.assign_(tensor(y, dtype=padded_output.dtype, device=padded_output.device))


def overdrive_samples(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> None:
    """The loop of torchaudio.functional.overdrive, written to output_waveform.

    waveform, temp, output_waveform: [n, samples]. last_in, last_out: [n]
    """
    x, t = waveform.detach().numpy(), temp.detach().numpy()
    y = output_waveform.detach().numpy().copy()
    before, out = last_in.detach().numpy(), last_out.detach().numpy()
    for i in range(x.shape[1]):
        out = t[:, i] - before + 0.995 * out
        before = t[:, i]
        y[:, i] = x[:, i] * 0.5 + out * 0.75
    output_waveform.assign_(tensor(y, dtype=output_waveform.dtype, device=output_waveform.device))


def cuda_version() -> None:
    """None: as of a torchaudio that was built without CUDA."""


def is_absent() -> bool:
    """False: the library has no such part."""
    return False


def _missing(name: str) -> Any:
    def call(*_args: Any, **_kw: Any) -> Any:
        raise refuse(f"torch.ops.torchaudio.{name}")

    return call


OPERATORS: dict[str, Any] = {
    "_torchaudio::cuda_version": cuda_version,
    "_torchaudio::is_align_available": is_absent,
    "_torchaudio::is_rnnt_available": is_absent,
    "torchaudio::_lfilter_core_loop": filter_samples,
    "torchaudio::_overdrive_core_loop": overdrive_samples,
} | {f"torchaudio::{name}": _missing(name) for name in ("forced_align", "rnnt_loss_forward")}
