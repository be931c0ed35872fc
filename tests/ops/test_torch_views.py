"""Views and writes, drawn and done in PyTorch too: whoever shows the same elements has the same values."""

import os
import random
from math import prod

import numpy as np
import pytest

import flambeau as fb
from flambeau.ops.inplace import InPlace

FIXED = 150  # programs of every run; as many again are drawn by its seed

SHAPED = ("squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_")
NAMED = [n for n, m in vars(InPlace).items() if hasattr(m, "__wrapped__") and n not in SHAPED]
METHODS = {n: n.replace("__i", "__") if n[0] == "_" else n.removesuffix("_") for n in NAMED}


def shape_of(r, n):
    pairs = [(a, n // a) for a in range(1, n + 1) if n and n % a == 0]
    return r.choice([(n,), (-1,), *pairs, *([(2, -1, 1)] if n and n % 2 == 0 else [])]) if n else (0,)


def key_of(r, shape):
    key = []
    for n in shape[: r.randrange(len(shape) + 1)]:
        what = r.random()
        if what < 0.35 and n:
            key.append(r.randrange(-n, n))
        elif what < 0.7:
            key.append(slice(r.randrange(n + 1), r.randrange(n + 1) + 1, r.choice([1, 1, 2])))
        else:
            key.append(None if what < 0.8 else slice(None))
    return (*key, ...) if r.random() < 0.2 else tuple(key)


def part_of(r, shape):
    d = r.randrange(len(shape))
    start = r.randrange(shape[d] + 1)
    return d, start, r.randrange(shape[d] - start + 1)


# method of both: its arguments for a shape; None where it does not fit
VIEWS = {
    "reshape": lambda r, s: (shape_of(r, prod(s)),),
    "permute": lambda r, s: (tuple(r.sample(range(len(s)), len(s))),),
    "transpose": lambda r, s: (r.randrange(len(s)), r.randrange(len(s))) if s else None,
    "swapaxes": lambda r, s: (0, -1) if s else None,
    "movedim": lambda r, s: (r.randrange(len(s)), r.randrange(len(s))) if s else None,
    "narrow": lambda r, s: part_of(r, s) if s else None,
    "select": lambda r, s: (0, r.randrange(s[0])) if s and s[0] else None,
    "unsqueeze": lambda r, s: (r.randrange(-len(s) - 1, len(s) + 1),),
    "squeeze": lambda r, s: (),
    "expand": lambda r, s: tuple(3 if n == 1 and r.random() < 0.7 else n for n in s) or None,
    "broadcast_to": lambda r, s: ((2, *s),),
    "flatten": lambda r, s: (),
    "ravel": lambda r, s: (),
    "unflatten": lambda r, s: (0, (-1, 1)) if s else None,
    "unfold": lambda r, s: (0, 2, r.choice([2, 3])) if s and s[0] >= 2 else None,
    "diagonal": lambda r, s: (r.randrange(-1, 2),) if len(s) >= 2 else None,
    "__getitem__": lambda r, s: (key_of(r, s),),
    "chunk": lambda r, s: (2, r.randrange(len(s))) if s else None,
    "unbind": lambda r, s: (r.randrange(len(s)),) if s and s[0] else None,
    "detach": lambda r, s: (),
    "contiguous": lambda r, s: (),
    "float": lambda r, s: (),
    # tensors of their own
    "flip": lambda r, s: ((r.randrange(len(s)),),) if s else None,
    "clone": lambda r, s: (),
    "repeat": lambda r, s: (1,) * max(len(s), 1),
    "rot90": lambda r, s: (r.randrange(4),) if len(s) >= 2 else None,
}
COPIES = ("flip", "clone", "repeat", "rot90")  # in PyTorch they may keep an order that is not the dims'


def setitem(x, key, value, full):
    x[key] = value


def iadd(x, key, value, full):
    x += value


WRITES = {
    "x[key] = value": setitem,
    "x += value": iadd,
    "mul_": lambda x, key, value, full: x.mul_(value),
    "fill_": lambda x, key, value, full: x.fill_(value),
    "zero_": lambda x, key, value, full: x.zero_(),
    "copy_": lambda x, key, value, full: x.copy_(full(x.shape, value)),
    "clamp_": lambda x, key, value, full: x.clamp_(min=value),
}


class Programme:
    """Pairs of tensors, ours and PyTorch's, and what was done to them."""

    def __init__(self, torch, device, seed):
        self.torch, self.device, self.r = torch, device, random.Random(seed)
        shape = self.r.choice([(4, 6), (2, 3, 4), (12,), (3, 1, 5), (2, 2, 2, 3)])
        numbers = np.arange(prod(shape), dtype="f4").reshape(shape)
        self.live = [(fb.tensor(numbers, device=device), torch.tensor(numbers))]
        self.log = [f"seed {seed}: {list(shape)}"]

    def view(self):
        x, t = self.live[i := self.r.randrange(len(self.live))]
        name = self.r.choice(list(VIEWS))
        args = VIEWS[name](self.r, tuple(t.shape))
        if args is None:
            return
        try:
            theirs = getattr(t, name)(*args)
        except (RuntimeError, IndexError, ValueError):
            return
        self.log.append(f"{len(self.live)} = {i}.{name}{args}")
        theirs = theirs.clone(memory_format=self.torch.contiguous_format) if name in COPIES else theirs
        ours = getattr(x, name)(*args)
        several = isinstance(theirs, tuple | list)
        self.live += zip(ours, theirs, strict=True) if several else [(ours, theirs)]

    def write(self):
        """Whether the programme goes on: not where ours can't be written to, and says so."""
        x, t = self.live[i := self.r.randrange(len(self.live))]
        name, value, key = self.r.choice(list(WRITES)), float(self.r.randrange(-5, 6)), None
        key = key_of(self.r, tuple(t.shape)) if "key" in name else None
        self.log.append(f"{i}: {name} {value} {key}")
        write = WRITES[name]
        try:
            write(t, key, value, self.torch.full)
        except (RuntimeError, IndexError):
            with pytest.raises((ValueError, IndexError)):
                write(x, key, value, self.full)
            return True
        try:
            write(x, key, value, self.full)
        except ValueError as e:  # through a view that repeats elements, to some of it that does not
            assert "some of its elements share memory" in str(e), self.log
            return False
        return True

    def full(self, shape, value):
        return fb.full(shape, value, device=self.device)

    def drop(self):
        if len(self.live) > 1:
            i = self.r.randrange(len(self.live))
            self.log.append(f"{i} goes, {len(self.live) - 1} is {i}")
            self.live[i] = self.live[-1]
            self.live.pop()

    def run(self):
        for _ in range(self.r.randrange(4, 12)):
            what = self.r.random()
            if what < 0.5:
                self.view()
            elif what < 0.9:
                if not self.write():
                    return
            else:
                self.drop()
            if self.r.random() < 0.3:
                self.live[0][0].numpy()
        for i, (x, t) in enumerate(self.live):
            assert np.array_equal(x.numpy(), t.numpy()), (i, self.log)


@pytest.mark.parametrize("fifth", range(5))
def test_programmes(torch, device, fifth):
    new = int(os.environ["FLAMBEAU_GRID_SEED"])
    few = FIXED // (1 if device.kind == "cpu" else 5)
    for i in range(fifth, few, 5):
        Programme(torch, device, i).run()
        Programme(torch, device, new * 1000 + i).run()


ARGUMENTS = [  # tried in turn until PyTorch takes them
    lambda m, y: (),
    lambda m, y: (y,),
    lambda m, y: (y, y * 0.5),
    lambda m, y: (y, y, 0.5),
    lambda m, y: (0.3,),
    lambda m, y: (2, 0, 1.0),
]
MATRICES = {  # of [3, 4]
    "addbmm": lambda m, y: (y.reshape(1, 3, 4), m.ones(1, 4, 4)),
    "addmm": lambda m, y: (y, m.ones(4, 4)),
    "addmv": lambda m, y: (y, m.ones(4)),
    "addr": lambda m, y: (m.ones(3), m.ones(4)),
    "baddbmm": lambda m, y: (m.ones(2, 3, 1), m.ones(2, 1, 4)),
    "index_add": lambda m, y: (0, m.tensor([0, 2]), m.ones(2, 4)),
    "index_copy": lambda m, y: (0, m.tensor([0, 2]), m.ones(2, 4)),
    "index_fill": lambda m, y: (0, m.tensor([0, 2]), 5.0),
    "index_put": lambda m, y: ((m.tensor([0, 2]),), m.ones(2, 4)),
    "index_reduce": lambda m, y: (0, m.tensor([0, 2]), m.ones(2, 4), "amax"),
    "masked_fill": lambda m, y: (y > 0.5, 2.0),
    "masked_scatter": lambda m, y: (y > 0.5, m.ones(12)),
    "put": lambda m, y: (m.tensor([0, 5]), m.ones(2)),
    "scatter": lambda m, y: (0, m.tensor([[0, 1, 2, 0]]), m.ones(1, 4)),
    "scatter_add": lambda m, y: (0, m.tensor([[0, 1, 2, 0]]), m.ones(1, 4)),
    "scatter_reduce": lambda m, y: (0, m.tensor([[0, 1, 2, 0]]), m.ones(1, 4), "sum"),
    "polygamma": lambda m, y: (1,),
    "mvlgamma": lambda m, y: (1,),
    "cumprod": lambda m, y: (0,),
    "cumsum": lambda m, y: (0,),
    "clamp": lambda m, y: (0.3, 0.7),
    "clip": lambda m, y: (0.3, 0.7),
    "lerp": lambda m, y: (y, 0.3),
    "ldexp": lambda m, y: (m.ones(3, 4),),
}
SHAPES = {"addmv": (3,), "baddbmm": (2, 3, 4), "addbmm": (3, 4)}
WHOLE = [
    n
    for n in METHODS
    if "bitwise" in n or "shift" in n or n in ("gcd_", "lcm_", "__iand__", "__ior__", "__ixor__")
]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_in_place(torch, name):
    """Each gives the tensor, and its view, what PyTorch's gives."""
    rng, base = np.random.default_rng(3), METHODS[name]
    shape = SHAPES.get(base, (3, 4))
    given, other = (
        rng.uniform(0.1, 0.9, s).astype("f4") for s in (shape, (3, 4) if base in MATRICES else shape)
    )
    if name in WHOLE:
        given, other = rng.integers(1, 9, (3, 4)).astype("i4"), rng.integers(1, 4, (3, 4)).astype("i4")
    device = None
    if name == "float_power_":  # of PyTorch's floats it takes float64 alone, which no GPU has
        given, other, device = given.astype("f8"), other.astype("f8"), "cpu"
    made = {}
    forms = [MATRICES[base]] if base in MATRICES else ARGUMENTS
    for form in forms:
        t = torch.tensor(given) if base != "acosh" else torch.tensor(given + 1)
        try:
            theirs = getattr(t, name)(*form(torch, torch.tensor(other)))
        except (TypeError, RuntimeError):
            continue
        if theirs is NotImplemented:
            continue
        assert theirs is t
        x = fb.tensor(t.new_tensor(given if base != "acosh" else given + 1).numpy(), device=device)
        view = x.reshape(-1)
        assert getattr(x, name)(*form(fb, fb.tensor(other, device=device))) is x
        np.testing.assert_allclose(x.numpy(), t.numpy(), 2e-5, 2e-6)
        np.testing.assert_array_equal(view.numpy(), x.numpy().reshape(-1))
        made[form] = True
    assert made, "PyTorch took none of the arguments"


# (a function of the library's tensors and what takes gradients; None as the result: both raise)
def leaf(m, values):
    return m.tensor(values, requires_grad=True)


def assigned(m, grad):
    x = leaf(m, [1.0, 2.0, 3.0, 4.0])
    y = x * 2
    y[1] = x[0] * 5
    y += 1
    return y, grad((y * y).sum(), x)


def through_a_view(m, grad):
    x = leaf(m, [1.0, 2.0, 3.0, 4.0])
    y = x * 2
    y.view(2, 2)[0] *= 3
    return y, grad((y * x.detach()).sum(), x)


def into_a_buffer(m, grad):
    x, rows = leaf(m, [1.0, 2.0, 3.0, 4.0]), m.zeros(2, 4)
    rows[0] = x
    rows[1] = x * x
    return rows, grad((rows * rows).sum(), x)


def by_another_part(m, grad):
    x = leaf(m, [1.0, 2.0, 3.0])
    y = x * 1
    v = y[:2]
    v *= x[1:]
    y.view(3, 1).sub_(x.view(3, 1))
    return y, grad((y * y).sum(), x)


def of_a_diagonal(m, grad):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y.T[0] = x[1]
    y.diagonal().mul_(2)
    return y, grad((y * y).sum(), x)


def without_gradients(m, grad):
    x = leaf(m, [1.0, 2.0])
    v = x.view(2, 1)
    with m.no_grad():
        x += 1
    return v, grad((v * v).sum(), x)


def by_data(m, grad):
    x = leaf(m, [1.0, 2.0, 3.0])
    x.data[1] = 9
    x.detach()[0] = 5
    return x, grad((x * x).sum(), x)


def of_a_leaf(m, grad):
    x = leaf(m, [1.0, 2.0])
    x += 1


def of_a_view_of_a_leaf(m, grad):
    x = leaf(m, [1.0, 2.0])
    x.view(2, 1).add_(1)


def of_another_kind(m, grad):
    x = m.tensor([1, 2, 3])
    x += 1.5


def of_another_shape(m, grad):
    x = m.zeros(3)
    x += m.ones(2, 3)


TAKEN = [assigned, through_a_view, into_a_buffer, by_another_part, of_a_diagonal, without_gradients, by_data]
REFUSED = [of_a_leaf, of_a_view_of_a_leaf, of_another_kind, of_another_shape]


@pytest.mark.parametrize("case", TAKEN, ids=lambda f: f.__name__)
def test_gradients_of_writes(torch, case):
    ours = case(fb, lambda loss, x: loss.backward()[x])
    theirs = case(torch, lambda loss, x: torch.autograd.grad(loss, x)[0])
    assert [t.tolist() for t in ours] == [t.tolist() for t in theirs]


@pytest.mark.parametrize("case", REFUSED, ids=lambda f: f.__name__)
def test_writes_that_both_refuse(torch, case):
    for m in (fb, torch):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            case(m, None)
