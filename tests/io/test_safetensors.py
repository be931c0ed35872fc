"""Safetensors: tensors go round, models too, and a bad file is one line that names it."""

import asyncio
import json
import os
import random
import struct
import tracemalloc

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.errors import FlambeauError
from flambeau.io import load_bytes, load_file, save_bytes, save_file


def file_of(path, entries, body=b""):
    """Write a file by hand: entries of name -> (dtype, shape, bytes)."""
    header, at = {}, 0
    for name, (dtype, shape, data) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at, body = at + len(data), body + data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_tensors_go_round(device, tmp_path):
    arrays = {
        "f": np.random.default_rng(0).normal(size=(3, 4)).astype("f4"),
        "i": np.array([-1, 2], "i4"),
        "u": np.array([[2**32 - 1]], "u4"),
        "b": np.array([True, False, True]),
        "none": np.zeros((0, 3), "f4"),
        "number": np.float32(2.5),
    }
    save_file(
        {n: fb.tensor(a, device=device) for n, a in arrays.items()},
        tmp_path / "t.safetensors",
        {"by": "test"},
    )
    found = load_file(tmp_path / "t.safetensors", device)
    assert set(found) == set(arrays)
    for name, a in arrays.items():
        assert found[name].device is device and found[name].numpy().dtype == a.dtype
        np.testing.assert_array_equal(found[name].numpy(), a)
    assert [p.name for p in tmp_path.iterdir()] == ["t.safetensors"]


def test_wide_and_narrow_types_are_read(tmp_path):
    path = tmp_path / "t.safetensors"
    halves = np.array([1.5, -2.0], "f4").view("u4") >> 16
    file_of(
        path,
        {"bf16": ("BF16", [2], halves.astype("u2").tobytes()), "i64": ("I64", [1], struct.pack("<q", -5))},
    )
    found = load_file(path)
    assert found["bf16"].tolist() == [1.5, -2.0] and found["i64"].tolist() == [-5]
    file_of(path, {"big": ("I64", [2], struct.pack("<2q", 2**40, -1)), "u": ("U64", [1], b"\xff" * 8)})
    found = load_file(path)
    assert (found["big"].dtype, found["u"].dtype) == (fb.int64, fb.uint64)
    assert found["big"].tolist() == [2**40, -1] and found["u"].tolist() == [2**64 - 1]
    save_file(found, path)
    assert {name: t.tolist() for name, t in load_file(path).items()} == {"big": [2**40, -1], "u": [2**64 - 1]}


def test_models_go_round(tmp_path):
    fb.manual_seed(0)
    a, b = (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)) for _ in range(2))
    a(fb.randn(8, 3)).realize()
    a.save(tmp_path / "m.safetensors")
    b.load(tmp_path / "m.safetensors")
    x = fb.randn(2, 3)
    np.testing.assert_array_equal(a.eval()(x).numpy(), b.eval()(x).numpy())


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "m.safetensors"

    def told():
        with pytest.raises(FlambeauError) as e:
            load_file(path)
        return str(e.value)

    assert told() == f"load_file('{path}'): no such file: check the path"
    save_file({"w": fb.ones(100)}, path)
    whole = path.read_bytes()
    for part in (whole[:-50], whole[:20], b"", b"not a file of tensors"):
        path.write_bytes(part)
        assert told().startswith(f"load_file('{path}'): it is truncated or not a .safetensors file (")
        assert "\n" not in told()
    file_of(path, {"w": ("F4", [2], b"\0")})
    assert told().startswith(
        f"load_file('{path}'): 'w' is F4: only these can be read: BF16, BOOL, C64, F16, "
    )


def test_nothing_is_half_written(tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    save_file({"w": fb.ones(2)}, path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(FlambeauError) as e:
        save_file({"w": fb.zeros(2)}, path)
    assert str(e.value) == (
        f"save_file('{path}'): can't be written: No space left on device: choose another path or free some"
        " space"
    )
    assert load_file(path)["w"].tolist() == [1, 1] and len(list(tmp_path.iterdir())) == 1


def test_unwritable_places_and_wrong_values(tmp_path):
    path = tmp_path / "nowhere" / "m.safetensors"
    with pytest.raises(FlambeauError) as e:
        save_file({"w": fb.ones(2)}, path)
    assert str(e.value) == (
        f"save_file('{path}'): can't be written: No such file or directory: choose another path or free some"
        " space"
    )
    with pytest.raises(TypeError) as wrong:
        save_file({"w": 3}, "x")
    assert str(wrong.value) == "save_file('x'): 'w' is 3, not a tensor: wrap it in fb.tensor(...)"


def test_bytes_go_round_as_files_do(tmp_path):
    tensors = {
        "w": fb.randn(3, 5),
        "h": fb.randn(7).to(fb.float16),
        "c": fb.tensor([1, -2, 3], dtype=fb.int8),
        "b": fb.tensor([[True], [False]]),
        "none": fb.zeros(0, 2),
    }
    data = asyncio.run(save_bytes(tensors, {"by": "test"}))
    save_file(tensors, tmp_path / "t.safetensors", {"by": "test"})
    assert data == (tmp_path / "t.safetensors").read_bytes()
    found = load_bytes(memoryview(data))
    assert {n: (t.dtype, t.tolist()) for n, t in found.items()} == {
        n: (t.dtype, t.tolist()) for n, t in tensors.items()
    }


def test_the_formats_own_library_agrees(tmp_path):
    import safetensors.numpy as theirs

    kinds = ("f2", "f4", "f8", "c8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
    arrays = {k: (np.arange(6).reshape(2, 3) * 1.5).astype(k) for k in kinds} | {
        "none": np.zeros((0, 3), "f4")
    }
    ours = {n: fb.tensor(a, dtype=a.dtype.name, device="cpu") for n, a in arrays.items()}
    found, data = theirs.load(asyncio.run(save_bytes(ours))), theirs.save(arrays)
    assert found.keys() == arrays.keys() == load_bytes(data, "cpu").keys()
    for name, a in arrays.items():
        for got in (found[name], load_bytes(data, "cpu")[name].numpy()):
            np.testing.assert_array_equal(got, a)
            assert got.dtype == a.dtype and got.shape == a.shape
    (tmp_path / "x.safetensors").write_bytes(data)
    on_gpu = load_file(tmp_path / "x.safetensors")
    for name, a in arrays.items():
        np.testing.assert_array_equal(on_gpu[name].numpy(), a.astype("f4") if name == "f8" else a)


def test_bfloat16_and_float8_as_pytorch_writes_them(torch):
    import safetensors.torch as theirs

    given = {"bf16": torch.randn(3, 5).bfloat16(), "none": torch.zeros(0, dtype=torch.bfloat16)}
    codes = torch.arange(256, dtype=torch.uint8)
    given |= {k: codes.clone().view(getattr(torch, k)) for k in ("float8_e4m3fn", "float8_e5m2")}
    found = load_bytes(theirs.save(given), "cpu")
    for name, x in given.items():
        np.testing.assert_array_equal(found[name].float().numpy(), x.float().numpy(), err_msg=name)
    assert found["bf16"].dtype is fb.bfloat16 and found["float8_e5m2"].dtype is fb.float8_e5m2
    back = theirs.load(asyncio.run(save_bytes(found)))
    assert torch.equal(back["bf16"], given["bf16"])
    for name in ("float8_e4m3fn", "float8_e5m2"):  # NaN has several codes
        assert back[name].dtype is given[name].dtype
        np.testing.assert_array_equal(back[name].float().numpy(), given[name].float().numpy())


def test_headers_that_lie_are_told():
    def told(header, body=b"", length=None):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        with pytest.raises(FlambeauError) as e:
            load_bytes(struct.pack("<Q", len(text) if length is None else length) + text + body)
        return str(e.value).removeprefix("load_bytes(...): it is truncated or not a .safetensors file (")[
            :-22
        ]

    def entry(start, end, shape=(1,), dtype="F32"):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}

    assert told({"w": entry(0, 4)}, b"123") == "it has 3 of the 4 bytes that its header promises"
    assert told({"w": entry(0, 4)}, b"12345") == "it has 5 of the 4 bytes that its header promises"
    begins = "begins at byte {} instead of {}, the end of the previous tensor"
    shape, span = (
        "the shape of 'w' is not a list of at most 64 sizes",
        "the data_offsets of 'w' are not [begin, end]",
    )
    assert told({"w": entry(0, 8)}, bytes(8)) == "'w' has 8 bytes, and F32 of its shape 4"
    assert told({"w": entry(0, 4), "v": entry(0, 4)}, bytes(4)) == f"'w' {begins.format(0, 4)}"
    assert told({"w": entry(4, 8)}, bytes(8)) == f"'w' {begins.format(4, 0)}"
    assert told({"w": entry(0, 8, (2,)), "v": entry(4, 8)}, bytes(8)) == f"'v' {begins.format(4, 8)}"
    for wrong in ([-1, -1], [1.0], [True], "1", 1, None, {"1": 1}, [[1]], [1 << 40], [1] * 65, [1 << 63, 0]):
        assert told({"w": entry(0, 4) | {"shape": wrong}}, bytes(4)) == shape, wrong
    for wrong in ("04", ["0", "4"], [0], [0, 4, 4], [4, 0], [-4, 0], [0, 4.0], [0, True], None, [0, 1 << 63]):
        assert told({"w": entry(0, 4) | {"data_offsets": wrong}}, bytes(4)) == span, wrong
    for wrong in (3, None, ["F32"], {}):
        assert told({"w": entry(0, 4) | {"dtype": wrong}}, bytes(4)) == "the dtype of 'w' is not a string"
    for length in (3, 1 << 60, 1 << 63, (1 << 64) - 1):
        assert told({}, length=length) == "its header ends early" or length == 3
    for broken in (
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"w":' * 50_000,
        b'{"w": NaN}',
        b'{"w": -Infinity}',
        b"",
    ):
        assert told(broken) == "its header is not JSON"
    assert told(json.dumps({"w": entry(0, 4)}).encode("utf-16"), bytes(4)) == "its header is not JSON"
    assert told(b"[]") == told(b"3") == told(b"null") == "its header is not a JSON object"
    for wrong in (3, None, [], "F32", {"dtype": "F32"}, {"dtype": "F32", "shape": []}):
        assert told({"w": wrong}) == "'w' has no dtype, shape and data_offsets"
    assert told(b'{"w": {}, "w": {}}') == "'w' occurs twice in its header"
    for wrong in (3, {"a": 1}, {"a": {}}, ["a"]):
        assert told({"__metadata__": wrong}) == "its '__metadata__' is not an object of strings"
    assert len(told({"w" * 10_000: 3})) < 200
    huge = {"w": entry(0, 0, (0, 1 << 30)), "\u2603\ud800": entry(0, 4)}
    found = load_bytes(struct.pack("<Q", len(text := json.dumps(huge).encode())) + text + bytes(4))
    assert found["w"].shape == (0, 1 << 30) and found["\u2603\ud800"].tolist() == [0]


def test_any_change_of_a_file_is_told_or_another_file(tmp_path):
    """Changed, removed, added and repeated bytes: tensors or one kind of error, and no more memory."""
    rng, errors = random.Random(11), 0
    given = {"w": fb.arange(6).float(), "b": fb.tensor([True]), "h": fb.ones(2, dtype=fb.float16)}
    whole = asyncio.run(save_bytes(given, {"by": "a test"}))
    header = struct.unpack_from("<Q", whole)[0] + 8
    pieces = [
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"-1",
        b"1e400",
        b"NaN",
        b"null",
        b"9" * 30,
        b"\0",
        b"\xff",
    ]
    tracemalloc.start()
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(header if rng.random() < 0.9 else len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at : at + rng.randint(1, 9)]
            else:
                data[at:at] = rng.choice(pieces) if kind == 2 else data[at : at + rng.randint(1, 30)]
        if rng.random() < 0.6:  # or most fail at the header's length
            length = struct.unpack_from("<Q", whole)[0] + len(data) - len(whole)
            data[:8] = struct.pack("<Q", max(length, 0))
        try:
            found = load_bytes(bytes(data))
            assert sum(t.nbytes if t.dtype is not fb.bool_ else len(t) for t in found.values()) <= len(data)
        except FlambeauError as e:
            errors += 1
            assert str(e).startswith("load_bytes(...): ") and "\n" not in str(e) and len(str(e)) < 1000
    assert errors > 500 and tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_what_is_no_file_is_told_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for path, kind in (("fifo", "a FIFO"), ("link", "a FIFO"), ("", "a folder"), ("/dev/zero", "a device")):
        with pytest.raises(FlambeauError) as e:
            load_file(tmp_path / path)
        assert str(e.value) == f"load_file('{tmp_path / path}'): can't be read: it is {kind}, not a file"


def test_large_tensors_go_up_in_pieces(gpu, monkeypatch):
    """Where pieces begin and end no byte is lost, whatever the size."""
    from flambeau.device import native

    monkeypatch.setattr(native, "PIECE", 16)
    for n in (1, 15, 16, 17, 31, 32, 33, 100):
        x = np.random.default_rng(n).integers(0, 256, n, dtype="u1")
        data = asyncio.run(
            save_bytes({"x": fb.tensor(x, device=gpu), "f": fb.tensor(x.astype("f4"), device=gpu)})
        )
        found = load_bytes(data, gpu)
        np.testing.assert_array_equal(found["x"].numpy(), x)
        np.testing.assert_array_equal(found["f"].numpy(), x)
