"""NumPy's files: they go both ways, and a bad one is one line."""

import io
import struct

import numpy as np
import pytest

import flambeau as fb
from flambeau.io import load_npz, open_weights, save_npz

KINDS = ("f2", "f4", "f8", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")


def npz(compressed=False, **arrays) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
def test_numpys_files_are_read(compressed):
    arrays = {}
    for kind in KINDS:
        x = (np.arange(12).reshape(3, 4) * 1.5).astype(kind)
        arrays |= {kind: x, f"{kind}.F": np.asfortranarray(x), f"{kind}.none": x[:0], f"{kind}.one": x[1, 1]}
        if kind != "?":
            arrays[f"{kind}.big"] = x.astype(np.dtype(kind).newbyteorder(">"))
    found = load_npz(npz(compressed, **arrays), "cpu")
    assert found.keys() == arrays.keys()
    for name, x in arrays.items():
        assert found[name].dtype.name == x.dtype.newbyteorder("=").name, name
        np.testing.assert_array_equal(found[name].numpy(), x, err_msg=name)
    one = fb.load(npy(arrays["i4.F"]), device="cpu")
    assert one.tolist() == arrays["i4"].tolist()


def test_what_is_written_numpy_reads(device, tmp_path):
    x = fb.arange(6, device=device).reshape(2, 3)
    kinds = ("float32", "float16", "complex64", "int64", "int32", "int8", "uint8", "uint16", "uint32", "bool")
    given = {k: x.to(getattr(fb, k)) for k in kinds} | {"none": fb.zeros(0, 3, device=device), "one": x[1, 1]}
    fb.save(given, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as found:
        assert set(found.files) == given.keys()
        for name, t in given.items():
            np.testing.assert_array_equal(found[name], t.numpy())
            assert found[name].dtype == t.numpy().dtype and found[name].shape == t.shape
    with open_weights(tmp_path / "x.npz", device) as weights:
        assert weights["int8"].tolist() == x.tolist() and weights.entries["one"].shape == ()
    with pytest.raises(TypeError) as told:
        save_npz({"b": fb.ones(1, device="cpu").bfloat16()}, "x.npz")
    assert str(told.value) == "save_npz(..., 'x.npz'): 'b' is bfloat16, which NumPy lacks: save .float()"
    with pytest.raises(TypeError) as told:
        fb.save({"b": [1]}, "x.npz")
    rule = ".npz files hold only a dict of tensors by name: save nested containers as .safetensors"
    assert str(told.value) == f"save(..., 'x.npz'): {rule}"


def test_wide_floats_narrow_with_a_check_or_stay(gpu):
    found = load_npz(npz(x=np.array([0.1, np.inf, np.nan]), c=np.array([1 + 2j])), gpu)
    assert found["x"].dtype is fb.float32 and found["c"].dtype is fb.complex64
    assert found["x"].tolist()[:2] == [np.float32(0.1), np.inf] and found["c"].tolist() == [1 + 2j]
    big = npz(x=np.array([1.0, -1e300]), c=np.array([0, 1e39j]))
    with pytest.raises(fb.FlambeauError) as told:
        load_npz(big, gpu)
    rule = "out of range for float32, the widest float of GPUs: load to device='cpu', or with keep_wide=True"
    assert str(told.value) == f"element 1 of 'x' is -1e+300, {rule}"
    kept = load_npz(big, gpu, keep_wide=True)
    assert kept["x"].tolist() == [1, -1e300] and kept["c"].tolist() == [0, 1e39j]
    assert kept["x"].device.type == "cpu" and kept["x"].dtype is fb.float64


def told_of(data: bytes) -> str:
    with pytest.raises(fb.FlambeauError) as told:
        fb.load(data, device="cpu")
    text = str(told.value).removeprefix("load(...): ")
    return text.removeprefix("it is truncated or not a .npy file (").removesuffix("): get a complete copy")


def test_arrays_that_lie_are_told():
    whole = npy(np.arange(4, dtype="i4"))
    assert told_of(whole[:-1]) == "'the array' has 15 of the 16 bytes of its shape"
    assert told_of(whole + b"1") == "'the array' has 17 of the 16 bytes of its shape"
    assert told_of(whole[:9]) == "an array lacks NumPy's magic bytes"
    assert told_of(whole[:6] + b"\x09" + whole[7:]) == "an array lacks NumPy's magic bytes"
    long = whole[:8] + struct.pack("<H", 60000) + whole[10:]
    rule = "too many or more than the file holds"
    assert told_of(long) == f"the header of an array has 60,000 bytes, {rule}"
    for a, b, text in (
        (b"'<i4'", b"'|O' ", "its elements are '|O': only numbers and bools can be read"),
        (b"'<i4'", b"'<U4'", "its elements are '<U4': only numbers and bools can be read"),
        (b"'<i4'", b"[('a'", "its elements are 'of several fields': only numbers and bools can be read"),
        (b"(4,)", b"(-4)", "the header of an array has no shape, descr or fortran_order"),
        (b"'shape'", b"'shapf'", "the header of an array has no shape, descr or fortran_order"),
        (
            b"(4,), }" + b" " * 20,
            b"(" + b"9" * 20 + b",), }  ",
            "the shape of an array has invalid sizes",
        ),
        (b"(4,)", b"(4 4", "the header of an array has no shape, descr or fortran_order"),
        (b"(4,), }     ", b"(4 4,), }   ", "the shape of an array has invalid sizes"),
        (b"(4,), }     ", b"(9999999999),", "the shape of 'the array' is not a list of at most 64 sizes"),
    ):
        assert told_of(whole.replace(a, b[: len(a)].ljust(len(a)))) == text
    objects = npy(np.array([{}], dtype=object))
    assert told_of(objects) == "its elements are '|O': only numbers and bools can be read"
    mixed = io.BytesIO()
    import zipfile

    with zipfile.ZipFile(mixed, "w") as z:
        z.writestr("a.npy", whole)
        z.writestr("b.txt", b"")
    assert "the archive contains files other than arrays" in told_of(mixed.getvalue())
