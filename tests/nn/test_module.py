"""Module's hooks, walks and state, and containers: written-out values, and the same programs on torch."""

import copy
from collections import OrderedDict

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.nn import hooks


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    """Nothing here concerns kernels."""
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def hooked(m):
    """What hooks see and change, in numbers, with either package."""
    nn, seen = m.nn, []
    x = m.tensor([[1.0, -2.0], [3.0, 4.0]]).requires_grad_()

    def grad(loss, t):
        found = loss.backward()
        return (t.grad if found is None else found[t]).tolist()

    def told(name, f=lambda *_: None):
        def hook(module, *args):
            seen.append((name, type(module).__name__, len(args)))
            return f(*args)

        return hook

    act = nn.LeakyReLU(0.5)
    pre = act.register_forward_pre_hook(told("pre", lambda args: args[0] * 2))
    kw = act.register_forward_pre_hook(told("kw", lambda args, kw: ((args[0] + 1,), kw)), with_kwargs=True)
    first = act.register_forward_pre_hook(told("first"), prepend=True)
    post = act.register_forward_hook(told("post", lambda args, out: out * 10))
    numbers = [act(x).tolist()]
    for handle in (pre, kw, first, post):
        handle.remove()
    with act.register_forward_hook(told("context", lambda args, out: out - 1)):
        numbers.append(act(x).tolist())
    numbers.append(act(x).tolist())
    act.register_full_backward_pre_hook(told("before", lambda grads: (grads[0] * 3,)))
    act.register_full_backward_hook(told("after", lambda ins, outs: (ins[0] + outs[0],)))
    numbers.append(grad(act(x).sum(), x))
    y = m.tensor([[1.0, 1.0], [2.0, 2.0]])  # without a gradient: None in its place
    two = nn.PairwiseDistance()
    places = []
    two.register_full_backward_hook(lambda _, ins, outs: places.append([g is None for g in ins]))
    two(m.tensor([[1.0, 3.0], [0.0, 4.0]]).requires_grad_(), y).sum().backward()
    two(x.detach().requires_grad_(), x.detach().requires_grad_()).sum().backward()
    return numbers, seen, places


HOOKED = (
    [
        [[30.0, -15.0], [70.0, 90.0]],
        [[0.0, -2.0], [2.0, 3.0]],
        [[1.0, -1.0], [3.0, 4.0]],
        [[6.0, 4.5], [6.0, 6.0]],
    ],
    [(n, "LeakyReLU", k) for n, k in [("first", 1), ("pre", 1), ("kw", 2), ("post", 2), ("context", 2)]]
    + [("before", "LeakyReLU", 1), ("after", "LeakyReLU", 2)],
    [[False, True], [False, False]],
)


def test_hooks_see_and_change():
    assert hooked(fb) == HOOKED


def test_torch_hooks_see_the_same(torch):
    numbers, seen, places = hooked(torch)  # torch computes a gradient for an input that wants none, too
    assert (numbers, seen, places) == (*HOOKED[:2], [[False, False], [False, False]])


def test_hooks_of_all_modules():
    seen, model = [], nn.Sequential(nn.ReLU(), nn.Linear(2, 1))
    x = fb.ones(1, 2).requires_grad_()

    def note(name):
        return lambda module, *_: seen.append(f"{name} {type(module).__name__}")

    handles = [
        hooks.register_module_forward_pre_hook(note("pre")),
        hooks.register_module_forward_hook(note("post")),
        hooks.register_module_full_backward_pre_hook(note("before")),
        hooks.register_module_full_backward_hook(note("after")),
    ]
    try:
        model(x).sum().backward()
    finally:
        for h in handles:
            h.remove()
    assert seen == [
        "pre Sequential", "pre ReLU", "post ReLU", "pre Linear", "post Linear", "post Sequential",
        "before Sequential", "before Linear", "after Linear", "before ReLU", "after ReLU", "after Sequential",
    ]  # fmt: skip
    model(x)
    assert len(seen) == 12


def test_a_failed_call_is_told_to_those_that_ask_for_it():
    seen, layer = [], nn.Linear(2, 1)
    layer.register_forward_hook(lambda *a: seen.append("never"))
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError):
        layer(fb.ones(3, 3))
    assert seen == [None]


def test_what_hooks_may_not_return():
    layer, x = nn.ReLU(), fb.ones(2).requires_grad_()
    with layer.register_forward_pre_hook(lambda m, args, kw: args, with_kwargs=True):
        rule = r"^ReLU: a forward pre-hook with_kwargs=True returned tuple: return None or \(args, kwargs\)$"
        with pytest.raises(TypeError, match=rule):
            layer(x)
    layer.register_full_backward_hook(lambda m, ins, outs: (ins[0], ins[0]))
    rule = r"^ReLU: a backward hook returned 2 gradients for 1 inputs: return None, or one for each$"
    with pytest.raises(ValueError, match=rule):
        layer(x).sum().backward()


def test_backward_hooks_without_inputs_that_have_gradients():
    seen, layer = [], nn.Linear(2, 1, bias=False)
    layer.register_full_backward_hook(lambda m, ins, outs: seen.append((ins, outs[0].tolist())))
    layer(fb.ones(3, 2)).sum().backward()
    assert seen == [((None,), [[1.0], [1.0], [1.0]])]


def walked(m):
    """Names that walks give, with either package."""
    nn = m.nn
    net = nn.Module()
    net.add_module("a", nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    net.register_module("b", net.a[0])
    net.register_parameter("w", nn.Parameter(m.zeros(1)))
    net.register_parameter("none", None)
    net.register_buffer("kept", m.ones(2))
    net.register_buffer("gone", m.ones(2), persistent=False)
    net.made = nn.Buffer(m.ones(3))
    net.hidden = nn.Buffer(m.ones(3), persistent=False)
    found = [
        [n for n, _ in net.named_parameters()],
        [n for n, _ in net.named_parameters(prefix="p", recurse=False)],
        [n for n, _ in net.named_parameters("p", remove_duplicate=False)],
        [n for n, _ in net.named_modules(prefix="q")],
        [n for n, _ in net.named_modules(remove_duplicate=False)],
        [n for n, _ in net.named_buffers()],
        [n for n, _ in net.named_children()],
        list(net.state_dict()),
        list(net.state_dict(prefix="s.")),
        [len(list(net.parameters(recurse=False))), len(list(net.buffers(recurse=False)))],
        [net.get_submodule("a.1") is net.a[1], net.get_submodule("") is net],
        [net.get_parameter("a.0.bias") is net.b.bias, net.get_buffer("kept") is net.kept],
    ]
    net.set_submodule("a.1", nn.Tanh())
    net.kept = net.kept * 2  # stays a buffer
    del net.gone
    return [*found, type(net.a[1]).__name__, [n for n, _ in net.named_buffers()], net.kept.tolist()]


WALKED = [
    ["w", "a.0.weight", "a.0.bias"],
    ["p.w"],
    ["p.w", "p.a.0.weight", "p.a.0.bias", "p.b.weight", "p.b.bias"],
    ["q", "q.a", "q.a.0", "q.a.1"],
    ["", "a", "a.0", "a.1", "b"],
    ["kept", "gone", "made", "hidden"],
    ["a", "b"],
    ["w", "kept", "made", "a.0.weight", "a.0.bias", "b.weight", "b.bias"],
    ["s.w", "s.kept", "s.made", "s.a.0.weight", "s.a.0.bias", "s.b.weight", "s.b.bias"],
    [1, 4],
    [True, True],
    [True, True],
    "Tanh",
    ["kept", "made", "hidden"],
    [2.0, 2.0],
]


def test_walks():
    assert walked(fb) == WALKED


def test_torch_walks_the_same(torch):
    assert walked(torch) == WALKED


def held(m):
    """What containers do, with either package."""
    nn = m.nn
    seq = nn.Sequential(nn.ReLU(), nn.Tanh())
    names = lambda c: [f"{n} {type(x).__name__}" for n, x in c.named_children()]  # noqa: E731
    seq.append(nn.Sigmoid()).insert(1, nn.ELU()).extend([nn.SiLU()])
    found = [names(seq), names(seq[1:3]), type(seq[-1]).__name__, len(seq)]
    popped = seq.pop(0)
    del seq[0]
    seq[0] = nn.Mish()
    found += [type(popped).__name__, names(seq), names(seq + nn.Sequential(nn.GELU())), names(seq * 2)]
    seq += nn.Sequential(nn.CELU())
    found += [names(seq), names(nn.Sequential(OrderedDict(one=nn.ReLU(), two=nn.Tanh()))[1:])]
    many = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    many.insert(0, nn.ELU())
    many.extend(nn.ModuleList([nn.GELU()]))
    found += [names(many[1:]), names(many + nn.ModuleList([nn.SiLU()])), type(many.pop(1)).__name__]
    found += [names(many), [type(x).__name__ for x in many], many[0] in many]
    some = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    some["c"] = nn.Tanh()
    some.update([("a", nn.ELU())])
    found += [list(some), names(some), "b" in some, len(some), type(some.pop("c")).__name__]
    found += [
        [k for k, _ in some.items()],
        list(some.keys()),
        len(list(some.values())),
        list(some.state_dict()),
    ]
    listed = nn.ParameterList([m.zeros(2), nn.Parameter(m.ones(1))])
    listed.append(m.ones(3)).extend([m.zeros(1)])
    listed[0] = m.ones(4)
    listed += [m.ones(5)]
    found += [list(listed.state_dict()), [p.shape[0] for p in listed], len(listed), listed[-1].shape[0]]
    found += [[p.shape[0] for p in listed[1:3]], all(isinstance(p, nn.Parameter) for p in listed)]
    named = nn.ParameterDict({"u": m.zeros(2)})
    named["v"] = m.ones(1)
    named.update({"w": nn.Parameter(m.ones(3))})
    found += [list(named.keys()), list(named.state_dict()), "v" in named, len(named), named.pop("v").tolist()]
    found += [
        list(named | nn.ParameterDict({"x": m.ones(1)})),
        named.get("no"),
        named.popitem()[0],
        list(named),
    ]
    return found


def test_containers_beside_torch(torch):
    assert held(fb) == held(torch)


def test_containers():
    found = held(fb)
    assert found[:2] == [
        ["0 ReLU", "1 ELU", "2 Tanh", "3 Sigmoid", "4 SiLU"],
        ["1 ELU", "2 Tanh"],
    ]
    assert found[5:10] == [
        ["0 Mish", "1 Sigmoid", "2 SiLU"],
        ["0 Mish", "1 Sigmoid", "2 SiLU", "3 GELU"],
        ["0 Mish", "1 Sigmoid", "2 SiLU"],  # repeated, and named once
        ["0 Mish", "1 Sigmoid", "2 SiLU", "3 CELU"],
        ["two Tanh"],
    ]
    assert len(nn.Sequential(nn.ReLU(), nn.Tanh()) * 3) == 6
    assert nn.ParameterList([fb.ones(2, 3)]).pop().shape == (2, 3)
    assert repr(nn.ParameterDict({"u": fb.zeros(2)})) == ("ParameterDict(\n  (u): Parameter of f32[2]\n)")


ERRORS = {
    "register_buffer('a.b'): a name must be a non-empty string without dots: choose another": (
        lambda m: m.register_buffer("a.b", None)
    ),
    "register_buffer('forward'): Linear already has an attribute of that name: choose another": (
        lambda m: m.register_buffer("forward", fb.ones(1))
    ),
    "register_parameter('p', f32[1]): takes a Parameter or None: pass nn.Parameter(t)": (
        lambda m: m.register_parameter("p", fb.ones(1))
    ),
    "Linear(3): takes modules: pass an nn.Module, e.g. nn.ReLU()": lambda m: m.add_module("x", 3),
    "get_parameter('weigth'): Linear has no parameter of that name: did you mean 'weight'?": (
        lambda m: m.get_parameter("weigth")
    ),
    "get_submodule('x'): Linear has no submodule of that name": lambda m: m.get_submodule("x"),
    "set_submodule(''): a module can't replace itself: pass a name": lambda m: m.set_submodule("", nn.ReLU()),
    "Linear.share_memory(): a device's memory belongs to one process: send state_dict(), or save(path) and"
    " load(path)": lambda m: m.share_memory(),
    "ModuleDict(f32[1]): it is a dict, not a layer: call its modules": lambda m: nn.ModuleDict()(fb.ones(1)),
    "Sequential * 0: the count must be a positive integer: pass another value": (
        lambda m: nn.Sequential(m) * 0
    ),
    "ParameterList[3]: the index is out of"
    " range: the length is 1": lambda m: nn.ParameterList([fb.ones(1)])[3],
    "UninitializedParameter.shape: is not known yet: a lazy layer gets its sizes from its"
    " first input: call the model once, or load a state_dict": lambda m: nn.UninitializedParameter().shape,
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises((ValueError, TypeError, AttributeError, IndexError)) as e:
        ERRORS[text](nn.Linear(2, 1))
    assert str(e.value) == text


def test_state_dict_hooks_and_assign():
    layer, seen = nn.Linear(2, 1), []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("before", prefix, keep)))
    layer.register_state_dict_post_hook(lambda m, state, prefix, _: state.pop(prefix + "bias"))
    layer.register_load_state_dict_pre_hook(
        lambda m, state, prefix, *_: state.setdefault(prefix + "bias", [7.0])
    )
    layer.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys))
    model = nn.Sequential(layer)
    state = model.state_dict(keep_vars=True)
    assert list(state) == ["0.weight"] and state["0.weight"] is layer.weight
    assert seen == [("before", "0.", True)]
    given = fb.tensor([[1.0, 2.0]], dtype=fb.float16)
    model[0].register_load_state_dict_pre_hook(lambda m, s, at, *_: s.update({at + "bias": fb.tensor([7.0])}))
    model.load_state_dict({"0.weight": given}, assign=True)
    assert (layer.weight.dtype, layer.weight.tolist(), layer.bias.tolist()) == (fb.float16, [[1, 2]], [7])
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    assert seen[-1] == ([], []) and len(list(model.parameters())) == 2


def test_a_deep_copy_shares_nothing():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    other = copy.deepcopy(net)
    for (name, a), (_, b) in zip(net.state_dict().items(), other.state_dict().items(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)
    assert [p.requires_grad for p in other.parameters()] == [True, False, True, True]
    with fb.no_grad():
        other[0].weight.fill_(0)
    assert net[0].weight.numpy().any() and not other[0].weight.numpy().any()
    grads = other(fb.ones(3, 2)).sum().backward()
    assert other[0].weight in grads and net[0].weight not in grads


# --- what modules are made of, by drawn programs of attributes

SET = {
    "parameter": lambda m, s, n: setattr(s, n, m.nn.Parameter(m.ones(2))),
    "module": lambda m, s, n: setattr(s, n, m.nn.Linear(1, 1, bias=False)),
    "none": lambda m, s, n: setattr(s, n, None),
    "tensor": lambda m, s, n: setattr(s, n, m.ones(2)),
    "number": lambda m, s, n: setattr(s, n, 5),
    "buffer": lambda m, s, n: s.register_buffer(n, m.ones(2)),
    "buffer beside": lambda m, s, n: s.register_buffer(n, m.ones(2), persistent=False),
    "no buffer": lambda m, s, n: s.register_buffer(n, None),
    "no parameter": lambda m, s, n: s.register_parameter(n, None),
    "no module": lambda m, s, n: s.add_module(n, None),
    "a parameter": lambda m, s, n: s.register_parameter(n, m.nn.Parameter(m.ones(2))),
    "a module": lambda m, s, n: s.add_module(n, m.nn.ReLU()),
    "deleted": lambda m, s, n: delattr(s, n),
}
LENIENT = {"buffer", "buffer beside", "no buffer", "no parameter", "no module", "a parameter", "a module"}


def names_of(s):
    walks = (s.named_parameters(), s.named_buffers(), s.named_modules(), s.named_children())
    return [[name for name, _ in walk] for walk in walks] + [list(s.state_dict())]


def built(m, program):
    """The names after each step, and (step, error) of one that raised; names of a copy, which is set on."""
    s, seen = m.nn.Module(), []
    for name, what in program:
        try:
            SET[what](m, s, name)
        except (AttributeError, KeyError, TypeError, ValueError):
            return seen, what
        seen.append(names_of(s))
    other = copy.deepcopy(s)
    other.more = m.nn.ReLU()
    return [*seen, names_of(other), names_of(s)], None


@pytest.mark.parametrize("seed", range(4))
def test_names_are_torchs_whatever_is_set(torch, seed):
    """PyTorch refuses to register a name that is None as another kind; ours takes it."""
    rng = np.random.default_rng(seed)
    for _ in range(150):
        program = [
            ("abc"[rng.integers(3)], list(SET)[rng.integers(len(SET))]) for _ in range(rng.integers(1, 8))
        ]
        (wanted, refused), (seen, raised) = built(torch, program), built(fb, program)
        assert refused == raised or refused in LENIENT, program
        assert seen[: len(wanted)] == wanted, program


def test_names_stand_where_they_became_what_they_are():
    s = nn.Module()
    s.late, s.first = None, nn.ReLU()
    s.register_parameter("held", None)
    s.p, s.held, s.late = nn.Parameter(fb.ones(1)), nn.Parameter(fb.ones(1)), nn.ReLU()
    assert names_of(s) == [["held", "p"], [], ["", "first", "late"], ["first", "late"], ["held", "p"]]
    s.first = None
    assert [name for name, _ in s.named_children()] == ["late"] and "(first): None" in repr(s)
    s.first = nn.Tanh()  # its place is kept
    assert [name for name, _ in s.named_children()] == ["first", "late"]
    other = copy.copy(s)
    other.only = nn.ReLU()
    s.only = 5  # plain here: a copy has names of its own
    assert list(nn.ParameterDict({"b": fb.ones(1), "a": fb.ones(1)})) == ["a", "b"]  # as PyTorch takes a dict
    assert list(nn.ParameterDict([("b", fb.ones(1)), ("a", fb.ones(1))])) == ["b", "a"]


IN_PLACE = "p is a parameter: change it in place inside no_grad (`p.copy_(t)`), or assign nn.Parameter(t)"


@pytest.mark.parametrize(
    "name, value, rule",
    [
        ("p", "fb.ones(2)", IN_PLACE),
        ("p", "nn.ReLU()", IN_PLACE),
        ("m", "5", "m is a module: assign an nn.Module or None, or delete it first (`del module.m`)"),
        ("b", "5", "b is a buffer: assign a tensor or None, or delete it first (`del module.b`)"),
    ],
)  # fmt: skip
def test_what_a_name_may_not_become(name, value, rule):
    s = nn.Module()
    s.p, s.m = nn.Parameter(fb.ones(2)), nn.ReLU()
    s.register_buffer("b", fb.ones(2))
    with pytest.raises(TypeError) as e:
        setattr(s, name, eval(value))
    assert str(e.value).endswith(rule)
    assert names_of(s)[:3] == [["p"], ["b"], ["", "m"]]


# --- methods of a child that its parent calls


def told_of(m):
    """Which `train`, `state_dict` and hooks of modules are called, in order."""
    log = []

    class Own(m.nn.Module):
        def __init__(self, name):
            super().__init__()
            self.name, self.frozen = name, m.nn.BatchNorm1d(2)

        def train(self, mode=True):
            log.append((self.name, mode))
            super().train(mode)
            self.frozen.eval()
            return self

        def state_dict(self, *args, **kw):
            found = super().state_dict(*args, **kw)
            found[kw.get("prefix", "") + "name"] = self.name
            return found

    shared = Own("shared")
    net = m.nn.Sequential(
        shared, m.nn.Sequential(shared, Own("deep")), m.nn.ModuleDict({"a": Own("in a dict")})
    )
    modes = []
    for mode in (False, True):
        net.train(mode)
        modes.append([k.training for k in net.modules()])
    net.eval()
    state = list(net.state_dict())
    for name, k in net.named_modules():
        note = lambda event, name=name: lambda *_: log.append((event, name))  # noqa: E731
        k.register_state_dict_pre_hook(note("before"))
        k.register_state_dict_post_hook(note("after"))
    net.state_dict()
    plain = m.nn.Sequential(m.nn.Linear(1, 1), m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh()))
    for name, k in plain.named_modules():
        k.register_load_state_dict_post_hook(lambda *_, name=name: log.append(("loaded", name)))
    plain.load_state_dict(plain.state_dict())
    return log, modes, state


def test_methods_of_a_child_are_called():
    log, modes, state = told_of(fb)
    each = ["shared", "shared", "deep", "in a dict"]
    assert log[:12] == [(name, mode) for mode in (False, True, False) for name in each]
    assert modes[1] == [True, True, False, True, True, False, True, True, False]  # batch norms stay
    assert [n for n in state if n.endswith("name")] == ["0.name", "1.0.name", "1.1.name", "2.a.name"]
    with pytest.raises(ValueError, match=r"ReLU.train\(1\): it must be True or False: pass one of them"):
        nn.ReLU().train(1)


def test_torch_calls_the_same_methods(torch):
    assert told_of(torch) == told_of(fb)


def test_a_tensor_without_dims_takes_an_old_scalar():
    """PyTorch before 0.4 saved one as [1]."""
    s = nn.Module()
    s.p = nn.Parameter(fb.tensor(1.0))
    s.load_state_dict({"p": fb.tensor([3.0])})
    assert s.p.shape == () and s.p.item() == 3
