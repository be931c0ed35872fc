"""torch.random in torch mode: PyTorch's numbers on the CPU, states, forks."""

import numpy as np

import flambeau as fb
from flambeau.ops.mersenne import torch_numbers


def test_seed_0_gives_torchs_numbers(mode):
    mode.manual_seed(0)
    assert mode.rand(2).tolist() == [0.49625658988952637, 0.7682217955589294]
    assert mode.initial_seed() == 0 and mode.default_generator is torch_numbers()
    with mode.random.fork_rng():
        mode.rand(5)
    assert mode.rand(1).item() == 0.08847743272781372
    g = mode.Generator(device="cpu").manual_seed(0)
    assert mode.rand(1, generator=g).item() == 0.49625658988952637 and str(g.device) == "cpu"


def test_states_continue(mode):
    mode.manual_seed(3)
    state, gpu = mode.get_rng_state(), mode.cuda.get_rng_state()
    assert state.shape == (5056,) and gpu.shape == (16,)
    first = mode.randn(3).tolist()
    mode.set_rng_state(state)
    assert mode.randn(3).tolist() == first
    mode.cuda.manual_seed_all(5)
    mode.cuda.set_rng_state(gpu)
    assert np.array_equal(mode.cuda.get_rng_state().numpy(), gpu.numpy())
    assert mode.seed() == mode.initial_seed()


def test_outside_of_the_mode_numbers_are_philox(mode):
    with mode.enabled(False):
        assert torch_numbers() is None
        fb.manual_seed(0)
        assert fb.rand(1, device="cpu").item() != 0.49625658988952637


def test_numbers_beside_torch(mode, torch):
    rows = []
    for library in (torch, mode):
        library.manual_seed(11)
        model = library.nn.Sequential(library.nn.Linear(4, 20), library.nn.Dropout(0.3))
        with library.random.fork_rng(devices=[]):
            library.randn(7)
        loader = library.utils.data.DataLoader(list(range(9)), batch_size=2, shuffle=True)
        orders = [b.tolist() for b in loader]
        rows.append((model(library.ones(2, 4)).tolist(), orders, library.randn(17).tolist()))
    assert rows[0][1:] == rows[1][1:]
    np.testing.assert_allclose(rows[0][0], rows[1][0], rtol=1e-6)
