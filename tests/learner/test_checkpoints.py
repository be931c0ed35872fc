"""Turns runs that were stopped, killed or damaged into the bits of one that was not."""

import errno
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.io import load_safetensors
from flambeau.io.checksum import add_checksum, damage
from flambeau.learner import Callback, Learner, Message, RunEnded, Saved, checkpoints
from flambeau.learner.interrupt import Signals
from flambeau.learner.randoms import random_states, set_random_states

X = np.random.default_rng(0).normal(size=(50, 3)).astype("float32")
Y = (X[:, 0] > 0).astype("int64")


def network(hidden=4):
    return nn.Sequential(nn.Linear(3, hidden), nn.Dropout(0.4), nn.Linear(hidden, 2))


def made(directory, device="cpu", hidden=4, lr=0.1, **options):
    """A learner of a small model with dropout and momentum, and what it told."""
    fb.manual_seed(0)
    model, events = network(hidden).to(device), []
    optimizer = optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    options = {"directory": directory, "renderers": [events.append], "scheduler": scheduler, **options}
    return Learner(model, optimizer, nn.CrossEntropyLoss(), **options), events


def loader(workers=0):
    return data.DataLoader(data.TensorDataset(X, Y), 8, shuffle=True, num_workers=workers)


class StopsAt(Callback):
    def __init__(self, step, reason="stopped"):
        self.step, self.reason = step, reason

    def after_step(self, learner):
        if learner.checkpoints is not None:
            learner.checkpoints.wait()  # else one that is due is written some steps later
        if learner.step == self.step:
            learner.stop(self.reason)


def bits(learner):
    """All that a run leaves, as bytes."""
    state = learner.optimizer.state_dict()["state"]
    tensors = [*learner.model.state_dict().values(), *(t for s in state.values() for t in s.values())]
    return b"".join(t.numpy().tobytes() for t in tensors), learner.history, fb.get_rng_state(), learner.step


def messages(events):
    return [(e.level, e.text) for e in events if isinstance(e, Message)]


@pytest.fixture(scope="module")
def whole():
    """A run on the CPU that nobody stopped."""
    learner, _ = made(None)
    learner.fit(loader(), loader(), epochs=2)
    return bits(learner)


@pytest.mark.share(3, only=["gpu"])
def test_going_on_ends_in_the_same_bits(device, tmp_path):
    where = str(device)
    learner, _ = made(None, where, accumulate=2)
    learner.fit(loader(), loader(), epochs=2)
    stopped, _ = made(tmp_path, where, accumulate=2, callbacks=[StopsAt(6)])
    stopped.fit(loader(1), loader(), epochs=2)
    assert stopped.step == 6 and len(stopped.history) == 1  # in the second epoch
    fb.rand(5), random.random(), np.random.rand()  # what goes on has its own random numbers
    resumed, events = made(tmp_path, where, accumulate=2)
    fb.manual_seed(1)
    resumed.fit(loader(4), loader(), epochs=2, resume=True)
    assert bits(resumed) == bits(learner)
    assert events[0].resumed and events[0].step == 6


def draws():
    numbers = random.gauss(0, 1), random.random(), *np.random.normal(size=3)
    return fb.rand(3, device="cpu").tolist(), numbers


def test_states_of_generators_are_saved_as_bytes(tmp_path):
    draws()  # Python's and NumPy's have a second normal number ready now
    words = struct.pack("<625I", *random.getstate()[1])
    states = random_states()
    assert states["python"][1] == words and len(states["numpy"][1]) == 4 * 624
    fb.save(states, tmp_path / "states.safetensors")
    drawn = draws()
    set_random_states(fb.load(tmp_path / "states.safetensors"))
    assert draws() == drawn


class SavesAt(Callback):
    def __init__(self, step, path):
        self.step, self.path = step, path

    def after_step(self, learner):
        if learner.step == self.step:
            learner.save(self.path)


def test_a_file_saved_in_a_callback_has_the_place_of_its_step(whole, tmp_path):
    """Of the loader too, without a directory: a save between two epochs would know none."""
    saving, _ = made(None, callbacks=[SavesAt(10, tmp_path / "run.safetensors")])
    saving.fit(loader(), loader(), epochs=2)
    resumed, _ = made(None, callbacks=[Callback()])
    resumed.load(tmp_path / "run.safetensors")
    resumed.fit(loader(), loader(), epochs=2)
    assert bits(resumed) == bits(saving) == whole


@pytest.mark.share(10)
def test_a_run_that_is_killed_ends_in_the_same_bits():
    script = [sys.executable, str(ROOT / "bench" / "kills.py"), "--kills", "3", "--seed", "5"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("3 kills (") and done.stdout.endswith("0 differ\n"), done.stdout


@pytest.mark.share(5)
def test_a_run_that_is_killed_half_way_through_a_file_ends_in_the_same_bits(tmp_path):
    def run(name, *more):
        script = [sys.executable, str(ROOT / "bench" / "kills.py"), "--child", str(tmp_path / name), *more]
        return subprocess.run(script, capture_output=True, text=True, timeout=60)

    whole = run("whole")
    assert whole.returncode == 0, whole.stderr
    died = run("killed", "--moment", "write", "--n", "2")
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert {path.suffix for path in (tmp_path / "killed").iterdir()} > {
        ".safetensors"
    }  # and half of the next
    assert run("killed").stdout.split()[-1] == whole.stdout.split()[-1]


def test_a_run_stopped_in_validation_makes_it_again(whole, tmp_path):
    learner, _ = made(tmp_path)
    learner.fit(loader(), data.DataLoader(Stopping(lambda: learner), 20, shuffle=True), epochs=2)
    assert learner.step == 7 and learner.history == [] and learner.position.is_trained
    resumed, _ = made(tmp_path)
    resumed.fit(loader(), loader(), epochs=2, resume=True)
    assert bits(resumed) == whole


class Stopping(data.Dataset):
    """Items, of which one stops the run."""

    def __init__(self, learner):
        self.learner = learner

    def __len__(self):
        return 50

    def __getitem__(self, i):
        if i == 30:
            self.learner().stop()
        return X[i], Y[i]


def test_what_is_kept(whole, tmp_path):
    learner, events = made(tmp_path, checkpoint_every=1, keep=3, best="valid_loss")
    learner.fit(loader(), loader(), epochs=2)
    names = [p.name for p in learner.checkpoints.paths()]
    assert names[0] == "epoch-0002-step-000000014.safetensors" and len(names) == 3
    best = min(range(2), key=lambda i: learner.history[i]["valid_loss"])
    state = checkpoints.load_state(tmp_path / "best.safetensors")
    assert state["history"] == learner.history[: best + 1]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    saved = [e for e in events if isinstance(e, Saved)]
    assert saved[-1].path == str(tmp_path / names[0]) and 0 <= saved[-1].waited <= saved[-1].seconds
    assert bits(learner)[0] == whole[0]
    with pytest.raises(ValueError) as e:
        made(tmp_path)[0].fit(loader(), epochs=1)
    rule = f"{tmp_path / names[0]} exists: pass resume=True to continue from it, or another directory"
    assert str(e.value) == f"fit(resume=False): the directory holds a run: {rule}"
    done, events = made(tmp_path, best="valid_loss")  # the run is over: nothing is left to do
    assert done.fit(loader(), loader(), epochs=2, resume=True) == learner.history


def test_save_and_load(whole, tmp_path):
    learner, _ = made(None)
    learner.fit(loader(), loader(), epochs=1)
    learner.save(tmp_path / "run.safetensors")
    other, _ = made(None)
    other.load(tmp_path / "run.safetensors")
    other.fit(loader(), loader(), epochs=2)
    assert bits(other) == whole
    with pytest.raises(fb.FlambeauError) as e:
        learner.save(tmp_path / "none" / "run.safetensors")
    told = "can't be written: No such file or directory: choose another path or free some space"
    assert str(e.value) == f"save('{tmp_path}/none/run.safetensors'): {told}"


def stopped_at(directory, step, **options):
    """A directory with the checkpoints of a run that was killed after some steps."""
    learner, _ = made(directory, checkpoint_every=2, callbacks=[StopsAt(step, "killed")], **options)
    learner.fit(loader(), loader(), epochs=2)
    return learner.checkpoints.paths()


def test_a_damaged_checkpoint_gives_way_to_the_one_before(whole, tmp_path):
    new, old = stopped_at(tmp_path, 7)
    data_of = bytearray(new.read_bytes())
    data_of[-5] ^= 1
    new.write_bytes(data_of)
    learner, events = made(tmp_path)
    learner.fit(loader(), loader(), epochs=2, resume=True)
    assert bits(learner) == whole and events[1].step == 4
    damaged = f"checkpoint {new}: is damaged (its bytes do not match its hash)"
    assert messages(events) == [("warning", f"{damaged}: using {old.name}")]


def test_what_is_written_is_kept_beside_damaged_ones_that_are_further(tmp_path):
    new, _ = stopped_at(tmp_path, 7)
    new.write_bytes(b"")
    learner, _ = made(tmp_path, keep=1, callbacks=[StopsAt(5)])
    learner.fit(loader(), loader(), epochs=2, resume=True)
    written = tmp_path / "epoch-0000-step-000000005.safetensors"
    assert learner.checkpoints.paths() == [new, written] and checkpoints.load_state(written)["step"] == 5


def test_a_loaded_run_leaves_no_other_that_is_further(tmp_path):
    first, _ = made(tmp_path, keep=3)
    first.fit(loader(), loader(), epochs=3)
    new, _, old = first.checkpoints.paths()
    learner, _ = made(tmp_path)
    learner.load(old)
    with pytest.raises(ValueError) as e:
        learner.fit(loader(), loader(), epochs=2)
    told = f"the learner is at step 7, but {new} is later and would be resumed instead"
    assert str(e.value) == f"fit(...): {told}: use another directory, or move it away"
    newest, _ = made(tmp_path)
    newest.load(new)
    assert len(newest.fit(loader(), loader(), epochs=4)) == 4


def test_no_whole_checkpoint(tmp_path):
    new, old = stopped_at(tmp_path, 7)
    new.write_bytes(new.read_bytes()[:200])
    old.write_bytes(b"")
    with pytest.raises(fb.FlambeauError) as e:
        made(tmp_path)[0].fit(loader(), epochs=2, resume=True)
    first = f"checkpoint {new}: is damaged (its bytes do not match its hash)"
    second = f"checkpoint {old}: is damaged (it ends before its hash)"
    rule = "no other checkpoint exists: pass resume=False and another directory"
    assert str(e.value) == f"{first}; {second}: {rule}"


def test_a_checkpoint_of_another_model(tmp_path):
    new, _ = stopped_at(tmp_path, 7)
    with pytest.raises(ValueError) as e:
        made(tmp_path, hidden=5)[0].fit(loader(), epochs=2, resume=True)
    shapes = (
        "'0.weight' is f32[5, 3], got [4, 3], '0.bias' is f32[5], got [4], "
        "'2.weight' is f32[2, 5], got [2, 4]"
    )
    rule = f"load_state_dict(4 tensors): 3 of another shape: {shapes}: use a state_dict of the same model"
    assert str(e.value) == f"checkpoint {new}: it belongs to a different learner: {rule}"
    with pytest.raises(ValueError) as e:
        made(tmp_path, early_stopping=2)[0].fit(loader(), epochs=2, resume=True)
    rule = "early_stopping: the learner has one, got none: use the same"
    assert str(e.value) == f"checkpoint {new}: it belongs to a different learner: {rule}"
    with pytest.raises(ValueError) as e:
        made(tmp_path, metrics=[Named()])[0].fit(loader(), epochs=2, resume=True)
    rule = "metrics: the learner has named, got none: use the same"
    assert str(e.value) == f"checkpoint {new}: it belongs to a different learner: {rule}"


def test_a_checkpoint_of_another_accumulate(tmp_path):
    """Refused inside an epoch, whose steps would be others; taken between epochs."""
    learner, _ = made(tmp_path, accumulate=2, callbacks=[StopsAt(1)])
    learner.fit(loader(), epochs=2)
    (new,) = learner.checkpoints.paths()
    other, _ = made(tmp_path, accumulate=3)
    before = [p.numpy() for p in other.model.parameters()]
    with pytest.raises(ValueError) as e:
        other.fit(loader(), epochs=2, resume=True)
    told = "the state is 2 batches into an epoch with accumulate=2, but this learner has accumulate=3"
    rule = f"accumulate: {told}: pass accumulate=2, or change it between epochs"
    assert str(e.value) == f"checkpoint {new}: it belongs to a different learner: {rule}"
    assert all((p.numpy() == q).all() for p, q in zip(other.model.parameters(), before, strict=True))
    assert len(made(tmp_path, accumulate=2)[0].fit(loader(), epochs=1, resume=True)) == 1
    assert len(made(tmp_path, accumulate=3)[0].fit(loader(), epochs=2, resume=True)) == 2


def test_a_checkpoint_of_other_callbacks(tmp_path):
    """The options are named by which they were given; one without a state may come and go."""

    class Counts(Callback):
        def state_dict(self):
            return {"steps": 1}

    learner, _ = made(tmp_path, callbacks=[Callback(), Counts()], best="train_loss")
    learner.fit(loader(), epochs=1)
    (new,) = learner.checkpoints.paths()
    for options, rule in (
        (
            {"callbacks": [Callback()], "best": "train_loss"},
            "callbacks: the learner has none, got 1: Counts: use the same",
        ),
        (
            {"callbacks": [Counts(), Counts()], "scheduler": None},
            "best: the learner has none, got one; callbacks: the learner has 0: Counts, 1:"
            " Counts, got 1: Counts; scheduler: the learner has none, got one: use the same",
        ),
    ):
        with pytest.raises(ValueError) as e:
            made(tmp_path, **options)[0].fit(loader(), epochs=2, resume=True)
        assert str(e.value) == f"checkpoint {new}: it belongs to a different learner: {rule}"
    other, _ = made(tmp_path, callbacks=[StopsAt(99), Counts()], best="train_loss")
    assert len(other.fit(loader(), epochs=2, resume=True)) == 2


def test_a_checkpoint_is_told_when_it_is_whole(tmp_path):
    """Not with the next one, which may come an epoch later."""
    known = []

    class Looks(StopsAt):
        def after_step(self, learner):
            super().after_step(learner)
            known.append([e.step for e in events if isinstance(e, Saved)])

    learner, events = made(tmp_path, checkpoint_every=3, callbacks=[Looks(99)])
    learner.fit(loader(), epochs=1)
    assert known == [[], [], [], [], [3], [3], [3]]  # after step 3 it is begun, after step 4 told
    assert [e.step for e in events if isinstance(e, Saved)] == [3, 6, 7]


def test_a_checkpoint_of_another_optimizer(tmp_path):
    """Of plain SGD nothing but its options is saved, which any other would take."""

    def made(kind):
        model = network()
        return Learner(
            model, kind(model.parameters(), lr=0.1), nn.CrossEntropyLoss(), directory=tmp_path, renderers=[]
        )

    fb.manual_seed(0)
    made(optim.SGD).fit(loader(), epochs=1)
    other = made(optim.Adam)
    before = other.model[0].weight.numpy().copy()
    with pytest.raises(ValueError) as e:
        other.fit(loader(), epochs=2, resume=True)
    rule = "optimizer: the learner has Adam, got SGD: use the same"
    (path,) = tmp_path.glob("epoch*")
    assert str(e.value) == f"checkpoint {path}: it belongs to a different learner: {rule}"
    assert (other.model[0].weight.numpy() == before).all()


class Named:
    """A metric of nothing."""

    name = "named"

    def update(self, output, target):
        pass

    def state_dict(self):
        return {}


def test_a_folder_that_cant_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(fb.FlambeauError) as e:
        made(tmp_path / "file" / "run")
    told = "can't write there: Not a directory: choose another folder"
    assert str(e.value) == f"Learner(directory='{tmp_path}/file/run'): {told}"


def test_a_directory_that_is_gone_is_told(tmp_path):
    folder = tmp_path / "run"
    learner, _ = made(folder, checkpoint_every=3, callbacks=[StopsAt(-1)])
    shutil.rmtree(folder)
    with pytest.raises(fb.FlambeauError) as e:
        learner.fit(loader(), epochs=1)
    rule = "No such file or directory: no earlier one exists: create the directory again"
    assert (
        str(e.value)
        == f"checkpoint {folder / 'epoch-0001-step-000000007.safetensors'}: can't be written: {rule}"
    )


def test_a_full_disk_is_told_and_raised_at_the_end(tmp_path, monkeypatch):
    learner, events = made(tmp_path, checkpoint_every=3, callbacks=[StopsAt(-1)])
    write, calls = checkpoints.write_through, []

    def full(part, data):
        calls.append(part)
        if len(calls) > 1:
            part.write_bytes(data[0][:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(part, data)

    monkeypatch.setattr(checkpoints, "write_through", full)
    with pytest.raises(fb.FlambeauError) as e:
        learner.fit(loader(), epochs=1)
    (there,) = learner.checkpoints.paths()
    last = tmp_path / "epoch-0001-step-000000007.safetensors"
    rule = f"{there.name} still exists: free some space, or choose another directory"
    assert str(e.value) == f"checkpoint {last}: can't be written: No space left on device: {rule}"
    assert learner.step == 7 and len(messages(events)) == len(calls) - 1 >= 2
    assert messages(events)[-1] == ("error", str(e.value))
    assert [p.name for p in tmp_path.iterdir()] == [there.name]
    assert checkpoints.load_state(there)["step"] == 3


def test_tensors_are_hashed_and_written_as_they_lie():
    """Joined they would hold the interpreter, and the training, for seconds."""
    raw = np.arange(1 << 18, dtype="f4")
    parts = add_checksum({"w": checkpoints.TensorSpec(fb.float32, raw.shape)}, [raw], {"a": "b"})
    assert np.shares_memory(np.frombuffer(parts[-1], "u1"), raw)
    whole = bytearray(b"".join(parts))
    assert damage(memoryview(whole)) == "" and load_safetensors(bytes(whole), "cpu")["w"].sum() == raw.sum()
    whole[-1] ^= 1
    assert damage(memoryview(whole)) == "its bytes do not match its hash"


def test_what_is_not_a_number_is_not_written(tmp_path):
    learner, _ = made(tmp_path)
    learner.model[2].bias.assign_(fb.tensor([1.0, float("nan")], device="cpu"))
    learner.checkpoints.begin((0, 3), {"model": learner.model.state_dict()}, [])
    learner.checkpoints.begin((0, 4), {"model": {}}, [fb.tensor(float("inf"), device="cpu")])
    learner.checkpoints.finish()
    told = [e.text for e in learner.checkpoints.new_events()]
    rule = "is not finite: this step gets no checkpoint"
    assert told == [f"step 3: 2.bias {rule}", f"step 4: a loss {rule}"]
    assert learner.checkpoints.paths() == []


def test_the_first_bad_op_its_line_and_its_batch_are_named(tmp_path):
    class Bad(nn.Module):
        def __init__(self):
            self.inner = nn.Linear(3, 2)

        def forward(self, x):
            y = self.inner(x)
            return y + x[:, :1].log()

    fb.manual_seed(0)
    x = np.abs(X) + 1
    x[29] = 0.0
    model, events = Bad().to("cpu"), []
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    learner = Learner(model, optimizer, nn.CrossEntropyLoss(), directory=tmp_path, renderers=[events.append])
    with pytest.raises(fb.learner.NotFinite) as e:
        learner.fit(data.DataLoader(data.TensorDataset(x, Y), 8), epochs=1)
    line = next(
        i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "x[:, :1].log()" in text
    )
    made_it = "log(f32[8, 1]) produced the first value that is not finite: f32[8, 1]"
    path = tmp_path / "not-finite-step-000000003.safetensors"
    advice = f"its batch is in {path}: check it, or lower the learning rate"
    where = "fit: step 3 (epoch 1, batch 3): the loss is nan"
    assert str(e.value) == f"{where}: {made_it}, at {__file__}:{line}: {advice}"
    (batch,) = fb.load(path)
    assert (batch["inputs"][0].numpy() == x[24:32]).all() and (batch["target"].numpy() == Y[24:32]).all()
    assert (e.value.step, e.value.index, e.value.path) == (3, 3, path)
    ended = next(e for e in events if isinstance(e, RunEnded))
    assert (ended.reason, ended.text) == ("nan", str(e.value))


def test_the_best_epoch_is_restored(tmp_path):
    """The rate is far too high after the first epoch, so the weights of the first are the best."""

    class Wild(Callback):
        def after_epoch(self, learner, row):
            learner.optimizer.param_groups[0]["lr"] = 3.0

    learner, events = made(tmp_path, best="valid_loss", restore_best=True, scheduler=None, callbacks=[Wild()])
    history = learner.fit(loader(), loader(), epochs=3)
    best = min(history, key=lambda row: row["valid_loss"])
    assert [row["epoch"] for row in history] == [1, 2, 3] and best is history[0]
    assert abs(learner.evaluate(loader())["loss"] - best["valid_loss"]) < 1e-6
    texts = [e.text for e in events if isinstance(e, Message)]
    assert texts == ["the model has the weights of epoch 1, the best by valid_loss"]
    with pytest.raises(ValueError) as e:
        made(tmp_path, restore_best=True)
    assert str(e.value) == ("Learner(restore_best=True): it needs a value to compare: pass best='valid_loss'")


def test_a_model_is_loaded_from_all_that_a_learner_writes(tmp_path, capsys):
    learner, _ = made(tmp_path / "run", best="valid_loss")
    learner.fit(loader(), loader(), epochs=1)
    learner.save(tmp_path / "whole.safetensors")
    paths = [*(tmp_path / "run").glob("*.safetensors"), tmp_path / "whole.safetensors"]
    for path in paths:
        model = network().to("cpu")
        assert model.load(path) == ([], [])
        for name, value in learner.model.state_dict().items():
            np.testing.assert_array_equal(model.state_dict()[name].numpy(), value.numpy())
        shown = f"flambeau: {str(path)!r} is a checkpoint (epoch 1, step 7): its model is loaded\n"
        assert capsys.readouterr().err == shown
    assert len(paths) == 3
    with pytest.raises(ValueError, match="pass the object at 'model'$"):
        network().load_state_dict(fb.load(paths[0], device="cpu"))


def test_texts_of_learners_and_loaders():
    learner, _ = made(None)
    assert repr(learner) == "Learner(Sequential, SGD, cpu; loss): epoch 0, step 0"
    assert repr(loader()) == "DataLoader(TensorDataset, batch_size=8, shuffle=True): 7 batches"
    rows = data.DataLoader(range(9), None, num_workers=2)
    assert repr(rows) == "DataLoader(range, batch_size=None, num_workers=2): 9 batches"
    batches = data.BatchSampler(data.SequentialSampler(range(9)), 2, True)
    assert repr(data.DataLoader(range(9), batch_sampler=batches)) == (
        "DataLoader(range, batch_sampler=...): 4 batches"
    )


def test_a_batch_that_cant_be_written_hides_no_cause(tmp_path):
    fb.manual_seed(0)
    model = nn.Linear(3, 2).to("cpu")
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def loss(output, target):
        return nn.functional.cross_entropy(output, target["y"])

    learner = Learner(model, optimizer, loss, directory=tmp_path, renderers=[])
    batches = [(X[:8] * scale, {"y": Y[:8], "ids": {1, 2}}) for scale in (1, np.inf)]
    with pytest.raises(fb.learner.NotFinite) as e:
        learner.fit(batches, epochs=1)
    there = "its batch is in the error's .batch only (save: the object at '0.target.ids' is {1, 2}, a set"
    assert there in str(e.value) and "an input is not finite" in str(e.value)
    assert (e.value.step, e.value.path) == (1, None) and e.value.batch[0][1]["ids"] == {1, 2}


def test_weights_that_grow_too_large_are_gone_back_to(device):
    learner, _ = made(None, str(device), lr=1e25)
    with pytest.raises(fb.learner.NotFinite) as e:
        learner.fit(loader(), epochs=3)
    text = str(e.value)
    assert " produced the first value that is not finite: f32[" in text and "(layer '" in text
    assert "nn/linear.py:" in text and text.endswith(
        ": its batch is in the error's .batch: check it, or lower the learning rate"
    )


def test_a_worker_that_dies(tmp_path):
    def begin(number):
        raise RuntimeError("no licence")

    learner, _ = made(None)
    dying = data.DataLoader(data.TensorDataset(X, Y), 8, num_workers=2, worker_init_fn=begin)
    with pytest.raises(fb.FlambeauError) as e:
        learner.fit(dying, epochs=1)
    rule = "raised RuntimeError: no licence: the worker has stopped: fix this error"
    assert str(e.value) == f"DataLoader: worker_init_fn(0) {rule}"
    assert e.value.__notes__ == ["fit: train epoch 1: raised by batch 0"]


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
RUN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
import flambeau as fb
from flambeau import nn, optim
from flambeau.learner import Learner
fb.manual_seed(0)
model = nn.Linear(3, 1).to("cpu")
learner = Learner(model, optim.SGD(model.parameters(), lr=0.1), nn.MSELoss(), directory=sys.argv[1])
def batches():
    for i in range(1000):
        yield fb.ones(4, 3, device="cpu"), fb.zeros(4, 1, device="cpu")
        print("step", flush=True)
        time.sleep(0.05)
learner.fit(batches(), epochs=1)
"""


@pytest.mark.parametrize("number, code", [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
@pytest.mark.share(3)
def test_a_signal_leaves_a_checkpoint(number, code, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(RUN)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.stdout.readline() != "step\n":
        assert process.poll() is None, process.stderr.read()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    (path,) = (tmp_path / "run").glob("epoch-*")
    assert checkpoints.load_state(path)["step"] >= 1
    name = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}[number]
    assert f"stopped by {name}: finishing the step; repeat to stop immediately\n" in out


def test_a_signal_while_a_renderer_writes_waits_until_it_has_written(tmp_path):
    """A stream that is being written to refuses a second writer, and its renderer would be left out."""
    depth, told = [0], []

    def renderer(event):
        depth[0] += 1
        told.append((depth[0], event.kind, getattr(event, "text", "")))
        if event.kind == "epoch_started":
            signal.raise_signal(signal.SIGTERM)
        depth[0] -= 1

    learner, _ = made(tmp_path, renderers=[renderer])
    with pytest.raises(SystemExit):
        learner.fit(loader(), epochs=1)
    told_once = "stopped by SIGTERM: finishing the step; repeat to stop immediately"
    assert [text for _, kind, text in told if kind == "message"] == [told_once]
    assert {depth for depth, _, _ in told} == {1} and learner.renderers == [renderer]


def test_the_second_signal_acts_at_once():
    given, asked = signal.signal(signal.SIGINT, signal.default_int_handler), []
    try:
        with Signals(lambda: asked.append(1)) as signals:
            assert signals.name == ""
            signal.raise_signal(signal.SIGINT)
            assert asked == [1] and signals.name == "Ctrl-C"
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signals.act()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, given)
