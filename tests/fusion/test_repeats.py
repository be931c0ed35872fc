"""Plans whose equal expressions are built once are those whose kernels are all built."""

import pytest
from helpers.networks import LLAMA, filled
from helpers.plans import GPU, SOFTWARE, plan_of

import flambeau as fb
from flambeau import models, nn
from flambeau.fusion.planner import Planner
from flambeau.fusion.repeats import Repeats


def decoder():
    """A decoder's step of one token and its caches."""
    model = filled(models.LlamaForCausalLM(LLAMA))
    past = model.new_past(2, 64)
    with fb.no_grad():
        y = model(fb.tensor([[3], [4]], device="cpu"), past)
    return [y, *past.buffers()]


def blocks(make):
    """The gradients of four equal layers."""
    net = nn.Sequential(*(make() for _ in range(4)))
    x = fb.rand(4, 16, 16)[:, :, :16].realize()
    y = net(x.unsqueeze(1).repeat(1, 4, 1, 1) if isinstance(net[0][0], nn.Conv2d) else x)
    found = (y * y).mean().backward()
    return [y, *(found[p] for p in net.parameters())]


GRAPHS = {
    "decoder": decoder,
    "perceptrons": lambda: blocks(
        lambda: nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1))
    ),
    "convolutions": lambda: blocks(
        lambda: nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
    ),
}


@pytest.mark.parametrize("limits", [GPU, SOFTWARE], ids=["gpu", "software"])
@pytest.mark.parametrize("name", GRAPHS)
def test_plans_are_the_same(name, limits, monkeypatch):
    roots = GRAPHS[name]()
    built = []
    lower = Planner._lower
    monkeypatch.setattr(Planner, "_lower", lambda self, *of: built.append(of) or lower(self, *of))
    found, few = plan_of(*roots, limits=limits, dying=[]), len(built)
    monkeypatch.setattr(Repeats, "build", lambda self, top, group, build: build())
    assert plan_of(*roots, limits=limits, dying=[]) == found
    assert few <= 0.8 * (len(built) - few)


def test_unlike_numbers_are_unlike_kernels():
    """Constants, -0.0 beside 0.0, and integers beside floats."""
    x = fb.rand(7).realize()
    ys = [(x * k).sum() for k in (2.0, 3.0, 0.0, -0.0)]
    want = [(x.tolist(), k) for k in (2.0, 3.0, 0.0, -0.0)]
    for y, (values, k) in zip(ys, want, strict=True):
        assert abs(y.item() - k * sum(values)) < 1e-5
