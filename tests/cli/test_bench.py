"""Turns `flambeau bench` into its rows: what is measured, judged, left out, and what the models compute."""

import json
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import flambeau as fb
from flambeau.cli import main, workloads
from flambeau.cli.bench import cells, kernels, line, median_seconds, select_tasks
from flambeau.cli.workloads import Goal, NotHere, Tools, Workload, duration, tasks
from flambeau.device import get_device
from flambeau.models.benchmarked import GPT_TINY, digits_cnn, draw_weights, gpt, make_training_step
from flambeau.profiling import timing


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))


def run(*args: str):
    return CliRunner().invoke(main, ["bench", "--beside", "none", *args])


def sizes(name: str) -> tuple[int, ...]:
    """Of a workload here."""
    (task,) = (t for t in tasks() if t.name == name)
    return task.software if get_device().limits.software else task.gpu


@pytest.mark.share(3)
def test_rows_are_printed_and_written(tmp_path):
    result = run("--only", "sum of all", "--only", "reading", "--json", str(tmp_path / "found.json"))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == str(get_device()) and lines[1].startswith("measured ceilings: copy ")
    assert [text.split("  ")[0] for text in lines if text.startswith(("sum", "reading"))] == [
        f"sum of all {'x'.join(map(str, sizes('sum of all')))}", "reading a number",
    ]  # fmt: skip
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["copy"] > 0 and found["fma"] > 0
    total, read = found["rows"]
    assert total["seconds"] > 0 and total["bandwidth"] == pytest.approx(
        4 * prod(sizes("sum of all")) / total["seconds"]
    )
    # the host's goals hold everywhere, a GPU's not on software adapters
    assert ("met" in total) != get_device().limits.software and isinstance(read["met"], bool)


@pytest.mark.parametrize("name, goal", [("wgpu", ">= 0.83x torch"), ("wgpudawn", ">= 0.9x torch")])
def test_a_product_s_goal_is_its_provider_s(name, goal, monkeypatch):
    monkeypatch.setattr(workloads, "provider", lambda: SimpleNamespace(__name__=name))
    assert [str(t.goal) for t in tasks() if t.name == "matmul"] == [goal]


def test_no_workload_is_begun_out_of_time():
    result = run("--only", "softmax", "--seconds", "0")
    assert (
        f"softmax {'x'.join(map(str, sizes('softmax')))}" in result.output
        and "not started: out of time (--seconds)" in result.output
    )


def test_a_workload_that_is_not_there_is_said():
    result = run("--only", "matmull")
    assert result.exit_code == 1
    assert result.output.startswith("flambeau: bench --only matmull: no such workload: choose: x + 1; gelu")


def test_the_cpu_is_no_adapter():
    result = run("--device", "cpu")
    assert (result.exit_code, result.output) == (
        1,
        "flambeau: bench: cpu is not an adapter: see 'flambeau doctor'\n",
    )


def test_names_are_found_by_a_part_of_them():
    assert [t.name for t in select_tasks(("MATMUL",))][:2] == ["matmul", "matmul, precision high"]
    assert len(select_tasks(())) == len(tasks())


@pytest.mark.parametrize(
    "goal, text, met, missed",
    [
        (Goal("peer", 0.83), ">= 0.83x torch", (1.0, 0, 0, 0.9), (1.0, 0, 0, 0.8)),
        (Goal("copy", 0.92), ">= 92% of copy", (1.0, 0, 0.93, None), (1.0, 0, 0.9, None)),
        (Goal("rate", 95e12), ">= 95 TFLOP/s", (1.0, 96e12, 0, None), (1.0, 9e12, 0, None)),
        (Goal("seconds", 80e-6), "<= 80 us", (79e-6, 0, 0, None), (81e-6, 0, 0, None)),
    ],
)
def test_goals_are_judged(goal, text, met, missed):
    assert str(goal) == text
    assert goal.is_met(*met) is True
    assert goal.is_met(*missed) is False


def test_without_the_peer_a_goal_beside_it_is_open():
    assert Goal("peer", 2.0).is_met(1.0, 0, 0, None) is None


def test_rows_as_text():
    row = {"name": "matmul", "size": [64], "goal": ">= 2x torch", "met": False}
    row |= {"seconds": 2e-3, "rate": 5e9, "bandwidth": 1e6, "of_fma": 0.5, "of_copy": 0.1, "peer": 1e-3}
    row |= {"peak_bytes": 3e9, "peer_peak_bytes": 2e9}
    assert cells(row) == (
        "matmul 64", "2 ms", "5 GFLOP/s", "50%", "1 ms", "0.50x",
        ">= 2x torch MISSED, peak 3 GB and 2 GB",
    )  # fmt: skip
    assert line(cells({"name": "a", "size": [1, 2], "missing": "why"})) == "a 1x2".ljust(44) + "why"
    assert [duration(s) for s in (1.5, 2e-3, 3e-6, 4e-9)] == ["1.5 s", "2 ms", "3 us", "4 ns"]


@pytest.mark.parametrize("once, run", [(1e-3, 1e-5), (5e-4, 2e-3), (0.0, 0.5)])
def test_what_a_batch_costs_once_is_not_counted(once, run, monkeypatch):
    clock, sizes = [0.0], []

    def batch(n: int) -> None:
        sizes.append(n)
        clock[0] += once + n * run

    monkeypatch.setattr(timing, "perf_counter", lambda: clock[0])
    assert timing.per_run(batch, 0.1, warm=True) == pytest.approx(run, rel=1e-9)
    assert clock[0] > timing.WARM and max(sizes) * run < 0.6


def test_repeated_counts_calls():
    calls = []
    seconds = median_seconds(lambda: calls.append(1), 1e-3)
    assert len(calls) > 8 and 0 < seconds < 1e-3


@pytest.mark.parametrize("task", [t for t in tasks() if t.how == "kernels"], ids=lambda t: t.name)
@pytest.mark.share(3)
def test_workloads_run_on_a_small_size(task):
    tools = Tools(fb, get_device())
    small = tuple(
        min(n, 16) if i or len(task.software) == 1 else min(n, 4) for i, n in enumerate(task.software)
    )
    if "precision" in task.name and not hasattr(fb, "set_matmul_precision"):
        return
    made = task.make(tools, *small)
    made.call()
    assert made.nbytes > 0


@pytest.mark.share(6)
def test_a_gpt_learns_a_batch():
    fb.manual_seed(0)
    ids = np.random.default_rng(0).integers(0, GPT_TINY.vocabulary, (2, 17)).astype(np.int32)
    model = draw_weights(fb, gpt(fb, GPT_TINY))
    assert model(fb.tensor(ids[:, :-1].copy())).shape == (2, 16, GPT_TINY.vocabulary)
    step = make_training_step(fb, model, fb.tensor(ids[:, :-1].copy()), fb.tensor(ids[:, 1:].copy()), lr=3e-3)
    losses = [step().item() for _ in range(8)]
    assert losses[0] == pytest.approx(np.log(GPT_TINY.vocabulary), rel=0.05)
    assert losses[-1] < 0.8 * losses[0]


def test_the_digits_network_is_the_benchmarks():
    model = digits_cnn(fb)
    assert sum(int(np.prod(p.shape)) for p in model.parameters()) == 430_890
    assert model(fb.zeros(2, 1, 28, 28)).shape == (2, 10)


def test_a_kernel_that_is_not_there_is_not_replaced():
    made = Workload(lambda: fb.realize(fb.ones(4) + 1), needs="matrix")
    with pytest.raises(NotHere, match=r"^no matrix kernels$"):
        kernels(Tools(fb, get_device()), made, 0.01)
