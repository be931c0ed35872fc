"""Gives a learner what users give it by mistake, or again after something went wrong."""

import os

import numpy as np
import pytest

import flambeau as fb
from flambeau import data, metrics, nn, optim
from flambeau.learner import Callback, EarlyStopping, Learner, Message, RunEnded, names

X = np.random.default_rng(0).normal(size=(50, 4)).astype("float32")
Y = X[:, :1] * 2


@pytest.fixture(autouse=True)
def on_numpy():
    fb.set_default_device("cpu")
    yield
    fb.set_default_device(None)


def loader(batch_size=12, **options):
    return data.DataLoader(data.TensorDataset(X, Y), batch_size, **options)


def made(model=None, optimizer=None, loss=None, **options):
    fb.manual_seed(0)
    model = model or nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 1))
    optimizer = optimizer or optim.SGD(model.parameters(), lr=0.05)
    return Learner(model, optimizer, loss or nn.MSELoss(), **({"renderers": []} | options))


def end(learner):
    return [t.numpy().tobytes() for t in learner.model.state_dict().values()], learner.history


class StopAt(Callback):
    def __init__(self, step):
        self.step = step

    def after_step(self, learner):
        if learner.step == self.step:
            learner.stop()


class Fails(data.Dataset):
    """An item that can't be had once."""

    def __init__(self, error):
        self.left, self.error = 30, error

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        self.left -= 1
        if not self.left:
            raise self.error
        return X[i], Y[i]


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
@pytest.mark.share(3)
def test_a_run_stopped_at_the_rest_of_an_accumulated_epoch_ends_with_the_same_bits(tmp_path, stop):
    """5 batches, by 3: the steps 2 and 4 are made when the loader is over, and stands at the next epoch."""
    whole = made(accumulate=3, clip=1.0)
    whole.fit(loader(shuffle=True), epochs=2)
    made(accumulate=3, clip=1.0, directory=tmp_path, callbacks=[StopAt(stop)]).fit(
        loader(shuffle=True), epochs=2
    )
    again = made(accumulate=3, clip=1.0, directory=tmp_path)
    again.fit(loader(shuffle=True, num_workers=2), epochs=2, resume=True)
    assert end(again) == end(whole)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk")])
@pytest.mark.share(3)
def test_fit_again_after_an_exception_goes_on_where_it_was(tmp_path, resume, accumulate, error):
    whole, events = made(accumulate=accumulate), []
    whole.fit(loader(8), epochs=2)
    options = {"directory": tmp_path, "checkpoint_every": 1} if resume else {}
    learner = made(accumulate=accumulate, **options, renderers=[events.append])
    batches = data.DataLoader(Fails(error), 8)
    with pytest.raises(type(error)):
        learner.fit(batches, epochs=2)
    text = "KeyboardInterrupt" if isinstance(error, KeyboardInterrupt) else "OSError: disk"
    assert [(e.reason, e.text) for e in events if isinstance(e, RunEnded)] == [
        ("killed" if text == "KeyboardInterrupt" else "error", text)
    ]
    learner.fit(batches, epochs=2, resume=resume)
    assert end(learner) == end(whole)


def test_what_has_no_gradient_is_not_moved_by_accumulated_steps():
    class Two(nn.Module):
        def __init__(self):
            self.used, self.other = nn.Linear(4, 1), nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x)

    model = Two()
    before = model.other.weight.numpy().copy()
    decaying = optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    made(model, decaying, accumulate=2).fit(loader(), epochs=1)
    assert (model.other.weight.numpy() == before).all()


NO_BATCH = (
    "the loader produced no batch: pass one that restarts each epoch (a generator ends after the first)"
)
HAS_NONE = (
    "the loader produced no batch: it has too few items: add items, or reduce batch_size if"
    " it drops the last batch"
)


def test_a_loader_without_batches_is_told():
    with pytest.raises(ValueError) as e:
        made().fit(((X[i : i + 10], Y[i : i + 10]) for i in range(0, 50, 10)), epochs=2)
    assert str(e.value) == f"train epoch 2: {NO_BATCH}"
    for split, call in {
        "train": lambda: made().fit(data.DataLoader(data.TensorDataset(X, Y), len(X) + 1, drop_last=True)),
        "valid": lambda: made().fit(loader(), []),
        "test": lambda: made().evaluate([]),
    }.items():
        with pytest.raises(ValueError) as e:
            call()
        assert str(e.value) == f"{split} epoch 1: {HAS_NONE}"
    with pytest.raises(ValueError) as e:
        made().predict([])
    assert str(e.value) == "predict(...): the loader produced no batch: pass a loader with at least one"


def test_what_is_given_to_fit_is_looked_at_first():
    def told(error, call):
        with pytest.raises(error) as e:
            call()
        return str(e.value)

    rule = "it is not iterable: pass a DataLoader or a list of batches"
    named = "pass the number of epochs by name: epochs=3"
    assert told(TypeError, lambda: made().fit(loader(), 3)) == f"fit(valid_loader=3): {rule}; {named}"
    assert (
        told(TypeError, lambda: made().fit(loader(), epochs=1.5))
        == "fit(epochs=1.5): must be an integer: pass one"
    )
    rule = "must be at least 0: pass the total number of epochs"
    assert told(ValueError, lambda: made().fit(loader(), epochs=-1)) == f"fit(epochs=-1): {rule}"
    rule = "the loss must be a tensor of one number: return only that"
    pair = made(loss=lambda output, target: ((output - target).mean(), output))
    assert told(TypeError, lambda: pair.fit(loader())) == f"loss(...) -> tuple: {rule}"
    rule = "the loss must be one number: use .mean() or .sum()"
    many = made(loss=lambda output, target: output - target)
    assert told(ValueError, lambda: many.fit(loader())) == f"loss(...) -> [12, 1]: {rule}"
    assert told(ValueError, lambda: many.evaluate(loader())) == f"loss(...) -> [12, 1]: {rule}"
    one = made(loss=lambda output, target: (output - target).square().mean().reshape(1))
    one.fit(loader())
    whole = made()
    whole.fit(loader())
    assert end(one)[0] == end(whole)[0]
    model = nn.Linear(4, 1)
    rule = (
        "it evaluates the loss several times a step, but a Learner passes gradients: write the loop by hand"
    )
    assert told(TypeError, lambda: made(model, optim.LBFGS(model.parameters()))) == f"Learner(LBFGS): {rule}"


def test_a_wrong_name_of_a_value_is_told_before_the_first_step(tmp_path):
    steps = []

    class Counts(Callback):
        def after_step(self, learner):
            steps.append(learner.step)

    def told(best, valid=True):
        learner = made(
            directory=tmp_path, best=best, metrics=[metrics.MeanSquaredError()], callbacks=[Counts()]
        )
        with pytest.raises(ValueError) as e:
            learner.fit(loader(), loader() if valid else None)
        return str(e.value)

    names = "epoch, step, train_loss, train_mean_squared_error"
    both = f"{names}, valid_loss, valid_mean_squared_error"
    rule = "the history will have no such value"
    mean, typo = "did you mean 'valid_mean_squared_error'?", "valid_mean_squared_eror"
    assert told(typo) == f"Best('{typo}'): {rule}: {mean}: use one of {both}"
    assert told("mean_squared_error").startswith(f"Best('mean_squared_error'): {rule}: did you mean")
    mean = "did you mean 'train_loss'?"
    assert told("valid_loss", valid=False) == f"Best('valid_loss'): {rule}: {mean}: use one of {names}"
    assert steps == []


def test_metrics_are_one_or_a_collection_and_nothing_else():
    both = metrics.MetricCollection([metrics.MeanSquaredError(), metrics.MeanAbsoluteError()], prefix="q_")
    for given, own in [
        (metrics.MeanSquaredError(), ["mean_squared_error"]),
        (metrics.R2Score(), ["r2_score"]),
        (both, ["q_MeanSquaredError", "q_MeanAbsoluteError"]),
    ]:
        learner = made(metrics=given, early_stopping=EarlyStopping(f"valid_{own[-1]}", 1))
        row = learner.fit(loader(), loader(), epochs=1)[0]
        assert list(row)[2:] == [f"{s}_{n}" for s in ("train", "valid") for n in ("loss", *own)]
    rule = "a metric needs name, update, compute and reset: pass one of flambeau.metrics or your own"
    with pytest.raises(TypeError) as e:
        made(metrics=[3])
    assert str(e.value) == f"Learner(metrics=3): {rule}"


CALL = "flambeau.metrics.Accuracy(task='multiclass', num_classes=10)"


@pytest.mark.parametrize(
    "options, text",
    [
        ({"metrics": "accuracy"}, f"Learner(metrics='accuracy'): a name is not a metric: pass {CALL}"),
        ({"metrics": ["acc"]}, f"Learner(metrics=['acc']): a name is not a metric: pass {CALL}"),
        (
            {"metrics": "acuracy"},
            "Learner(metrics='acuracy'): a name is not a metric: did you mean 'accuracy'?: pass the object"
            " itself",
        ),
        ({"loss": "mse"}, "Learner(loss='mse'): a name is not a loss: pass flambeau.nn.functional.mse_loss"),
        (
            {"loss": 3},
            "Learner(loss=int): a loss is a function of (output, target): pass"
            " flambeau.nn.functional.cross_entropy",
        ),
    ],
)
def test_names_of_losses_and_metrics_are_refused_with_the_line_to_write(options, text):
    with pytest.raises(TypeError) as e:
        made(**options)
    assert str(e.value) == text


def test_every_name_that_an_error_tells_exists():
    for call in (*names.LOSSES.values(), *names.METRICS.values()):
        assert callable(eval(call, {"F": nn.functional, "metrics": metrics}))


@pytest.mark.parametrize("split, more", [("train", ", shuffle=True"), ("valid", "")])
def test_a_dataset_is_no_loader(split, more):
    dataset = data.TensorDataset(X, Y)
    with pytest.raises(TypeError) as e:
        made().fit(loader() if split == "valid" else dataset, dataset)
    rule = f"a dataset has items, not batches: pass DataLoader(dataset, batch_size=32{more})"
    assert str(e.value) == f"fit({split}_loader=TensorDataset): {rule}"


@pytest.mark.parametrize("kind, x", [("tensor", lambda: fb.randn(3, 4)), ("array", lambda: X)])
def test_data_is_no_loader(kind, x):
    learner, x = made(), x()
    pair = "pass [(x, y)], or a DataLoader"
    cures = {"predict": "call model(x), or pass [x]", "evaluate": pair, "interpret": pair, "lr_find": pair}
    for name, cure in cures.items():
        with pytest.raises(TypeError) as e:
            getattr(learner, name)(x)
        assert str(e.value) == f"{name}({kind}): takes a loader of batches: {cure}"
    for split, loaders in (("train", [x]), ("valid", [loader(), x])):
        with pytest.raises(TypeError) as e:
            learner.fit(*loaders)
        rule = "takes a loader of batches: pass DataLoader(TensorDataset(x, y), batch_size=32)"
        assert str(e.value) == f"fit({split}_loader={kind}): {rule}"
    assert learner.predict([x]).shape == (len(x), 1)


def test_a_relative_directory_stays_where_it_was(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    learner = made(directory="run", best="train_loss")
    monkeypatch.chdir(tmp_path / "other")
    learner.fit(loader(), epochs=1)
    assert sorted(os.listdir(tmp_path / "run")) == [
        "best.safetensors",
        "epoch-0001-step-000000005.safetensors",
    ]
    assert os.listdir() == []


def test_a_resumed_run_with_other_numbers_says_so(tmp_path):
    made(directory=tmp_path, callbacks=[StopAt(2)]).fit(loader(), epochs=1)
    with pytest.raises(ValueError) as e:
        made(directory=tmp_path).fit(loader(8), epochs=1, resume=True)
    told = "the state is 2 batches of 12 into an epoch, but this loader's batches have 8"
    cure = "pass batch_size=12, or change it between epochs"
    assert str(e.value) == f"DataLoader.load_state_dict(...): {told}: {cure}"
    made(directory=tmp_path).fit(loader(), epochs=1, resume=True)
    events, model = [], made().model
    faster = made(model, optim.SGD(model.parameters(), lr=0.5), directory=tmp_path, renderers=[events.append])
    faster.fit(loader(8), epochs=2, resume=True)
    cure = "to change it, set optimizer.param_groups[0]['lr'] in a callback's begin"
    assert [e.text for e in events if isinstance(e, Message)] == [
        f"resume: the checkpoint's lr=0.05 is used, not 0.5: {cure}"
    ]
    assert faster.step == 5 + 7


SCHEDULES = {
    "onecycle": (optim.AdamW, lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=10), "step"),
    "momentum": (optim.SGD, lambda o: optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 3), "step"),
    "chained": (
        optim.AdamW,
        lambda o: optim.lr_scheduler.ChainedScheduler([optim.lr_scheduler.OneCycleLR(o, 0.1, 10)]),
        "step",
    ),
    "plateau": (
        optim.SGD,
        lambda o: optim.lr_scheduler.ReduceLROnPlateau(o, patience=0, threshold=1e9, threshold_mode="abs"),
        "epoch",
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_options_that_the_scheduler_changes_resume_without_a_warning(tmp_path, name):
    kind, schedule, when = SCHEDULES[name]

    def run(epochs, weight_decay=0.0):
        events, model = [], nn.Linear(4, 1)
        optimizer = kind(model.parameters(), lr=0.05, weight_decay=weight_decay)
        options = {"scheduler": schedule(optimizer), "schedule": when, "directory": tmp_path}
        learner = made(model, optimizer, renderers=[events.append], **options)
        before = dict(optimizer.param_groups[0])
        learner.fit(loader(), loader(), epochs=epochs, resume=True)
        after = optimizer.param_groups[0]
        changed = {k for k in before if k != "params" and before[k] != after[k]}
        return changed, [e.text for e in events if isinstance(e, Message)]

    changed, _ = run(2 if name == "plateau" else 1)
    assert changed == {"lr", *({"plateau": (), "momentum": ("momentum",)}.get(name, ("betas",)))}
    assert run(2, weight_decay=0.1)[1] == [
        "resume: the checkpoint's weight_decay=0.0 is used, not 0.1: to change it, set"
        " optimizer.param_groups[0]['weight_decay'] in a callback's begin"
    ]


def test_more_patience_takes_a_stopped_run_on(tmp_path):
    def run(patience):
        stopping = EarlyStopping("valid_loss", patience, min_delta=100.0)
        learner = made(directory=tmp_path, early_stopping=stopping)
        return len(learner.fit(loader(), loader(), epochs=9, resume=True))

    assert [run(n) for n in (1, 1, 3)] == [2, 2, 4]


def test_a_run_that_stopped_early_stays_so_when_the_call_is_made_again(tmp_path):
    stopping = EarlyStopping("valid_loss", 1, min_delta=100.0)
    learner = made(directory=tmp_path, early_stopping=stopping)
    epochs = [len(learner.fit(loader(), loader(), epochs=9, resume=True)) for _ in range(3)]
    stopping.patience = 2
    assert [*epochs, len(learner.fit(loader(), loader(), epochs=9, resume=True))] == [2, 2, 2, 3]


def test_a_model_trains_on_after_an_evaluation_that_failed():
    def failing():
        yield from loader()
        raise OSError("disk")

    learner = made()
    learner.position.row = {"train_loss": 1.0}
    for call in (learner.evaluate, learner.predict):
        with pytest.raises(OSError):
            call(failing())
        assert learner.model.training and learner.position.row == {"train_loss": 1.0}


def test_named_tuples_in_a_batch_are_tensors_too():
    from collections import namedtuple

    Pair = namedtuple("Pair", "left right")

    class Sums(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(4, 1)

        def forward(self, pair):
            return self.linear(pair.left + pair.right)

    assert made(Sums()).fit([(Pair(X, X), Y)])[0]["step"] == 1


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("first", ["fit", "predict", "evaluate", "lr_find"])
def test_a_model_with_lazy_layers_trains_as_one_with_sizes(accumulate, first):
    model = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(1))
    learner = made(model, accumulate=accumulate)
    if first != "fit":
        argument = [[X], [(X, Y)]][first != "predict"]
        getattr(learner, first)(argument)
    elif accumulate == 1:
        sized = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        fb.manual_seed(0)
        for layer in (sized[0], sized[3]):
            layer.reset_parameters()
        expected = made(sized).fit(loader())
        fb.manual_seed(0)
        assert learner.fit(loader()) == expected
        return
    history = learner.fit(loader(), epochs=2)
    assert [type(m) for m in model] == [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear]
    assert history[1]["train_loss"] < history[0]["train_loss"]
