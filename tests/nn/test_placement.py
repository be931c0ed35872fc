"""Models on several devices: placements by name, splits, and the transfers where a part begins."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from helpers.draws import TURN

import flambeau as fb
from flambeau import nn
from flambeau.device.adapters import adapters
from flambeau.device.cpu import CpuDevice
from flambeau.nn import device_split
from flambeau.nn.device_split import split
from flambeau.runtime import transfers
from flambeau.runtime.exchange import transfer

OTHER = CpuDevice("cpu:other")  # a second device that costs nothing
N = 4


class Block(nn.Module):
    def __init__(self):
        self.a, self.b = nn.Linear(N, N), nn.Linear(N, N)

    def forward(self, x, *, mask):
        return x + self.b((self.a(x) * mask).tanh())


class Net(nn.Module):
    def __init__(self, blocks=4):
        self.position = nn.Parameter(fb.ones(N))
        self.blocks = nn.ModuleList([Block() for _ in range(blocks)])
        self.head = nn.Linear(N, 3)

    def forward(self, x, mask):
        x = x + self.position
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.head(x)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with fb.device("cpu"):
        yield


def net(place=None):
    fb.manual_seed(3)
    model = Net()
    return model if place is None else model.to(place)


def batches(count):
    rng = np.random.default_rng(5)
    return [
        (fb.tensor(rng.standard_normal((6, N)).astype("f")), fb.tensor(rng.integers(0, 3, 6)))
        for _ in range(count)
    ]


MASK = np.array([1, 0, 1, 1], "f")


def loss_of(model, x, y):
    out = model(x, fb.tensor(MASK))
    return nn.functional.cross_entropy(out, y.to(out.device))


def train(model, steps=20):
    """The losses of some steps with clipped gradients."""
    optimizer = fb.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for x, y in batches(steps):
        loss = loss_of(model, x, y)
        grads = loss.backward()
        assert nn.utils.clip_grad_norm_(grads, 0.5).device is next(iter(grads)).device
        optimizer.step(grads)
        losses.append(loss.item())
    return losses, optimizer


@pytest.mark.parametrize("draw", range(3))
def test_drawn_splits_equal_one_device(draw):
    rng = np.random.default_rng(100 * TURN + draw)
    devices = ["cpu", OTHER]
    place = {f"blocks.{i}": devices[rng.integers(2)] for i in range(4)}
    place |= {"head": devices[rng.integers(2)], "*": devices[rng.integers(2)]}
    one, several = net(), net(place)
    for block, device in zip(several.blocks, list(place.values()), strict=False):
        assert {p.device for p in block.parameters()} == {fb.device(device) if device == "cpu" else device}
    x, y = batches(1)[0]
    expected, got = (loss_of(m, x, y).backward() for m in (one, several))
    for (name, p), q in zip(one.named_parameters(), several.parameters(), strict=True):
        assert got[q].device is q.device
        np.testing.assert_allclose(got[q].numpy(), expected[p].numpy(), rtol=1e-5, atol=1e-7, err_msg=name)
    assert not transfers.pending
    if draw:
        return
    np.testing.assert_allclose(train(several)[0], train(one)[0], rtol=1e-5)
    for p, q in zip(one.parameters(), several.parameters(), strict=True):
        np.testing.assert_allclose(q.numpy(), p.numpy(), rtol=1e-4, atol=1e-6)


def test_state_goes_to_each_parameters_device(tmp_path):
    place = {"blocks.0-1": "cpu", "blocks.2-3": OTHER, "*": OTHER}
    model = net(place)
    _, optimizer = train(model, 2)
    for p, state in optimizer.state.items():
        assert {t.device for t in state.values()} == {p.device}
    other = Net().to({"blocks.0-2": OTHER, "*": "cpu"})
    other.load_state_dict(model.state_dict())
    resumed = fb.optim.AdamW(other.parameters(), lr=1e-2)
    resumed.load_state_dict(optimizer.state_dict())
    for p, state in resumed.state.items():
        assert {t.device for t in state.values()} == {p.device}
    model.save(tmp_path / "model.safetensors")
    third = Net().to(place)
    third.load(tmp_path / "model.safetensors")
    x = batches(1)[0][0]
    expected = model(x, fb.tensor(MASK)).numpy()
    for same in (other, third, copy.deepcopy(model)):
        np.testing.assert_allclose(same(x, fb.tensor(MASK)).numpy(), expected, rtol=1e-6)


def test_a_model_on_one_device_again():
    model = net({"blocks.0-1": "cpu", "*": OTHER})
    assert model.blocks[0]._module_hooks and model.head._module_hooks
    model.to("cpu")
    assert not any(m._module_hooks for m in model.modules())
    assert {p.device.name for p in model.parameters()} == {"cpu"}
    model.to({"*": OTHER}, fb.float64)
    assert {(p.device, p.dtype) for p in model.parameters()} == {(OTHER, fb.float64)}
    assert model.to(fb.float32)._module_hooks, "a cast keeps the placement"


CPU = "cpu"
ERRORS = {
    "block.0": ({"block.0": CPU}, "'block.0' matches no module or tensor: did you mean 'blocks.0'?"),
    "range": (
        {"blocks.0-5": CPU, "*": CPU},
        "'blocks.0-5' ('blocks.4', 'blocks.5') matches no module or tensor: did you mean 'blocks.3'?",
    ),
    "order": ({"blocks.3-2": CPU}, "'blocks.3-2': '3-2' must be a range such as 0-5"),
    "twice": (
        {"blocks.0-1": CPU, "blocks.1.a": CPU, "*": CPU},
        "'blocks.0-1' and 'blocks.1.a' both match 'blocks.1.a.weight', 'blocks.1.a.bias':"
        " name each tensor once",
    ),
    "rest": (
        {"blocks.*": CPU},
        "no name matches 'position', 'head.weight', 'head.bias': add '*' for the rest",
    ),
    "own": (
        {"head.weight": CPU, "head.bias": OTHER, "*": CPU},
        "the tensors of 'head' itself are on 2 devices: name the module",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_all(name):
    place, text = ERRORS[name]
    model = net()
    with pytest.raises(ValueError) as error:
        model.to(place)
    listed = ", ".join(f"{k!r}: {v!r}" for k, v in place.items())
    assert str(error.value) == f"Net.to({{{listed}}}): {text}"
    assert not any(m._module_hooks for m in model.modules()), "nothing is placed"


def test_tied_tensors_stay_together():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    model[2].weight = model[0].weight
    rule = r"'0.weight' and '2.weight' are one tensor, on cpu and cpu:other: place both on one device"
    with pytest.raises(ValueError, match=rule):
        model.to({"0-1": "cpu", "2": OTHER})
    x = fb.randn(3, 2)
    expected, grads = model(x).numpy(), model(x).sum().backward()
    expected_grad = grads[model[0].weight].numpy()
    model.to({"0": "cpu", "1": OTHER, "2": "cpu"})
    np.testing.assert_allclose(model(x).numpy(), expected, rtol=1e-6)
    grad = model(x).sum().backward()[model[0].weight]
    np.testing.assert_allclose(grad.numpy(), expected_grad, rtol=1e-6)
    assert split(model, devices=["cpu", OTHER])["2"] == "cpu"


def test_layers_without_tensors_run_where_their_input_is():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    model.to({"0": OTHER, "*": "cpu"})
    assert not model[1]._module_hooks and model[:2](fb.ones(1, 2)).device is OTHER
    model.to({"1": "cpu", "*": OTHER})
    assert model[1]._module_hooks and model(fb.ones(1, 2)).device is OTHER


def test_nested_arguments_are_moved():
    class Sum(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(fb.ones(2))

        def forward(self, pair, *, more):
            return self.w * pair[0] + pair[1]["x"] + more[0]

    model = Sum().to({"*": OTHER})
    y = model((fb.ones(2), {"x": fb.ones(2), "name": "x"}), more=[fb.ones(2)])
    assert y.device is OTHER and y.tolist() == [3, 3]


def test_mixed_operands_keep_their_error():
    x, y = fb.ones(2), transfer(fb.ones(2), OTHER)
    with pytest.raises(ValueError, match=r"devices differ: cpu and cpu:other: move one with \.to"):
        x + y


def test_second_gradients_and_checkpoints_cross_devices():
    w = fb.tensor([1.0, 2.0], requires_grad=True)
    first = (transfer(w * w, OTHER) * transfer(w, OTHER)).sum().backward(create_graph=True)[w]
    assert first.tolist() == [3, 12] and first.sum().backward()[w].tolist() == [6, 12]
    model = net({"blocks.0-1": "cpu", "*": OTHER})
    x = batches(1)[0][0]
    plain = model(x, fb.tensor(MASK)).sum().backward()
    again = fb.checkpoint(model, x, fb.tensor(MASK)).sum().backward()
    for p in model.parameters():
        np.testing.assert_allclose(again[p].numpy(), plain[p].numpy(), rtol=1e-6)


def test_scalers_and_learners():
    rng = np.random.default_rng(0)
    data = [(rng.standard_normal((8, N)).astype("f"), rng.integers(0, 3, 8)) for _ in range(3)]
    outcomes = []
    for place in (None, {"0": "cpu", "2": OTHER}):
        fb.manual_seed(1)
        model = nn.Sequential(nn.Linear(N, N), nn.ReLU(), nn.Linear(N, 3))
        optimizer = fb.optim.AdamW(model.parameters(), lr=1e-2)
        scaler = fb.amp.GradScaler(init_scale=4.0)
        options = {"device": place, "clip": 0.1, "accumulate": 2, "scaler": scaler, "renderers": []}
        learner = fb.Learner(model, optimizer, nn.functional.cross_entropy, **options)
        learner.fit(data, epochs=2)
        assert learner.device is next(reversed([*model.parameters()])).device
        outcomes.append([p.numpy() for p in model.parameters()])
    for one, several in zip(*outcomes, strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-4, atol=1e-6)


def test_bytes_split_in_the_best_places():
    model = net()
    assert split(model, devices=["cpu", OTHER]) == {
        **{f"blocks.{i}": "cpu" for i in range(2)},
        **{f"blocks.{i}": OTHER for i in (2, 3)},
        "head": OTHER,
        "position": "cpu",
    }
    assert set(split(model, devices=["cpu"]).values()) == {"cpu"}
    model.to("split:cpu,cpu")
    with pytest.raises(ValueError, match=r"split\(devices=\[\]\): the list is empty"):
        split(model, devices=[])
    with pytest.raises(ValueError, match=r"split\(ReLU\): it has no tensors"):
        split(nn.ReLU(), devices=["cpu"])
    assert split(nn.Linear(2, 2), devices=["cpu", OTHER]) == {"*": "cpu"}


def test_drawn_partitions_have_the_smallest_largest_part():
    rng = np.random.default_rng(TURN)
    for _ in range(30):
        n, devices = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        costs = rng.random((n, devices)).round(2).tolist()

        def worst(ends, costs=costs):
            starts = [0, *ends[:-1]]
            return max(
                sum(row[d] for row in costs[a:z]) for d, (a, z) in enumerate(zip(starts, ends, strict=True))
            )

        every = [sorted(c) for c in combinations(list(range(n + 1)) * (devices - 1), devices - 1)]
        best = min(worst([*ends, n]) for ends in every)
        assert abs(worst(device_split._partition(costs, devices)) - best) < 1e-9


def test_time_moves_the_cut(monkeypatch):
    """A device that takes three times as long gets fewer blocks; the model stays where it was."""
    seconds = {"cpu": 1.0, "cpu:other": 3.0}
    monkeypatch.setattr(device_split, "_time", lambda module, near, device: seconds[device.name])
    model = net({"blocks.1-2": OTHER, "*": "cpu"})
    before = [p.device for p in model.parameters()]
    place = split(model, batches(1)[0][0], fb.tensor(MASK), devices=["cpu", OTHER])
    assert [p.device for p in model.parameters()] == before and model.blocks[1]._module_hooks
    assert list(place)[:5] == ["blocks.0", "blocks.1", "blocks.2", "blocks.3", "head"]
    assert [d for n, d in place.items() if n.startswith("blocks")] == ["cpu", "cpu", "cpu", OTHER]


def test_lazy_layers_are_created_on_their_device():
    model = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 2)).to({"0": OTHER, "1": "cpu"})
    assert model(fb.ones(1, 5)).device.name == "cpu" and model[0].weight.device is OTHER
    plain = nn.Sequential(nn.LazyLinear(3)).to(OTHER)
    assert plain(transfer(fb.ones(1, 5), OTHER)).device is OTHER
    half = nn.LazyLinear(3).half()
    assert half(fb.ones(1, 5, dtype=fb.float16)).dtype is fb.float16


@pytest.mark.share(3)
def test_plans_inspections_and_recordings_show_transfers(gpu, capsys):
    """Two blocks read one mask: it is moved once. No wave computes a forward value again."""
    fb.manual_seed(3)
    with gpu:
        one, model = Net(), Net()
        model.load_state_dict(one.state_dict())
        model.to({"blocks.2": "cpu", "*": gpu})
        x, mask = fb.tensor(np.ones((6, N), "f")), fb.tensor(MASK)
        name = f"gpu:{gpu.index}"
        text = repr(model(x, mask).plan())
        lines = [line for line in text.splitlines() if line.startswith("transfer")]
        assert sorted(lines) == [
            f"transfer cpu -> {name}, 96 bytes",
            f"transfer {name} -> cpu, 16 bytes",
            f"transfer {name} -> cpu, 96 bytes",
        ]
        assert f"{name}: " in text and f"// transfer cpu -> {name}, 96 bytes" in model(x, mask).wgsl()
        inspection = fb.inspect(lambda: model(x, mask).square().mean().backward())
        moves = {(t.source, t.target, t.nbytes): t.runs for t in inspection.transfers}
        assert moves == {(name, "cpu", 96): 2, (name, "cpu", 16): 1, ("cpu", name, 96): 2}
        assert f"transfer cpu -> {name}, 96 bytes, 2 runs" in str(inspection)
        assert type(inspection).from_json(inspection.to_json()).transfers == inspection.transfers
        products = [sum("matmul" in k.name for k in i.kernels) for i in (inspection, _inspect(one, x, mask))]
        assert products[0] <= products[1], "forward values are computed once"
        step = fb.jit(model)
        capsys.readouterr()
        np.testing.assert_allclose(step(x, mask).numpy(), one(x, mask).numpy(), rtol=1e-5)
        why = "it computes on several devices: record a function for each device"
        assert why in capsys.readouterr().err
        first = fb.jit(model.blocks[0])
        assert first(x, mask=mask).device is gpu and len(first.programs) == 1, (
            "a part of one device is recorded"
        )
        with pytest.raises(fb.FlambeauError, match=f"compile: {why}"):
            model.compile(x, mask)


def _inspect(model, x, mask):
    return fb.inspect(lambda: model(x, mask).square().mean().backward())


def opened(number):
    """An adapter's device, or None if its driver refuses one, as OpenGL beside Vulkan may."""
    try:
        return fb.device("gpu", number)
    except fb.DeviceError:
        return None


@pytest.mark.share(5)
def test_two_adapters_and_a_profile(gpu):
    others = [device for i in range(len(adapters())) if (device := opened(i)) not in (None, gpu)]
    if not others:
        pytest.skip("this machine has one adapter")
    other = others[0]
    with gpu:
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        x = fb.ones(2, 4)
        expected = model(x).numpy()
        model.to({"0": gpu, "1": other})
        with fb.profile() as p:  # the second device is met inside
            y = model(x).numpy()
        np.testing.assert_allclose(y, expected, rtol=1e-5)
        assert len(p.kernels) >= 2
        again = pickle.loads(pickle.dumps(model))
        assert again[1].weight.device is other and np.allclose(again(x).numpy(), expected, rtol=1e-5)


@pytest.mark.share(4)
def test_a_device_of_another_machine(gpu):
    with fb.remote.Server(port=0, token="a secret of sixteen") as server, gpu:
        far = fb.remote.connect(server.address, token="a secret of sixteen")
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        x = fb.ones(2, 4)
        expected, grads = model(x).numpy(), model(x).sum().backward()
        first = grads[model[0].weight].numpy()
        model.to({"0": gpu, "1": far})
        y = model(x)
        assert y.device is far and f"transfer gpu:{gpu.index} -> {far.name}, 32 bytes" in repr(y.plan())
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)
        np.testing.assert_allclose(y.sum().backward()[model[0].weight].numpy(), first, rtol=1e-5)
        far.close()
