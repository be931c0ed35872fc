"""Saved programs: what a folder holds, that it computes what the model does, and what is said otherwise."""

import json
import os
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
from helpers.draws import in_turn

import flambeau as fb
from flambeau import nn
from flambeau.export.fit import fit, value_of

SIZES = (1, 3, 17, 64)


@pytest.fixture(scope="module", autouse=True)
def on_gpu(gpu):
    """Saved programs are kernels."""


def mlp():
    return nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 5))


def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.5), nn.Linear(4 * 5 * 5, 10),
    )  # fmt: skip
    model(fb.rand(8, 1, 12, 12) + 3)  # running statistics that are not 0 and 1
    return model


class Attention(nn.Module):
    """A block of attention over five places, by what each place is most."""

    def __init__(self):
        self.project, self.out = nn.Linear(8, 24), nn.Linear(8, 6)

    def forward(self, tokens):
        q, k, v = self.project(tokens).chunk(3, -1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = self.out(mixed).softmax(-1)
        return {"scores": scores, "best": scores.argmax(-1), "sure": scores.amax(-1) > 0.2}


class Distance(nn.Module):
    """Two inputs, and two results."""

    def forward(self, a, b):
        d = a.unsqueeze(1) - b
        return (d * d).sum(-1).sqrt(), (a.unsqueeze(1) > b).any(-1).int().sum(1)


def setup():
    """Values that no input changes, one of them a result, one beside an input in a result of parts."""
    w = fb.rand(4, 4).realize()
    return lambda x: [w @ w, fb.cat([(w @ w).cumsum(0), x + (w @ w).sum()]), x @ (w @ w)]


MODELS = {
    "mlp": (mlp, {"x": "f32[N, 12]"}),
    "cnn": (cnn, {"image": "f32[N, 1, 12, 12]"}),
    "attention": (Attention, {"tokens": "f32[N, 5, 8]"}),
    "distance": (Distance, {"a": "f32[N, 3]", "b": "f32[4, 3]"}),
    "mean over the batch": (lambda: lambda x: x - x.mean(0), {"x": "f32[N, 3]"}),
    "every pair": (lambda: lambda x: x @ x.T, {"x": "f32[N, 7]"}),
    "sorted": (lambda: lambda x: x.sort(0)[1], {"x": "f32[N, 2]"}),
    "packed": (lambda: lambda x, y: ((x + 1).half() * 2, y + 3), {"x": "f16[N, 5]", "y": "u8[N, 3]"}),
    "half": (lambda: mlp().half(), {"x": "f16[N, 12]"}),
    "nothing": (lambda: lambda x: x, {"x": "f32[N, 2]"}),
    "of weights alone": (
        lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)).half(),
        {"x": "f16[N, 8]"},
    ),
    "setup": (setup, {"x": "f32[N, 4]"}),
    "itself": (lambda: lambda x: [x, x, x.reshape(-1), x + 0], {"x": "i32[N, 2]"}),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Each model with its program, saved once."""
    made = {}

    def get(name):
        if name not in made:
            model, inputs = MODELS[name]
            fb.manual_seed(1)
            folder, model = tmp_path_factory.mktemp("saved") / "program", model()
            fb.save_program(model, inputs, folder, max_batch=64)
            made[name] = model, inputs, folder, fb.load_program(folder)
        return made[name]

    return get


def inputs_of(specs, n):
    """Tensors for texts of inputs."""
    rng, made = np.random.default_rng(n), []
    for text in specs.values():
        dtype, sizes = text.rstrip("]").split("[")
        shape = [n if s.strip() == "N" else int(s) for s in sizes.split(",")]
        values = abs(rng.normal(0, 30, shape)) % 200
        made.append(fb.tensor(values.round(2 if dtype[0] == "f" else 0), dtype))
    return made


def flat(result):
    parts = (
        result.values() if isinstance(result, dict) else [result] if isinstance(result, fb.Tensor) else result
    )
    return [(t.dtype, t.numpy()) for t in parts]


@pytest.mark.parametrize("name", in_turn(MODELS, 4))
def test_a_loaded_program_gives_the_models_numbers_bit_for_bit(name, saved):
    model, inputs, _, program = saved(name)
    for n in SIZES:
        given = inputs_of(inputs, n)
        if isinstance(model, nn.Module):
            model.eval()
        with fb.no_grad():
            wanted = model(*given)
        found = program(*given)
        assert isinstance(found, dict) == isinstance(wanted, dict)
        for (dtype, there), (was, here) in zip(flat(found), flat(wanted), strict=True):
            assert dtype is was
            np.testing.assert_array_equal(there, here, f"{name}, batch {n}")


def test_arrays_names_and_repeated_calls(saved):
    program = saved("distance")[3]
    a, b = np.ones((2, 3), "f4"), np.zeros((4, 3), "f4")
    first = program(a, b)[0]
    wanted = pytest.approx(np.full((2, 4), 3**0.5))
    assert first.numpy() == wanted and program(b=b, a=a)[0].numpy() == wanted
    program(a * 9, b)
    assert first.numpy() == wanted  # results lie in buffers of their own
    assert repr(program) == "SavedProgram(a=f32[N, 3], b=f32[4, 3])"


def test_training_mode_and_weights_are_left_alone(tmp_path):
    model = cnn()
    before = {name: t.numpy() for name, t in model.state_dict().items()}
    fb.save_program(model, fb.rand(2, 1, 12, 12), tmp_path / "p", max_batch=4)
    assert all(m.training for m in model.modules())
    for name, t in model.state_dict().items():
        np.testing.assert_array_equal(t.numpy(), before[name])
    stored = fb.load(tmp_path / "p" / "weights.safetensors")
    assert "6.weight" in stored and "1.running_var" in stored


def test_weights_may_be_replaced_by_those_of_the_same_model(tmp_path):
    model, other = mlp(), mlp()
    fb.save_program(model, {"x": "f32[N, 12]"}, tmp_path / "p", max_batch=4)
    other.save(tmp_path / "p" / "weights.safetensors")
    x = fb.rand(2, 12)
    np.testing.assert_array_equal(fb.load_program(tmp_path / "p")(x).numpy(), other(x).numpy())


def test_random_numbers_go_on_as_in_the_function(tmp_path):
    def noisy(x):
        fb.rand(5)  # drawn and not used: the stream moves on all the same
        return x + fb.rand(*x.shape), nn.functional.dropout(x, 0.5)

    x = fb.ones(7, 3)
    at = fb.manual_seed(5).get_state()
    fb.save_program(noisy, {"x": "f32[N, 3]"}, tmp_path / "p", max_batch=8)
    program = fb.load_program(tmp_path / "p")
    from flambeau.ops.random import generator

    assert generator.get_state() == at  # saving draws nothing
    found = [flat(program(x)) for _ in range(2)]
    fb.manual_seed(5)
    wanted = [flat(noisy(x)) for _ in range(2)]
    for a, b in zip(found[0] + found[1], wanted[0] + wanted[1], strict=True):
        np.testing.assert_array_equal(a[1], b[1])


def test_values_from_before_are_stored_and_those_of_the_function_computed(tmp_path):
    scale = fb.arange(3).float().exp()  # lazy until now
    fb.save_program(lambda x: x * scale + fb.tensor([1.0, 2.0, 3.0]), {"x": "f32[N, 3]"}, tmp_path / "p", 3)
    found = fb.load_program(tmp_path / "p")(fb.ones(2, 3)).numpy()
    np.testing.assert_array_equal(found, (scale + fb.tensor([1.0, 2.0, 3.0])).expand(2, 3).numpy())
    assert sorted(fb.load(tmp_path / "p" / "weights.safetensors")) == ["constant.0", "constant.1"]


def test_a_shape_without_n_is_fixed(tmp_path):
    fb.save_program(lambda x: x.sum(), {"x": "f32[2, 3]"}, tmp_path / "p")
    program = fb.load_program(tmp_path / "p")
    assert program(fb.ones(2, 3)).item() == 6
    assert program.batch == (1, 1)
    with pytest.raises(ValueError) as e:
        program(fb.ones(3, 3))
    assert str(e.value) == "program(x=f32[3, 3]): x is f32[3, 3], not f32[2, 3]"


@pytest.mark.share(5)
def test_only_some_batch_sizes(tmp_path):
    model = nn.Linear(4, 3)
    out = fb.save_program(model, "f32[N, 4]", tmp_path / "p", batches=[16, 2, 5])
    program = fb.load_program(out)
    assert (program.batch, program.batches) == ((2, 16), [2, 5, 16])
    for n in (2, 5, 16):
        x = fb.rand(n, 4)
        np.testing.assert_array_equal(program(x).numpy(), model(x).numpy())
    with pytest.raises(ValueError) as e:
        program(fb.ones(3, 4))
    assert str(e.value).endswith("a batch of 3, and the program was saved for 2, 5, 16: split it")
    for batches in ([], [0], [2.5]):
        told = refused(model, "f32[N, 4]", tmp_path / "p", batches=batches)
        assert told == f"save_program: batches={batches!r}: pass a list of batch sizes, each 1 or more"


def test_a_folder_has_the_kernels_of_both_classes_of_adapters(saved, monkeypatch, gpu):
    model, inputs, folder, _ = saved("cnn")
    plans = json.loads((folder / "program.txt").read_text())["plans"]
    kernels = {kind: {s["kernel"] for p in plans[kind]["plans"] for s in p["steps"]} for kind in plans}
    assert kernels["gpu"] != kernels["software"]
    for plan in plans["software"]["plans"]:  # weights are laid out anew once, not in every call
        assert all(any(v[0] != "w" for v in s["reads"]) for s in plan["steps"])
        assert all(v[0] == "w" for s in plan["setup"] for v in s["reads"])
        assert plan["setup"]
    x = inputs_of(inputs, 9)
    for software in (True, False):
        monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=software))
        found = fb.load_program(folder, gpu)(*x).numpy()
        np.testing.assert_allclose(found, model.eval()(*x).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_a_model_on_the_cpu_can_be_saved_for_gpus(tmp_path):
    model = cnn().eval()
    x = fb.rand(3, 1, 12, 12)
    wanted = model(x).numpy()
    fb.save_program(model.to("cpu"), x.to("cpu"), tmp_path / "p", max_batch=4)
    np.testing.assert_array_equal(fb.load_program(tmp_path / "p")(x).numpy(), wanted)


def test_a_recorded_function_can_be_saved(tmp_path):
    fb.save_program(fb.jit(lambda x: fb.realize(x + 1) or x * 2), fb.ones(2), tmp_path / "p", max_batch=3)
    assert fb.load_program(tmp_path / "p")(x=fb.ones(3)).tolist() == [2, 2, 2]


# --- state ---


def counter():
    """A step with a cache and random numbers, two vectors that trade places, and state that it only reads."""
    cache, w = nn.KVCache(1, 2, 16, 4), fb.rand(8, 24)
    a, b, scale = fb.zeros(3).realize(), fb.tensor([1.0, 2, 3]), fb.tensor(2.0)
    flags = fb.zeros(3, dtype="bool").realize()
    names = ("keys", "values", "count", "a", "b", "scale", "flags")
    state = dict(zip(names, (*cache.buffers(), a, b, scale, flags), strict=True))

    def step(x):
        q, k, v = (t.reshape(1, -1, 2, 4).transpose(1, 2) for t in (x @ w).chunk(3, -1))
        y, before, total = cache(q, k, v) * scale + fb.rand(1), a.clone(), a + b
        a.assign_(b)
        b.assign_(total)
        flags.assign_(total > 4)
        return {"y": y, "before": before, "count": cache.count, "twice": cache.count + 0, "flags": flags}

    return step, state


@pytest.mark.parametrize("software", [True, False])
def test_state_stays_from_call_to_call(software, tmp_path, monkeypatch, gpu):
    fb.manual_seed(3)
    step, state = counter()
    out = fb.save_program(step, {"x": "f32[N, 8]"}, tmp_path / "p", max_batch=4, state=state)
    assert all(t.numpy().sum() in (0, 2, 6) for t in state.values())  # saving changes nothing
    assert sorted(fb.load(out / "weights.safetensors")) == ["b", "constant.0", "scale"]  # without zeros
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=software))
    program, other = fb.load_program(out), fb.load_program(out)
    first = {name: t.numpy() for name, t in program.state().items()}
    xs = [fb.rand(n, 8) for n in (2, 1, 4, 1, 3)]
    at = fb.manual_seed(5).get_state()
    found = [dict(zip(("y", "before", "count", "twice", "flags"), flat(program(x)))) for x in xs]
    left = {name: t.numpy() for name, t in program.state().items()}
    fb.manual_seed(5)
    for x, there in zip(xs, found, strict=True):
        for name, value in step(x).items():
            np.testing.assert_allclose(there[name][1], value.numpy(), rtol=1e-6, atol=1e-6)
    for name, t in state.items():
        np.testing.assert_allclose(left[name], t.numpy(), rtol=1e-6, atol=1e-6)
    assert other(xs[0])["count"].tolist() == [2]  # each loaded program has its own
    program.reset()
    for name, t in program.state().items():
        np.testing.assert_array_equal(t.numpy(), first[name])
    assert at == fb.manual_seed(5).get_state() and program(xs[0])["before"].tolist() == [0, 0, 0]


def test_a_cache_is_written_in_place(tmp_path):
    """Its buffer is written by a kernel, and not copied after the call."""
    step, state = counter()
    out = fb.save_program(step, {"x": "f32[N, 8]"}, tmp_path / "p", max_batch=4, state=state)
    for plans in json.loads((out / "program.txt").read_text())["plans"].values():
        for plan in plans["plans"]:
            assert plan["state"][:2] == ["s0", "s1"]
            assert {"s0", "s1"} <= {v for s in plan["steps"] for v in s["writes"]}


def test_state_may_be_a_list_or_a_module(tmp_path):
    cache, n = nn.KVCache(1, 1, 4, 2), fb.tensor([1])
    for state, names in ((cache, ["keys", "values", "count"]), ([n], ["state.0"]), (None, [])):
        out = fb.save_program(lambda x: x + 1, "f32[N]", tmp_path / "p", max_batch=2, state=state)
        assert list(fb.load_program(out).state()) == names


def test_state_that_is_none_is_said(tmp_path):
    p, x, t = tmp_path / "p", {"x": "f32[N]"}, fb.zeros(2)
    assert refused(lambda x: x, x, p, state=3) == (
        "save_program: state is 3: pass tensors by name, a list of tensors, or a module, whose buffers"
        " are taken"
    )
    assert refused(lambda x: x, x, p, state={"n": 3}) == "save_program: state 'n' is 3: pass a tensor"
    told = "save_program: state has a tensor twice: pass each once"
    assert refused(lambda x: x, x, p, state=[t, t]) == told


# --- expressions ---


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (lambda n: 7, 7),
        (lambda n: 12 * n - 4, [12, -4]),
        (lambda n: -(-(25 * n) // 64), [25, 63, 64, 1]),
        (lambda n: 64 * -(-n // 16), [1, 15, 16, 64]),
    ],
)
def test_numbers_become_short_expressions(f, wanted):
    batches = list(range(1, 130))
    assert fit(batches, [f(n) for n in batches]) == wanted
    assert [value_of(wanted, n) for n in batches] == [f(n) for n in batches]


@pytest.mark.parametrize("f", [lambda n: n * n, lambda n: 1000 // n, lambda n: n % 3, lambda n: -n // 4])
def test_other_numbers_are_exact_as_well(f):
    for batches in ([1], [1, 2], [5, 9, 10, 11], list(range(1, 65))):
        expression = fit(batches, [f(n) for n in batches])
        assert [value_of(expression, n) for n in batches] == [f(n) for n in batches]


# --- what is refused ---


def refused(fn, inputs, folder, **kw):
    with pytest.raises((fb.FlambeauError, ValueError, TypeError)) as e:
        fb.save_program(fn, inputs, folder, **kw)
    assert not folder.exists()
    return str(e.value)


def test_what_cannot_be_saved_is_said(tmp_path):
    p, x = tmp_path / "p", {"x": "f32[N, 3]"}
    assert refused(lambda x: x * x.sum().item(), x, p) == (
        "save_program(x=f32[1, 3]): the function can't be saved: it reads values: return the tensor and read"
        " it outside"
    )
    state = fb.zeros(3).realize()
    assert refused(lambda x: state.assign_(x.sum(0)) + x, x, p) == (
        "save_program(x=f32[1, 3]): the function assigns to f32[3], which is not in the program's state: call"
        " model.eval() first, return the new value, or pass it as state="
    )
    assert state.tolist() == [0, 0, 0]
    assert refused(lambda x: 3, x, p) == (
        "save_program(x=f32[1, 3]): the function returns 3: return a tensor, or a list or dict of tensors"
    )
    assert refused(lambda x: x + fb.tensor([[1.0]] * len(x)), x, p) == (
        "save_program(x=f32[2, 3]): the tensors that the function creates from Python numbers"
        " (f32[2, 1]) differ from those of the first batch size: compute them from"
        " the inputs with ops, or before the call"
    )
    assert refused(lambda x: x @ fb.zeros(4, 2), x, p) == (
        "save_program(x=f32[1, 3]): matmul(f32[1, 3], f32[4, 2]): inner sizes differ: 3 and 4"
    )
    own = fb.Generator(3)
    assert refused(lambda x: x + fb.rand(3, generator=own), x, p) == (
        "save_program(x=f32[1, 3]): the function draws from a separate generator: use the"
        " default one, which is saved"
    )


def test_inputs_that_are_none_are_said(tmp_path):
    p = tmp_path / "p"
    assert refused(lambda x: x, "f32(3)", p) == (
        "save_program: x='f32(3)' is not an input: write a dtype and a shape in which N is"
        " the batch size, as in"
        " 'f32[N, 784]'"
    )
    assert refused(lambda a, b: a + b, [fb.zeros(4, 3), fb.zeros(3)], p) == (
        "save_program: the first dim of each example is the batch, and its sizes differ: a"
        " has 4, b has 3: describe inputs without a batch by a string such as 'f32[3, 4]'"
    )
    assert refused(lambda x: x, fb.zeros(500, 3), p) == (
        "save_program: the example is a batch of 500: pass max_batch=500 or more"
    )
    assert refused(lambda x: x, "f32[N]", p, target="ios") == (
        "save_program: target='ios' is unknown: pass 'web', or None for Python only"
    )
    assert refused(lambda x: x, "f32[N]", p, max_batch=0) == (
        "save_program: max_batch=0: pass the largest batch size, 1 or more"
    )
    assert refused(3, "f32[N]", p) == (
        "save_program: 3 is not callable: pass a model or a function of tensors"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(fb.FlambeauError) as e:
        fb.save_program(lambda x: x, "f32[N]", tmp_path / "mine")
    assert str(e.value) == (
        f"save_program: {tmp_path / 'mine'} holds other files: name an empty or new folder"
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda p: p(fb.ones(2, 11)), "program(x=f32[2, 11]): x is f32[2, 11], not f32[N, 12] with N = 2"),
        (lambda p: p(fb.ones(12)), "program(x=f32[12]): x is f32[12], not f32[N, 12]"),
        (lambda p: p(fb.ones(2, 12).int()), "program(x=i32[2, 12]): x is i32, not f32: cast it"),
        (
            lambda p: p(fb.ones(500, 12)),
            "program(x=f32[500, 12]): a batch of 500, and the program was saved for 1 to 64: split it,"
            " or save"
            " again with max_batch=500",
        ),
        (
            lambda p: p(fb.ones(0, 12)),
            "program(x=f32[0, 12]): a batch of 0, and the program was saved for 1 to 64: it takes at least 1",
        ),
        (lambda p: p(y=fb.ones(2, 12)), "program: no input 'y': it takes x=f32[N, 12]"),
        (lambda p: p(), "program: no 'x': it takes x=f32[N, 12]"),
        (lambda p: p(1, 2), "program: 2 inputs are more than its 1: it takes x=f32[N, 12]"),
        (lambda p: p(1, x=2), "program: 'x' is passed twice: it takes x=f32[N, 12]"),
    ],
)
def test_wrong_inputs_are_said(call, told, saved):
    with pytest.raises((ValueError, TypeError)) as e:
        call(saved("mlp")[3])
    assert str(e.value) == told


def test_a_program_inside_jit_is_refused(saved):
    program = saved("mlp")[3]
    with pytest.raises(fb.FlambeauError) as e:
        fb.jit(lambda x: program(x))(fb.ones(2, 12))
    assert str(e.value) == (
        "SavedProgram(x=f32[N, 12]): a saved program can't be recorded: call it outside of jit"
    )


def test_numpys_device_is_refused(saved):
    folder = saved("mlp")[2]
    with pytest.raises(fb.DeviceError) as e:
        fb.load_program(folder, "cpu")
    assert str(e.value) == (
        f"load_program({str(folder)!r}): cpu runs no kernels: install a driver (flambeau doctor says which)"
    )


def change(text):
    """A change of program.txt's text."""
    return lambda folder: (folder / "program.txt").write_text(text((folder / "program.txt").read_text()))


DAMAGE = {
    "no program": (
        lambda f: (f / "program.txt").unlink(),
        "program.txt is missing: pass a complete folder written by save_program",
    ),
    "no kernels": (
        lambda f: (f / "kernels.wgsl").unlink(),
        "kernels.wgsl is missing: pass a complete folder written by save_program",
    ),
    "no weights": (
        lambda f: (f / "weights.safetensors").unlink(),
        "weights.safetensors is missing: pass a complete folder written by save_program",
    ),
    "cut": (
        change(lambda t: t[:40]),
        "program.txt is not JSON (Unterminated string starting at: line 3 column 3 (char 36)): save the"
        " program again",
    ),
    "of something else": (
        change(lambda t: "[1]"),
        "program.txt is not a saved program: pass a folder written by save_program",
    ),
    "version": (
        change(lambda t: t.replace('"version": 5', '"version": 9')),
        "program.txt has format version 9, and this flambeau reads version 5: save the program again"
        " with this"
        " flambeau, or load it with the version that saved it",
    ),
    "key": (
        change(lambda t: t.replace('"batch"', '"batches"')),
        "program.txt is damaged (batch is not a value: it is missing): save the program again",
    ),
    "kernels of another": (
        lambda f: (f / "kernels.wgsl").write_text("//~ kernel 0: copy\n"),
        "program.txt has {kernels} kernels, kernels.wgsl 1: the files belong to different"
        " programs: save the program again",
    ),
    "weights of another": (
        lambda f: fb.save({"0.weight": fb.zeros(3, 2)}, f / "weights.safetensors"),
        "weights.safetensors belongs to another model: '0.weight' is f32[3, 2], not f32[32, 12]; '0.bias' is"
        " missing,"
        " not f32[32]; '2.weight' is missing, not f32[5, 32]; '2.bias' is missing, not f32[5]: save the"
        " program"
        " again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_folder_is_told(what, saved, tmp_path):
    damage, told = DAMAGE[what]
    shutil.copytree(saved("mlp")[2], tmp_path / "p")
    damage(tmp_path / "p")
    with pytest.raises(fb.FlambeauError) as e:
        fb.load_program(tmp_path / "p")
    kernels = (saved("mlp")[2] / "kernels.wgsl").read_text().count("//~ kernel")
    assert str(e.value) == f"load_program({str(tmp_path / 'p')!r}): {told.replace('{kernels}', str(kernels))}"


def bytes_of(folder):
    return {n: (folder / n).read_bytes() for n in ("program.txt", "kernels.wgsl", "weights.safetensors")}


def test_a_program_loads_from_bytes(saved):
    """What a page has fetched: bytes and memoryviews by name; other files beside them do no harm."""
    program, files = saved("mlp")[3], bytes_of(saved("mlp")[2])
    x = fb.rand(3, 12)
    for given in (files, {n: memoryview(bytearray(data)) for n, data in files.items()} | {"index.js": b""}):
        np.testing.assert_array_equal(fb.load_program(given)(x).numpy(), program(x).numpy())


WRONG_BYTES = {
    "no kernels": (
        {"kernels.wgsl": None},
        fb.FlambeauError,
        "'kernels.wgsl' is missing: pass the bytes of program.txt, kernels.wgsl and weights.safetensors",
    ),
    "text": (
        {"kernels.wgsl": "//~ kernel 0: copy"},
        TypeError,
        "'kernels.wgsl' is of type str: pass the file's bytes",
    ),
    "not text": (
        {"program.txt": b"\xff"},
        fb.FlambeauError,
        "program.txt can't be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ),
    "cut": (
        {"weights.safetensors": b"\x10"},
        fb.FlambeauError,
        "weights.safetensors: it is truncated or not a .safetensors file (it ends before its"
        " header): get a complete copy",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_BYTES)
def test_wrong_bytes_are_told(what, saved):
    changed, kind, told = WRONG_BYTES[what]
    files = {n: data for n, data in (bytes_of(saved("mlp")[2]) | changed).items() if data is not None}
    with pytest.raises(kind) as e:
        fb.load_program(files)
    assert str(e.value) == f"load_program({{...}}): {told}"


def test_a_damaged_plan_is_told(saved, tmp_path):
    shutil.copytree(saved("mlp")[2], tmp_path / "p")
    change(lambda t: t.replace('"x0"', '"x7"'))(tmp_path / "p")
    with pytest.raises(fb.FlambeauError) as e:
        fb.load_program(tmp_path / "p")
    rule = "plans.gpu.plans[0].steps[0].reads is not a list of defined values"
    told = f"program.txt is damaged ({rule}): save the program again"
    assert str(e.value) == f"load_program({str(tmp_path / 'p')!r}): {told}"


STRANGE = [
    None, True, -1, 0, 3, 1 << 31, 1 << 40, 1 << 80, 1.5, "", "x0", "t0", "w0", "t99", "N", [], [1], [1, 2],
    [1, 2, 0, 3], [1, 2, -3, 4], {}, {"1": 3}, {"draw": 5, "word": 9}, {"draw": 0, "word": 0}, [[[]]],
]  # fmt: skip


def places(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def test_any_change_of_a_manifest_is_told_or_runs(tmp_path):
    """A driver that is given a number that can't be ends the process: none may reach it."""
    rng, net = random.Random(3), nn.Linear(4, 3)
    kept, sums = fb.ones(3).realize(), fb.zeros(3).realize()
    state = {"sums": sums, "kept": kept}
    out = fb.save_program(
        lambda x: [net(x) + sums.assign_(sums + kept), x + fb.rand(*x.shape)],
        "f32[N, 4]", tmp_path / "p", max_batch=3, state=state,
    )  # fmt: skip
    files = {n: (out / n).read_bytes() for n in ("program.txt", "kernels.wgsl", "weights.safetensors")}
    whole, ran = json.loads(files["program.txt"]), 0
    everywhere = [path for path in places(whole) if path]
    for _ in range(300):
        program = json.loads(files["program.txt"])
        *path, last = rng.choice(everywhere)
        at = program
        for key in path:
            at = at[key]
        if rng.random() < 0.85:
            at[last] = rng.choice(STRANGE)
        else:
            del at[last]
        try:
            made = fb.load_program(files | {"program.txt": json.dumps(program).encode()})(fb.ones(2, 4))
            for t in made.values() if isinstance(made, dict) else made if isinstance(made, list) else [made]:
                t.numpy()
            ran += 1
        except fb.FlambeauError as e:
            assert str(e).startswith("load_program({...}): ") or isinstance(
                e, fb.DeviceError | fb.KernelError
            )
    assert ran < 100
    for text in (b"[" * 100_000, b'{"format": ' * 50_000, b"", b"9" * 10_000):
        with pytest.raises(fb.FlambeauError, match=r"^load_program\(\{\.\.\.\}\): program\.txt is "):
            fb.load_program(files | {"program.txt": text})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_a_fifo_in_a_folder_is_told_at_once(tmp_path):
    for name in ("program.txt", "kernels.wgsl", "weights.safetensors"):
        out = fb.save_program(lambda x: x + fb.ones(3), "f32[3]", tmp_path / name)
        (out / name).unlink()
        os.mkfifo(out / name)
        with pytest.raises(fb.FlambeauError, match="can't be read: it is a FIFO, not a file"):
            fb.load_program(out)


def test_a_save_that_was_killed_can_be_done_again(tmp_path):
    out = fb.save_program(lambda x: x + fb.ones(3), "f32[3]", tmp_path / "p", target="web")
    (out / "program.txt").unlink()  # what a killed one has not yet
    (out / ".weights.safetensors.01234567.flambeau").write_bytes(b"half")
    fb.save_program(lambda x: x + fb.full((3,), 2.0), "f32[3]", out)
    assert fb.load_program(out)(fb.ones(3)).tolist() == [3, 3, 3]
    assert not list(out.glob(".*"))


@pytest.mark.parametrize("what", ["x", "output", "w"])
def test_complex_numbers_in_a_page_are_refused_with_words(what, tmp_path):
    layer = fb.nn.Module()
    layer.w = fb.nn.Parameter(fb.ones(3, dtype=fb.complex64) if what == "w" else fb.ones(3))
    layer.forward = lambda x: {"output": lambda: x * layer.w * 1j}.get(what, lambda: (x * layer.w).abs())()
    given = fb.ones(2, 3, dtype=fb.complex64 if what == "x" else fb.float32)
    with pytest.raises(TypeError) as told:
        fb.save_program(layer, (given,), tmp_path / "p", target="web")
    assert str(told.value) == (
        f"save_program(target='web'): {what!r} is c64: JavaScript has no complex arrays: use"
        " fb.view_as_real(...) for inputs, state and results"
    )
    assert not (tmp_path / "p").exists()
