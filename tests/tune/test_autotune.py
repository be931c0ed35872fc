"""Measured choices of kernels: candidates compared, the best kept, and files that do not hold passed over."""

import gc
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flambeau as fb
from flambeau.cli.workloads import Workload
from flambeau.codegen import render
from flambeau.core import choose, events
from flambeau.device import native, tuned
from flambeau.device.tuned import AdapterIdentity, Choice
from flambeau.errors import FlambeauError, KernelError
from flambeau.kernels import reduce
from flambeau.runtime.state import shared

SHIPPED = tuned.SHIPPED
OF = AdapterIdentity("Card (Vulkan)", "driver 1", "wgpu 0.32.0", "gpu")
FOUND = [Choice("test", ("a", (1, 2)), "b", "a", {"a": 2.0, "b": 1.0}, {"c": "its results are wrong"})]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    monkeypatch.setenv("FLAMBEAU_KERNELS", "software")  # the candidates that are named here
    monkeypatch.delenv("FLAMBEAU_TUNE", raising=False)
    monkeypatch.setattr(tuned, "SHIPPED", tmp_path / "none")
    return tmp_path


@pytest.fixture
def device(gpu, own_cache):
    """The adapter opened again: no plans, no choices."""
    return native.NativeDevice(gpu.adapter)


# --- a family of the tests': sums by different kernels, two of which should never be used ---


@pytest.fixture
def family(monkeypatch):
    """What a sum is made by: rows as they are, in parts, or not at all."""
    names = ["whole", "parts", "wrong", "broken", "invalid"]
    usual = reduce._stages
    monkeypatch.setitem(render.ADDED, "invalid.wgsl", "no WGSL")

    def staged(planner, made, domain):
        if not domain.shape:  # the sum of one number, which a loss is
            return usual(planner, made, domain)
        name = choose.choose(planner.limits, "test", (domain.rows, domain.length), names, "whole")
        if name == "broken":
            raise KernelError("test: no such kernel")
        if name == "wrong":
            domain.shape = (*domain.shape[:-1], domain.shape[-1] - 1)
        monkeypatch.setattr(reduce, "SPLIT_AT", 16 if name == "parts" else 1 << 30)
        found = usual(planner, made, domain)
        if name == "invalid":
            return [replace(k, shader=replace(k.shader, template="invalid.wgsl")) for k in found]
        return found

    monkeypatch.setattr(reduce, "_stages", staged)
    return names


def test_a_graph_is_measured(device, family, capsys):
    x = fb.tensor(np.random.default_rng(0).standard_normal((3, 40000)).astype("f4"), device=device)
    with fb.autotune() as found:
        y = (x * 2).sum(1) + 1
        got = y.numpy()
    (made,) = found.choices
    assert (made.family, made.bucket, made.default) == ("test", (3, 40000), "whole")
    assert set(made.ms) == {"whole", "parts"} and set(made.dropped) == {"wrong", "broken", "invalid"}
    assert made.dropped["broken"] == "it can't be planned (test: no such kernel)"
    assert made.dropped["wrong"].startswith("its results are wrong (off by ")
    start = f"it does not run (sum+mul+add: the kernel does not compile on {device}: "
    assert made.dropped["invalid"].startswith(start) and "error: " in made.dropped["invalid"]
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"flambeau: tune: test [3, 40000]: {name} is dropped: {made.dropped[name]}"
        for name in ("broken", "wrong", "invalid")
    ]
    assert device.limits.tuned == {("test", (3, 40000)): made.choice}
    assert np.allclose(got, (x.numpy().astype("f8") * 2).sum(1) + 1, atol=1e-2)
    assert str(found).startswith("test [3, 40000]: ") and "ms: " in str(found)


def test_what_is_known_is_not_measured_again(device, family, own_cache, capsys):
    x = fb.ones(3, 40000, device=device).realize()
    with fb.autotune() as first:
        x.sum(1).realize()
    with fb.autotune() as second:
        x.sum(1).realize()
    with fb.autotune(again=True) as third:
        x.sum(1).realize()
    assert [len(f.choices) for f in (first, second, third)] == [1, 0, 1]
    capsys.readouterr()
    opened = native.NativeDevice(device.adapter)
    assert opened.limits.tuned == {("test", (3, 40000)): third.choices[0].choice}
    assert capsys.readouterr().err == ""


def test_a_known_choice_that_does_not_fit_is_no_choice(device, family):
    device.limits.tuned["test", (3, 40000)] = "turbo"
    with fb.autotune() as found:
        y = fb.ones(3, 40000, device=device).sum(1)
        assert y.tolist() == [40000.0] * 3
    assert [c.default for c in found.choices] == ["whole"]
    assert device.limits.tuned["test", (3, 40000)] in ("whole", "parts")


@pytest.mark.usefixtures("collected")
def test_no_room_to_measure_leaves_the_device_usable(device, family, capsys):
    x = fb.ones(3, 40000, device=device).realize()
    with fb.memory_budget(device.pool.live + 4096, device=device), fb.autotune() as found:
        assert x.sum(1).tolist() == [40000.0] * 3
    *_, said = capsys.readouterr().err.splitlines()
    assert said == (
        "flambeau: tune: test [3, 40000]: whole is dropped: it does not run (alloc(480,000 bytes): 491,520"
        " bytes are in use of a budget of 495,616: use a smaller batch, or a larger budget)"
    )
    assert not found.choices
    with fb.autotune() as found:
        x.sum(1).realize()
    assert len(found.choices) == 1


def test_what_is_tuned_is_told(device, family):
    told = []
    with fb.autotune() as found, events.subscribe("tuned", lambda *what: told.append(what)):
        fb.realize(fb.ones(3, 40000, device=device).sum(1), fb.ones(3, 50000, device=device).sum(1))
    assert told == [(1, 2, found.choices[0]), (2, 2, found.choices[1])]


def test_a_choice_drops_cached_plans(device, family):
    x = fb.ones(3, 40000, device=device).realize()
    x.sum(1).realize()
    before = dict(device.plans)
    with fb.autotune():
        x.sum(1).realize()
    assert not any(device.plans.get(key) is old for key, old in before.items())


def test_the_switch(device, family):
    x = fb.ones(3, 40000, device=device).realize()
    on = fb.autotune()
    assert shared.tuner is not None
    off = fb.autotune(False)
    assert shared.tuner is None
    x.sum(1).realize()
    assert not on.choices and not off.choices
    with off:
        pass
    assert shared.tuner == on._tune
    with on:
        pass
    assert shared.tuner is None


def test_a_forced_family_is_left_alone(device, family, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_VARIANT", "test=parts")
    choose.forced.cache_clear()
    with fb.autotune() as found:
        fb.ones(3, 40000, device=device).sum(1).realize()
    monkeypatch.undo()
    choose.forced.cache_clear()
    assert not found.choices


@pytest.mark.usefixtures("collected")
def test_measuring_leaves_nothing_behind(device, family):
    x = fb.ones(3, 40000, device=device).realize()
    with fb.autotune():
        x.sum(1).realize()
    gc.collect()  # what other tests left in cycles
    live = device.pool.live
    with fb.autotune(again=True):
        x.sum(1).realize()
    gc.collect()
    assert device.pool.live == live


# --- files ---


def test_choices_come_back(capsys):
    tuned.keep(OF, FOUND)
    assert tuned.load_cached(OF) == FOUND
    assert tuned.choices_for(OF) == {("test", ("a", (1, 2))): "b"}
    other = Choice("test", (3,), "x", "x")
    tuned.keep(OF, [other])
    assert tuned.load_cached(OF) == [other, *FOUND] or tuned.load_cached(OF) == [*FOUND, other]
    assert capsys.readouterr().err == ""


def test_files_are_readable():
    tuned.keep(OF, FOUND)
    said = json.loads(tuned.choices_file(OF).read_text())
    assert said["of"] == {**OF._asdict(), "templates": tuned.templates()}
    assert said["choices"][0]["bucket"] == ["a", [1, 2]]
    assert tuned.choices_file(OF).name == "card-vulkan-wgpu-gpu.json"


CHANGED = {
    "driver": "the measured choices are from another driver (driver 0, here driver 1): not used",
    "provider": "the measured choices are from another provider (wgpu 0.31.0, here wgpu 0.32.0): not used",
    "templates": "the measured choices are for other templates (0123, here {}): not used",
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_versions_are_passed_over(name, capsys):
    old = {"driver": "driver 0", "provider": "wgpu 0.31.0", "templates": "0123"}[name]
    tuned.keep(OF, FOUND)
    place = tuned.choices_file(OF)
    said = json.loads(place.read_text())
    said["of"][name] = old
    place.write_text(json.dumps(said))
    assert tuned.choices_for(OF) == {}
    assert capsys.readouterr().err == f"flambeau: {place}: {CHANGED[name].format(tuned.templates())}\n"
    tuned.keep(OF, FOUND)  # made anew
    assert tuned.load_cached(OF) == FOUND


DAMAGED = {
    "": "damaged (JSONDecodeError)",
    "[]": "damaged (TypeError)",
    "[" * 100_000: "damaged (RecursionError)",  # deeper than Python goes
    '{"format": 9}': "of format 9, not 2",
    '{"format": 2, "of": {}, "choices": []}': "damaged (TypeError)",
    '{"format": 2, "of": {"adapter": "a", "driver": "b", "provider": "c", "kernels": "gpu"}, "choices":'
    ' [{"family": "a", "bucket": {}, "choice": "b", "default": "c"}]}': "damaged (TypeError)",
}


@pytest.mark.parametrize("text", DAMAGED)
def test_damaged_files_are_passed_over(text, capsys):
    place = tuned.choices_file(OF)
    place.parent.mkdir()
    place.write_text(text)
    assert tuned.choices_for(OF) == {}
    assert (
        capsys.readouterr().err == f"flambeau: {place}: the measured choices are {DAMAGED[text]}: not used\n"
    )
    tuned.keep(OF, FOUND)
    assert tuned.load_cached(OF) == FOUND


def test_a_folder_that_can_not_be_written(own_cache, capsys):
    (own_cache / "tuned").write_text("a file where the folder would be")
    tuned.keep(OF, FOUND)
    place = tuned.choices_file(OF)
    said = f"flambeau: {place} can't be written (File exists): choices hold for this process\n"
    assert capsys.readouterr().err == said
    assert tuned.choices_for(OF) == {}


def test_a_read_only_folder(monkeypatch, capsys):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    tuned.keep(OF, FOUND)
    monkeypatch.setattr(Path, "write_text", refuse)
    tuned.keep(OF, [Choice("test", (3,), "x", "x")])
    place = tuned.choices_file(OF)
    said = f"flambeau: {place} can't be written (Read-only file system): choices hold for this process\n"
    assert capsys.readouterr().err == said
    assert tuned.load_cached(OF) == FOUND  # what was there still holds


def test_off_uses_none(monkeypatch, capsys):
    tuned.keep(OF, FOUND)
    monkeypatch.setenv("FLAMBEAU_TUNE", "off")
    assert tuned.choices_for(OF) == {}
    monkeypatch.setenv("FLAMBEAU_TUNE", "maybe")
    with pytest.raises(FlambeauError) as e:
        tuned.choices_for(OF)
    assert str(e.value) == "FLAMBEAU_TUNE=maybe: unknown: use 'on' or 'off', or unset it"


def test_on_measures_from_the_start():
    code = "import flambeau as fb; from flambeau.runtime.state import shared; print(shared.tuner is not None)"
    environment = {**os.environ, "FLAMBEAU_TUNE": "on"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_shipped_choices_hold_below_own(monkeypatch, tmp_path):
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    monkeypatch.setattr(tuned, "SHIPPED", shipped)
    text = tuned.text_of(
        OF._replace(driver="any"), [Choice("test", (1,), "s", "a"), Choice("test", (2,), "s", "a")]
    )
    (shipped / "card-vulkan-wgpu-gpu.json").write_text(text)
    tuned.keep(OF, [Choice("test", (2,), "own", "a")])
    assert tuned.choices_for(OF) == {
        ("test", (1,), "a"): "s",
        ("test", (2,), "a"): "s",
        ("test", (2,)): "own",
    }


def test_a_shipped_choice_replaces_only_what_it_beat(device, family):
    device.limits.tuned["test", (3, 40000), "whole"] = "parts"
    pick = choose.choose
    assert pick(device.limits, "test", (3, 40000), family, "whole") == "parts"
    assert pick(device.limits, "test", (3, 40000), family, "broken") == "broken"  # the rule was changed
    assert pick(device.limits, "test", (3, 40000), ["whole"], "whole") == "whole"  # it does not fit
    assert pick(device.limits, "test", (4, 40000), family, "whole") == "whole"


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_shipped_file_is_passed_over(text, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tuned, "SHIPPED", tmp_path)
    (tmp_path / tuned.choices_file_name(OF)).write_text(text)
    assert tuned.choices_for(OF) == {}
    place = tmp_path / tuned.choices_file_name(OF)
    assert (
        capsys.readouterr().err == f"flambeau: {place}: the shipped choices are {DAMAGED[text]}: not used\n"
    )


def test_only_what_is_better_ships():
    def made(name, ms):
        return Choice("test", (ms,), name, "a", {"a": 1.0, "b": ms})

    assert tuned.better([made("b", 0.94), made("b", 0.96), made("a", 1.2)]) == [made("b", 0.94)]


def test_exported_files_hold_for_the_same(tmp_path):
    path = tmp_path / "choices.json"
    path.write_text(tuned.text_of(OF, FOUND))
    assert tuned.import_choices(path, OF) == FOUND
    with pytest.raises(FlambeauError) as e:
        tuned.import_choices(path, OF._replace(adapter="Other (Vulkan)", driver="driver 2"))
    assert str(e.value) == (
        f"{path}: measured choices from another adapter (Card (Vulkan), here Other (Vulkan)),"
        " from another driver (driver 1, here driver 2): measure here with `flambeau tune`"
    )
    with pytest.raises(FlambeauError) as e:
        tuned.import_choices(Path("none.json"), OF)
    assert str(e.value) == "none.json can't be read (No such file or directory): check the path"
    path.write_text("{")
    with pytest.raises(FlambeauError) as e:
        tuned.import_choices(path, OF)
    assert str(e.value) == (
        f"{path}: damaged (JSONDecodeError): export it again with `flambeau tune --export`"
    )


def test_shipped_files_are_whole():
    for path in SHIPPED.glob("*.json"):
        of, choices = tuned.read(path)
        assert path.name == tuned.choices_file_name(of) and choices == tuned.better(choices) != []


# --- the command ---


@pytest.fixture
def command(device, monkeypatch):
    """`flambeau tune`, on an adapter without choices."""
    from click.testing import CliRunner

    from flambeau.cli import main

    monkeypatch.setattr("flambeau.cli.tune.get_device", lambda spec=None: device)

    def call(*arguments):
        done = CliRunner().invoke(main, ["tune", "--here", *arguments], catch_exceptions=False)
        return done.exit_code, done.stdout or done.output

    return call


@pytest.mark.share(5)
def test_the_command_measures_and_exports(command, device, family, tmp_path):
    path = tmp_path / "choices.json"
    code, said = command("--op", "sum(f32[512, 512])", "--train", "--export", str(path))
    assert code == 0 and said.splitlines()[-1] == f"wrote 1 choice to {path}"
    assert "test [1, 262144]: " in said
    tuned.choices_file(device.identity).unlink()
    code, said = command("--import", str(path))
    assert (code, said) == (0, f"kept 1 choice of {path} in {tuned.choices_file(device.identity)}\n")
    assert [c.family for c in tuned.load_cached(device.identity)] == ["test"]


def test_the_command_takes_a_model(command, family, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text("def total(x):\n    return (x * 2).sum(1)\n")
    code, said = command("nets.py:total", "--input", "x=f32[N, 300]", "--batch", "4")
    assert code == 0, said
    assert said.startswith("nets.py:total:\n  1 of 1: test [4, 300]: ")
    code, said = command("nets.py:total", "--input", "x=f32[N, 300]", "--batch", "4")
    assert said.startswith("0 choices measured in 0.")


WRONG = {
    ("--op", "sum"): "tune --op 'sum': write it as 'matmul(f32[64, 784], f32[784, 128])'",
    (
        "--op",
        "sum(f32[2], frog)",
    ): "tune --op 'sum(f32[2], frog)': write it as 'matmul(f32[64, 784], f32[784, 128])'",
    ("--op", "sum(f32[a])"): "tune --op 'sum(f32[a])': 'f32[a]' is not a tensor: write it as in"
    " 'matmul(f32[64, 784], f32[784, 128])'",
    ("--op", "summ(f32[2])"): "tune --op 'summ(f32[2])': unknown operation: did you mean 'sum'?",
    ("nets:total",): "tune: No module named 'nets': name a module that can be imported from here",
    ("mnist",): "tune: MODEL is 'mnist': write module:name, file.py:name or a .safetensors file",
}


def test_the_command_exports_what_is_better_into_a_folder(command, device, tmp_path):
    found = [Choice("test", (n,), "b", "a", {"a": 1.0, "b": 0.5 * n}) for n in (1, 2)]
    tuned.keep(device.identity, found)
    path = tmp_path / tuned.choices_file_name(device.identity)
    assert command("--export", str(tmp_path), "--better") == (0, f"wrote 1 choice to {path}\n")
    assert tuned.read(path)[1] == found[:1]
    code, said = command("--export", str(tmp_path / "none" / "x.json"))
    assert (code, said) == (
        1,
        f"flambeau: tune --export {tmp_path}/none/x.json: can't be written (No such file or directory):"
        " check the path\n",
    )


def test_the_command_ends_in_time(command, family):
    code, said = command("--op", "sum(f32[3, 40000], 1)", "--op", "sum(f32[3, 50000], 1)", "--seconds", "0")
    first, second, last, count = said.splitlines()
    assert (
        code == 0 and first == "sum(f32[3, 40000], 1):" and second.startswith("  1 of 1: test [3, 40000]: ")
    )
    assert last == "out of time (--seconds) at sum(f32[3, 40000], 1)" and count.startswith(
        "1 choice measured"
    )


@pytest.mark.share(5)
def test_the_command_tunes_usual_calls(command, device, family, monkeypatch):
    from flambeau.cli import op_calls

    monkeypatch.setattr(
        op_calls, "MODELS", {"a model": (lambda t, n: Workload(lambda: t.randn(n, 999).sum(1)), (7,), (7,))}
    )
    n = device.max_binding // 4 + 1
    monkeypatch.setattr(op_calls, "SOFTWARE_CALLS", ("sum(f32[3, 40000], 1)", f"sum(f32[{n}])"))
    code, said = command()
    first, *others = said.splitlines()
    assert code == 0 and first == "sum(f32[3, 40000], 1):" and "a model:" in others
    why = f"alloc({4 * n:,} bytes): {device} binds at most {device.max_binding:,} bytes a tensor"
    assert f"sum(f32[{n}]): left out: {why}: split the tensor" in others


def test_usual_calls_are_calls(gpu):
    from flambeau.cli import op_calls

    for text in (*op_calls.GPU_CALLS, *op_calls.SOFTWARE_CALLS):
        assert isinstance(op_calls.parse_call(text, gpu)(), fb.Tensor), text
    x = op_calls.parse_call("max_pool2d(f32[2, 3, 8, 8], (2, 4), stride=2)", gpu)()
    assert x.shape == (2, 3, 4, 3)


@pytest.mark.parametrize("arguments", WRONG)
def test_the_command_says_what_is_wrong(command, arguments):
    code, said = command(*arguments)
    assert (code, said) == (1, f"flambeau: {WRONG[arguments]}\n")


def test_the_cpu_has_no_kernels():
    from click.testing import CliRunner

    from flambeau.cli import main

    done = CliRunner().invoke(main, ["tune", "--here", "--device", "cpu", "--op", "sum(f32[2])"])
    assert done.output == "flambeau: tune: cpu has no kernel variants: see 'flambeau doctor'\n"


# --- a child process ---

DANGEROUS = """
import os, time
from flambeau.core import choose as choice
from flambeau.kernels import reduce as reduction
from flambeau.tune import measure as trials

usual, prepared = reduction._stages, trials.Trials.prepare

def staged(planner, made, domain):
    names = ["whole", "parts", "crashes", "hangs"]
    name = choice.choose(planner.limits, "test", (domain.rows, domain.length), names, "whole")
    reduction.SPLIT_AT = 1 << 30 if name == "whole" else {"parts": 16, "crashes": 32, "hangs": 64}[name]
    return usual(planner, made, domain)

def dangerous(self, whole, kernels):
    if self.trying == "crashes":
        os._exit(9)
    if self.trying == "hangs":
        time.sleep(600)
    return prepared(self, whole, kernels)

def check(self, name, *rest, usual=trials.Trials.check):
    self.trying = name
    return usual(self, name, *rest)

reduction._stages, trials.Trials.prepare, trials.Trials.check = staged, dangerous, check

def total(x):
    return (x * 2).sum(1)
"""


@pytest.mark.share(5)
def test_candidates_that_crash_or_hang_are_dropped(tmp_path, monkeypatch, capfd):
    from flambeau.cli import child_process

    (tmp_path / "nets.py").write_text(DANGEROUS)
    monkeypatch.chdir(tmp_path)
    child_process.run_in_child(["nets.py:total", "--input", "x=f32[N, 40000]", "--batch", "3"], seconds=4)
    said = capfd.readouterr()
    lost = [line for line in said.err.splitlines() if " is dropped" in line]
    start = "flambeau: tune: test [3, 40000]: "
    assert lost == [
        f"{start}crashes is dropped: it ended the process (code 9)",
        f"{start}hangs is dropped: it hung for 4 s",
    ]
    assert said.out.startswith("nets.py:total:\n  1 of 1: test [3, 40000]: ") and "@trial" not in said.out
    assert "crashes dropped: it crashed; hangs dropped: it crashed" in said.out


COMPILING = """
import os
from flambeau.tune import autotune as tuning

def pipelines_of(device, kernels):
    os._exit(7)

tuning.pipelines_of = pipelines_of

def total(x):
    return x.softmax(-1)
"""


@pytest.mark.share(5)
def test_a_crash_of_what_compiles_together_is_found_one_by_one(tmp_path, monkeypatch, capfd):
    from flambeau.cli import child_process

    (tmp_path / "nets.py").write_text(COMPILING)
    monkeypatch.chdir(tmp_path)
    child_process.run_in_child(["nets.py:total", "--input", "x=f32[N, 400]", "--batch", "3"])
    said = capfd.readouterr()
    assert "is dropped" not in said.err and said.out.startswith("nets.py:total:\n  1 of 1: rows ")


@pytest.mark.share(5)
def test_a_child_that_fails_otherwise_is_not_started_again(capfd):
    from flambeau.cli import child_process

    with pytest.raises(SystemExit) as e:
        child_process.run_in_child(["--op", "sum"])
    assert e.value.code == 1
    said = capfd.readouterr().err
    assert said.count("tune --op 'sum': write it as 'matmul(f32[64, 784], f32[784, 128])'") == 1


def test_changed_files_are_damaged_or_choices(tmp_path):
    rng, path = random.Random(5), tmp_path / "x.json"
    of = tuned.AdapterIdentity("adapter", "driver", "wgpu 1", "gpu")
    whole = tuned.text_of(of, [tuned.Choice("matmul", (1, "a", (2,)), "b", "c", {"b": 1.0}, {"d": "why"})])
    pieces = ["{", "}", "[", "]", '"', ",", ":", "-1", "1e400", "NaN", "null", "\0", "{}"]
    for _ in range(1000):
        text = list(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text[at : at + rng.randint(0, 5)] = rng.choice(pieces)
        path.write_text("".join(text), "utf-8")
        try:
            for c in tuned.read(path)[1]:
                assert str(c) and hash(c.bucket) is not None
        except fb.FlambeauError as e:
            assert str(e).startswith(f"{path}: ") and "\n" not in str(e)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="it is a FIFO, not a file"):
        tuned.read(path)
