"""Functions that hang on tensors, beside what PyTorch's give."""

import gc

import pytest

import flambeau as fb
from flambeau.autodiff import hooks


def programme(m, backward):
    """Gradients with hooks on parameters and on a value of several users, from which one was taken off."""
    seen = []
    a = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = m.tensor([4.0, 5.0, 6.0], requires_grad=True)
    y = a * b
    early = y.sum()  # made before the hook, and seen by it
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    taken = y.register_hook(lambda g: g * 1000)
    taken.remove()
    taken.remove()
    a.register_hook(lambda g: seen.append(("a", g.tolist())))
    b.register_hook(lambda g: g / 2)
    loss = early + (y * y).sum() + a.sum()
    return [*backward(loss, a, b), *(v for _, v in sorted(seen))]


def ours(loss, a, b):
    grads = loss.backward()
    return grads[a].tolist(), grads[b].tolist()


def theirs(loss, a, b):
    loss.backward()
    return a.grad.tolist(), b.grad.tolist()


NUMBERS = [  # of torch 2.13
    [365.0, 1056.0, 2227.0],
    [45.5, 211.0, 556.5],
    [365.0, 1056.0, 2227.0],
    [9.0, 21.0, 37.0],
]


def test_hooks_are_pytorchs(device):
    assert programme(fb, ours) == NUMBERS


def test_the_numbers_are_pytorchs(torch):
    assert programme(torch, theirs) == NUMBERS


def test_gradients_by_chosen_tensors_pass_the_hooks(torch):
    """Each asked for alone: with x beside it PyTorch gives the gradient by y from before its hooks."""

    def chosen(m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.register_hook(lambda g: g * 3)
        x.register_hook(lambda g: g + 1)
        loss = (y * y).sum()
        return [m.autograd.grad(loss, [t], retain_graph=True)[0].tolist() for t in (x, y)]

    assert chosen(fb) == chosen(torch)


def test_a_hook_outlives_a_step_of_its_parameter(device):
    p = fb.tensor([2.0], requires_grad=True, device=device)
    optimizer = fb.optim.SGD([p], lr=1.0)
    p.register_hook(lambda g: g * 0.5)
    for wanted in (2.0 - 2.0, 0.0):  # the slope of p^2 is 2p
        optimizer.step((p * p).sum().backward())
        assert p.item() == wanted


def test_hooks_go_with_their_tensors():
    p = fb.tensor([2.0], requires_grad=True, device="cpu")
    y = p * 2
    p.register_hook(print)
    y.register_hook(print)
    assert hooks.has_hooks()
    del p, y
    gc.collect()
    assert not hooks.has_hooks()


def test_a_recorded_step_sees_a_hook_that_comes_and_goes(device):
    p = fb.tensor([1.0, 2.0], requires_grad=True, device=device)

    @fb.jit
    def slope():
        return (p * p).sum().backward()[p]

    assert [slope().tolist() for _ in range(3)] == [[2.0, 4.0]] * 3
    with p.register_hook(lambda g: g * 10):
        assert [slope().tolist() for _ in range(3)] == [[20.0, 40.0]] * 3
    assert [slope().tolist() for _ in range(3)] == [[2.0, 4.0]] * 3


def test_what_hooks_cannot_do_is_said():
    x = fb.tensor([1.0, 2.0], device="cpu")
    with pytest.raises(ValueError) as e:
        x.register_hook(print)
    assert str(e.value) == (
        "register_hook(f32[2]): has requires_grad=False, so it gets no gradient: call requires_grad_()"
    )
    x.requires_grad_()
    for wrong, told in (((lambda g: g.sum()), "f32[]"), ((lambda g: 3), "3")):
        with x.register_hook(wrong), pytest.raises(ValueError) as e:
            x.sum().backward()
        assert str(e.value) == (
            f"backward(...): a hook on f32[2] returned {told}:"
            " a hook must return None or a tensor of the gradient's shape, [2]"
        )
