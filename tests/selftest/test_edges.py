"""The families of edges find faults of their kind: one is planted for each."""

import pytest

import flambeau as fb
from flambeau.selftest import FAMILIES, Selftest, edges

F, T = fb.nn.functional, fb.Tensor
INTERPOLATE, GRID_SAMPLE = F.interpolate, F.grid_sample
CUMSUM, ROLL = T.cumsum, T.roll


def sum_for_prod(x, dim):
    return x.sum(dim)


def always_aligned(x, grid, padding_mode, align_corners):
    return GRID_SAMPLE(x, grid, padding_mode=padding_mode, align_corners=True)


def places_in_python(x, mode, scale_factor=None, size=None):
    """The size and the places of float64 and of the nearest, where float32's are asked for."""
    return INTERPOLATE(x, size=size or int(x.shape[-1] * scale_factor), mode=mode)


def by_words(x, dim):
    return CUMSUM(x, dim).int().long()


def only_once_around(x, shift, dim):
    return ROLL(x, shift, dim) if abs(shift) < x.shape[dim] else x


def not_by_abs(z, ord=2, dim=None):
    return ((z * z).sum(dim) if ord == 2 else z.sum(dim)).real.abs().sqrt()


PLANTED = [
    ("empty tensors", T, "prod", sum_for_prod),
    ("grid points", F, "grid_sample", always_aligned),
    ("grid points", F, "interpolate", places_in_python),
    ("wide integers", T, "cumsum", by_words),
    ("ends of parameters", T, "roll", only_once_around),
    ("sizes from values", T, "unique", lambda x: x.reshape(-1)),
    ("tensors as arguments", T, "ldexp", lambda x, other: x * 2),
    ("complex numbers", fb.linalg, "vector_norm", not_by_abs),
    ("complex numbers", T, "logcumsumexp", lambda z, dim: z.cumsum(dim)),
]


@pytest.mark.parametrize("family, where, name, wrong", PLANTED, ids=[row[2] for row in PLANTED])
@pytest.mark.share(5)
def test_a_fault_is_found(family, where, name, wrong, monkeypatch):
    device = fb.tensor(0.0, device="cpu").device
    monkeypatch.setattr(where, name, wrong)
    test = Selftest(device, 5, [family])
    for _ in range(200):
        test.step()
        if test.found:
            break
    ((program, _),) = test.found
    assert name in "".join(line.text for line in program.lines) and len(program.lines) == 1


def test_all_are_drawn_by_default():
    assert set(edges.FAMILIES) < set(FAMILIES) and {row[0] for row in PLANTED} == set(edges.FAMILIES)
    device = fb.tensor(0.0, device="cpu").device
    assert set(edges.FAMILIES) < set(Selftest(device, 5).families)
