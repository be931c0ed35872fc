"""What a recorded function depends on besides tensors: seen when it changes, never silently out of date."""

import random
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.capture import jit as jit_module

RATE = 2.0
CONFIG = {"rate": 2.0, "layers": [1.0]}


class Names:
    rate = 2.0


def numbers(*values):
    return fb.tensor(list(values))


def scaled(x):
    return x * RATE


def replays(call, *args):
    """The value of a call that must have been a replay: nothing is recorded again."""
    before = {p for kept in call.programs.values() for p in kept}
    out = call(*args)
    assert before and {p for kept in call.programs.values() for p in kept} == before
    return out


def change_global():
    global RATE
    RATE = 2.0

    def change():
        global RATE
        RATE = 5.0

    return lambda x: x * RATE, change


def change_closure():
    rate = 2.0

    def change():
        nonlocal rate
        rate = 5.0

    return lambda x: x * rate, change


def change_global_of_a_helper():
    return (lambda x: scaled(x)), change_global()[1]


def change_dict():
    CONFIG["rate"] = 2.0
    return lambda x: x * CONFIG["rate"], lambda: CONFIG.update(rate=5.0)


def change_list():
    CONFIG["layers"][:] = [2.0]
    return (lambda x: x * CONFIG["layers"][0]), lambda: CONFIG["layers"].__setitem__(0, 5.0)


def change_namespace():
    config = SimpleNamespace(rate=2.0)
    return lambda x: x * config.rate, lambda: setattr(config, "rate", 5.0)


def change_class():
    Names.rate = 2.0
    return lambda x: x * Names.rate, lambda: setattr(Names, "rate", 5.0)


def change_default():
    def call(x, rate=2.0):
        return x * rate

    return call, lambda: setattr(call, "__defaults__", (5.0,))


def change_partial():
    config = {"rate": 2.0}
    return partial(lambda x, of: x * of["rate"], of=config), lambda: config.update(rate=5.0)


class Scale(nn.Module):
    factor = 1.0

    def __init__(self):
        self.rate, self.inner = 2.0, nn.Dropout(0.0)

    def forward(self, x):
        return self.inner(x) * self.rate * self.factor * (1.0 if self.training else 2.5)


def change_attribute():
    model = Scale()
    return model, lambda: setattr(model, "rate", 5.0)


def change_class_constant():
    model = Scale()
    return model, lambda: setattr(model, "factor", 2.5)


def change_training():
    model = Scale()
    return lambda x: model(x), model.eval


def change_method():
    model = Scale()
    return model.forward, lambda: setattr(model, "rate", 5.0)


def change_tensor():
    held = {"w": numbers(2.0)}
    return lambda x: x * held["w"], lambda: held.update(w=numbers(5.0))


def change_type():
    config = SimpleNamespace(rate=2)
    return (lambda x: (x.int() * config.rate).float()), lambda: setattr(config, "rate", 5)


CHANGES = [f for name, f in sorted(globals().items()) if name.startswith("change_")]


@pytest.mark.parametrize("make", CHANGES, ids=lambda f: f.__name__)
def test_a_change_outside_is_seen(make):
    fn, change = make()
    call = fb.jit(fn)
    assert call(numbers(3.0)).item() == 6
    assert replays(call, numbers(4.0)).item() == 8
    change()
    assert call(numbers(3.0)).item() == 15
    assert replays(call, numbers(4.0)).item() == 20


def test_recordings_of_both_modes_are_kept():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    call, x = fb.jit(lambda x: model(x)), fb.ones(2, 4)
    call(x), model.eval(), call(x)
    for mode in (True, False, True):
        model.train(mode)
        replays(call, x)


def test_the_type_of_a_number_counts():
    call = fb.jit(lambda x, n: x * n)
    x = fb.tensor([3])
    assert (call(x, 2).dtype, call(x, 2.0).dtype, call(x, True).dtype) == (fb.int64, fb.float32, fb.int64)
    assert call(x, 2.0).tolist() == [6.0]


def test_gradients_on_or_off_are_two_recordings():
    w = fb.tensor([2.0], requires_grad=True)

    @fb.jit
    def call(x):
        y = (w * x).sum()
        return y.backward()[w] if y.requires_grad else y * 0

    assert call(numbers(3.0)).item() == 3
    with fb.no_grad():
        assert call(numbers(3.0)).item() == 0
    assert replays(call, numbers(4.0)).item() == 4


def test_freezing_a_parameter_is_seen():
    model = nn.Linear(2, 1, bias=False)
    call = fb.jit(lambda x: model(x).requires_grad * 1.0 + x.sum())
    x = fb.zeros(1, 2)
    assert call(x).item() == 1
    model.requires_grad_(False)
    assert call(x).item() == 0


def test_a_number_that_always_changes_ends_in_plain_calls(capsys):
    config = SimpleNamespace(rate=0.0)
    call = fb.jit(lambda x: x * config.rate)
    for i in range(8):
        config.rate = float(i)
        assert call(numbers(1.0)).item() == i
    told = "runs unrecorded: config.rate changes from call to call: pass it as a tensor"
    assert capsys.readouterr().err == f"flambeau: jit(<lambda>): {told}\n"


def test_a_function_that_changes_what_it_reads_runs_plainly(capsys):
    config = SimpleNamespace(count=0)

    @fb.jit
    def call(x):
        config.count += 1
        return x * config.count

    assert [call(numbers(1.0)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    told = "it changes config.count: keep that in a tensor, or outside of it"
    assert capsys.readouterr().err == f"flambeau: jit(call): runs unrecorded: {told}\n"


def test_what_is_set_up_at_the_first_call_is_no_trouble():
    config = SimpleNamespace()

    @fb.jit
    def call(x):
        if not hasattr(config, "w"):
            config.w = numbers(2.0)
        return x * config.w

    assert [call(numbers(float(i))).item() for i in range(4)] == [0, 2, 4, 6]
    replays(call, numbers(1.0))


def test_python_s_random_numbers_are_seen(capsys):
    call = fb.jit(lambda x: x + random.random())
    assert call(numbers(0.0)).item() != call(numbers(0.0)).item()
    assert "draws from Python's or NumPy's" in capsys.readouterr().err
    call = fb.jit(lambda x: x + float(np.random.rand()))
    assert call(numbers(0.0)).item() != call(numbers(0.0)).item()


def test_seeding_inside_gives_the_same_numbers_each_time():
    @fb.jit
    def call(x):
        fb.manual_seed(3)
        return x + fb.rand(4)

    assert call(fb.zeros(4)).tolist() == call(fb.zeros(4)).tolist()


def test_draws_that_are_not_used_are_drawn_all_the_same():
    def draws(x):
        fb.rand(7)
        return x + fb.rand(2)

    recorded, x = fb.jit(draws), fb.zeros(2)
    fb.manual_seed(5)
    ours = [recorded(x).tolist() for _ in range(3)]
    fb.manual_seed(5)
    assert ours == [draws(x).tolist() for _ in range(3)]


def test_a_learning_rate_set_inside_is_seen(capsys):
    w = fb.tensor([1.0], requires_grad=True)
    opt = optim.SGD([w], lr=1.0)

    @fb.jit
    def step(x):
        loss = (w * x).sum()
        opt.step(loss.backward())
        opt.lr = opt.lr / 2
        return loss

    losses = [step(numbers(1.0)).item() for _ in range(3)]
    assert losses == [1.0, 0.0, -0.5]
    assert "it sets a HostScalar" in capsys.readouterr().err


def test_a_learning_rate_set_outside_is_no_new_recording(monkeypatch, capsys):
    monkeypatch.setattr(jit_module, "CHECKS_SHARE", float("inf"))  # calls 2 and 4 are checked
    w, calls = fb.tensor([1.0], requires_grad=True), []
    opt = optim.SGD([w], lr=1.0)

    @fb.jit
    def step(x):
        print("recorded")
        loss = (w * x).sum()
        opt.step(loss.backward())
        return loss

    for i in range(7):
        opt.lr = 1 / 2**i
        calls.append(step(numbers(1.0)).item())
    assert calls == [1.0, 0.0, -0.5, -0.75, -0.875, -0.9375, -0.96875]
    told = capsys.readouterr()
    assert (told.out.count("recorded"), told.err) == (
        3,
        "",
    )  # the first call; the second and fourth are checked


def test_formulas_of_host_scalars_follow_them():
    a, b = fb.HostScalar(2.0), fb.HostScalar(8.0)
    made = 1 - a * 0.25 + b / a - (-b)
    assert made is 1 - a * 0.25 + b / a - (-b) and made.value == 12.5
    step = fb.jit(lambda x: x * made + a.map(max, 3.0, b))
    assert [step(numbers(1.0)).item(), step(numbers(2.0)).item()] == [20.5, 33.0]
    a.value = 4.0
    assert step(numbers(1.0)).item() == 18.0 and len(step.programs) == 1
    with pytest.raises(AttributeError) as e:
        made.value = 3.0
    assert str(e.value) == "HostScalar.value=3.0: it is computed from other values: set those"
    with pytest.raises(TypeError):
        a * "b"


def test_an_iterator_is_not_recorded(capsys):
    batches = iter([1.0, 2.0, 3.0])
    call = fb.jit(lambda x: x * next(batches))
    assert [call(numbers(1.0)).item() for _ in range(3)] == [1, 2, 3]
    assert "it uses batches, an iterator" in capsys.readouterr().err


def test_an_argument_that_is_kept_is_not_overwritten():
    kept = fb.zeros(1)  # a state that becomes an argument's value

    class Keeper:
        last = None

    @fb.jit
    def call(x):
        Keeper.last = x * 2
        return x + 1

    for v in (1.0, 2.0, 3.0):
        assert call(numbers(v)).item() == v + 1
        assert Keeper.last.item() == 2 * v
    assert kept.item() == 0


def test_a_result_that_somebody_holds_is_not_overwritten():
    class Opaque(list):  # a list of no kind that is looked into
        __module__ = "threading"

    held = Opaque()

    @fb.jit
    def call(x):
        held.append(x * 2)
        return held[-1]

    assert [call(numbers(v)).item() for v in (1.0, 2.0)] == [2, 4]
    assert held[0].tolist() == [2.0]


def test_containers_are_arguments_and_results():
    @fb.jit
    def call(batch, options, scale=1.0):
        a, b = batch["parts"]
        return {"sum": batch["x"] + a * scale, "rest": (b, options["name"], None)}

    def batch(v):
        return {"x": numbers(v), "parts": [numbers(v * 10), np.float32([v])]}

    for v in (1.0, 2.0):
        out = call(batch(v), {"name": "a"}, scale=2.0)
        assert (out["sum"].item(), out["rest"][0].tolist(), out["rest"][1:]) == (21 * v, [v], ("a", None))
    assert len(call.programs) == 1
    assert call(batch(1.0), {"name": "b"})["rest"][1] == "b"


def test_a_model_and_an_optimizer_are_arguments():
    def make():
        fb.manual_seed(1)
        model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Linear(4, 1))
        return model, optim.AdamW(model.parameters(), lr=0.1)

    def step(model, opt, x):
        loss = model(x).square().mean()
        opt.step(loss.backward())
        return loss

    recorded, x = fb.jit(step), fb.rand(8, 3)
    first, second = make(), make()
    ours = [recorded(*first, x).item() for _ in range(4)]
    assert ours == pytest.approx([step(*second, x).item() for _ in range(4)], rel=1e-5)
    other = make()
    assert recorded(*other, x).item() == ours[0]
    assert replays(recorded, *first, x).item() == pytest.approx(step(*second, x).item(), rel=1e-5)


def test_parameters_in_a_dict_are_assigned_to_where_they_are():
    params = {"w": fb.tensor([1.0, 2.0], requires_grad=True)}

    @fb.jit
    def step(params, x):
        grads = (params["w"] * x).sum().backward()
        params["w"].assign_(params["w"] - grads[params["w"]])

    for _ in range(3):
        step(params, numbers(1.0, 0.5))
    assert params["w"].tolist() == [-2.0, 0.5]


def test_gradients_are_results():
    w = fb.tensor([1.0, 2.0], requires_grad=True)
    call = fb.jit(lambda x: (w * x).sum().backward())
    for v in (1.0, 2.0):
        grads = call(numbers(v, 2 * v))
        assert (grads[w].tolist(), grads.loss.item()) == ([v, 2 * v], 5 * v)


def test_a_recorded_function_inside_another():
    rate = SimpleNamespace(value=2.0)
    inner = fb.jit(lambda x: x * rate.value)
    outer = fb.jit(lambda x: inner(x) + 1)
    assert [outer(numbers(v)).item() for v in (1.0, 2.0)] == [3, 5]
    rate.value = 3.0
    assert outer(numbers(1.0)).item() == 4
    assert not inner.programs


def test_one_model_trained_and_tried_in_turn():
    fb.manual_seed(0)
    model = nn.Linear(2, 1)
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @fb.jit
    def train(x):
        loss = model(x).square().mean()
        opt.step(loss.backward())
        return loss

    @fb.jit
    def loss_of(x):
        return model(x).square().mean()

    x, y = fb.rand(4, 2), fb.rand(3, 2)
    loss_of(x)
    for i in range(4):
        before = loss_of(x).item()
        assert train(x).item() == pytest.approx(before, rel=1e-6)
        with fb.no_grad():
            plain = model(x).square().mean().item()
        assert loss_of(x).item() == pytest.approx(plain, rel=1e-6)
        train(y)  # another shape moves the same state
        if i == 1:
            model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})
    assert len(train.programs) == 2
    replays(train, x), replays(train, y), replays(loss_of, x)


def test_the_least_used_shape_is_dropped():
    total = fb.jit(lambda x: x.sum())
    for n in (*range(1, 17), 1, 17):
        assert total(fb.ones(n)).item() == n
    assert sorted(next(k for k in key if type(k) is tuple)[0] for key in total.programs) == [
        1,
        *range(3, 18),
    ]


def test_the_shape_that_is_used_between_others_is_kept():
    total = fb.jit(lambda x: x.sum())
    assert total(fb.ones(1)).item() == 1
    for n in range(2, 40):
        assert replays(total, fb.ones(1)).item() == 1
        assert total(fb.ones(n)).item() == n


def test_a_recording_that_was_replayed_once_was_of_use(capsys):
    found = SimpleNamespace(rate=0.0)
    times = fb.jit(lambda x: x * found.rate)
    for rate in range(1, 9):
        found.rate = float(rate)
        assert times(numbers(2.0)).tolist() == [2.0 * rate]
        assert replays(times, numbers(2.0)).tolist() == [2.0 * rate]
    assert not capsys.readouterr().err


def test_a_function_returns_tensors():
    with pytest.raises(TypeError) as caught:
        fb.jit(lambda x: object())(numbers(1.0))
    told = "a recorded function returns tensors (or tuples, lists or dicts of them), not <class 'object'>"
    assert str(caught.value) == f"jit: {told}"


def signs(t) -> list[float]:
    return np.copysign(1.0, t.numpy()).tolist()


def test_zeros_of_two_signs_are_two_numbers():
    given, found = fb.jit(lambda x, rate: x * rate), SimpleNamespace(rate=0.0)
    seen = fb.jit(lambda x: x * found.rate)
    for rate in (0.0, -0.0, 0.0, -0.0):
        found.rate = rate
        assert signs(given(numbers(1.0), rate)) == signs(seen(numbers(1.0))) == [np.copysign(1.0, rate)]
    assert len(given.programs) == 2


def test_nan_is_one_number():
    times = fb.jit(lambda x, rate: x * rate)
    for _ in range(3):
        assert np.isnan(times(numbers(1.0), float("nan")).numpy()).all()
    assert len(times.programs) == 1


@pytest.mark.parametrize("last", [False, True])
def test_what_moves_from_one_list_to_another_is_seen(last):
    def shift(x):
        return x + 1

    first, second, third = [], [shift], []

    @fb.jit
    def through(x):
        for f in first:
            x = f(x)
        x = x * 10
        for f in second:
            x = f(x)
        x = x * 10
        for f in third:
            x = f(x)
        return x

    assert through(numbers(0.0)).tolist() == [10.0]
    assert replays(through, numbers(0.0)).tolist() == [10.0]
    (third if last else first).append(second.pop())
    assert through(numbers(0.0)).tolist() == [1.0 if last else 100.0]


def test_an_equal_value_in_another_object_is_no_change():
    found = SimpleNamespace(rate=0.5, name="a" * 70)
    times = fb.jit(lambda x: x * found.rate if found.name else x)
    times(numbers(2.0))
    for i in range(4):
        found.rate, found.name = float(f"0.5{'0' * i}"), "".join(["a"] * 70)
        assert replays(times, numbers(2.0)).tolist() == [1.0]
    found.rate = 0.25
    assert times(numbers(2.0)).tolist() == [0.5]
    assert replays(times, numbers(2.0)).tolist() == [0.5]


def test_what_is_gone_is_a_change():
    class Slotted:
        __slots__ = ("rate",)

    def scaled_by(rate):
        def drop():
            nonlocal rate
            del rate

        return fb.jit(lambda x: x * rate), drop

    found = Slotted()
    found.rate = 2.0
    named, (celled, drop) = fb.jit(lambda x: x * getattr(found, "rate", 7.0)), scaled_by(2.0)
    named(numbers(1.0)), celled(numbers(1.0))
    replays(named, numbers(1.0)), replays(celled, numbers(1.0))
    del found.rate
    drop()
    assert named(numbers(1.0)).tolist() == [7.0]
    with pytest.raises(NameError):
        celled(numbers(1.0))


@pytest.mark.parametrize("realize", [False, True])
def test_a_function_without_arguments_is_recorded_where_it_computes(realize):
    """The default device is the CPU, and its tensors are on a GPU."""
    x = numbers(1.0)
    with fb.device("cpu"):

        @fb.jit
        def call():
            y = x + 1
            return y.realize() if realize else y

        assert [call().item() for _ in range(3)] == [2.0] * 3
        assert len(call.programs) == 1

        @fb.jit
        def on_the_host():
            return fb.ones(2).sum()

        assert [on_the_host().item() for _ in range(3)] == [2.0] * 3
        assert not on_the_host.programs
