"""autograd.Function in all its forms: one program for both libraries, and what torch 2.13 answers."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.autograd.function import once_differentiable


def program(m, once):
    """Results of many Functions by name; `m` is flambeau or torch, `once` its once_differentiable."""
    out, calls, base = {}, [], m.autograd.Function

    def slopes(loss, *xs):
        grads = m.autograd.grad(loss, xs, allow_unused=True)
        return [None if g is None else g.tolist() for g in grads]

    def leaves(*rows):
        return [m.tensor(row, requires_grad=True) for row in rows]

    class Two(base):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, None, y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, g, h):
            x, _, y = ctx.saved_tensors
            calls.append("Two")
            return g * y + h * h, g * x + h

    x, y = leaves([1.0, 2.0], [3.0, 4.0])
    a, b = Two.apply(x, y)
    out["several outputs, one call"] = slopes((a * 2 + b * 3).sum(), x, y), list(calls)
    a, b = Two.apply(x, y)
    out["an unused output"] = slopes(b.sum(), x, y)
    with m.no_grad():
        out["no_grad"] = [t.requires_grad for t in Two.apply(x, y)]

    class Unmaterialized(base):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            calls.append((g is None, h is None))
            return h * 3

    (x,) = leaves([1.0, 2.0])
    out["materialize_grads"] = slopes(Unmaterialized.apply(x)[1].sum(), x), calls[-1]

    class Dirty(base):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(3)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    z = x * 1
    w = Dirty.apply(z)
    out["mark_dirty"] = w is z, z.tolist(), slopes((w * w).sum(), x)

    class Partly(base):
        @staticmethod
        def forward(ctx, x):
            place, other = x.argmax(), x * 5
            ctx.mark_non_differentiable(place, other)
            return x * 2, place, other, "text"

        @staticmethod
        def backward(ctx, g, place, other, text):
            calls.append((place is None, other is None, text is None))
            return g * 2

    v, place, other, text = Partly.apply(x)
    facts = place.item(), other.requires_grad, text
    out["mark_non_differentiable"] = facts, slopes(v.sum(), x), calls[-1]

    class Separate(base):
        @staticmethod
        def forward(x, s=2.0):
            return x * s

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.s = inputs[1]
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.s, None

    scaled = Separate.apply(x), Separate.apply(x, 5.0), Separate.apply(x, s=7.0)
    out["setup_context"] = [slopes(t.sum(), x) for t in scaled]

    class Once(base):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    (g,) = m.autograd.grad((Once.apply(x) ** 2).sum(), [x], create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()
    out["once_differentiable"] = g.tolist(), g.requires_grad

    class Twice(base):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3, x**2

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x + h * 2 * x

    a, b = Twice.apply(x)
    (g,) = m.autograd.grad((a + b * a).sum(), [x], create_graph=True)
    out["double backward"] = g.tolist(), slopes(g.sum(), x)

    class Identity(base):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    r = Identity.apply(x)
    out["an input as output"] = r is x, slopes(r.sum(), x)

    class Vjp(base):
        @staticmethod
        def forward(ctx, x, flag, numbers):
            ctx.flag = flag
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            calls.append((ctx.flag, ctx.needs_input_grad))
            return g * 2, None, None

    out["vjp and other arguments"] = slopes(Vjp.apply(x, True, [1, 2]).sum(), x), calls[-1]

    a, b = Two.apply(x, x)
    a.register_hook(lambda g: g * 10)
    out["hooks of outputs"] = slopes((a + b).sum(), x)

    class Square(base):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0].conj()

    z = m.complex(m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])).requires_grad_()
    pair = [m.autograd.grad(f(z).real.sum(), [z])[0].numpy() for f in (Square.apply, lambda z: z * z)]
    out["complex numbers"] = np.array_equal(*pair)

    class Bad(base):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return m.ones(5)

    with pytest.raises(RuntimeError):
        slopes(Bad.apply(x).sum(), x)

    class SavesNumbers(Bad):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)

    with pytest.raises(TypeError, match="argument 0 is"):
        SavesNumbers.apply(x)
    return out


ANSWERS = {
    "several outputs, one call": ([[15.0, 17.0], [5.0, 7.0]], ["Two"]),
    "an unused output": [[1.0, 1.0], [1.0, 1.0]],
    "no_grad": [False, False],
    "materialize_grads": ([[3.0, 3.0]], (True, False)),
    "mark_dirty": (True, [3.0, 6.0], [[18.0, 36.0]]),
    "mark_non_differentiable": ((1, False, "text"), [[2.0, 2.0]], (False, False, True)),
    "setup_context": [[[2.0, 2.0]], [[5.0, 5.0]], [[7.0, 7.0]]],
    "once_differentiable": ([6.0, 192.0], True),
    "double backward": ([8.0, 92.0], [[26.0, 172.0]]),
    "an input as output": (False, [[10.0, 10.0]]),
    "vjp and other arguments": ([[2.0, 2.0]], (True, (True, False, False))),
    "hooks of outputs": [[22.0, 42.0]],
    "complex numbers": True,
}


def test_functions():
    with fb.device("cpu"):
        out = program(fb, once_differentiable)
    assert {name: out[name] for name in ANSWERS if out[name] != ANSWERS[name]} == {}


def test_functions_beside_torch(torch):
    assert program(torch, torch.autograd.function.once_differentiable) == ANSWERS


class Two(fb.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


def test_functions_of_several_outputs_in_vmap_and_jvp():
    with fb.device("cpu"):
        x, y = (fb.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [1.0, 2.0, 3.0]))
        ones = fb.ones(2)

    def f(a, b):
        product, total = Two.apply(a, b)
        return product * 2 + total

    grads = fb.vmap(f, (0, None))(x, y).sum().backward()
    assert grads[x].tolist() == [15, 15] and grads[y].tolist() == [8, 8, 8]
    _, tangent = fb.func.jvp(lambda a: Two.apply(a, a)[0], (x.detach(),), (ones,))
    assert tangent.tolist() == [2, 4]


def test_functions_of_several_outputs_in_a_recording(gpu):
    x = fb.tensor([1.0, 2.0], device=gpu, requires_grad=True)

    @fb.jit
    def step(y):
        a, b = Two.apply(x * 1, y)
        return (a * 2 + b).sum().backward()[x]

    for scale in (1.0, 2.0, 3.0):
        y = fb.tensor([3.0, 4.0], device=gpu) * scale
        assert step(y).tolist() == [6 * scale + 1, 8 * scale + 1]


def test_saved_values_are_those_of_the_call():
    with fb.device("cpu"):
        x, y = fb.tensor([1.0, 2.0], requires_grad=True), fb.tensor([3.0, 4.0])
    loss = Two.apply(x, y)[0].sum()
    y.mul_(10)
    assert loss.backward()[x].tolist() == [3, 4]
