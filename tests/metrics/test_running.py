"""Episodes and rates, the host's numbers, and what text metrics have beyond torchmetrics'."""

import sys
import time
from math import exp, log, nan
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import flambeau as fb
from flambeau import metrics as m
from flambeau.metrics import running


def test_episodes_of_several_environments(device):
    rewards = np.array([[1, 10], [2, 20], [3, 30], [4, 40]], "f4")
    done = np.array([[0, 1], [1, 0], [0, 1], [0, 0]], bool)
    total, length = m.CumulativeReward(2, device=device), m.EpisodeLength(2, device=device)
    assert np.isnan(total.compute())
    for r, d in zip(rewards, done, strict=True):
        total.update(fb.tensor(r, device=device), fb.tensor(d, device=device))
        length.update(fb.tensor(d, device=device))
    assert total.compute() == pytest.approx((3 + 10 + 50) / 3)
    assert length.compute() == pytest.approx((2 + 1 + 2) / 3)
    with pytest.raises(ValueError) as told:
        total.update(fb.tensor([1.0], device=device), fb.tensor([1.0], device=device))
    assert str(told.value) == "CumulativeReward(f32[1], f32[1]): has num_envs=2: pass [2]"


def test_rates_are_the_last():
    opt = fb.optim.SGD([fb.tensor([1.0], requires_grad=True, device="cpu")], lr=0.1)
    lr, rate = m.LearningRate(device="cpu"), m.ExplorationRate(device="cpu")
    assert np.isnan(lr.compute())
    lr.update(opt.lr)
    opt.lr = 0.05
    lr.update(opt.lr)
    rate.update(1)
    rate.update(0.5)
    assert (lr.compute(), rate.compute()) == (0.05, 0.5)
    with pytest.raises(TypeError) as told:
        rate.update(fb.tensor(1.0, device="cpu"))
    rule = "it takes a Python number, which needs no readback: pass one, or use MeanMetric"
    assert str(told.value) == f"ExplorationRate(f32[]): {rule}"
    with pytest.raises(TypeError) as told:
        lr.update(fb.tensor(1.0, device="cpu"), 2)
    assert str(told.value) == f"LearningRate(f32[], 2): {rule}"
    for metric in (own := m.LearningRate(opt), own.clone()):
        opt.lr = 0.5
        metric.update("whatever", of=1)
        assert metric.compute() == 0.5


def test_the_host(monkeypatch):
    now = {"wall": 10.0, "cpu": 1.0}
    monkeypatch.setattr(time, "perf_counter", lambda: now["wall"])
    monkeypatch.setattr(time, "process_time", lambda: now["cpu"])
    speed, use = m.IterationSpeed(), m.CpuUse()
    assert np.isnan(speed.compute())
    for metric in (speed, use):
        metric.reset()
    for _ in range(4):
        now["wall"] += 0.25
        now["cpu"] += 0.5
        speed.update("whatever", of=1)
        use.update()
    assert (speed.compute(), use.compute()) == (4.0, 2.0)
    memory, other = m.CpuMemory(), m.GpuMemory()
    for metric in (memory, other):
        assert np.isnan(metric.compute())
        metric.update()
    assert 10e6 < memory.compute() < 1e12 and other.compute() >= 0


def test_memory_where_the_system_tells_otherwise(monkeypatch):
    def closed(*_, **__):
        raise OSError("no such file")

    monkeypatch.setattr("builtins.open", closed)
    metric = m.CpuMemory()
    metric.update()
    assert metric.compute() > 10e3
    monkeypatch.setitem(sys.modules, "resource", None)
    with pytest.raises(OSError) as told:
        metric.update()
    rule = "this system does not report the memory of a process: leave the metric out"
    assert str(told.value) == f"CpuMemory.update(): {rule}"


def test_temperature_is_of_the_hottest_sensor_of_the_processor(monkeypatch, tmp_path):
    sensors = {
        "hwmon/hwmon0": {"name": "nvme\n", "temp1_input": "90000\n"},
        "hwmon/hwmon1": {"name": "coretemp\n", "temp1_input": "41000\n", "temp2_input": "48500\n"},
        "thermal/zone0": {"type": "x86_pkg_temp\n", "temp": "47000\n"},
        "thermal/zone1": {"type": "wifi\n", "temp": "70000\n"},
        "thermal/zone2": {},
    }
    for folder, files in sensors.items():
        (tmp_path / folder).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    found = [(str(tmp_path / Path(f).name), *rest) for f, *rest in running.SENSORS]
    monkeypatch.setattr(running, "SENSORS", found)
    metric = m.CpuTemperature()
    metric.update()
    assert metric.compute() == 48.5
    (tmp_path / "hwmon/hwmon1/temp2_input").write_text("51500")
    metric.update("whatever")
    assert metric.compute() == 50.0  # the mean
    with monkeypatch.context() as found_once:
        found_once.setattr(Path, "glob", None)
        metric.update()
    assert metric.compute() == 50.5
    monkeypatch.setattr(running, "SENSORS", [(str(tmp_path / "none"), "name", "temp*_input")])
    with pytest.raises(OSError) as told:
        metric.update()
    rule = "this system has no processor temperature sensor: leave the metric out"
    assert str(told.value) == f"CpuTemperature.update(): {rule}"


def test_smoothings_of_bleu():
    """3 of 4 words, 1 of 3 pairs; none of 2 and of 1."""
    given = ["the cat sat down"], [["the cat was down"]]
    shares = {"epsilon": [3 / 4, 1 / 3, 0.2 / 2, 0.2 / 1], "exponential": [3 / 4, 1 / 3, 1 / 4, 1 / 4]}
    for smooth, parts in shares.items():
        bleu = m.BLEUScore(smooth=smooth, epsilon=0.2)
        bleu.update(*given)
        assert bleu.compute() == pytest.approx(exp(sum(map(log, parts)) / 4))
    plain = m.BLEUScore(2, weights=[1.0, 0.0])
    plain.update(*given)
    assert plain.compute() == pytest.approx(3 / 4)
    nothing = m.BLEUScore(smooth="epsilon")
    nothing.update(["a"], [["b c d"]])
    assert nothing.compute() == 0 == m.BLEUScore().compute()


def test_rouge_by_lines():
    """Of two lines each, the second has its words in another order: "on mat" or "sat on" remain."""
    rouge = m.ROUGEScore(rouge_keys="rougeLsum")
    rouge.update("a cat\non mat it sat", "a cat\nit sat on mat")
    wanted = dict.fromkeys(("rougeLsum_fmeasure", "rougeLsum_precision", "rougeLsum_recall"), 4 / 6)
    assert rouge.compute() == pytest.approx(wanted)
    assert np.isnan(list(m.ROUGEScore().compute().values())).all()
    kept = m.ROUGEScore(rouge_keys="rouge1", normalizer=str.upper, tokenizer=list)
    kept.update("ab", "AC")
    assert kept.compute()["rouge1_fmeasure"] == 0.5


def test_stems_are_nltks(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.stem.porter", None)
    monkeypatch.setitem(sys.modules, "nltk.stem", ModuleType("nltk.stem"))
    monkeypatch.setitem(sys.modules, "nltk", ModuleType("nltk"))
    with pytest.raises(ImportError) as told:
        m.ROUGEScore(use_stemmer=True)
    assert str(told.value) == "ROUGEScore(use_stemmer=True): the stemmer needs nltk: pip install nltk"
    porter = ModuleType("nltk.stem.porter")
    porter.PorterStemmer = type("PorterStemmer", (), {"stem": lambda self, w: w.removesuffix("ing")})
    monkeypatch.setitem(sys.modules, "nltk.stem.porter", porter)
    rouge = m.ROUGEScore(use_stemmer=True, rouge_keys="rouge1")
    rouge.update("going ring", "go ring")
    assert rouge.compute()["rouge1_fmeasure"] == 1.0
    rouge.update("ing", "in")  # a word of 3 letters keeps its ending
    assert rouge.compute()["rouge1_fmeasure"] == 0.5


def test_nothing_of_strings_is_nan():
    for make in (m.WordErrorRate, m.EditDistance):
        assert str(make().compute()) == str(nan)
    assert m.EditDistance(reduction="none").compute() == []
