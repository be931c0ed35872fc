"""Turns small models into trained ones: what the loop computes, tells, counts and stops for."""

import json
import math
import threading

import numpy as np
import pytest

import flambeau as fb
from flambeau import data, nn, optim
from flambeau import metrics as m
from flambeau.learner import (
    Callback,
    EarlyStopping,
    EpochEnded,
    Event,
    Learner,
    Message,
    RunEnded,
    RunStarted,
    Values,
)
from flambeau.learner.events import KINDS

X = np.random.default_rng(0).normal(size=(50, 3)).astype("float32")
Y = (X[:, 0] > 0).astype("int64")


class Right:
    """How many are right: a metric as the learner asks for them."""

    name, higher_is_better = "right", True

    def __init__(self):
        self.count = fb.zeros(())

    def to(self, device):
        self.count = self.count.to(device)
        return self

    def update(self, output, target):
        self.count.assign_(self.count + (output.argmax(1) == target).float().sum())

    def compute(self):
        return self.count.item()

    def reset(self):
        self.count.assign_(self.count * 0)

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state_dict):
        self.count.assign_(state_dict["count"].to(self.count.device))


class Outputs(Right):
    """A metric whose state grows: it has no place in a recording."""

    name, higher_is_better = "outputs", None

    def __init__(self):
        self.parts = []

    def to(self, device):
        return self

    def update(self, output, target):
        self.parts.append(output)

    def compute(self):
        return {"n": float(sum(len(p) for p in self.parts)), "batches": float(len(self.parts))}

    def reset(self):
        self.parts.clear()

    def state_dict(self):
        return {"parts": list(self.parts)}

    def load_state_dict(self, state_dict):
        self.parts = list(state_dict["parts"])


def made(device="cpu", lr=0.1, **options):
    """A learner of a small model, and what it told."""
    fb.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(device)
    events = []
    options = {"renderers": [events.append], **options}
    return Learner(model, optim.SGD(model.parameters(), lr=lr), nn.CrossEntropyLoss(), **options), events


def loader(size=8, n=50, **more):
    return data.DataLoader(data.TensorDataset(X[:n], Y[:n]), size, **more)


def of(kind, events):
    return [e for e in events if isinstance(e, kind)]


def weights(learner):
    return np.concatenate([p.numpy().ravel() for p in learner.model.parameters()])


def by_hand(epochs, size=8, clip=None, accumulate=1):
    """The same training written by hand; (weights, mean loss of the items in each epoch)."""
    fb.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to("cpu")
    optimizer, means = optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(epochs):
        losses, grads, count = 0.0, 0, 0
        for i in range(0, 50, size):
            x, y = fb.tensor(X[i : i + size], device="cpu"), fb.tensor(Y[i : i + size], device="cpu")
            loss = nn.functional.cross_entropy(model(x), y)
            grads, count, losses = grads + loss.backward(), count + 1, losses + loss.item() * len(y)
            if count == accumulate or i + size >= 50:
                grads = grads / count
                if clip:
                    grads, _ = optim.clip_grad_norm(grads, clip)
                optimizer.step(grads)
                grads, count = 0, 0
        means.append(losses / 50)
    return np.concatenate([p.numpy().ravel() for p in model.parameters()]), means


@pytest.mark.parametrize("options", [{}, {"clip": 0.2}, {"accumulate": 3}], ids=str)
def test_a_run_is_the_loop_written_by_hand(device, options):
    learner, events = made(device, **options)
    history = learner.fit(loader(), epochs=2)
    expected, means = by_hand(2, **options)
    np.testing.assert_allclose(weights(learner), expected, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose([row["train_loss"] for row in history], means, rtol=1e-5)
    steps = 6 if options.get("accumulate") else 14
    assert learner.step == steps and [row["step"] for row in history] == [steps // 2, steps]
    told = [s for e in of(Values, events) for s in e.steps]
    assert told == list(range(1, steps + 1))
    rates = [lr for e in of(Values, events) for lr in e.values["lr"]]
    assert rates == [0.1] * steps


class Scaler:
    """What a learner asks of a GradScaler."""

    updates = 0

    def scale(self, loss):
        return loss * 1024.0

    def unscale_(self, grads):
        grads.map_(lambda g: g / 1024.0)
        self.is_unscaled = True

    def step(self, optimizer, grads):
        if not getattr(self, "is_unscaled", False):
            self.unscale_(grads)
        self.is_unscaled = False
        optimizer.step(grads)

    def update(self):
        self.updates += 1

    def state_dict(self):
        return {"updates": self.updates}

    def load_state_dict(self, state_dict):
        self.updates = state_dict["updates"]


@pytest.mark.parametrize("options", [{}, {"clip": 0.2}, {"accumulate": 3, "clip": 0.2}], ids=str)
def test_scaled_gradients_are_unscaled_before_they_are_clipped(options, tmp_path):
    learner, _ = made(scaler=(scaler := Scaler()), **options)
    learner.fit(loader(), epochs=2)
    expected, _ = by_hand(2, **options)
    np.testing.assert_allclose(weights(learner), expected, rtol=2e-5, atol=1e-6)
    assert scaler.updates == learner.step
    learner.save(tmp_path / "run.safetensors")
    other, _ = made(scaler=Scaler())
    other.load(tmp_path / "run.safetensors")
    assert other.scaler.updates == scaler.updates
    with pytest.raises(ValueError) as e:
        made()[0].load(tmp_path / "run.safetensors")
    rule = "scaler: the learner has none, got one: use the same"
    assert str(e.value) == f"load('{tmp_path}/run.safetensors'): it belongs to a different learner: {rule}"


def test_metrics_count_each_split_by_itself(device):
    learner, events = made(device, metrics=[Right(), Right(), Outputs()])
    (row,) = learner.fit(loader(), loader(20), epochs=1)
    right = int((learner.predict(loader(7)).numpy().argmax(1) == Y).sum())
    assert row["valid_right"] == row["valid_right2"] == right
    assert row["valid_outputs_n"] == row["train_outputs_n"] == 50
    assert (row["valid_outputs_batches"], row["train_outputs_batches"]) == (3, 7)
    ended = of(EpochEnded, events)
    assert [(e.split, e.step) for e in ended] == [("train", 7), ("valid", 7)]
    assert ended[1].metrics == {k.removeprefix("valid_"): v for k, v in row.items() if "valid" in k}
    found = learner.evaluate(loader(9))
    assert found["right"] == right and math.isclose(found["loss"], row["valid_loss"], rel_tol=1e-5)
    assert learner.history == [row] and learner.model.training


def test_a_metric_gets_what_adapt_makes():
    class Adapted(Right):
        @staticmethod
        def adapt(output, target):
            return -output, target

    learner, _ = made(metrics={"right": Right(), "wrong": Adapted()})
    (row,) = learner.fit(loader(), epochs=1)
    assert row["train_right"] + row["train_wrong"] == 50


def test_metrics_of_the_run_take_any_batch():
    measured = {
        "cpu": m.CpuUse(),
        "ram": m.CpuMemory(),
        "gpu": m.GpuMemory("cpu"),
        "speed": m.IterationSpeed(),
    }
    for metrics in ({"lr": m.LearningRate(), **measured}, m.MetricCollection({"lr": m.LearningRate()})):
        learner, _ = made(metrics=metrics)
        options = {"scheduler": optim.lr_scheduler.StepLR(learner.optimizer, 1, 0.5), "schedule": "epoch"}
        learner = Learner(
            learner.model, learner.optimizer, nn.CrossEntropyLoss(), metrics=metrics, renderers=[], **options
        )
        history = learner.fit(loader(), loader(20), epochs=2)
        assert [row["train_lr"] for row in history] == [row["valid_lr"] for row in history] == [0.1, 0.05]
        assert all(row[f"train_{name}"] >= 0 for row in history for name in measured if name in metrics)


def test_a_metric_that_takes_no_batches_is_told():
    cure = "leave it out, or convert in adapt(output, target) of a subclass"
    for metrics, takes in (
        (m.ExplorationRate(), "a number"),
        (m.MeanMetric(), "values"),
        (m.Loss(), "losses, and a Learner counts its own"),
        (m.EpisodeLength(), "rewards and ends of episodes"),
        (m.MetricCollection([m.SumMetric()]), "values"),
    ):
        with pytest.raises(TypeError) as told:
            made(metrics=metrics)
        assert str(told.value) == f"Learner(metrics={metrics!r}): it takes {takes}: {cure}"


def test_a_batch_is_what_prepare_makes_of_it():
    rows = [{"x": X[i : i + 10], "y": Y[i : i + 10]} for i in range(0, 50, 10)]
    learner, _ = made(prepare=lambda b: (b["x"], b["y"]))
    learner.fit(rows, epochs=1)
    other, _ = made()
    other.fit(loader(10), epochs=1)
    assert (weights(learner) == weights(other)).all()
    assert (learner.predict(rows).numpy() == other.predict([fb.tensor(X, device="cpu")]).numpy()).all()


def test_schedules_move_by_step_or_epoch_and_plateaus_by_a_value():
    for schedule in ("step", "epoch"):
        learner, events = made()
        scheduler = optim.lr_scheduler.StepLR(learner.optimizer, 1 if schedule == "epoch" else 7, 0.5)
        learner = Learner(
            learner.model,
            learner.optimizer,
            nn.CrossEntropyLoss(),
            scheduler=scheduler,
            schedule=schedule,
            renderers=[events.append],
        )
        learner.fit(loader(), epochs=2)
        found = [lr for e in of(Values, events) for lr in e.values["lr"]]
        assert found[:7] == [0.1] * 7 and found[7:] == [0.05] * 7
        assert learner.optimizer.lr == 0.025
    learner, _ = made()
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(learner.optimizer, patience=0, threshold=10.0)
    model, optimizer = learner.model, learner.optimizer
    Learner(model, optimizer, nn.CrossEntropyLoss(), scheduler=scheduler, renderers=[]).fit(
        loader(), loader(), epochs=2
    )
    assert math.isclose(optimizer.lr, 0.001)


def test_it_stops_when_nothing_gets_better():
    learner, events = made(lr=0.0, early_stopping=2)
    learner.fit(loader(), loader(), epochs=9)
    assert len(learner.history) == 3 and of(RunEnded, events)[0].reason == "early"
    learner, _ = made(metrics=[Right()], early_stopping=EarlyStopping("valid_right", 1, mode="min"))
    assert len(learner.fit(loader(), loader(), epochs=9)) < 9
    with pytest.raises(ValueError) as e:
        made(early_stopping=EarlyStopping("valid_los"))[0].fit(loader(), loader(), epochs=2)
    rule = "the history will have no such value: did you mean 'valid_loss'?"
    there = "epoch, step, train_loss, valid_loss"
    assert str(e.value) == f"EarlyStopping('valid_los'): {rule}: use one of {there}"
    with pytest.raises(ValueError) as e:
        made(metrics=[Outputs()], early_stopping=EarlyStopping("valid_outputs_n"))[0].fit(
            loader(), loader(), epochs=3
        )
    rule = "the metric does not define it: pass early_stopping=EarlyStopping(name, mode='max'), or 'min'"
    assert str(e.value) == f"higher_is_better('valid_outputs_n'): {rule}"


@pytest.mark.parametrize("mode, sign", [("min", 1), ("max", -1)])
def test_a_value_that_is_not_finite_is_never_the_best(mode, sign):
    nan, inf = math.nan, math.inf
    best = EarlyStopping("valid_loss", 3, mode=mode)
    first = ((nan, None, 1), (-inf, None, 2), (inf, None, 3))
    for value, kept, since in (
        *first,
        (4, 4, 0),
        (nan, 4, 1),
        (-inf, 4, 2),
        (3, 3, 0),
        (inf, 3, 1),
        (3, 3, 2),
    ):
        best.after_epoch(made()[0], {"valid_loss": sign * value})
        assert (best.value, best.since) == (None if kept is None else sign * kept, since)


def test_a_validation_whose_loss_is_no_number_is_told(device, tmp_path):
    """Once each; training goes on, and no such epoch is the best."""
    learner, events = made(device, directory=tmp_path, best="valid_loss")
    bad = X.copy()
    bad[30] = math.nan
    history = learner.fit(loader(), data.DataLoader(data.TensorDataset(bad, Y), 20), epochs=2)
    assert len(history) == 2 and all(math.isnan(row["valid_loss"]) for row in history)
    rule = "the loss is nan: training continues: check the validation data, or lower the learning rate"
    told = [("warning", f"valid epoch {i}: {rule}") for i in (1, 2)]
    assert [(e.level, e.text) for e in of(Message, events)] == told
    i = events.index(of(Message, events)[0])
    assert (events[i - 1].kind, events[i - 1].split) == ("epoch_ended", "valid")
    assert of(RunEnded, events)[0].reason == "done"
    assert learner.best.value is None and not (tmp_path / "best.safetensors").exists()
    learner.fit(loader(), loader(), epochs=3)
    assert learner.best.value == learner.history[2]["valid_loss"] and (tmp_path / "best.safetensors").exists()
    assert len(of(Message, events)) == 2


def test_what_is_raised_at_the_end_keeps_nobody_from_theirs():
    ended = []

    class Ends(Callback):
        def end(self, learner):
            ended.append(len(ended))
            raise RuntimeError(f"end {len(ended)}")

    class Fails(Callback):
        def after_step(self, learner):
            raise OSError("the step")

    for more, reason in (([], "done"), ([Fails()], "error")):
        learner, events = made(callbacks=[Ends(), Ends(), *more])
        with pytest.raises(RuntimeError, match=f"^end {len(ended) + 1}$") as e:
            learner.fit(loader(), epochs=1)
        assert [e.reason for e in of(RunEnded, events)] == [reason]
    assert str(e.value.__context__) == "the step" and ended == [0, 1, 2, 3]


def test_events_go_to_json_and_back():
    learner, events = made(metrics=[Right()])
    learner.fit(loader(), loader(), epochs=1)
    assert [type(e).kind for e in events if e.kind not in ("progress",)] == [
        "run_started",
        "epoch_started",
        "values",
        "epoch_ended",
        "epoch_started",
        "epoch_ended",
        "run_ended",
    ]
    for event in events:
        assert Event.from_dict(json.loads(json.dumps(event.to_dict()))) == event
    started = of(RunStarted, events)[0]
    assert (started.parameters, started.epochs, started.resumed) == (26, 1, False)
    with pytest.raises(ValueError) as e:
        Event.from_dict({"kind": "ended"})
    told = f"unknown kind: use one of {', '.join(KINDS)}"
    assert str(e.value) == f"Event.from_dict(kind='ended'): {told}"
    with pytest.raises(ValueError) as e:
        Event.from_dict({"kind": "message", "level": "info"})
    lacks = "Message.__init__() missing 1 required positional argument: 'text'"
    assert str(e.value) == f"Event.from_dict(kind='message'): {lacks}: pass the result of to_dict"


def test_a_renderer_that_raises_is_left_out(capsys):
    def broken(event):
        raise RuntimeError("no terminal")

    class Asks:
        learner = None
        seen = 0

        def __call__(self, event):
            self.seen += 1

    learner, _ = made(renderers=[broken, asks := Asks()])
    learner.fit(loader(), epochs=1)
    assert asks.learner is learner and asks.seen > 3 and learner.step == 7
    told = "function raised RuntimeError: no terminal: it is disabled from now on"
    assert capsys.readouterr().err == f"flambeau: fit: {told}\n"


def test_stop_ends_the_run_at_the_step():
    class AtThree(Callback):
        def after_step(self, learner):
            if learner.step == 3:
                learner.stop()

    learner, events = made(callbacks=[AtThree()])
    learner.fit(loader(), loader(), epochs=2)
    assert learner.step == 3 and learner.history == []
    ended = of(RunEnded, events)[0]
    assert (ended.reason, ended.step) == ("stopped", 3)
    learner.fit(loader(), loader(), epochs=2)  # goes on, and ends as one that was not stopped
    other, _ = made()
    other.fit(loader(), loader(), epochs=2)
    assert learner.history == other.history and (weights(learner) == weights(other)).all()


def test_it_trains_in_another_thread():
    learner, events = made()
    thread = threading.Thread(target=lambda: learner.fit(loader(), epochs=1))
    thread.start()
    thread.join()
    assert of(RunEnded, events)[0].reason == "done"


REFUSED = [
    ({"clip": 0}, ValueError, "Learner(clip=0): must be above 0: pass another value, or None"),
    ({"keep": 0}, ValueError, "Learner(keep=0): must be a positive integer: pass 1 or more"),
    ({"accumulate": 1.5}, ValueError, "Learner(accumulate=1.5): must be a positive integer: pass 1 or more"),
    ({"schedule": "batch"}, ValueError, "Learner(schedule='batch'): unknown: use 'step' or 'epoch'"),
    (
        {"checkpoint_every": 5},
        ValueError,
        "Learner(checkpoint_every=5): it needs a directory: pass directory=",
    ),
    ({"best": "x"}, ValueError, "Learner(best='x'): it needs a directory: pass directory="),
    ({"metric": []}, TypeError, "Learner.__init__() got an unexpected keyword argument 'metric'"),
]


@pytest.mark.parametrize("options, error, told", REFUSED, ids=[next(iter(r[0])) for r in REFUSED])
def test_options_that_cant_be_meant(options, error, told):
    with pytest.raises(error) as e:
        made(**options)
    assert str(e.value) == told


def test_other_options_that_cant_be_meant():
    for call, told in (
        (lambda: EarlyStopping("x", mode="up"), "EarlyStopping(mode='up'): use one of 'auto', 'min', 'max'"),
        (lambda: EarlyStopping("x", 0), "EarlyStopping(patience=0): must be at least 1: pass another value"),
        (
            lambda: made()[0].fit(loader(), resume=True),
            "fit(resume=True): resuming needs checkpoints: pass directory= to Learner",
        ),
        (
            lambda: Learner(nn.ReLU(), None, nn.MSELoss()),
            "Learner(ReLU): it has no parameters: pass a model that has some",
        ),
        (
            lambda: made()[0].fit([fb.tensor([1.0], device="cpu")]),
            "fit(Tensor): a batch must be (inputs..., target): change the loader, or pass"
            " prepare= to Learner",
        ),
    ):
        with pytest.raises(ValueError) as e:
            call()
        assert str(e.value) == told


def test_what_is_raised_for_a_batch_says_which():
    class Items(data.Dataset):
        def __len__(self):
            return 50

        def __getitem__(self, i):
            if i == 21:
                raise OSError("no such picture")
            return X[i], Y[i]

    for workers in (0, 2):
        learner, events = made()
        with pytest.raises(OSError) as e:
            learner.fit(data.DataLoader(Items(), 8, num_workers=workers), epochs=1)
        notes = ["Items: raised by item 21", "fit: train epoch 1: raised by batch 2"]
        assert (str(e.value), e.value.__notes__) == ("no such picture", notes)
        assert of(RunEnded, events)[0].text == "OSError: no such picture"
    learner, _ = made()
    with pytest.raises(ValueError) as e:
        learner.fit([(X[:8], Y[:8]), (X[:8, :2], Y[:8])], epochs=1)
    assert str(e.value).startswith("linear(f32[8, 2], f32[4, 3]")
    assert e.value.__notes__ == ["fit: train epoch 1: raised by batch 1"]


def test_a_step_is_recorded_once_and_losses_are_read_together(gpu, capsys, monkeypatch):
    from flambeau.runtime import run

    begun, init = [], run.Readback.__init__

    def counted(self, tensors):
        begun.append(len(tensors))
        init(self, tensors)

    learner, events = made(str(gpu), metrics=[Right()])
    capsys.readouterr()
    monkeypatch.setattr(run.Readback, "__init__", counted)
    monkeypatch.setattr("flambeau.learner.losses.SECONDS", 1e9)
    learner.fit([(X[:8], Y[:8])] * 40, [(X[:8], Y[:8])] * 9, epochs=2)
    step, valid = learner._steps.step, learner._evaluate["valid"]
    assert [len(v) for v in step.programs.values()] == [len(v) for v in valid.programs.values()] == [1]
    assert capsys.readouterr().err == ""
    # of 40 steps 16, 16 and 8; each split's loss and its metric
    assert begun == [16, 16, 8, 1, 1, 1, 1] * 2
    assert [len(e.steps) for e in of(Values, events)] == [16, 16, 8] * 2


class Layered(nn.Module):
    """A batch norm, one that the test puts into eval, and one that a `train` of its own freezes."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm1d(3) for _ in range(3))
        self.last = nn.Linear(3, 2)

    def train(self, mode=True):
        super().train(mode)
        self.norms[2].eval()
        return self

    def forward(self, x):
        for norm in self.norms:
            x = norm(x)
        return self.last(x)


def test_layers_that_the_user_froze_stay_so():
    """In training, after a validation, after `predict`, in a second `fit`; their statistics too."""
    model = Layered().to("cpu")
    model.norms[1].eval()
    optimizer = optim.SGD(model.parameters(), 0.1)
    learner = Learner(model, optimizer, nn.CrossEntropyLoss(), device="cpu", renderers=[])
    loader = data.DataLoader(data.TensorDataset(X, Y), 10)
    for epochs in (2, 4):
        learner.fit(loader, loader, epochs)
        learner.predict(loader)
        assert [m.training for m in model.norms] == [True, False, False] and model.training
    means = [norm.running_mean.tolist() for norm in model.norms]
    assert means[0] != [0, 0, 0] and means[1:] == [[0, 0, 0]] * 2
    model.eval()  # a whole model in eval is no choice of layers
    learner.fit(loader, None, 5)
    assert [m.training for m in model.norms] == [True, True, False]
