"""Trainings as runs of the dashboard."""

import pytest

import flambeau as fb
from flambeau import rl
from flambeau.learner.runs import read_run


def new_agent(**options):
    fb.manual_seed(0)
    return rl.PPO(rl.CartPole(4, device="cpu"), hidden=(4,), steps=8, epochs=1, minibatches=1, **options)


def kinds_of(events):
    return [event.kind for event in events]


def test_a_training_is_a_run(tmp_path):
    events = []
    reports = rl.train(new_agent(), 32 * 6, directory=tmp_path / "cart", renderers=[events.append])
    assert kinds_of(events) == [
        "run_started", "epoch_started", *["values", "progress"] * 6, "epoch_ended", "run_ended",
    ]  # fmt: skip
    assert [report.steps for report in reports] == [32, 64, 96, 128, 160, 192]
    started, ended = events[0], events[-1]
    assert (started.run, started.device, started.parameters) == ("cart", "cpu", 55)
    assert started.config == {"agent": "PPO", "environment": "CartPole", "copies": 4}
    assert (ended.reason, ended.step) == ("done", 192)
    values = [event for event in events if event.kind == "values"]
    for report, event in zip(reports, values, strict=True):
        assert event.steps == [report.steps] and event.values["loss"] == [report.loss]
    assert "episode_return" not in values[0].values  # no episode of 8 steps ended yet: its mean is NaN
    assert values[-1].values["episode_return"] == [reports[-1].episode_return]


def test_a_folder_is_one_of_flambeau_runs(tmp_path):
    rl.train(new_agent(), 64, directory=tmp_path / "cart")
    state = read_run(tmp_path / "cart" / "events.jsonl")
    assert (state.name, state.step, state.ended.reason) == ("cart", 64, "done")
    assert {"loss"} <= set(state.names)


def test_a_return_that_is_reached_ends_it():
    events = []
    reports = rl.train(new_agent(), 32 * 50, until=1.0, renderers=[events.append])
    assert reports[-1].episode_return >= 1 and len(reports) < 50 and events[-1].reason == "early"


def test_the_stop_key_ends_it_after_an_iteration():
    class Screen:
        learner = None

        def __call__(self, event):
            if event.kind == "progress" and event.step == 64:
                self.learner.stop()

    events, agent = [], rl.DQN(rl.CartPole(8, device="cpu"), hidden=(4,), starts=16, batch=4)
    agent.learn = lambda total: (rl.LearningProgress(32 * k, 1.0, 1.0, 0.5) for k in range(1, 9))
    reports = rl.train(agent, 256, renderers=[Screen(), events.append])
    assert len(reports) == 2 and (events[-1].reason, events[-1].step) == ("stopped", 64)
    assert events[0].parameters == sum(p.numel() for p in agent.q.parameters())


def test_an_error_is_the_runs_end():
    def broken(total):
        yield rl.LearningProgress(8, float("nan"), float("nan"), 0.5)
        raise RuntimeError("no more")

    events, agent = [], rl.SAC(rl.Pendulum(2, device="cpu"), hidden=(4,))
    agent.learn = broken
    with pytest.raises(RuntimeError, match="no more"):
        rl.train(agent, 16, renderers=[events.append])
    assert kinds_of(events)[-2:] == ["progress", "run_ended"]
    assert (events[-1].reason, events[-1].text) == ("error", "RuntimeError: no more")
