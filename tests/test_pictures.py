"""Curves and images: as text, in a notebook, as numbers for a page; and what they refuse."""

import struct
import zlib

import pytest

import flambeau as fb
from flambeau import pictures
from flambeau.pictures import Curves, image, plot


@pytest.fixture(autouse=True)
def on_numpy():
    fb.set_default_device("cpu")
    yield
    fb.set_default_device(None)


def test_an_image_scales_values_to_bytes():
    made = image(fb.tensor([[0.0, 1.0], [2.0, 4.0]]))
    assert made == (2, 2, bytes(b for grey in (0, 64, 128, 255) for b in (grey,) * 3))
    assert image(fb.tensor([[0.0, float("nan")], [float("inf"), 1.0]])).rgb[::3] == bytes((0, 0, 255, 255))
    assert image(fb.full((1, 2), 3.0)).rgb == bytes([128] * 6)
    assert image(fb.tensor([[7, 255]], dtype=fb.uint8)).rgb[::3] == bytes((7, 255))
    assert image(fb.tensor([[0.0, 2.0]]), low=0, high=1).rgb[::3] == bytes((0, 255))


def test_channels_are_colours_and_several_images_a_grid():
    red = fb.zeros(3, 1, 2)
    red[0] = 1.0
    assert image(red).rgb == bytes((255, 0, 0, 255, 0, 0))
    grid = image(fb.arange(3.0).reshape(3, 1, 1, 1).expand(3, 1, 2, 2), low=0, high=2)
    assert (grid.width, grid.height) == (4, 4)  # two by two places, the last one empty
    assert grid.rgb[::3] == bytes([0, 0, 128, 128] * 2 + [255, 255, 0, 0] * 2)


def test_a_png_has_the_pixels():
    data = image(fb.tensor([[0.0, 1.0]])).png()
    at, chunks = 8, {}
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(kind + body),)
        chunks[kind], at = body, at + 12 + size
    assert struct.unpack(">2I5B", chunks[b"IHDR"]) == (2, 1, 8, 2, 0, 0, 0)
    assert zlib.decompress(chunks[b"IDAT"]) == bytes((0, 0, 0, 0, 255, 255, 255))


def test_curves_have_names_and_places():
    made = plot([1, 2], fb.tensor([3.0, 4.0]), x=[5, 6], loss=[7, 8])
    assert made.curves == {"0": [(5, 1), (6, 2)], "1": [(5, 3), (6, 4)], "loss": [(5, 7), (6, 8)]}
    assert "0  1  loss" in str(made) and "loss" in made._repr_html_()
    assert Curves({"a": [(0, 0), (1, 100)]}, log=True).drawn(log=True)[0].points == [(1, 2.0)]


def test_show_prints_or_calls_the_page(capsys, monkeypatch):
    made = image(fb.tensor([[0.0, 1.0], [0.0, 1.0]]))
    made.show()
    assert capsys.readouterr().out == " @\n"
    shown = []
    monkeypatch.setattr(pictures, "show_with", shown.append)
    made.show()
    assert shown == [made] and not capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: image(fb.zeros(2)), r"image\(tensor \[2\]\): must be \[height, width\]"),
        (lambda: image(fb.zeros(2, 4, 4)), "1 or 3 channels"),
        (lambda: image(fb.zeros(0, 4)), "must be"),
        (lambda: plot(fb.zeros(2, 2)), "'0' has shape"),
        (lambda: plot([1, 2], x=[1]), "x has 1 places and '0' 2 values: pass as many of each"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
