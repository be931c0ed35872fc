"""torchaudio's compiled library: its import finds operators, and its filters are right."""

import numpy as np
import pytest

from flambeau.torch import operators


def test_library_is_found_and_filters(mode):
    for name in ("_torchaudio.abi3.so", "libtorchaudio.abi3.so", "_torchaudio.so"):
        operators.ops.load_library(f"/somewhere/torchaudio/lib/{name}")
    ops = operators.ops.torchaudio
    facts = operators.ops._torchaudio
    assert facts.cuda_version() is None and not facts.is_align_available()
    x = np.random.default_rng(0).standard_normal((2, 1, 9)).astype("f4")
    padded = mode.zeros(2, 1, 11)
    ops._lfilter_core_loop(mode.from_numpy(x), mode.tensor([[0.2, -0.5, 1.0]]), padded)
    want = np.zeros((2, 1, 11), "f4")
    for i in range(9):
        want[..., i + 2] = x[..., i] - 0.2 * want[..., i] + 0.5 * want[..., i + 1]
    np.testing.assert_allclose(padded.numpy(), want, rtol=1e-5, atol=1e-6)
    out = mode.zeros(1, 3)
    ops._overdrive_core_loop(mode.ones(1, 3), mode.tensor([[1.0, 2, 4]]), mode.zeros(1), mode.zeros(1), out)
    np.testing.assert_allclose(out.numpy(), [[1.25, 1.99625, 3.48876875]], rtol=1e-6)
    with pytest.raises(NotImplementedError, match="forced_align"):
        ops.forced_align(1)


def test_other_libraries_are_refused(mode):
    with pytest.raises(OSError, match="compiled libraries do not load"):
        operators.ops.load_library("/somewhere/other/_C.so")
