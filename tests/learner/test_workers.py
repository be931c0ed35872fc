"""Learner.fit on several workers: equal bits and history, one run, checkpoints for any number of them."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from helpers.parallel import F, Slow, build, digest, fit, learner_of, loader_of

import flambeau as fb
from flambeau import nn, optim
from flambeau.distributed import ParallelOptions, run_threads
from flambeau.errors import DistributedError
from flambeau.learner import Callback, Learner
from flambeau.learner.events import EpochEnded, RunEnded


def in_threads(workers, run):
    each = run_threads(workers, run, timeout=30)
    assert all(one == each[0] for one in each)
    return each[0]


def test_bits_and_history_do_not_depend_on_the_number_of_workers():
    alone = in_threads(1, lambda _: fit(learner_of()))
    assert in_threads(3, lambda _: fit(learner_of(), workers=1)) == alone
    assert alone[1][0]["train_loss"] == pytest.approx(1.4, abs=0.3)
    assert alone[1][1]["epoch"] == 2 and alone[1][1]["step"] == 6


def test_a_run_of_three_goes_on_with_one(tmp_path):
    whole = in_threads(1, lambda _: fit(learner_of(accumulate=2)))
    events = []

    def begin(group):
        rows = [] if group.rank else events
        return fit(learner_of(accumulate=2, directory=tmp_path, renderers=[rows.append]), epochs=1)

    in_threads(3, begin)
    assert [type(e) for e in events].count(EpochEnded) == 2  # those of rank 0, once
    assert len(list(tmp_path.glob("epoch-*"))) == 1
    options = {"accumulate": 2, "directory": tmp_path}
    assert in_threads(1, lambda _: fit(learner_of(**options), resume=True)) == whole


class StopAt(Callback):
    def __init__(self, step, reason="stopped"):
        self.step, self.reason = step, reason

    def after_step(self, learner):
        if learner.step == self.step:
            learner.stop(self.reason)


def test_a_stop_on_one_worker_stops_all_at_one_step():
    def run(group):
        events = []
        callbacks = [StopAt(2)] if group.rank == 1 else [StopAt(10**6)]
        learner = learner_of(callbacks=callbacks, renderers=[events.append])
        fit(learner, epochs=3)
        assert [e.reason for e in events if isinstance(e, RunEnded)] == ["stopped"] * (group.rank == 0)
        return learner.step

    assert in_threads(3, run) == 3  # the step in which all heard of it


def test_an_error_on_one_worker_ends_all():
    class Fails(Callback):
        def after_step(self, learner):
            raise RuntimeError("no more")

    def run(group):
        expected = (
            (RuntimeError, "no more")
            if group.rank == 1
            else (DistributedError, "rank 1: RuntimeError: no more")
        )
        with pytest.raises(expected[0], match=expected[1]):
            fit(learner_of(callbacks=[Fails()] if group.rank == 1 else [Callback()]))

    run_threads(2, run, timeout=30)


def test_iterables_and_parts_of_the_state():
    """Batches in a list: every worker has all, and takes its rows. The state of the optimiser in parts."""
    batches = list(loader_of(44, 1))

    def run(_):
        learner = learner_of()
        learner.fit(batches, batches[:2], 1, engine=ParallelOptions(shard_state=True))
        return digest(learner.model), len(learner.optimizer.state)

    assert in_threads(2, run) == in_threads(1, run)


def test_batch_norms_in_step():
    def run(_):
        return fit(learner_of(), epochs=1, engine=ParallelOptions(sync_batch_norm=True))

    alone = in_threads(1, run)
    assert in_threads(2, run) == alone != in_threads(1, lambda _: fit(learner_of(), epochs=1))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"devices": 0}, r"fit\(devices=0\): must be at least 1"),
        ({"devices": ["gpu"]}, "the first device must be the learner's, 'cpu'"),
        ({"devices": 2, "engine": "slurm"}, r"fit\(engine='slurm'\): is unknown: use one of 'local'"),
    ],
)
def test_misuse(options, text):
    with pytest.raises(ValueError, match=text):
        learner_of().fit([], **options)


def test_lazy_layers_need_their_sizes_before_workers_start():
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.Linear(4, 3)).to("cpu")
    learner = Learner(model, optim.SGD(model.parameters(), lr=0.1), F.cross_entropy, renderers=[])
    rule = r"fit\(devices=2\): the model has lazy layers.* one batch before fit"
    with pytest.raises(ValueError, match=rule):
        learner.fit([], devices=2)
    model(fb.ones(1, 5, device="cpu"))
    assert learner.model[0].weight.shape == (4, 5)


def test_what_cant_be_sent_is_named():
    model, optimizer = build("cpu")
    learner = Learner(model, optimizer, lambda x, y: F.cross_entropy(x, y), renderers=[])
    with pytest.raises(TypeError, match=r"fit\(devices=...\): loss can't be sent to another process"):
        learner.fit([], devices=2)


@pytest.mark.share(5)
def test_processes_and_kill_9():
    alone = in_threads(1, lambda _: fit(learner_of(callbacks=[Slow()]), epochs=6))
    killed = []

    def kill():
        while True:
            children = [p for p in multiprocessing.active_children() if p.name.startswith("flambeau-worker")]
            if len(children) == 2 and learner.step > 3:
                break
            time.sleep(0.02)
        assert not children[0].daemon  # it may have processes that load data
        os.kill(children[0].pid, signal.SIGKILL)
        killed.append(children[0].name)

    learner = learner_of(callbacks=[Slow()])
    threading.Thread(target=kill, daemon=True).start()
    bits, history = fit(learner, epochs=6, devices=3, engine=ParallelOptions(restarts=1))
    assert killed
    assert bits == alone[0]
    assert [row["valid_loss"] for row in history] == [row["valid_loss"] for row in alone[1]]
    assert [row["train_loss"] for row in history] == [row["train_loss"] for row in alone[1]]


SCRIPT = """
import os, pathlib, signal, sys, time
from helpers.parallel import Slow, fit, learner_of

class Dies(Slow):
    def after_step(self, learner):
        time.sleep(0.02)
        mark = pathlib.Path(sys.argv[1]).parent / "died"
        if os.environ["RANK"] == "0" and learner.step == 4 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

learner = learner_of(callbacks=[Dies()], directory=sys.argv[1])
bits, history = fit(learner, epochs=5, resume=True)
print("RESULT", bits, history[-1]["valid_loss"], history[-1]["train_loss"], len(history), flush=True)
"""


@pytest.mark.share(5)
def test_launched_workers_and_kill_9(tmp_path):
    """Rank 0 dies: the next one leads, a new worker joins, and all end as without it."""
    bits, history = in_threads(1, lambda _: fit(learner_of(callbacks=[Slow()]), epochs=5))
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    command = [
        sys.executable,
        "-m",
        "flambeau",
        "launch",
        "--devices",
        "3",
        "--elastic",
        "--max-restarts",
        "1",
    ]
    paths = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"FLAMBEAU_DEVICE": "cpu", "PYTHONPATH": paths}
    run = [*command, str(script), str(tmp_path / "run")]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=120)
    assert (tmp_path / "died").exists() and done.returncode == 0, done.stderr
    last = history[-1]
    expected = f"RESULT {bits} {last['valid_loss']} {last['train_loss']} 5"
    lines = [line for line in done.stdout.splitlines() if "RESULT" in line]
    assert 2 <= len(lines) <= 3 and all(line.endswith(expected) for line in lines), done.stdout
    assert len(list((tmp_path / "run").glob("epoch-*"))) == 2
