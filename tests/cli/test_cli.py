"""The commands as a user runs them: what they print, what they leave behind, how they fail."""

import gzip
import io
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.paths import ROOT

import flambeau as fb
from flambeau.cli import main, mnist, progress
from flambeau.cli.mnist import network
from flambeau.debug import first_bad


def idx(array: np.ndarray) -> bytes:
    return (
        struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    )


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """A folder of 200 + 50 made-up digits: a bright row at the label's height."""
    folder = tmp_path_factory.mktemp("digits")
    rng = np.random.default_rng(0)
    for name, n in (("train", 200), ("t10k", 50)):
        labels = rng.integers(0, 10, n).astype("uint8")
        images = rng.integers(0, 30, (n, 28, 28)).astype("uint8")
        images[np.arange(n), labels * 2 + 4] = 255
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return folder


def flambeau(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def test_help_has_an_example_for_every_command():
    assert "Example: " in flambeau("--help").output
    for name in main.commands:
        assert "Example: " in flambeau(name, "--help").output, name


def test_version():
    assert flambeau("--version").output == f"flambeau, version {fb.__version__}\n"


@pytest.mark.share(6)
def test_mnist_trains_saves_and_reloads(digits, tmp_path, device):
    where = "cpu" if device.kind == "cpu" else "gpu"
    args = ("--epochs", 4, "--batch-size", 20, "--device", where, "--lr", 0.01, "--no-augment")
    done = flambeau("mnist", "--data", digits, "--out", tmp_path, *args)
    assert done.exit_code == 0, done.output
    assert "reloaded, its logits agree" in done.output
    assert done.stdout.startswith("digits: ")
    assert re.findall(r"^epoch 4/4  (\w+) ", done.output, flags=re.M) == ["train", "valid"]
    assert f"done: the checkpoints of {tmp_path / 'mnist.run'} are removed" in done.output
    assert float(re.search(r"^test accuracy (.*)$", done.stdout, flags=re.M)[1]) > 0.9
    model = network()
    model.load(tmp_path / "mnist.safetensors")
    assert [n for n, _ in model.named_parameters()][:2] == ["0.weight", "0.bias"]
    assert sorted(p.name for p in tmp_path.iterdir()) in (
        ["mnist.png", "mnist.safetensors"],
        ["mnist.safetensors"],
    )


def test_mnist_opens_no_device_but_its_own(digits, tmp_path, monkeypatch):
    devices = import_module("flambeau.device")
    monkeypatch.setattr(devices, "_devices", {"cpu": fb.device("cpu")})
    monkeypatch.setattr(devices, "_open", lambda key: pytest.fail(f"{key} was opened"))
    args = ("--steps", 3, "--batch-size", 10, "--device", "cpu")
    done = flambeau("mnist", "--data", digits, "--out", tmp_path, *args)
    assert done.exit_code == 0, done.output


@pytest.mark.share(6, first=1)
def test_mnist_is_the_same_with_the_same_seed(digits, tmp_path):
    def weights(seed):
        args = ("--steps", 3, "--batch-size", 20, "--seed", seed)
        done = flambeau("mnist", "--data", digits, "--out", tmp_path, *args)
        assert done.exit_code == 0, done.output
        return (tmp_path / "mnist.safetensors").read_bytes()

    assert weights(1) == weights(1) != weights(2)


SIGNALS = [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")]


@pytest.mark.parametrize("number, code, name", SIGNALS, ids=["SIGINT", "SIGTERM"])
@pytest.mark.share(3)
def test_a_signal_saves_the_model(digits, tmp_path, monkeypatch, number, code, name):
    from flambeau.cli import mnist

    rate, given = mnist.rate, signal.signal(signal.SIGINT, signal.default_int_handler)

    def asked(lr, step, steps):
        if step == 3:
            signal.raise_signal(number)
        return rate(lr, step, steps)

    monkeypatch.setattr(mnist, "rate", asked)
    try:
        args = ("--steps", 30, "--batch-size", 10, "--device", "cpu")
        done = flambeau("mnist", "--data", digits, "--out", tmp_path, *args)
    finally:
        signal.signal(signal.SIGINT, given)
    assert done.exit_code == code, done.output
    assert f"stopped by {name}: saving the model; --resume continues" in done.output
    assert re.search(r"^3 steps in ", done.output, flags=re.M), done.output
    assert (tmp_path / "mnist.safetensors").exists() and (tmp_path / "mnist.run").is_dir()
    told = fails("--data", digits, "--out", tmp_path, *args)
    rule = "its mnist.run holds an unfinished run: continue it with --resume, or remove it"
    assert told == f"flambeau: mnist(--out {tmp_path}): {rule}"


@pytest.mark.share(3, first=2)
def test_what_was_stopped_goes_on_to_the_same_bits(digits, tmp_path, monkeypatch):
    from flambeau.cli import mnist

    def weights(out, *more):
        args = ("--steps", 24, "--batch-size", 10, "--device", "cpu", "--width", 6, "--out", out, *more)
        done = flambeau("mnist", "--data", digits, *args)
        assert done.exit_code == 0, done.output
        return (out / "mnist.safetensors").read_bytes(), done.output

    def stops(self, learner):
        if learner.step == 13:
            learner.stop("stopped")

    whole, _ = weights(tmp_path / "whole", "--resume")
    assert not (tmp_path / "whole" / "mnist.run").exists()
    with monkeypatch.context() as patched:
        patched.setattr(mnist.StopsAfter, "after_step", stops)
        part, told = weights(tmp_path / "part")
        assert "stopped: saving the model; --resume continues" in told and part != whole
    again, _ = weights(tmp_path / "part", "--resume")
    assert again == whole and not (tmp_path / "part" / "mnist.run").exists()


def fails(*args) -> str:
    done = flambeau("mnist", *args)
    assert done.exit_code == 1, done.output
    return done.stderr.strip().splitlines()[-1]


def test_a_batch_size_of_zero(digits, tmp_path):
    told = fails("--data", digits, "--out", tmp_path, "--batch-size", 0)
    assert told == "flambeau: mnist(--batch-size 0): batch_size must be 1 to 200: pass another"


def test_an_unwritable_folder(digits, tmp_path):
    (tmp_path / "file").write_text("")
    told = fails("--data", digits, "--out", tmp_path / "file")
    assert (
        told
        == f"flambeau: mnist(--out {tmp_path}/file): can't write there: File exists: choose another folder"
    )


def test_an_unknown_device(digits, tmp_path):
    told = fails("--data", digits, "--out", tmp_path, "--device", "cpuu")
    assert told == (
        "flambeau: device('cpuu'): unknown device: did you mean 'cpu'?:"
        " use 'gpu', 'gpu:1', 'cpu' or 'torch:cuda'"
    )


def test_truncated_data_leaves_nothing(digits, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    for p in digits.iterdir():
        (bad / p.name).write_bytes(p.read_bytes()[:100] if "train-images" in p.name else p.read_bytes())
    told = fails("--data", bad, "--out", tmp_path / "out")
    assert "train-images-idx3-ubyte" in told and told.startswith("flambeau: ")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.share(3)
def test_a_loss_that_is_no_number_names_the_op(digits, tmp_path):
    told = fails("--data", digits, "--out", tmp_path, "--lr", "1e30", "--batch-size", 20)
    assert told.startswith("flambeau: mnist: step ")
    assert " produced the first value that is not finite: f32[" in told or "a value that was given" in told
    assert told.endswith(": use a smaller --lr")
    assert not list(tmp_path.iterdir())


def test_the_first_bad_op_is_named_and_not_what_it_spoilt(digits, tmp_path):
    """The loss is read steps after the weights went bad: the state from before is what names the op."""
    told = fails("--data", digits, "--out", tmp_path, "--lr", "1e30", "--batch-size", 20, "--device", "cpu")
    told = re.sub(r"at \S+nn/conv\.py:\d+", "at CONV", told)
    assert told == (
        "flambeau: mnist: step 1: the loss is nan: conv2d(f32[20, 1, 1, 8, 8, 8, 5, 5], "
        "f32[1, 1, 16, 1, 1, 8, 5, 5]) produced the first value that is not finite: f32[20, 1, 16, 8, 8], "
        "at CONV (layer '3'): use a smaller --lr"
    )


def test_first_bad(device):
    def x():
        return fb.tensor([1.0, 0.0], device=device)

    assert first_bad(x().exp().sum()) is None
    made = "produced the first value that is not finite"
    assert first_bad((x() + 1).exp(), (x().log() * 2).sum()) == f"log(f32[2]) {made}: f32[2]"
    assert first_bad(x() / float("nan")) is not None
    assert first_bad(fb.tensor([float("inf")], device=device) + 1) == ("an input is not finite: f32[1]")


def test_a_full_disk(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=12_000))
    told = fails("--data", digits, "--out", tmp_path)
    rule = "the disk is full: 12,000 bytes are free of 2,000,000 needed: choose another folder"
    assert told == f"flambeau: mnist(--out {tmp_path}): {rule}"


def test_without_matplotlib_all_but_the_picture(digits, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    done = flambeau("mnist", "--data", digits, "--out", tmp_path, "--steps", 2, "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert "matplotlib is not installed: pip install 'flambeau[train]'" in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["mnist.safetensors"]


def test_a_traceback_for_those_who_ask(monkeypatch, tmp_path):
    monkeypatch.setenv("FLAMBEAU_DEBUG", "1")
    done = flambeau("mnist", "--data", tmp_path, "--out", tmp_path)
    assert isinstance(done.exception, ValueError)


def test_progress_in_plain_lines(monkeypatch):
    clock = iter([0.0, 0.0, 1.0, 6.0, 8.0, 9.0, 10.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    stream = io.StringIO()
    with progress.ProgressLine(stream) as shown:  # 0 s
        shown.phase("train 1/2", 80)  # 0 s
        shown.update(10, "loss 2")  # 1 s: too soon for a line
        shown.update(60, "loss 1")  # 6 s
        shown.update(80, "loss 0.5")  # 8 s: the end
        shown.phase("test")  # 9 s
        shown.update(1)  # 10 s
    assert [" ".join(line.split()) for line in stream.getvalue().splitlines()] == [
        "train 1/2 60/80 10.0 it/s loss 1",
        "train 1/2 80/80 10.0 it/s loss 0.5",
        "test 1/1",
    ]


def test_a_download_of_digits_is_shown(monkeypatch, capsys):
    def digits(train, data, progress):
        if train:
            progress("images.gz", 2**20, 2**21)
            progress("images.gz", 2**21, 2**21)
        return train

    monkeypatch.setattr(mnist, "digits", digits)
    assert mnist.load(None) == (True, False)
    assert capsys.readouterr().out.split() == ["download", "1/1", "images.gz", "2.0", "of", "2.0", "MB"]


def test_progress_on_a_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    with progress.ProgressLine(stream) as shown:
        shown.phase("train 1/2", 80)
        shown.update(40, "loss 1")
        assert shown.bar.tasks[0].completed == 40 and "loss 1" in shown.bar.tasks[0].fields["numbers"]
        shown.phase("test", 4)
        assert shown.bar.tasks[0].completed == 0 and shown.bar.tasks[0].description == "test"


@pytest.mark.share(3, first=0)
def test_the_example_trains(digits, tmp_path):
    example = ROOT / "examples" / "mnist.py"
    env = {**os.environ, "FLAMBEAU_DATA": str(digits)}
    done = subprocess.run(
        [sys.executable, str(example)], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^epoch 10: test accuracy 0\.\d{4}$", done.stdout, flags=re.M)
    assert (tmp_path / "mnist.safetensors").exists()
