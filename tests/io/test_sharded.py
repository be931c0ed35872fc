"""Models in several files: an index, a folder, tensors read one by one."""

import json

import pytest

import flambeau as fb
from flambeau.io import load_safetensors, open_weights, save_file

INDEX = "model.safetensors.index.json"


def sharded(folder, names=None, **more):
    """A model of two files and its index."""
    folder.mkdir(exist_ok=True)
    save_file({"a": fb.ones(2, device="cpu"), "b": fb.zeros(1, device="cpu")}, folder / "1.safetensors")
    save_file({"c": fb.tensor([3], device="cpu")}, folder / "2.safetensors")
    names = names or {"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"}
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 20}, "weight_map": names} | more))
    return folder / INDEX


def test_an_index_is_one_model(tmp_path):
    index = sharded(tmp_path)
    for found in (
        fb.load(index, device="cpu"),
        fb.load(tmp_path, device="cpu"),
        load_safetensors(index, "cpu"),
        dict(open_weights(tmp_path, "cpu")),
    ):
        assert {n: t.tolist() for n, t in found.items()} == {"a": [1, 1], "b": [0], "c": [3]}
    fb.save({"c": fb.tensor([4], device="cpu")}, tmp_path / "2.bin")
    mixed = sharded(tmp_path, {"a": "1.safetensors", "c": "2.bin"})
    assert {n: t.tolist() for n, t in fb.load(mixed, device="cpu").items()} == {"a": [1, 1], "c": [4]}


def test_links_of_a_cache_lead_where_the_index_lies(tmp_path):
    """As caches have it: a snapshot of links to blobs, which lie together."""
    sharded(tmp_path / "blobs")
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for name in (INDEX, "1.safetensors", "2.safetensors"):
        (snapshot / name).symlink_to(tmp_path / "blobs" / name)
    assert fb.load(snapshot, device="cpu")["c"].tolist() == [3]


def test_an_index_that_lies_is_told(tmp_path):
    folder = tmp_path / "model"
    (tmp_path / "secret.safetensors").write_bytes((sharded(folder).parent / "1.safetensors").read_bytes())

    def told(names=None, text=None):
        index = sharded(folder, names)
        if text is not None:
            index.write_text(text)
        with pytest.raises(fb.FlambeauError) as e:
            fb.load(index, device="cpu")
        start, end = f"load({str(index)!r}): it is truncated or not a index file (", "): get a complete copy"
        assert str(e.value).startswith(start) and str(e.value).endswith(end)
        return str(e.value)[len(start) : -len(end)]

    for name in ("../secret.safetensors", "/etc/passwd", "..", "", "a\\b", "C:x", "a\0b"):
        assert told({"a": name}) == f"its index names {name!r}, which is not a file in its folder"
    assert told({"a": "3.safetensors"}) == "its index names '3.safetensors', which does not exist"
    (folder / "link.safetensors").symlink_to(tmp_path / "secret.safetensors")
    assert told({"a": "link.safetensors"}) == "its index names 'link.safetensors', a link to another folder"
    assert told({"x": "1.safetensors", "y": "1.safetensors"}) == (
        "'1.safetensors' has no 'x' and 1 more, which its index lists"
    )
    assert told({"a": INDEX}) == "one of its files is not a dict of tensors by name"
    for text in ("{", '{"a":' * 50_000, "{}", '{"weight_map": []}', '{"weight_map": {"a": 3}}'):
        what = "is not JSON" if text.startswith(('{"a"', "{")) and "}" not in text else "has no weight_map of"
        assert told(text=text).startswith(f"its index {what}")
    with pytest.raises(fb.FlambeauError, match="bytes have no folder: pass its path"):
        fb.load(sharded(folder).read_bytes(), device="cpu")


def test_tensors_are_read_when_they_are_asked_for(tmp_path):
    path = tmp_path / "m.safetensors"
    save_file(
        {"layer.weight": fb.ones(2, 3, device="cpu"), "b": fb.zeros(1, device="cpu")}, path, {"by": "me"}
    )
    with open_weights(path, "cpu") as weights:
        assert (
            sorted(weights) == ["b", "layer.weight"]
            and len(weights) == 2
            and weights.metadata == {"by": "me"}
        )
        assert weights.entries["layer.weight"].shape == (2, 3) and "gone" not in weights
        assert (
            weights["b"].tolist() == [0] and repr(weights) == "LazyWeights(2 tensors of .safetensors files)"
        )
        with pytest.raises(KeyError) as told:
            weights["layer.wieght"]
        text = f"open_weights({str(path)!r}): has no 'layer.wieght': did you mean 'layer.weight'?"
        assert told.value.args == (text,)
    assert len(weights) == 0
    with pytest.raises(fb.FlambeauError) as told:
        open_weights(tmp_path)
    names = "model.safetensors.index.json, model.safetensors, pytorch_model.bin.index.json, pytorch_model.bin"
    rule = f"the folder has none of {names}: pass the path of a file"
    assert str(told.value) == f"open_weights({str(tmp_path)!r}): {rule}"
    fb.save({"a": fb.ones(1, device="cpu")}, tmp_path / "a.pt")
    with pytest.raises(fb.FlambeauError) as told:
        open_weights(tmp_path / "a.pt")
    rule = "a PyTorch file can't be read lazily: use fb.load"
    assert str(told.value) == f"open_weights({str(tmp_path / 'a.pt')!r}): {rule}"
