"""Subclasses of tensors and `__torch_function__`: a program for both libraries, with torch 2.13's answers."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest

import flambeau as fb
from flambeau.core import overrides


def kind(value):
    return type(value).__name__


def subclasses(m):
    """Which class the results of operations have."""
    out, nn = {}, m.nn

    class Sub(m.Tensor):
        pass

    class Under(Sub):
        pass

    class Other(m.Tensor):
        pass

    x, y = m.tensor([1.0, 2.0]).as_subclass(Sub), m.ones(2)
    results = [x + 1, 1 + x, x + y, y + x, x.sum(), x.exp(), x[0], x.reshape(2, 1), m.stack([x, y])]
    results += [m.cat([y, x]), x.T, x.float(), x.to(m.float64), x.clone(), x.detach(), *x.max(0), *x.split(1)]
    results += [m.where(x > 0, x, y), nn.functional.relu(x), m.zeros_like(x), x.type(m.int32), m.matmul(x, y)]
    results += [nn.Linear(2, 2)(x), x.view(1, 2).squeeze(0)]
    out["results"] = sorted({*map(kind, results)})
    out["plain"] = kind(y * 2)
    x += 1
    x.mul_(2)
    x[0] = 5.0
    out["writes"] = kind(x), x.tolist()
    plain = m.ones(2)
    plain.add_(x)
    out["a plain tensor that is written to"] = kind(plain)
    u = m.ones(2).as_subclass(Under)
    out["a class and its base"] = kind(x + u), kind(u + x)
    with pytest.raises(TypeError, match="__torch_function__"):
        m.add(x, m.ones(2).as_subclass(Other))
    g = m.ones(2, requires_grad=True)
    (slope,) = m.autograd.grad((g.as_subclass(Sub) * 3).sum(), [g])
    out["gradient"] = slope.tolist()
    with m._C.DisableTorchFunctionSubclass():
        out["disabled"] = kind(x + 1)
    return out


def overriding(m):
    """What `__torch_function__` sees and does."""
    out, log, handled = {}, [], {}

    class Logged(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = m.tensor([1.0, 2.0]).as_subclass(Logged)
    _ = x + 1
    x.sum()
    m.exp(x)
    x.mul_(2)
    m.stack([x, x])
    x.tolist()
    x.size()
    m.nn.functional.softmax(x, 0)
    out["log"] = list(log)

    class Handled(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in handled:
                return handled[func](*args, **(kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs)

    handled |= {m.mean: lambda x: "mean", m.Tensor.add: lambda x, y: "add"}
    handled[m.nn.functional.relu] = lambda x, inplace=False: "relu"
    q = m.ones(2).as_subclass(Handled)
    out["handled"] = m.mean(q), q + 1, m.nn.functional.relu(q), kind(q * 1)

    class Foreign:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, [kind(a) for a in args], [t.__name__ for t in types]

    y, s = m.ones(2), Foreign()
    out["other classes"] = m.add(y, s), m.mean(s), m.exp(s), m.mul(s, y)
    seen = []

    class Seen(m.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            result = func(*args, **(kwargs or {}))
            return result * 2 if func.__name__ == "add" else result

    with Seen():
        _ = y + 1
        m.stack([y, y])
    out["a mode"] = list(seen)
    with Seen(), Seen():
        z = y + 1
    _ = y * 1
    out["modes inside modes"] = z.tolist(), seen[2:]
    o = m.overrides
    out["facts"] = (
        o.has_torch_function((x,)),
        o.has_torch_function((y, 3)),
        o.is_tensor_like(s),
        o.is_tensor_like(3),
    )

    def doubled(a):
        if o.has_torch_function((a,)):
            return o.handle_torch_function(doubled, (a,), a)
        return a * 2

    out["a function of one's own"] = doubled(s), kind(doubled(y)), kind(doubled(x))
    return out


def building(m):
    """Constructors of subclasses, and of subclasses of parameters."""
    out, nn = {}, m.nn

    class New(m.Tensor):
        @staticmethod
        def __new__(cls, x, extra, *args, **kw):
            return super().__new__(cls, x, *args, **kw)

        def __init__(self, x, extra, *args, **kw):
            self.extra = extra

    e = New([1.0, 2.0], "hi")
    out["new"] = e.tolist(), e.extra, kind(e + 1), hasattr(e + 1, "extra")

    class Init(m.Tensor):
        def __init__(self, data):
            super().__init__()
            self.k = 3

    i = Init([1.0, 2.0])
    out["init"] = i.tolist(), i.k, kind(i * 2)

    class Tagged(nn.Parameter):
        def __new__(cls, data=None, requires_grad=True, tag=None):
            self = m.Tensor._make_subclass(cls, data, requires_grad)
            self.tag = tag
            return self

    p = Tagged(m.ones(2), tag="t")
    out["parameter"] = p.tag, p.requires_grad, isinstance(p, nn.Parameter), kind(p + 1), p.is_leaf
    module = nn.Module()
    module.w = p
    out["registered"] = [name for name, _ in module.named_parameters()], module.w.tag, kind(copy.deepcopy(p))

    class Plain(m.Tensor):
        pass

    marked = nn.Parameter(m.ones(2).as_subclass(Plain))
    facts = isinstance(marked, nn.Parameter), isinstance(m.ones(1), nn.Parameter), marked.requires_grad
    module.v = marked
    out["a parameter of a subclass"] = kind(marked), facts, [kind(v) for v in module.parameters()]
    return out


ANSWERS = {
    "results": ["Sub"],
    "plain": "Tensor",
    "writes": ("Sub", [5.0, 6.0]),
    "a plain tensor that is written to": "Tensor",
    "a class and its base": ("Under", "Under"),
    "gradient": [3.0, 3.0],
    "disabled": "Tensor",
    "log": ["add", "sum", "exp", "mul_", "stack", "tolist", "size", "softmax"],
    "handled": ("mean", "add", "relu", "Handled"),
    "other classes": (
        ("add", ["Tensor", "Foreign"], ["Foreign"]),
        ("mean", ["Foreign"], ["Foreign"]),
        ("exp", ["Foreign"], ["Foreign"]),
        ("mul", ["Foreign", "Tensor"], ["Foreign"]),
    ),
    "a mode": ["add", "stack"],
    "modes inside modes": ([8.0, 8.0], ["add", "add", "mul"]),
    "facts": (True, False, True, False),
    "a function of one's own": (("doubled", ["Foreign"], ["Foreign"]), "Tensor", "Logged"),
    "new": ([1.0, 2.0], "hi", "New", False),
    "init": ([1.0, 2.0], 3, "Init"),
    "parameter": ("t", True, True, "Tensor", True),
    "registered": (["w"], "t", "Tagged"),
    "a parameter of a subclass": ("Plain", (True, False, True), ["Tagged", "Plain"]),
}
PROGRAMS = (subclasses, overriding, building)


@pytest.fixture(autouse=True)
def off_again():
    """The tests' classes are gone after each test: plain tensors take the fast path again."""
    yield
    overrides._Process.has_classes = False
    overrides._switch()


def _differences(m):
    out = {name: value for program in PROGRAMS for name, value in program(m).items()}
    return {name: (out[name], ANSWERS[name]) for name in ANSWERS if out[name] != ANSWERS[name]}


def test_programs(mode):
    assert _differences(mode) == {}


def test_programs_beside_torch(torch):
    """In another thread: libraries leave modes of torch on theirs, which make has_torch_function True."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_differences, torch).result() == {}


def test_plain_tensors_take_the_fast_path_until_a_class_takes_part():
    from flambeau.core import autocast

    assert autocast.intercept is None and autocast.plain.lower is autocast.NONE

    class Quiet(fb.nn.Parameter):
        pass

    assert autocast.intercept is None  # operations of parameters give plain tensors

    class Loud(fb.Tensor):
        pass

    assert autocast.intercept is not None
    with fb.device("cpu"):
        x = fb.ones(2, dtype=fb.float16)
        assert (x + 1).dtype is fb.float16 and type(x + 1) is fb.Tensor
        assert type(Loud([1.0]) * 2) is Loud and Quiet(x).requires_grad


def test_subclasses_with_autocast_and_recordings(gpu):
    class Sub(fb.Tensor):
        pass

    x = fb.tensor([[1.0, 2.0]], device=gpu)
    y = x.as_subclass(Sub)
    with fb.autocast("gpu"):
        assert (y @ y.mT).dtype is fb.float16 and type(y @ y.mT) is Sub
    step = fb.jit(lambda a: a.as_subclass(Sub) * 2 + 1)
    for scale in (1.0, 2.0, 3.0):
        assert step(x * scale).tolist() == [[2 * scale + 1, 4 * scale + 1]]


def test_wrappers_of_kernels_are_refused(mode):
    class Wrapped(mode.Tensor):
        @staticmethod
        def __new__(cls, x):
            return mode.Tensor._make_wrapper_subclass(cls, x.size())

    with pytest.raises(TypeError, match="not kernels by __torch_dispatch__"):
        Wrapped(mode.ones(2))
