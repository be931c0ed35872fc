"""PyTorch's files without PyTorch: what it wrote comes back, what it has not is told, nothing is ever run."""

import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import flambeau as fb
from flambeau.io import load_torch, save_torch, unpickler

HERE = Path(__file__).parent / "made_by_torch"
MODEL = {  # what the files hold, by torch 2.13
    "weight": [[1.5, -2.0], [0.25, 3.0]],
    "tied": [[1.5, -2.0], [0.25, 3.0]],
    "half": [1.5, -2.0],
    "brain": [1.5, -2.0],
    "double": [0.1, 1e-3],
    "complex": [1 + 2j, -3j],
    "bool": [True, False, True],
    "int64": 2**40,
    "int8": [-128, 127],
    "base": [[0.0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]],
    "transposed": [[0.0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]],
    "steps": [[4.0, 6], [8, 10]],
    "expanded": [[7.0, 7, 7], [7, 7, 7]],
    "conjugated": [1 - 2j, 3j],
    "empty": [],
}
DTYPES = {"half": "float16", "brain": "bfloat16", "complex": "complex64", "conjugated": "complex64"}
DTYPES |= {"bool": "bool", "int64": "int64", "int8": "int8", "double": "float64"}


@pytest.mark.parametrize("name", ["zip.pt", "zip_5.pt", "legacy.pth", "legacy_4.pth"])
def test_files_of_pytorch_are_read(name):
    run = fb.load(HERE / name, map_location="cpu")
    model = run.pop("model")
    assert {n: t.tolist() for n, t in model.items()} == MODEL and type(model) is dict
    assert {n: t.dtype.name for n, t in model.items()} == {n: DTYPES.get(n, "float32") for n in MODEL}
    assert model["tied"] is model["weight"] and model["empty"].shape == (0, 3)
    assert run.pop("array").tolist() == [[1, 2], [3, 4]]
    assert run == {
        "epoch": 3,
        "best": 0.25,
        "args": {"lr": 0.1, "sizes": (2, 3)},
        "dtype": fb.bfloat16,
        "list": [1, None, "é", b"raw", True, 2**70],
    }


def test_the_device_has_them_as_the_host(gpu):
    model = load_torch(HERE / "zip.pt", gpu)["model"]
    assert {n: t.tolist() for n, t in model.items() if n != "double"} == {
        n: v for n, v in MODEL.items() if n != "double"
    }
    assert model["double"].dtype is fb.float32 and model["double"].tolist() == pytest.approx([0.1, 1e-3])
    kept = load_torch(HERE / "zip.pt", gpu, keep_wide=True)["model"]
    assert kept["double"].dtype is fb.float64 and kept["double"].tolist() == [0.1, 1e-3]
    assert kept["base"].device is gpu


def test_what_is_written_is_read_again(tmp_path):
    tensors = {
        "a": fb.tensor([[1.0, 2.0]], device="cpu"),
        "u": fb.tensor([1, 65535], dtype=fb.uint16, device="cpu"),
    }
    tensors["b"] = fb.tensor([True, False], device="cpu")
    nest = {
        "model": tensors,
        "again": tensors["a"],
        3: [1, -(2**70), 2.5, None, True, "é"],
        "t": (fb.int8, ()),
    }
    for path in (tmp_path / "x.pt", tmp_path / "y.bin"):
        fb.save(nest, path)
        back = fb.load(path, device="cpu")
        model = back.pop("model")
        assert {n: (t.dtype, t.tolist()) for n, t in model.items()} == {
            n: (t.dtype, t.tolist()) for n, t in tensors.items()
        }
        assert back.pop("again") is model["a"]
        assert back == {3: nest[3], "t": nest["t"]}
    with pytest.raises(TypeError) as told:
        save_torch({"x": [{1}]}, tmp_path / "z.pt")
    rule = "pass tensors, numbers, strings, dtypes, None, or dicts, lists and tuples of them"
    assert (
        str(told.value)
        == f"save_torch(..., {str(tmp_path / 'z.pt')!r}): the object at 'x.0' is {{1}}: {rule}"
    )


def told_of(data: bytes) -> str:
    with pytest.raises(fb.FlambeauError) as told:
        load_torch(data, "cpu")
    text = str(told.value)
    assert "\n" not in text and len(text) < 500
    return text.removeprefix("load_torch(...): ")


def cut(text: str) -> str:
    return f"it is truncated or not a PyTorch file ({text}): get a complete copy"


RAN: list[str] = []


def boom(*_):
    RAN.append("run")


class Exploit:
    """An object whose pickle calls a function."""

    def __init__(self, call):
        self.call = call

    def __reduce__(self):
        return self.call, ("echo run",)


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", data)
    return out.getvalue()


@pytest.mark.parametrize("protocol", [2, 4])
def test_no_code_is_run(protocol):
    import os

    code = "it is code, which is never run from a file: save a state_dict()"
    for call, name in (
        (os.system, "posix.system"),
        (eval, "__builtin__.eval" if protocol == 2 else "builtins.eval"),
        (boom, f"{__name__}.boom"),
    ):
        data = pickle.dumps({"w": Exploit(call)}, protocol)
        for given in (data, zipped(data)):
            assert told_of(given).partition(" of its pickle: ")[2] == f"it names {name!r}: {code}"
    name = "torch.nn.modules.linear.Linear"
    data = b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81}b."
    assert told_of(data) == f"byte 2 of its pickle: it names {name!r}: {code}"
    sparse = b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n)R."
    rule = "it is a sparse tensor: save .to_dense()"
    assert told_of(sparse) == f"byte 2 of its pickle: it names 'torch._utils._rebuild_sparse_tensor': {rule}"
    assert not RAN


def test_steps_that_make_no_sense_are_told():
    def of(steps: bytes, protocol: bytes = b"\x80\x02") -> str:
        text = told_of(protocol + steps)
        assert text.startswith("it is truncated or not a PyTorch file (byte ") and text.endswith(
            "): get a complete copy"
        )
        return text.partition("of its pickle: ")[2].removesuffix("): get a complete copy")

    assert of(b"") == "it ends early"
    assert of(b".") == of(b"a.") == of(b"R.") == of(b"K\x010.") == "it takes a value from an empty stack"
    assert of(b"X\xff\xff\xff\x7fabc.") == "it ends 2,147,483,643 bytes early"
    assert of(b"\x8a\xffabc.") == "it ends 251 bytes early"
    assert of(b"\x82\x01.") == "opcode 0x82 is not allowed"
    assert of(b"t.") == "a mark is missing" and of(b"h\x07.") == "it recalls value 7, not in its memo"
    assert of(b"K\x01K\x02a.") == "it treats a int as a list"
    assert of(b"}(K\x01u.") == "a key has no value"
    assert of(b"]K\x01\x85R.") == "it calls a list, which is not an allowed function"
    assert of(b"}]K\x01s.") == "a list can't be a dict key here"
    assert of(b"ccollections\nOrderedDict\n.") == "'collections.OrderedDict' occurs where data is expected"
    assert of(b"ctorch._utils\n_rebuild_tensor_v2\n)R.").startswith("its steps are invalid (TypeError: ")
    assert of(b"X\x01\x00\x00\x00aQ.") == "it refers to an object that is not a storage"
    assert of(b"\x80\x09.") == "it uses protocol 9: only 0 to 5 are known"
    assert of(b"K\x01}b.") == "it sets the state of a int"
    assert of(b"I" + b"9" * 5000 + b"\n.").startswith("its steps are invalid (ValueError: Exceeds the limit")


def test_shared_parts_cost_nothing_and_lists_are_bounded(monkeypatch):
    """A list of lists of itself is a few bytes and 2^60 elements; too many empty lists are refused."""
    steps = b"]q\x00" + b"".join(
        b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(60)
    )
    deep = load_torch(b"\x80\x02" + steps + b".", "cpu")
    for _ in range(60):
        assert deep[0] is deep[1]
        deep = deep[0]
    assert deep == []
    monkeypatch.setattr(unpickler, "LISTS", 60_000)
    data = b"\x80\x02(" + b"]" * 70_000 + b"l."
    assert "it creates too many lists for a file of its size" in told_of(data)
    assert load_torch(b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".", "cpu")  # deep, and nothing recurses


def test_values_that_are_kept_are_not_made_anew_for_nothing():
    """Each third byte of these files asks for a copy of a megabyte, or for the hash of a long tuple."""
    text = b"X" + struct.pack("<I", 1 << 20) + b"a" * (1 << 20) + b"q\x00X\x06\x00\x00\x00latin1q\x01"
    many = b"(" + b"N" * 10_000 + b"tq\x00"
    pairs = b"}q\x00(" + b"".join(b"J" + struct.pack("<i", i) + b"N" for i in range(5000)) + b"u"
    rule = "it builds too many values for a file of its size"
    for begin, steps, told in (
        (text, b"c_codecs\nencode\nh\x00h\x01\x86R0", rule),
        (text, b"cpathlib\nPosixPath\nh\x00\x85R0", rule),
        (pairs, b"ccollections\nOrderedDict\nh\x00\x85R0", rule),
        (pairs, b"cargparse\nNamespace\n)\x81h\x00b0", rule),
        (many, b"cbuiltins\nlist\nh\x00\x85R0", rule),
        (many, b"}h\x00Ns0", "a tuple can't be a dict key here"),
    ):
        data = b"\x80\x02" + begin + steps * 3000 + b"."
        assert f"{told}): get a complete copy" in told_of(data), steps
    assert "a line has no end, or is longer than 65,536 bytes" in told_of(b"\x80\x02I" + b"1" * 10**6)


def storage(key=b"0", count=4, kind=b"ctorch\nFloatStorage\n"):
    parts = b"X\x07\x00\x00\x00storage" + kind + b"X\x01\x00\x00\x00" + key + b"X\x03\x00\x00\x00cpu"
    return b"(" + parts + b"M" + struct.pack("<H", count) + b"tQ"


def tensor(size: bytes, stride: bytes, offset=0, **kw) -> bytes:
    head = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
    rest = b"\x89ccollections\nOrderedDict\n)RtR."
    return head + storage(**kw) + b"K" + bytes([offset]) + size + stride + rest


def archive(pickled: bytes, data: bytes = bytes(16), name: str = "data/0", **more) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for file, content in {"data.pkl": pickled, name: data, **more}.items():
            z.writestr(f"archive/{file}", content)
    return out.getvalue()


def test_storages_that_lie_are_told():
    def of(pickled: bytes, **kw) -> str:
        text = told_of(archive(pickled, **kw))
        return text.partition("of its pickle: ")[2].removesuffix("): get a complete copy") or text

    four, one = b"K\x04\x85", b"K\x01\x85"
    assert load_torch(archive(tensor(four, one)), "cpu").tolist() == [0, 0, 0, 0]
    assert of(tensor(b"K\x05\x85", one)) == "a tensor of storage '0' reaches element 5 of 4"
    assert of(tensor(four, b"K\x02\x85")) == "a tensor of storage '0' reaches element 7 of 4"
    assert of(tensor(four, one, offset=1)) == "a tensor of storage '0' reaches element 5 of 4"
    assert of(tensor(b"J\xff\xff\xff\xff\x85", one)).startswith('the shape of "a tensor of storage ')
    assert of(tensor(four, b"J\xff\xff\xff\xff\x85")).endswith(" does not have one stride for each size")
    assert of(tensor(b"K\x02K\x02\x86", one)).endswith(" does not have one stride for each size")
    huge = b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"
    none = b"K\x00K\x00\x86"
    assert "needs 4,611,686,014,132,420,609 elements, and 4 are present" in of(tensor(huge, none))
    assert of(tensor(four, one, count=5)) == "storage '0' has 16 of the 20 bytes it needs"
    assert of(tensor(four, one), name="data/1") == "storage '0' has none of the 16 bytes it needs"
    assert of(tensor(four, one), **{"data2/data.pkl": b"x"}).startswith(
        "it is truncated or not a PyTorch file (it is not an archive"
    )
    big = archive(tensor(four, one), byteorder=b"big")
    rule = "it is big-endian: load it on that machine and save it in another format"
    assert told_of(big) == rule
    script = archive(tensor(four, one), **{"constants.pkl": b""})
    assert told_of(script) == (
        "it is a program of TorchScript: in PyTorch, save torch.jit.load(path).state_dict()"
    )


def test_archives_that_lie_are_told():
    four, one = b"K\x04\x85", b"K\x01\x85"
    whole = archive(tensor(four, one))
    end = whole.rindex(b"PK\x05\x06")
    first = struct.unpack_from("<I", whole, end + 16)[0]
    second = whole.index(b"PK\x01\x02", first + 4)

    def of(place: int, form: str, *values: int) -> str:
        data = bytearray(whole)
        struct.pack_into(form, data, place, *values)
        return (
            told_of(bytes(data))
            .removeprefix("it is truncated or not a PyTorch file (")
            .removesuffix("): get a complete copy")
        )

    assert told_of(whole[: end - 1]) == cut("it ends before its directory")
    assert of(end + 8, "<HH", 9, 9) == "its directory is too small for the 9 members it declares"
    assert of(end + 16, "<I", 1 << 31).startswith("its directory, byte 2,147,483,648 to ")
    assert of(end + 8, "<HH", 1, 2) == "it is a part of an archive of several files"
    assert of(second + 20, "<II", 99999, 99999).endswith(" bytes past the end of the file")
    assert of(second + 42, "<I", 0).startswith("no member 'archive/data/0' begins at byte 0")
    assert of(second + 16, "<I", 1).endswith("the bytes of 'archive/data/0' do not match its checksum")
    assert of(second + 8, "<H", 1) == "'archive/data/0' is encrypted: save it without a password"
    assert of(second + 10, "<H", 12) == (
        "'archive/data/0' uses an unsupported compression method (12): save it uncompressed"
    )
    assert of(second + 20, "<II", 1, 16).startswith("'archive/data/0' uses an unsupported compression")


def test_archives_that_unpack_into_more_are_told():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", b"\x80\x02N.")
        z.writestr("archive/data/0", bytes(1 << 26))
    size = len(out.getvalue())
    assert size < 1 << 17
    assert (
        told_of(out.getvalue())
        == "it decompresses into 67,108,868 bytes, more than 20 times its size: save it uncompressed"
    )


# --- beside PyTorch ---

VARIANTS = [(new, protocol) for new in (True, False) for protocol in (2, 3, 4, 5)]


@pytest.mark.parametrize("new, protocol", VARIANTS)
def test_every_variant_of_torch_save(torch, new, protocol):
    """All dtypes, strides and shapes of PyTorch, in each form and protocol."""
    made = torch.Generator().manual_seed(protocol)
    kinds = "float32 float64 float16 bfloat16 complex64 complex128 int64 int32 int16 int8 uint8 uint16 uint32"
    kinds = [getattr(torch, k) for k in [*kinds.split(), "uint64", "bool"]]
    given = {}
    for kind in kinds:
        x = (torch.randn(4, 3, 2, generator=made) * 50).abs().to(kind)
        views = {
            "whole": x,
            "turned": x.permute(2, 0, 1),
            "part": x[1:3, :, 1],
            "row": x[2],
            "one": x[0, 0, 0],
        }
        views |= {
            "steps": x.reshape(-1)[1::5],
            "wide": x[:1, :1].expand(3, 2, 2),
            "none": x[:0],
            "copy": x.clone(),
        }
        views["diagonal"] = x.as_strided((2, 2), (7, 5), 1)
        given |= {f"{kind}.{n}": v for n, v in views.items()}
    file = io.BytesIO()
    torch.save(given, file, _use_new_zipfile_serialization=new, pickle_protocol=protocol)
    found = load_torch(file.getvalue(), "cpu")
    assert found.keys() == given.keys()
    for name, x in given.items():
        assert found[name].dtype.name == str(x.dtype).removeprefix("torch.")
        assert found[name].shape == tuple(x.shape) and found[name].tolist() == x.tolist(), name


def test_floats_of_eight_bits(torch):
    """Those without a dtype here become float16."""
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        x = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name))
        file = io.BytesIO()
        torch.save(x, file)
        loaded = load_torch(file.getvalue(), "cpu")
        assert loaded.dtype is (fb.float16 if name.endswith("uz") else getattr(fb, name))
        np.testing.assert_array_equal(loaded.float().numpy(), x.float().numpy(), err_msg=name)


def test_what_is_not_data_is_told(torch):
    for make, what in (
        (lambda: torch.nn.Linear(2, 2), "it names 'torch.nn.modules.linear.Linear': it is code"),
        (lambda: torch.eye(3).to_sparse(), "it is a sparse tensor: save .to_dense()"),
        (lambda: torch.eye(3).to_sparse_csr(), "it is a sparse tensor: save .to_dense()"),
        (lambda: torch.empty(2, device="meta"), "it is a tensor on the meta device, without values"),
    ):
        file = io.BytesIO()
        torch.save(make(), file)
        assert what in told_of(file.getvalue())


def test_pytorch_reads_what_is_written(torch):
    kinds = (
        "float32 float16 bfloat16 complex64 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool float64"
    )
    given = {k: fb.tensor([1, 0, 3], device="cpu").to(getattr(fb, k)) for k in kinds.split()}
    given |= {
        "nest": [given["float32"], {"x": (1, 2.5, "é", None, True, 2**70, fb.bfloat16)}],
        "none": fb.zeros(0, 3),
    }
    file = io.BytesIO()
    save_torch(given, file)
    file.seek(0)
    found = torch.load(file)
    for k in kinds.split():
        assert found[k].dtype is getattr(torch, k) and found[k].tolist() == given[k].tolist()
    assert found["nest"][0].data_ptr() == found["float32"].data_ptr() and found["none"].shape == (0, 3)
    assert found["nest"][1] == {"x": (1, 2.5, "é", None, True, 2**70, torch.bfloat16)}


def test_checkpoints_of_optimisers(torch):
    """A whole run of PyTorch: the model's state and the optimiser's go on here."""
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    adam = torch.optim.AdamW(theirs.parameters(), lr=0.1)
    x = torch.tensor([[1.0, 2, 3], [4, 5, 7], [0, 1, 0]])
    theirs(x).square().sum().backward()
    adam.step()
    file = io.BytesIO()
    torch.save({"model": theirs.state_dict(), "optimizer": adam.state_dict(), "epoch": 1}, file)
    run = fb.load(file.getvalue(), device="cpu")
    ours = fb.nn.Sequential(fb.nn.Linear(3, 4), fb.nn.BatchNorm1d(4)).to("cpu")
    ours.load_state_dict(run["model"])
    fb.optim.AdamW(ours.parameters(), lr=0.5).load_state_dict(run["optimizer"])
    got = ours.eval()(fb.tensor(x.tolist(), device="cpu")).tolist()
    want = theirs.eval()(x).detach()
    assert torch.allclose(torch.tensor(got), want, atol=1e-6)
