"""An MLP, a CNN and a GPT trained in 16 bits reach the loss that they reach in float32."""

import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.models.benchmarked import Size, gpt

F = nn.functional
WITHIN = 0.05  # of the loss; what is rounded at 2^-11 or 2^-8 moves it by less at these few steps


def mlp():
    return nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.LayerNorm(24), nn.Linear(24, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(96, 3),
    )  # fmt: skip


def small_gpt():
    return gpt(fb, Size(layers=1, width=16, heads=2, vocabulary=12, context=8))


def batch(name):
    if name == "gpt":
        ids = fb.randint(0, 12, (6, 9))
        return ids[:, :-1], ids[:, 1:]
    x = fb.randn(24, 8) if name == "mlp" else fb.randn(24, 1, 8, 8)
    return x, (x.reshape(24, -1)[:, :3] * 3).argmax(1)


MODELS = {"mlp": (mlp, 10, 0.05), "cnn": (cnn, 10, 0.01), "gpt": (small_gpt, 6, 0.05)}

LOWER = {"mlp": [fb.float16, fb.bfloat16], "cnn": [fb.float16], "gpt": [fb.bfloat16]}


def losses(name, dtype, recorded=False):
    fb.manual_seed(1)
    make, steps, lr = MODELS[name]
    model, (x, y) = make(), batch(name)
    optimizer = optim.AdamW(model.parameters(), lr=lr)
    scaler = fb.GradScaler(enabled=dtype is fb.float16)

    def step(x, y):
        with fb.autocast(dtype=dtype or fb.float16, enabled=dtype is not None):
            scores = model(x)
            loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
        assert scores.dtype is (dtype or fb.float32)
        grads = scaler.scale(loss).backward()
        scaler.unscale_(grads)
        nn.utils.clip_grad_norm_(grads, 1.0)
        scaler.step(optimizer, grads)
        scaler.update()
        return loss

    call = fb.jit(step) if recorded else step
    made = [call(x, y) for _ in range(steps)]
    assert all(p.dtype is fb.float32 for p in model.parameters())
    return [loss.item() for loss in made]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.share(5)
def test_reaches_the_loss_of_float32(name):
    with fb.device("cpu"):
        exact = losses(name, None)
        for dtype in LOWER[name]:
            made = losses(name, dtype)
            assert abs(made[-1] - exact[-1]) <= WITHIN * exact[0] and made != exact, dtype
            assert abs(made[0] - exact[0]) <= 0.01 * exact[0], dtype
    assert exact[-1] < 0.7 * exact[0]


@pytest.mark.share(5)
def test_a_recorded_step_does(gpu):
    with gpu:
        exact, made = losses("mlp", None, recorded=True), losses("mlp", fb.float16, recorded=True)
    assert abs(made[-1] - exact[-1]) <= WITHIN * exact[0]
    assert exact[-1] < 0.7 * exact[0]
