import subprocess
import sys

import numpy as np
import pytest

from flambeau.cli.plot import choose, confusion, draw_mnist, smoothed_mean
from flambeau.errors import FlambeauError


@pytest.fixture
def digits():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 200)
    predictions = np.where(rng.random(200) < 0.1, (labels + 1) % 10, labels)
    return rng.integers(0, 256, (200, 28, 28), np.uint8), labels, predictions


def falling(steps):
    return 2.3 * np.exp(-np.arange(steps) / 30) + 0.01


@pytest.mark.parametrize(
    ("losses", "accuracies"),
    [
        (falling(300), [0.9, 0.95]),
        ([2.3], [0.1]),
        ([2.0, float("nan"), 0.0], []),
        ([float("nan")] * 3, [float("nan")]),
        ([], []),
        (falling(50), [1.0]),
    ],
)
@pytest.mark.share(3)
def test_draws_a_png(tmp_path, digits, losses, accuracies):
    draw_mnist(tmp_path / "mnist.png", losses, accuracies, *digits)
    assert (tmp_path / "mnist.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert [file.name for file in tmp_path.iterdir()] == ["mnist.png"]


@pytest.mark.share(3)
def test_draws_all_right_all_wrong_few_and_other_forms_of_images(tmp_path, digits):
    images, labels, _ = digits
    draw_mnist(tmp_path / "right.png", [1.0], [1.0], images, labels, labels)
    draw_mnist(tmp_path / "wrong.png", [1.0], [0.0], images, labels, 9 - labels)
    floats = images[:3, None].astype(np.float32) / 255
    draw_mnist(tmp_path / "few.png", [1.0], [1.0], floats, labels[:3].astype(np.int32), labels[:3])
    assert len(list(tmp_path.iterdir())) == 3


def test_leaves_nothing_where_it_cannot_write(tmp_path, digits):
    path = tmp_path / "none" / "mnist.png"
    with pytest.raises(FlambeauError) as error:
        draw_mnist(path, [1.0], [1.0], *digits)
    reason = "cannot be written (No such file or directory): choose another folder"
    assert str(error.value) == f"draw_mnist('{path}'): {reason}"
    folder = tmp_path / "mnist.png"
    folder.mkdir()
    with pytest.raises(FlambeauError):
        draw_mnist(folder, [1.0], [1.0], *digits)
    assert list(tmp_path.iterdir()) == [folder]


def test_without_matplotlib_says_what_to_install(monkeypatch, tmp_path, digits):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(FlambeauError) as error:
        draw_mnist("mnist.png", [1.0], [1.0], *digits)
    advice = "matplotlib is not installed: pip install 'flambeau[train]'"
    assert str(error.value) == f"draw_mnist('mnist.png'): {advice}"


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, flambeau.cli.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_shows_mistakes_last():
    labels = np.zeros(1000, int)
    predictions = np.where(np.arange(1000) % 100 == 7, 3, 0)
    chosen = choose(labels, predictions)
    assert len(chosen) == 50 == len(set(chosen.tolist()))
    assert predictions[chosen].tolist() == [0] * 40 + [3] * 10
    assert len(choose(labels, labels)) == 50
    assert len(choose(labels, labels + 1)) == 20
    assert len(choose(labels[:0], labels[:0])) == 0


def test_confusion_counts_rows_by_truth():
    counts = confusion(np.array([4, 4, 9]), np.array([9, 9, 9]))
    assert counts[4, 9] == 2 and counts[9, 9] == 1 and counts.sum() == 3


def test_smoothing_keeps_a_constant_and_skips_nan():
    assert smoothed_mean(np.full(500, 0.7)) == pytest.approx(np.full(500, 0.7))
    assert smoothed_mean(np.array([1.0, np.nan, 1.0])) == pytest.approx([1, 1, 1])
    wobble = 1 + 0.5 * np.where(np.arange(1000) % 2, 1, -1)
    assert np.ptp(smoothed_mean(wobble)[100:]) < 0.06
