"""torch.save and torch.load in torch mode: objects that pickle, shared storages, no code by default."""

import argparse
import io
import pickle

import numpy as np
import pytest

OTHER = argparse.Namespace(lr=0.1)


def written(mode, obj):
    file = io.BytesIO()
    mode.save(obj, file)
    file.seek(0)
    return file


def objects(torch):
    """An object with all kinds of values; the same for real torch."""
    t = torch.arange(6).float().view(2, 3)
    tensors = {"whole": t, "row": t[1], "turned": t.t(), "p": torch.nn.Parameter(torch.ones(2))}
    tensors |= {str(dtype): torch.ones(2).to(dtype) for dtype in (torch.bfloat16, torch.bool, torch.uint32)}
    tensors |= {"none": torch.empty(0, 3), "scalar": torch.tensor(2)}
    other = {"size": t.shape, "device": torch.device("cpu"), "dtype": torch.float16, "args": OTHER}
    return tensors | other | {"state": torch.nn.Linear(3, 2).state_dict(), "array": np.arange(3)}


def check(torch, found):
    assert found["size"] == torch.Size([2, 3]) and isinstance(found["size"], torch.Size)
    assert found["device"] == torch.device("cpu") and found["dtype"] is torch.float16
    assert found["args"] == OTHER and found["array"].tolist() == [0, 1, 2]
    assert type(found["array"]) is np.ndarray and found["none"].shape == (0, 3)
    assert isinstance(found["p"], torch.nn.Parameter) and found["p"].requires_grad
    assert found[str(torch.bool)].tolist() == [True, True] and found["scalar"].item() == 2
    assert found[str(torch.uint32)].dtype is torch.uint32 and list(found["state"]) == ["weight", "bias"]
    found["whole"][1, 0] = 9.0  # views share their storage
    assert found["row"].tolist() == [9, 4, 5] and found["turned"].tolist() == [[0, 9], [1, 4], [2, 5]]


def test_objects_return_as_they_were(mode):
    check(mode, mode.load(written(mode, objects(mode)), weights_only=False))


def test_no_class_of_a_file_is_built_unless_allowed(mode):
    file = written(mode, {"args": OTHER, "t": mode.ones(2)})
    with pytest.raises(pickle.UnpicklingError, match="argparse.Namespace"):
        mode.load(file)
    with mode.serialization.safe_globals([argparse.Namespace]):
        file.seek(0)
        assert mode.load(file)["args"] == OTHER
    assert mode.serialization.get_safe_globals() == []


def test_devices_are_mapped(mode, tmp_path):
    path = tmp_path / "x.pt"
    mode.save([mode.ones(2)], path)
    for place in ("cpu", mode.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert mode.load(path, map_location=place)[0].device.type == "cpu"


def test_files_are_torchs(mode, torch):
    with mode.enabled(False):
        real = io.BytesIO()
        torch.save(objects(torch), real)
        real.seek(0)
    check(mode, mode.load(real, weights_only=False))
    ours = written(mode, objects(mode))
    check(torch, torch.load(ours, weights_only=False))
