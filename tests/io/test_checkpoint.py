"""Turns a run's state into one file and back, and what can't be saved into what to give."""

import io
import json
import math
import struct

import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.io.safetensors import load_file

STATE = {
    "epoch": 3,
    "best": 0.25,
    "worst": float("inf"),
    "args": {"lr": 1e-3, "name": "résumé", "layers": [64, 10], "shape": (1, 28), "seed": None, "amp": True},
    "dtype": fb.bfloat16,
    7: "a number as a key",
    "big": 2**70,
    "raw": bytes(range(256)),
    "empty": [{}, (), []],
}


def test_a_training_run_goes_on(device, tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(device)
    adam = optim.AdamW(model.parameters(), lr=0.1)
    x = fb.tensor([[1.0, 2.0, 3.0], [3.0, -1.0, 0.5]], device=device)
    adam.step(model(x).sum().backward())
    path = tmp_path / "run.safetensors"
    fb.save({**STATE, "model": model.state_dict(), "optimizer": adam.state_dict()}, path)
    back = fb.load(path, map_location=device)
    assert {k: v for k, v in back.items() if k not in ("model", "optimizer")} == STATE
    assert type(back["args"]["shape"]) is tuple and back["dtype"] is fb.bfloat16
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(device)
    other.load_state_dict(back["model"])
    optim.AdamW(other.parameters(), lr=0.5).load_state_dict(back["optimizer"])
    for name, t in model.state_dict().items():
        assert other.state_dict()[name].tolist() == t.tolist() and back["model"][name].device is device
    assert "model.0.weight" in load_file(path, device="cpu")  # any reader of the format finds it by its path


def test_what_stands_in_several_places_and_alike_names():
    t, u = fb.tensor([1, 2], device="cpu"), fb.tensor([3.0], device="cpu")
    file = io.BytesIO()
    fb.save([t, {"a.b": t, "a": {"b": u}}, (u, math.nan)], file)
    file.seek(0)
    first, named, (last, nan) = fb.load(file, device="cpu")
    assert first is named["a.b"] and named["a"]["b"] is last and first.tolist() == [1, 2]
    assert last.tolist() == [3] and math.isnan(nan)
    for alone in (t, {"a.b": t, "b": u}):
        file = io.BytesIO()
        fb.save(alone, file)
        assert (b"flambeau.tree" in file.getvalue()) == (alone is t)  # a flat dict is a plain file
        file.seek(0)
        back = fb.load(file)
        assert (back if alone is t else back["a.b"]).tolist() == [1, 2]


class Settings:
    """Somebody's object."""

    def __repr__(self):
        return "Settings()"


class Saving(Settings):
    def save(self, path):
        raise AssertionError(f"the file {path} is the caller's")


@pytest.mark.parametrize(
    "give, text",
    [
        (
            lambda: nn.Linear(1, 1),
            "save: the object is Linear(in_features=1, out_features=1, bias=True), a Linear,"
            " and save writes no pickles: pass its .state_dict()",
        ),
        (
            lambda: Saving(),
            "save: the object is Settings(), a Saving, and save writes no pickles: call its own save(path)",
        ),
        (
            lambda: {"args": [Settings()]},
            "save: the object at 'args.0' is Settings(), a Settings, and save writes no"
            " pickles: pass vars(...) of it, or numbers and strings",
        ),
        (
            lambda: {"seen": {1, 2}},
            "save: the object at 'seen' is {1, 2}, a set, and save writes no pickles: pass"
            " numbers and strings",
        ),
        (
            lambda: {"x": fb.tensor([1.0], device="cpu").numpy()},
            "save: the object at 'x' is ndarray float32[1], a ndarray, and save writes no"
            " pickles: wrap it in fb.tensor(...)",
        ),
        (
            lambda: {"x": {(1, 2): 3}},
            "save: the object at 'x' has the key (1, 2): keys must be strings or integers of at most 60 bits",
        ),
    ],
)
def test_what_is_not_saved(give, text, tmp_path):
    with pytest.raises(TypeError) as told:
        fb.save(give(), tmp_path / "x")
    assert str(told.value) == text and not list(tmp_path.iterdir())


def test_gradients_are_not_saved_as_they_are(tmp_path):
    model = nn.Linear(2, 1).to("cpu")
    grads = model(fb.ones(1, 2, device="cpu")).sum().backward()
    with pytest.raises(TypeError, match=r"gradients: pass grads\[model\]$"):
        fb.save(grads, tmp_path / "x")
    fb.save(grads[model], tmp_path / "x")
    assert fb.load(tmp_path / "x")["weight"].tolist() == [[1, 1]]


def with_tree(tree: str) -> io.BytesIO:
    text = json.dumps({"__metadata__": {"flambeau.tree": tree}}).encode()
    return io.BytesIO(struct.pack("<Q", len(text)) + text)


@pytest.mark.parametrize(
    "tree",
    [
        *("{", '{"tensor": "gone"}', '{"call": 1}', '{"dict": 3}', "{}", '{"dtype": "x"}', '{"bytes": "é"}'),
        *('{"bytes": "!AAA"}', '{"bytes": 3}', "[" * 10**5),
    ],
)
def test_files_that_are_wrong_say_so(tree):
    rule = "its structure differs from save's"
    with pytest.raises(fb.FlambeauError, match=rule):
        fb.load(with_tree(tree))


def test_pickles_are_never_run(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04 and more")
    with pytest.raises(fb.FlambeauError) as told:
        fb.load(path)
    rule = "it is truncated or not a PyTorch file (it ends before its directory): get a complete copy"
    assert str(told.value) == f"load({str(path)!r}): {rule}"
    with pytest.raises(
        ValueError,
        match=("weights_only=False would run code from the pickle, which is not supported: leave it out"),
    ):
        fb.load(path, weights_only=False)
    with pytest.raises(fb.FlambeauError, match="no such file: check the path"):
        fb.load(tmp_path / "gone")
