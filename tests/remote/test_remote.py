"""A device behind a server: recorded steps, writes, faults, random numbers, kernels of a user, memory."""

import gc
import pickle
import threading
import time

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.remote import connect


def settled(read, want, seconds: float = 60.0):
    """Wait until a value is as it should be: the server frees memory in its own threads."""
    until = time.monotonic() + seconds
    while read() != want and time.monotonic() < until:
        time.sleep(0.01)
    return read()


def trained(device, jit: bool, steps: int = 6):
    """The weights and losses of a small net after some steps, as bytes."""
    fb.manual_seed(3)
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4)).to(device)
    adam = optim.Adam(model.parameters(), 1e-2)
    rng = np.random.default_rng(0)

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        adam.step(loss.backward())
        return loss

    run = fb.jit(step) if jit else step
    losses = []
    for _ in range(steps):
        x = fb.tensor(rng.normal(size=(8, 12)).astype("f4"), device=device)
        losses.append(run(x, fb.tensor(rng.integers(0, 4, 8), device=device)).item())
    return [p.numpy().tobytes() for p in model.parameters()], losses


def test_training_gives_the_bits_of_the_adapter(remote, gpu):
    assert trained(remote, jit=False) == trained(gpu, jit=False)
    assert trained(remote, jit=True) == trained(gpu, jit=True)


def test_a_recorded_step_sends_under_a_kilobyte(own):
    fb.manual_seed(3)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)).to(own)
    adam = optim.Adam(model.parameters(), 1e-2)

    @fb.jit
    def step(x):
        loss = model(x).square().mean()
        adam.step(loss.backward())
        return loss

    x = fb.ones(4, 8, device=own)
    for _ in range(20):
        loss = step(x)
    loss.item()
    before = sum(own.traffic)
    for _ in range(20):
        loss = step(x)
    loss.item()
    assert (sum(own.traffic) - before) / 20 < 1024


def test_writes_64_bits_and_complex_numbers(remote):
    x = fb.zeros(3, 4, device=remote)
    row = x[1]
    row += 2
    x[:, 0] = fb.tensor([1.0, 2.0, 3.0], device=remote)
    assert x.numpy().tolist() == [[1, 0, 0, 0], [2, 2, 2, 2], [3, 0, 0, 0]]
    big = fb.tensor([2**40 + 1, -3], device=remote)
    assert big.dtype is fb.int64 and (big * 3 + 1).numpy().tolist() == [3 * 2**40 + 4, -8]
    z = fb.tensor([1 + 2j, 3 - 1j], device=remote)
    assert (z * z).numpy().tolist() == [(1 + 2j) ** 2, (3 - 1j) ** 2]
    odd = fb.tensor([1, 2, 3], dtype=fb.uint8, device=remote)  # three bytes
    assert (odd + 1).numpy().tolist() == [2, 3, 4]
    empty = fb.zeros(0, 3, device=remote)
    assert empty.numpy().shape == (0, 3)


def test_random_numbers_are_the_same_everywhere(remote, gpu):
    drawn = []
    for device in (remote, gpu):
        fb.manual_seed(11)
        drawn.append((fb.randn(1000, device=device).numpy(), fb.randperm(50, device=device).numpy()))
    assert all(np.array_equal(a, b) for a, b in zip(*drawn))


def test_faults_have_the_texts_of_the_adapter(remote, gpu):
    texts = []
    for device in (remote, gpu):
        x = fb.arange(4, device=device)
        with pytest.raises(IndexError) as error:
            x[fb.tensor([1, 9], device=device)].numpy()
        texts.append(str(error.value))
        assert (x + 1).numpy().tolist() == [1, 2, 3, 4]  # it is reported once
    assert texts[0] == texts[1] and "index 9 is out of range" in texts[0]


def cubed(name, expression):
    return fb.custom_op(name, ["x"], expression=expression, reference=lambda xp, x: x**3)


def test_kernels_of_a_user(remote):
    x = fb.tensor([2.0, 3.0], device=remote)
    cube = cubed("remote_cube", "{{ x }} * {{ x }} * {{ x }}")
    assert cube(x).numpy().tolist() == [8, 27]
    with pytest.raises(fb.KernelError, match="the kernel does not compile on gpu:(.|\n)*nothing"):
        cubed("remote_broken", "{{ x }} * nothing")(x).numpy()
    assert cube(x).numpy().tolist() == [8, 27]


def test_a_pickle_names_the_connection(own):
    x = pickle.loads(pickle.dumps(fb.ones(3, device=own)))
    assert x.device is own and fb.device(own.name) is own  # the last connection to this address
    assert own.type == "remote" and own.index is None and x.is_cuda
    own.close()
    again = fb.device(own.name)
    assert again is not own and fb.ones(2, device=again).sum().item() == 2
    again.close()


def test_values_move_between_devices(remote, gpu):
    x = fb.arange(5, device=gpu)
    assert x.to(remote).to("cpu").numpy().tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="devices differ: gpu:.* and remote:127.0.0.1"):
        (x + x.to(remote)).numpy()


async def _awaited(device):
    x = fb.ones(4, device=device)
    return (await (x + 1).read()).tolist()


def test_reads_are_awaited(remote):
    import asyncio

    assert asyncio.run(_awaited(remote)) == [2, 2, 2, 2]


def test_wait_waits_for_everything(remote):
    x = fb.rand(384, 384, device=remote).realize()

    def waits() -> bool:
        """Whether a read after the wait takes less time than the wait, in which three products ran."""
        y = x
        for _ in range(3):
            y = (y @ x * 0.01).realize()
        began = time.perf_counter()
        remote.wait()
        waited = time.perf_counter()
        remote.read([(y.node.buffer.handle, 4)])
        return time.perf_counter() - waited < waited - began

    assert any(waits() for _ in range(20))  # another process may take the processor during the read


def test_threads_share_a_connection(remote):
    sums: list[float] = []

    def work(i):
        x = fb.full((100,), float(i), device=remote)
        for _ in range(8):
            x = x + 1
            sums.append(x.sum().item())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == sorted(100.0 * (i + k) for i in range(3) for k in range(1, 9))


def test_profiles_and_saved_programs(remote, tmp_path):
    x = fb.rand(8, 4, device=remote)
    model = nn.Linear(4, 2).to(remote)
    with fb.profile(remote) as profile:
        want = model(x).numpy()
    assert "linear" in str(profile).lower() or "matmul" in str(profile)
    fb.save_program(model, "f32[N, 4]", tmp_path / "program")
    with remote:
        program = fb.load_program(tmp_path / "program")
        assert np.allclose(program(x).numpy(), want)


def test_it_is_the_default_device(own):
    with own:
        assert fb.ones(2).device is own and nn.Linear(2, 2).weight.device is own
        assert str(fb.tensor([1.0])) == "tensor([1.])" or "remote:" in str(fb.tensor([1.0]))
    fb.set_default_device(own.name)
    try:
        assert (fb.ones(2) + 1).device is own and fb.get_default_device() is own
    finally:
        fb.set_default_device(None)


def test_memory_is_freed(server):
    others = set(server.sessions)  # of earlier tests, some of which are still ending
    device = connect(server.address)
    (session,) = set(server.sessions) - others
    x = (fb.zeros(1 << 20, device=device) + 1).realize()
    device.wait()
    assert session.used >= 4 << 20
    del x
    gc.collect()
    device.pool.trim()
    device.wait()
    assert session.used < 1 << 20
    device.close()
    assert settled(lambda: session in server.sessions or session.used, 0) == 0
    with pytest.raises(
        fb.DeviceError, match="was lost .it was closed.: its values are lost: flambeau.remote.connect"
    ):
        fb.zeros(2, device=device).numpy()


def test_two_clients_see_only_their_own(server, remote):
    other = connect(server.address)
    a, b = fb.full((1000,), 3.0, device=remote), fb.full((1000,), 5.0, device=other)
    for _ in range(5):
        a, b = a + 1, b + 1
        assert a.sum().item() == 1000 * a[0].item() and b[7].item() == a[7].item() + 2
    other.close()
    assert (a + 1).numpy()[0] == 9
