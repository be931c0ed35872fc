"""Torch mode: `.grad`, hooks and steps as in torch, on NumPy's device."""

import pytest

import flambeau as fb


def test_backward_adds_to_grad(mode):
    x = mode.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    held = x.grad
    assert x.grad.tolist() == [2, 4]
    (x * 3).sum().backward()
    assert x.grad is held and held.tolist() == [5, 7]


def test_a_step_reads_grad_and_zero_grad_clears_it(mode):
    layer = mode.nn.Linear(2, 1, bias=False)
    with mode.no_grad():
        layer.weight.fill_(1.0)
    optimizer = mode.optim.SGD(layer.parameters(), lr=0.5)
    loss = layer(mode.tensor([[1.0, 2.0]])).sum()
    loss.backward()
    assert loss.grad_fn is not None and layer.weight.grad_fn is None
    optimizer.step()
    assert layer.weight.tolist() == [[0.5, 0.0]] and loss.item() == 3
    optimizer.zero_grad()
    assert layer.weight.grad is None


def test_errors(mode):
    x = mode.ones(2, requires_grad=True)
    for value, text in [
        (mode.ones(3), "x.grad = f32[3] for x f32[2]: shapes differ: a gradient has the shape of its tensor"),
        (1.0, "x.grad = 1.0 for x f32[2]: a gradient is a tensor or None: pass one of them"),
        (
            mode.ones(2, dtype=mode.float64),
            "x.grad = f64[2] for x f32[2]: dtypes differ: cast the gradient with .to(x.dtype)",
        ),
    ]:
        with pytest.raises((RuntimeError, TypeError)) as caught:
            x.grad = value
        assert str(caught.value) == text
    with pytest.raises(RuntimeError) as caught:
        mode.ones(2).retain_grad()
    assert str(caught.value) == "retain_grad(f32[2]): has requires_grad=False: it gets no gradient"
    with pytest.raises(RuntimeError) as caught:
        (x * 2).register_post_accumulate_grad_hook(print)
    rule = "it is not a leaf that requires gradients: use register_hook"
    assert str(caught.value) == f"register_post_accumulate_grad_hook(f32[2]): {rule}"


def test_outside_of_the_mode_nothing_changes(mode):
    x = fb.tensor([1.0], requires_grad=True, device="cpu")
    with mode.enabled(False):
        with pytest.raises(AttributeError, match="grads = loss.backward"):
            _ = x.grad
        assert repr(fb.float32) == "flambeau.float32" and type(x.shape) is tuple
    assert x.grad is None and repr(fb.float32) == "torch.float32" and x.shape.numel() == 1


def test_names_of_the_package_are_not_torchs(mode):
    """flambeau.torch.NAME is torch's NAME, so a module of ours must not hide one."""
    from pathlib import Path

    from flambeau.torch import module_tree, names

    ours = {p.stem for p in Path(mode.__file__).parent.glob("*.py")} - {"__init__", "__main__"}
    assert not ours & {*names.names_of("torch"), *dir(module_tree.root)}
