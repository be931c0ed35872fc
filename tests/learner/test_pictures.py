"""What is drawn of a run: its curves, its rates, and where a classifier is wrong."""

import subprocess
import sys

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.learner import History, Interpretation, Learner
from flambeau.learner.interpret import KEPT, Confused
from flambeau.learner.lr_find import LearningRates

ROWS = [
    {
        "epoch": 1,
        "step": 5,
        "train_loss": 2.0,
        "train_accuracy": 0.5,
        "valid_loss": 2.5,
        "valid_accuracy": 0.4,
    },
    {
        "epoch": 2,
        "step": 9,
        "train_loss": 1.0,
        "train_accuracy": 0.7,
        "valid_loss": 1.5,
        "valid_accuracy": 0.6,
    },
]


class Table(nn.Module):
    """Scores of an item by its first pixel: rows of a table."""

    def __init__(self, rows):
        self.rows = nn.Parameter(fb.tensor(rows, device="cpu"))

    def forward(self, x):
        return self.rows[x[:, 0, 0, 0].long()]


def learner_of(rows):
    model = Table(rows)
    return Learner(model, optim.SGD(model.parameters(), 0.1), nn.functional.cross_entropy, renderers=[])


def batches_of(kinds, targets, size=3):
    images = np.zeros((len(kinds), 1, 4, 4), "f4")
    images[:, 0, 0, 0] = kinds
    return [
        (fb.tensor(images[i : i + size], device="cpu"), fb.tensor(targets[i : i + size], device="cpu"))
        for i in range(0, len(kinds), size)
    ]


def test_a_history_is_a_list_with_a_picture():
    history = History(ROWS)
    assert history == ROWS and history[-1]["valid_loss"] == 1.5
    assert history.curves() == {
        "loss": {"train": [(1, 2.0), (2, 1.0)], "valid": [(1, 2.5), (2, 1.5)]},
        "accuracy": {"train": [(1, 0.5), (2, 0.7)], "valid": [(1, 0.4), (2, 0.6)]},
    }
    axes = history.plot().figure.axes
    assert [a.get_title(loc="left") for a in axes] == ["loss", "accuracy"]
    assert [line.get_ydata().tolist() for line in axes[0].lines] == [[2.0, 1.0], [2.5, 1.5]]
    assert len(history.plot("accuracy").figure.axes) == 1
    with pytest.raises(ValueError) as e:
        history.plot("recall")
    assert str(e.value) == "history.plot('recall'): the history has no such metric: use one of loss, accuracy"
    with pytest.raises(ValueError) as e:
        History().plot()
    assert str(e.value) == "history.plot(): it has no epochs: call fit(...) first"


def test_a_fit_returns_its_history_and_a_checkpoint_keeps_it(tmp_path):
    learner = learner_of([[2.0, 0.0], [0.0, 1.0]])
    history = learner.fit(batches_of([0, 1, 0], [0, 1, 0]), epochs=2)
    learner.save(tmp_path / "run")
    other = learner_of([[0.0, 0.0], [0.0, 0.0]])
    other.load(tmp_path / "run")
    assert type(other.history) is type(history) is History and other.history == history


@pytest.mark.share(3)
def test_a_picture_is_a_png(tmp_path):
    picture = LearningRates([1e-3, 1e-2, 1e-1], [3.0, 2.0, 9.0], [3.0, 2.5, 4.0], 1e-2).plot()
    picture.save(tmp_path / "rates.png")
    from PIL import Image

    with Image.open(tmp_path / "rates.png") as image:
        assert f"{image.width} x {image.height} pixels" in repr(picture)
    assert picture._repr_png_()[:4] == b"\x89PNG"
    with pytest.raises(fb.FlambeauError) as e:
        picture.save(tmp_path / "none" / "rates.png")
    assert "cannot be written (No such file or directory): choose another folder" in str(e.value)


def test_an_interpretation_has_the_items_by_their_losses():
    """Softmax of (2, 0): 0.8808 and 0.1192, so losses of 0.1269 and 2.1269; of (0, 1): 1.3133 and 0.3133."""
    learner = learner_of([[2.0, 0.0], [0.0, 1.0]])
    seen = learner.interpret(batches_of([0, 1, 0, 1, 0], [0, 1, 1, 0, 1]), names=["cat", "dog"])
    assert isinstance(seen, Interpretation)
    np.testing.assert_allclose(
        [i.loss for i in seen.items], [0.1269280, 0.3132617, 2.1269280, 1.3132617, 2.1269280], 1e-5
    )
    assert [(i.index, i.target, i.prediction) for i in seen.top_losses(3)] == [
        (2, 1, 0),
        (4, 1, 0),
        (3, 0, 1),
    ]
    assert seen.items[0].probability == pytest.approx(0.8807971)
    assert seen.confusion() == [[1, 1], [2, 1]] and seen.accuracy == 0.4
    assert seen.most_confused() == [Confused("dog", "cat", 2), Confused("cat", "dog", 1)]
    assert seen.most_confused(2) == [Confused("dog", "cat", 2)]
    assert repr(seen) == "Interpretation(5 items, 2 classes): 3 wrong"


@pytest.mark.share(2)
def test_the_pictures_of_a_classifier_have_its_names_and_numbers():
    learner = learner_of([[2.0, 0.0], [0.0, 1.0]])
    seen = learner.interpret(batches_of([0, 1, 0, 1, 0], [0, 1, 1, 0, 1]), names=["cat", "dog"])
    (axes,) = seen.plot_confusion().figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["cat", "dog"]
    assert [t.get_text() for t in axes.texts] == ["1", "1", "2", "1"]
    axes = seen.plot_top_losses(3).figure.axes
    assert [a.get_title() for a in axes] == ["cat, not dog", "cat, not dog", "dog, not cat"]
    assert axes[0].texts[0].get_text() == "loss 2.13, sure 88%, item 2"
    assert axes[2].images[0].get_array()[0, 0] == 1.0  # its first pixel is 1, the others 0
    assert axes[0].images[0].get_array().shape == (4, 4)
    coloured = seen.plot_top_losses(1, image_of=lambda array: np.zeros((2, 2, 3))).figure.axes[0]
    assert coloured.images[0].get_array().shape == (2, 2, 3)


def test_the_inputs_of_the_worst_items_are_kept():
    """Of 200 items in 67 batches those with the highest losses, wherever they are."""
    rows = [[float(kind), 0.0] for kind in range(200)]
    kinds = np.random.default_rng(1).permutation(200)
    seen = learner_of(rows).interpret(batches_of(kinds, np.ones(200, "i8")))
    worst = seen.top_losses(KEPT)
    assert sorted(kinds[[i.index for i in worst]]) == list(range(200 - KEPT, 200))
    assert set(seen._worst) == {i.index for i in worst}
    assert [seen._worst[i.index][0, 0, 0] for i in worst] == list(range(199, 199 - KEPT, -1))


def test_errors_of_interpretations():
    learner = learner_of([[2.0, 0.0], [0.0, 1.0]])
    batches = batches_of([0, 1], [0, 1])
    cases = [
        (
            lambda: learner.interpret([]),
            "interpret(...): the loader produced no batch: pass a loader with at least one",
        ),
        (
            lambda: learner.interpret(batches, names="abc"),
            "interpret(names=3 names): the model has 2 outputs: pass a name for each",
        ),
        (
            lambda: learner.interpret([(batches[0][0], fb.tensor([0.0, 1.0], device="cpu"))]),
            "interpret(...): takes targets of class indices, integers [n], not f32[2]: use evaluate(loader)",
        ),
        (
            lambda: learner.interpret(batches).plot_top_losses(100),
            "plot_top_losses(k=100): shows 1 to 64 items: pass another k",
        ),
    ]
    flat = nn.Linear(3, 2).to("cpu")
    other = Learner(flat, optim.SGD(flat.parameters(), 0.1), nn.functional.cross_entropy, renderers=[])
    rows = [(fb.zeros(2, 3, device="cpu"), fb.tensor([0, 1], device="cpu"))]
    cases.append(
        (
            lambda: other.interpret(rows).plot_top_losses(),
            "plot_top_losses(): the model's inputs are arrays [3], not images: pass image_of=, which converts"
            " one to [h, w] or [h, w, 3]",
        )
    )
    for call, message in cases:
        with pytest.raises(ValueError) as e:
            call()
        assert str(e.value) == message


@pytest.mark.share(3)
def test_without_matplotlib_a_history_is_drawn_as_text_and_the_rest_has_the_install_line(tmp_path):
    """In a process where matplotlib can't be imported; training does not import the pictures."""
    code = """
import sys
sys.modules["matplotlib"] = None
import flambeau.learner
assert "flambeau.learner.pictures" not in sys.modules
history = flambeau.learner.History([{"epoch": e, "train_loss": 1.0 / e} for e in (1, 2, 3)])
history.plot().show()
history.plot("loss").save("loss.svg")
try:
    flambeau.learner.LearningRates([0.1], [1.0], [1.0], None).plot()
except flambeau.FlambeauError as e:
    print(e)
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path)
    *shown, error = done.stdout.splitlines()
    assert error == "lr_find(...).plot(): matplotlib is not installed: pip install 'flambeau[train]'"
    assert len(shown) > 10 and "1" in shown[0]
    assert (tmp_path / "loss.svg").read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg" width=')


def test_items_of_equal_losses_are_drawn_in_their_order():
    learner = learner_of(np.zeros((2, 3), "f4"))
    count = KEPT + 36  # more than are kept
    seen = learner.interpret(batches_of([0] * count, np.zeros(count, "i8"), size=50))
    assert [item.index for item in seen.top_losses(3)] == [0, 1, 2]
    assert len(seen.plot_top_losses(3).figure.axes) >= 3


def test_an_item_without_a_loss_is_the_worst():
    learner = learner_of(np.array([[0, 0, 0], [np.nan, 0, 0]], "f4"))
    seen = learner.interpret(batches_of([0, 1, 0, 1], np.array([0, 1, 2, 2])))
    assert [item.index for item in seen.top_losses(4)] == [1, 3, 0, 2]


def test_rates_without_a_finite_loss_have_no_picture():
    text = "lr_find(...).plot(): the first loss was not finite: check the batches, or pass a lower start_lr"
    with pytest.raises(ValueError) as e:
        LearningRates([], [], [], None).plot()
    assert str(e.value) == text
