"""Graphs that are right are found to be; errors; reports."""

import json

import numpy as np
import pytest
from helpers import faulty

import flambeau as fb
from flambeau import nn, optim
from flambeau.core.op import OPS
from flambeau.errors import FlambeauError
from flambeau.sanitizer.check import computed_by

F = nn.functional


def test_a_training_step_is_right_and_left_as_one_call_leaves_it(gpu):
    fb.manual_seed(1)
    with gpu:
        model = nn.Sequential(nn.Linear(9, 4), nn.Tanh())
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        x, y = fb.randn(11, 9).realize(), fb.randn(11, 4).realize()
        before = {k: v.numpy() for k, v in model.state_dict().items()}

        def step(x, y):
            loss = (model(x) - y).square().mean()
            optimizer.step(loss.backward())
            return loss

        found = fb.check(step, x, y)
        after = {k: v.numpy() for k, v in model.state_dict().items()}
        model.load_state_dict({k: fb.tensor(v) for k, v in before.items()})
        step(x, y)
        for k, v in model.state_dict().items():
            np.testing.assert_array_equal(v.numpy(), after[k])
            assert (after[k] != before[k]).any()
    assert found.ok and found.replayed, found
    assert found.values > 10 and found.gradients >= 3 and len(found.kernels) > 6


# one of each kind of node: (what is made of x [6, 8] and w [6, 8] of floats)
RIGHT = {
    "elementwise, rows, reductions": lambda x, w: [(x * w).exp().softmax(1), x.amax(0), (x > w).sum(1)],
    "products and windows": lambda x, w: [
        (x @ w.T + 1).relu(),
        F.max_pool2d(x.reshape(1, 1, 6, 8), 2),
        F.conv2d(x.reshape(1, 1, 6, 8), w[:3, :3].reshape(1, 1, 3, 3), padding=1),
    ],
    "opaque ops and their parts": lambda x, w: [*x.sort(1), *x.cummax(0), x.cumsum(1), *w.topk(2, 1)],
    "indices and masks": lambda x, w: [
        x[x.argsort(1)[0] % 6],
        F.embedding((x[0] * 3).abs().int() % 6, w),
        x.masked_fill(w > 0, float("-inf")),
        x.index_copy(0, fb.tensor([4, 1], device=x.device), w[:2]),  # a value that two kernels write
    ],
    "casts and complex numbers": lambda x, w: [
        (x.half() * w).float(),
        x.bfloat16() + 1,
        (x * 9).int() % 4,
        (x.to(fb.complex64) * 2j).abs(),
    ],
    "random numbers": lambda x, w: [F.dropout(x, 0.5) + fb.rand(6, 8, device=x.device)],
    "nothing": lambda x, w: [x[:0] * 2, x * 2],
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right(name, gpu):
    rng = np.random.default_rng(4)
    x, w = (fb.tensor(rng.standard_normal((6, 8)).astype("f4"), device=gpu) for _ in range(2))
    found = fb.check(RIGHT[name], x, w, replay=name == "random numbers")
    assert found.ok, found


@pytest.mark.share(5)
def test_gradients_of_what_is_right(gpu):
    """Composites, norms, products, an input that comes twice, and scores that a mask made huge."""
    rng = np.random.default_rng(5)
    x, w = (fb.tensor(rng.standard_normal((4, 6)).astype("f4"), device=gpu) for _ in range(2))
    w.requires_grad_()

    def call():
        y = F.layer_norm(w * w, (6,)) @ x.T
        scores = (y @ y.T).masked_fill(fb.ones(4, 4, device=gpu).triu(1).bool(), -3e38)
        seen = (scores - scores.amax(1, keepdim=True)).exp().sum()
        return ((F.gelu(y).log_softmax(1) * F.softplus(y)).mean() + seen).backward()[w]

    found = fb.check(call, replay=False)
    assert found.ok and found.gradients >= 6, found


def test_a_report_as_text_and_json(gpu):
    x = fb.ones(3, device=gpu).realize().requires_grad_()
    with faulty.rule(OPS["exp"], lambda g, y, x: [g * y * 2]):
        found = fb.check(lambda: x.exp().sum().backward()[x], replay=False)
        line = f"{__file__}:{test_a_report_as_text_and_json.__code__.co_firstlineno + 3}"
    (row,) = found.wrong
    assert found.first is row and not found.ok and row.line == line
    assert str(found).splitlines()[1:] == [
        "gradient: exp(f32[3]) -> f32[3]: its gradient by input 0 gives the slope"
        f" {row.told.split()[8]} along a direction, the reference {row.told.split()[-1]}",
        f"  {line}",
    ]
    rows = json.loads(json.dumps(found.as_dict()))
    assert rows["wrong"][0]["stage"] == "gradient" and rows["values"] == found.values


def test_nothing_on_a_gpu():
    with pytest.raises(FlambeauError) as e:
        fb.check(lambda x: x * 2, fb.ones(3, device="cpu"))
    told = "check(<lambda>): it ran nothing on a GPU: pass it tensors of one, or return what it makes"
    assert str(e.value) == told


def test_a_function_that_can_not_be_recorded(gpu, capsys):
    """It is compared all the same, without a replay."""
    x, counts = fb.ones(3, device=gpu).realize(), iter(range(99))
    found = fb.check(lambda x: x * (1 + 0 * next(counts)), x)
    assert found.ok and not found.replayed
    assert "runs unrecorded" in capsys.readouterr().err


def test_what_a_value_is_computed_by_is_looked_at_once():
    """There are 2^50 ways down to the first of these."""
    x = fb.ones(3, device="cpu").realize()
    made = [x * 2]
    for _ in range(50):
        made.append(made[-1] + made[-1])
    inside = list(computed_by(made[-1].node, {made[0].node: None, x.node: None}))
    assert inside == [t.node for t in reversed(made[1:])]
