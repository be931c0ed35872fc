"""torch.compile: calls with backward, step and zero_grad are recorded as a whole."""

import pytest

LOSSES = 4


@pytest.fixture
def gpu(mode, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CUDA", "1")
    if not mode.cuda.is_available():
        pytest.skip("no adapter: calls on the CPU are not recorded")
    return mode.device("cuda")


def run(mode, gpu, step_of, compiled):
    """The losses of a few steps, the last gradient, and the model, by a step that `step_of` makes."""
    model = mode.nn.Linear(3, 2).to(gpu)
    with mode.no_grad():
        for p in model.parameters():
            p.copy_(mode.linspace(-1, 1, p.numel(), device=gpu).reshape(p.shape))
    optimizer = mode.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = mode.linspace(-1, 1, 12, device=gpu).reshape(4, 3)
    step = step_of(model, optimizer)
    call = mode.compile(step) if compiled else step
    losses = [call(x * (i + 1)).item() for i in range(LOSSES)]
    return losses, model.weight.grad, model, call


def zero_first(model, optimizer):
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def zero_last(model, optimizer):
    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def adding_up(model, optimizer):
    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        for p in model.parameters():
            p.grad.mul_(0.5)
        return loss

    return step


def scaled_and_clipped(model, optimizer):
    from flambeau.torch.nn.utils import clip_grad_norm_

    from flambeau.torch import amp

    scaler = amp.GradScaler("cuda", init_scale=8.0, growth_interval=2)

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


@pytest.mark.parametrize("step_of", [zero_first, zero_last, adding_up, scaled_and_clipped])
def test_a_recorded_step_does_what_the_step_does(mode, gpu, step_of, capsys):
    expected, gradient, *_ = run(mode, gpu, step_of, compiled=False)
    losses, g, _, call = run(mode, gpu, step_of, compiled=True)
    assert losses == pytest.approx(expected, rel=1e-5)
    assert (g is None) == (gradient is None)
    if g is not None:
        assert mode.allclose(g, gradient, rtol=1e-4)
    assert "unrecorded" not in capsys.readouterr().err
    calls = call.__closure__[0].cell_contents
    assert len(calls.record.programs) == (
        2 if step_of is adding_up else 1
    )  # with and without gradients before


def test_gradients_from_outside_are_arguments(mode, gpu):
    """Steps that read `.grad` see what is in it now, also another tensor; who holds `.grad` sees the sum."""
    w = mode.ones(3, device=gpu, requires_grad=True)

    @mode.compile
    def add(x):
        (w * x).sum().backward()

    x = mode.ones(3, device=gpu)
    w.grad = x * 10
    for expected in (11, 12, 13):
        held = w.grad
        add(x)
        assert w.grad is held and held.tolist() == [expected] * 3
    w.grad = None
    for expected in (1, 2):
        add(x)
        assert w.grad.tolist() == [expected] * 3
    w.grad = x * 5
    add(x)
    assert w.grad.tolist() == [6] * 3


def test_results_with_a_graph_and_other_objects(mode, gpu, capsys):
    w = mode.ones(3, device=gpu, requires_grad=True)
    product = mode.compile(lambda x: w * x)
    for _ in range(3):
        product(mode.ones(3, device=gpu)).sum().backward()
    assert w.grad.tolist() == [3] * 3
    with mode.no_grad():
        assert product(mode.ones(3, device=gpu)).tolist() == [1] * 3

    class Output:
        def __init__(self, value):
            self.value = value

    wrapped = mode.compile(lambda x: Output(x * 2))
    assert [wrapped(mode.ones(1, device=gpu)).value.item() for _ in range(4)] == [2] * 4


def trained(mode, gpu, compiled):
    """Losses and last gradients of a few steps of a network with statistics, dropout and two calls."""
    mode.manual_seed(0)
    nn = mode.nn
    layers = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.GELU(), nn.Dropout(0.3), nn.Linear(6, 2)
    model = nn.Sequential(*layers).to(gpu)
    call = mode.compile(model) if compiled else model
    optimizer = mode.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = mode.linspace(-1, 1, 32, device=gpu).sin().reshape(8, 4)
    mode.manual_seed(1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = call(x).square().mean() + call(x * 2).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    inputs = x.clone().requires_grad_()
    call(inputs).sum().backward()
    gradients = [inputs.grad, *[p.grad for p in model.parameters()], *model.buffers()]
    return losses, [g.tolist() for g in gradients], call


@pytest.mark.share(2)
def test_a_module_in_training_is_two_recordings(mode, gpu, capsys):
    import numpy as np

    losses, gradients, _ = trained(mode, gpu, compiled=False)
    recorded, recorded_gradients, call = trained(mode, gpu, compiled=True)
    assert recorded == pytest.approx(losses, rel=1e-5)
    for a, b in zip(recorded_gradients, gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert "unrecorded" not in capsys.readouterr().err
    passes = vars(call)["_trained"]
    assert len(passes.plans) == 2 and passes.record_forward.programs and passes.record_backward.programs


def test_a_compiled_module(mode, gpu):
    model = mode.nn.Linear(2, 1).to(gpu)
    compiled = mode.compile(model)
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"] and compiled.in_features == 2
    x = mode.ones(3, 2, device=gpu)
    with mode.no_grad():
        for _ in range(3):
            assert compiled(x).tolist() == model(x).tolist()
    compiled(x).sum().backward()
    assert model.weight.grad.tolist() == [[3, 3]]
    assert mode.compile(model, disable=True) is model and mode.compile(disable=True)(len) is len


def test_a_step_without_arguments_is_recorded_on_the_gpu_of_its_tensors(mode, gpu, capsys):
    model = mode.nn.Linear(3, 2).to(gpu)
    optimizer = mode.optim.SGD(model.parameters(), lr=0.1)
    x = mode.ones(4, 3, device=gpu)

    def step():
        print("called")  # replays do not
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()

    compiled = mode.compile(step)
    for _ in range(4):
        compiled()
    capsys.readouterr()
    for _ in range(3):
        compiled()
    assert capsys.readouterr().out == ""
