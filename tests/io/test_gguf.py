"""GGUF: every format decodes to the bits that llama.cpp's gguf gives, files go round, bad ones are told."""

import io
import random
import struct
from hashlib import sha256

import numpy as np
import pytest

import flambeau as fb
from flambeau.io import load_gguf, open_weights, save_gguf
from flambeau.io.elements import LoadOptions
from flambeau.io.gguf_blocks import BLOCKS, decode_blocks
from flambeau.io.gguf_quantize import QUANTIZED, quantize_blocks

DECODED = {  # the seed of four blocks, and the hash of what gguf 0.19's dequantize makes of them
    "Q4_0": (0, "aed139d8263d3317"),
    "Q4_1": (3, "f1987ae2a92d6b6e"),
    "Q5_0": (0, "6187846e8826143f"),
    "Q5_1": (0, "3711cc94d269cb80"),
    "Q8_0": (0, "f20cce3df9999fea"),
    "Q2_K": (0, "6496c0a329214f9f"),
    "Q3_K": (0, "c25b5a093cf1d41b"),
    "Q4_K": (0, "85a07fa28db2293d"),
    "Q5_K": (0, "88ff27fb854d3b7f"),
    "Q6_K": (1, "86eeddaaeb0d9f07"),
    "TQ1_0": (0, "eea94ef8ee347201"),
    "TQ2_0": (0, "d2f02a50ce30d3ff"),
    "MXFP4": (0, "48755006e0ad4e33"),
    "NVFP4": (0, "1d57edc525342728"),
    "IQ4_NL": (0, "b00d196469c2d3bb"),
    "IQ4_XS": (0, "84da3e47816cebd7"),
    "IQ2_XXS": (0, "573848f9802b86ea"),
    "IQ2_XS": (0, "0f570d6ea9b867de"),
    "IQ2_S": (0, "cb1d4f64d9cb61d8"),
    "IQ3_XXS": (0, "5375b6a680d6a604"),
    "IQ3_S": (1, "fbb85be639da8f33"),
    "IQ1_S": (0, "6ed8a310cf75b13d"),
    "IQ1_M": (0, "92141eae8897dffd"),
}
WRITTEN = {  # the hash of what its quantize makes of 512 numbers
    "Q4_0": "344fd1565678c413",
    "Q4_1": "5b3303976e758b9c",
    "Q5_0": "05785f6c65ef7ef1",
    "Q5_1": "de8ee45dcfb680ac",
    "Q8_0": "4dd01531a040182a",
    "TQ1_0": "1c7b9f55f5a42771",
    "TQ2_0": "aba7f7cc13c30695",
    "MXFP4": "5be676e1e1364b30",
}

# Formats whose scales are searched for, which the gguf package does not write: the greatest relative error of
# normal numbers.
SEARCHED = {"Q2_K": 0.29, "Q3_K": 0.16, "Q4_K": 0.075, "Q5_K": 0.038, "Q6_K": 0.019}


# of numbers from 1 to 3: four levels have steps of 0.7 to 1, and the search fits large numbers first
ONE_SIGN = {"Q2_K": 0.7, "Q3_K": 0.7}


def short(data) -> str:
    return sha256(data).hexdigest()[:16]


def decode(name: str, raw: bytes, device) -> np.ndarray:
    form = BLOCKS[name]
    shape = (len(raw) // form.size, form.elements)
    return decode_blocks(name, memoryview(raw), shape, LoadOptions.of(device)).numpy()


def blocks_of(name: str) -> bytes:
    return random.Random(f"{name}{DECODED[name][0]}").randbytes(4 * BLOCKS[name].size)


def test_every_format_has_the_bits_of_llama_cpp():
    assert DECODED.keys() == BLOCKS.keys() and WRITTEN.keys() | SEARCHED.keys() == QUANTIZED.keys()
    for name, (_, wanted) in DECODED.items():
        assert short(decode(name, blocks_of(name), "cpu").tobytes()) == wanted, name


@pytest.mark.parametrize("name", ["Q4_K", "IQ2_XXS", "MXFP4"])
def test_the_device_decodes_them(gpu, name):
    assert short(decode(name, blocks_of(name), gpu).tobytes()) == DECODED[name][1]


def test_numbers_are_quantised_to_the_same_bits():
    for name, wanted in WRITTEN.items():
        draw = random.Random(name)
        x = np.array([draw.gauss(0, 1) * 10 ** draw.randint(-3, 3) for _ in range(512)], "f4")
        assert short(quantize_blocks(name, x.tobytes(), (2, 256))) == wanted, name


@pytest.mark.parametrize("name", SEARCHED)
def test_searched_scales_fit(name):
    rng = np.random.default_rng(0)

    def back(x):
        raw = quantize_blocks(name, np.ascontiguousarray(x, "f4").tobytes(), x.shape)
        return decode(name, raw, "cpu").reshape(x.shape)

    for scale in (1e-2, 1.0, 1e3):
        x = rng.standard_normal((64, 256)) * scale
        assert np.linalg.norm(back(x) - x) < SEARCHED[name] * np.linalg.norm(x), scale
    # numbers of one sign, of which only some formats have the least value, and numbers far from the others
    x = rng.uniform(1, 3, (32, 256))
    assert np.abs(back(x) - x).max() < ONE_SIGN.get(name, 0.25)
    x = rng.standard_normal((32, 256))
    x[:, ::97] *= 20
    assert np.linalg.norm(back(x) - x) < 2 * SEARCHED[name] * np.linalg.norm(x)
    assert not back(np.zeros((2, 256))).any()
    assert np.allclose(back(np.full((1, 256), -3.0)), -3, rtol=1e-2)
    # what the format holds exactly is found again
    held = back(rng.standard_normal((64, 256)))
    assert np.linalg.norm(back(held) - held) < 0.5 * SEARCHED[name] * np.linalg.norm(held)


METADATA = {
    "general.architecture": "llama",
    "count": 7,
    "below": -3,
    "large": 2**40,
    "largest": 2**64 - 1,
    "eps": 0.5,
    "flag": True,
    "tokens": ["a", "é", ""],
    "scores": [0.5, -1.5],
    "kinds": [1, 2, 3],
    "mixed": [1, -1, 2**40],
    "unsigned": [1, 2**40, 2**63 + 5],
    "none": [],
    "flags": [True, False],
}


def test_files_go_round(device, tmp_path):
    path = tmp_path / "m.gguf"
    tensors = {
        "f": fb.tensor([[1.5, -2.0, 3.0]], device=device),
        "h": fb.tensor([1.5], device=device).half(),
        "b": fb.tensor([[[1.5]], [[-2.0]]], device=device).bfloat16(),
        "i": fb.tensor([-1, 2**40], device=device),
        "c": fb.tensor([-128, 127], dtype=fb.int8, device=device),
        "none": fb.zeros(0, 3, device=device),
    }
    save_gguf(tensors, path, METADATA)
    back = fb.load(path, device=device)
    assert {n: (t.dtype, t.shape, t.tolist()) for n, t in back.items()} == {
        n: (t.dtype, t.shape, t.tolist()) for n, t in tensors.items()
    }
    assert all(t.device is device for t in back.values())
    with open_weights(path, device) as found:
        assert found.metadata == METADATA and found["f"].tolist() == [[1.5, -2, 3]]
        assert found.entries["b"].shape == (2, 1, 1) and found.entries["b"].kind == "bfloat16"


def test_what_is_quantised_when_it_is_written(tmp_path):
    x = fb.arange(128, device="cpu").float().reshape(2, 64) - 64
    tensors = {"w": x, "bias": x[0], "odd": x[:, :5], "i": x.to(fb.int32)}
    file = io.BytesIO()
    save_gguf(tensors, file, quantize="Q8_0")
    found = open_weights(file.getvalue(), "cpu")
    kinds = {n: e.kind for n, e in found.entries.items()}
    assert kinds == {"w": "Q8_0", "bias": "float32", "odd": "float32", "i": "int32"}
    assert (found["w"] - x).abs().max().item() < 0.3 and found["odd"].tolist() == x[:, :5].tolist()
    file = io.BytesIO()
    save_gguf(tensors, file, quantize={"^w$": "Q4_0", "bias": "Q5_1"})
    kinds = {n: e.kind for n, e in open_weights(file.getvalue(), "cpu").entries.items()}
    assert kinds == {"w": "Q4_0", "bias": "Q5_1", "odd": "float32", "i": "int32"}


@pytest.mark.parametrize(
    "give, text",
    [
        (
            dict(quantize="IQ4_NL"),
            "'w' can't be written as 'IQ4_NL': formats are Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K,",
        ),
        (dict(quantize={"w": "Q8_0"}), "'w' is f32[2, 3]: Q8_0 takes floats in rows of a multiple of 32"),
        (dict(metadata={"x": {}}), "metadata 'x' is {}: pass strings, numbers, bools or lists of them"),
        (
            dict(metadata={"x": [1, "a"]}),
            "metadata 'x' is a list of mixed types: use one type",
        ),
        (
            dict(metadata={"x": [True, 2]}),
            "metadata 'x' is a list of mixed types: use one type",
        ),
        (
            dict(metadata={"x": [-1, 2**63]}),
            "metadata 'x' has numbers below 0 and above the largest int64: use strings",
        ),
        (
            dict(metadata={"x": 2**64}),
            "metadata 'x' is 18446744073709551616: pass strings, numbers, bools or lists",
        ),
        (
            dict(metadata={"general.alignment": 3}),
            "metadata 'general.alignment' is 3, which is not a power of 2",
        ),
    ],
)
def test_what_is_not_written(give, text):
    with pytest.raises((TypeError, ValueError)) as told:
        save_gguf({"w": fb.ones(2, 3, device="cpu")}, io.BytesIO(), **give)
    assert text in str(told.value) and str(told.value).startswith("save_gguf(..., <_io.BytesIO object at ")


def test_dtypes_that_the_format_has_not():
    dtypes = "float32, float16, bfloat16, float64, int8, int16, int32, int64"
    rule = f"the format has tensors of up to 4 dims of {dtypes}"
    for t, shown in (
        (fb.tensor([True], device="cpu"), "bool[1]"),
        (fb.ones(1, 1, 1, 1, 1, device="cpu"), "f32[1, 1, 1, 1, 1]"),
        (fb.tensor([1], dtype=fb.uint8, device="cpu"), "u8[1]"),
    ):
        with pytest.raises(TypeError) as told:
            save_gguf({"w": t}, "x.gguf")
        assert str(told.value) == f"save_gguf(..., 'x.gguf'): 'w' is {shown}: {rule}"
    with pytest.raises(TypeError) as told:
        save_gguf({"w": 3}, "x.gguf")
    assert str(told.value) == "save_gguf(..., 'x.gguf'): 'w' is 3, not a tensor: wrap it in fb.tensor(...)"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def info(name="w", sizes=(4,), number=0, at=0) -> bytes:
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, number, at)


def gguf(infos=(), data=b"", metadata=(), version=3, counts=None) -> bytes:
    counts = counts or (len(infos), len(metadata))
    head = b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join(metadata) + b"".join(infos)
    return head + bytes(-len(head) % 32) + data


def told_of(data: bytes) -> str:
    with pytest.raises(fb.FlambeauError) as told:
        load_gguf(data, "cpu")
    text = str(told.value).removeprefix("load_gguf(...): ")
    return text.removeprefix("it is truncated or not a .gguf file (").removesuffix("): get a complete copy")


def test_files_that_lie_are_told():
    assert load_gguf(gguf([info()], bytes(16)), "cpu")["w"].tolist() == [0, 0, 0, 0]
    assert told_of(b"GG") == "the magic number at byte 0 needs 4 bytes, but only 2 remain"
    assert told_of(b"GGML" + bytes(40)) == "it does not begin with GGUF"
    assert told_of(gguf(version=1)) == "it has version 1: only 2 and 3 are supported: convert it again"
    assert told_of(gguf(version=3 << 24)).startswith("it is big-endian, which is not")
    for counts, what in (((99, 0), "99 tensors"), ((0, 99), "99 values of metadata")):
        assert told_of(gguf(counts=counts)) == f"it declares {what}, too many for a file of its size"
    n = "1,152,921,504,606,846,976 tensors"
    assert told_of(gguf(counts=(1 << 60, 0))) == f"it declares {n}, too many for a file of its size"
    assert told_of(gguf([info()], bytes(15))) == "'w' ends at byte 80, and the file at 79"
    assert told_of(gguf([info(at=1 << 62)])).startswith("'w' ends at byte 4,611,686,018,427,387,9")
    assert told_of(gguf([info(at=5)], bytes(99))) == "'w' begins at byte 69, which is not a multiple of 32"
    two = [info("a", (16,)), info("b", (16,), at=32)]
    assert told_of(gguf(two, bytes(128))) == "'a' and 'b' overlap at byte 128"
    assert told_of(gguf([info(), info()], bytes(16))) == "'w' occurs twice"
    assert told_of(gguf([info(sizes=(1 << 40,))])) == "the shape of 'w' is not a list of at most 64 sizes"
    assert told_of(gguf([info(sizes=(1,) * 5)])) == "'w' has 5 dims, more than 4"
    assert told_of(gguf([info(sizes=(33,), number=2)])) == (
        "'w' of shape [33] does not divide into blocks of 32"
    )
    four = gguf([info(number=4)], bytes(16))
    assert told_of(four).startswith("'w' is of format 4: only these can be read: float32,")
    alignment = text("general.alignment") + struct.pack("<II", 4, 24)
    assert told_of(gguf(metadata=[alignment])) == "its alignment is '24', which is not a power of 2"
    same = text("a") + struct.pack("<II", 4, 1)
    assert told_of(gguf(metadata=[same, same])) == "metadata 'a' occurs twice"
    strange = text("a") + struct.pack("<I", 77) + bytes(9)
    assert told_of(gguf(metadata=[strange])) == "metadata 'a' has the unknown type 77"
    deep = text("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 40 + bytes(12)
    assert told_of(gguf(metadata=[deep])) == "metadata 'a' has lists more than 16 deep in each other"
    wide = text("a") + struct.pack("<IIQ", 9, 9, 1 << 40) + bytes(40)
    assert told_of(gguf(metadata=[wide])).startswith(
        "metadata 'a' has 1,099,511,627,776 values, too many for"
    )
    listed = text("a") + struct.pack("<IIQ", 9, 77, 1) + bytes(40)
    assert told_of(gguf(metadata=[listed])) == "metadata 'a' is a list of the unknown type 77"
    many = text("a") + struct.pack("<IIQ", 9, 0, 1 << 40)
    assert told_of(gguf(metadata=[many])).startswith(
        "metadata 'a' has 1,099,511,627,776 values, too many for"
    )
    long = struct.pack("<Q", 1 << 63)
    assert told_of(gguf(metadata=[long + bytes(20)])).startswith(
        "a name of metadata at byte 32 needs 9,223,372"
    )
    assert told_of(gguf([info(sizes=(2**31 - 1,) * 4)], bytes(64))).startswith("'w' ends at byte 85,070,")


def test_lists_of_lists(tmp_path):
    metadata = {"a": [[1, 2], [], [3]], "b": [["x"], ["y", "z"]], "c": [[[0.5]], [[1.0], [2.0]]], "last": 7}
    save_gguf({"w": fb.ones(2, device="cpu")}, tmp_path / "x.gguf", metadata)
    with open_weights(tmp_path / "x.gguf", "cpu") as found:
        assert found.metadata == metadata and found["w"].tolist() == [1, 1]


# --- models in parts, as gguf-split writes them


def cut(folder, count=3):
    """21 tensors in three files of 8, 8 and 5, and what they hold."""
    tensors = {f"w{i}": fb.full((4,), float(i), device="cpu") for i in range(21)}
    for part in range(count):
        names = list(tensors)[part * 8 :][:8]
        metadata = {"split.no": part, "split.count": 3, "split.tensors.count": 21}
        more = {"general.name": "tiny"} if not part else {}
        path = folder / f"tiny-{part + 1:05}-of-00003.gguf"
        save_gguf({n: tensors[n] for n in names}, path, {**more, **metadata})
    return {name: t.tolist() for name, t in tensors.items()}


def test_a_model_in_parts_is_loaded_whole(tmp_path):
    """The first part gave 8 of 21 tensors."""
    wanted = cut(tmp_path)
    for part in ("00001", "00003"):
        path = tmp_path / f"tiny-{part}-of-00003.gguf"
        for load in (load_gguf, fb.load):
            assert {name: t.tolist() for name, t in load(path, "cpu").items()} == wanted
        with open_weights(path, "cpu") as found:
            assert {name: found[name].tolist() for name in found} == wanted
            assert found.metadata["general.name"] == "tiny"


def told_of_parts(f):
    with pytest.raises(fb.FlambeauError) as told:
        fb.load(f, device="cpu")
    return str(told.value).partition(": ")[2]


def test_a_part_without_the_others(tmp_path):
    cut(tmp_path, 2)
    first = tmp_path / "tiny-00001-of-00003.gguf"
    part = "it is part 1 of the 3 of a model, and"
    gone = f"{part} 'tiny-00003-of-00003.gguf' is not in its folder: get all parts"
    assert told_of_parts(first) == gone
    data = first.read_bytes()
    assert told_of_parts(data) == f"{part} bytes have no folder: pass a path"
    (tmp_path / "other.gguf").write_bytes(data)
    rule = "its name must end with -00001-of-00003.gguf, as the names of the other parts do"
    assert told_of_parts(tmp_path / "other.gguf") == f"{part} {rule}"
    (tmp_path / "tiny-00003-of-00003.gguf").write_bytes(data)
    damaged = (
        "it is truncated or not a .gguf file ('tiny-00003-of-00003.gguf' is not part 3 of 3): get"
        " a complete copy"
    )
    assert told_of_parts(first) == damaged
    save_gguf({"w0": fb.ones(1)}, tmp_path / "tiny-00003-of-00003.gguf", {"split.no": 2, "split.count": 3})
    damaged = "it is part 1 of the 3 of a model, whose parts have 16 tensors of 21"
    assert told_of_parts(first) == f"it is truncated or not a .gguf file ({damaged}): get a complete copy"


# --- beside the gguf package ---


@pytest.mark.torch
def test_all_formats_on_drawn_blocks(device):
    """Each format's blocks of random bytes, as gguf's dequantize has them: bits, or no number."""
    from gguf import quants
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    rng = np.random.default_rng(0)
    for name, form in BLOCKS.items():
        kind = GGMLQuantizationType[name]
        assert (int(kind), GGML_QUANT_SIZES[kind]) == (form.number, (form.elements, form.size))
        raw = rng.integers(0, 256, (41, form.size), dtype="u1")
        with np.errstate(all="ignore"):
            wanted = quants.dequantize(raw, kind)
        got = decode(name, raw.tobytes(), device)
        finite = np.isfinite(wanted)
        assert (got.view("u4") == wanted.view("u4"))[finite].all() and finite.mean() > 0.5, name
        assert (np.isfinite(got) == finite).all(), name


# relative errors of normal numbers, by types whose scales are searched: half a step of 4, 5 and 6 bits
SEARCHED = {"Q2_K": 0.29, "Q3_K": 0.16, "Q4_K": 0.08, "Q5_K": 0.04, "Q6_K": 0.02}
OF_ITS_WRITER = [name for name in QUANTIZED if name not in SEARCHED]


@pytest.mark.torch
def test_all_that_it_quantises():
    from gguf import quants
    from gguf.constants import GGMLQuantizationType

    rng = np.random.default_rng(1)
    for name in OF_ITS_WRITER:
        for scale, change in ((1, abs), (1e-6, np.negative), (1e4, np.round), (1e-30, np.copy), (0, np.copy)):
            x = change(rng.normal(size=(40, 256)).astype("f4") * np.float32(scale))
            with np.errstate(all="ignore"):
                wanted = quants.quantize(x, GGMLQuantizationType[name])
            assert quantize_blocks(name, x.tobytes(), x.shape) == wanted.tobytes(), (name, scale)
    for name, error in SEARCHED.items():  # the package only reads these
        x = rng.normal(size=(40, 256)).astype("f4")
        blocks = quantize_blocks(name, x.tobytes(), x.shape)
        got = quants.dequantize(np.frombuffer(blocks, "u1").reshape(40, -1), GGMLQuantizationType[name])
        assert np.linalg.norm(got - x) < error * np.linalg.norm(x), name


@pytest.mark.torch
def test_its_reader_reads_our_files_and_we_its(tmp_path):
    from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants

    ours, theirs = tmp_path / "ours.gguf", tmp_path / "theirs.gguf"
    x = np.random.default_rng(2).normal(size=(3, 64)).astype("f4")
    save_gguf({"x": fb.tensor(x, device="cpu"), "h": fb.tensor(x, device="cpu").half()}, ours, METADATA)
    reader = GGUFReader(ours)
    assert {n: reader.fields[n].contents() for n in METADATA if n != "none"} == {
        n: v for n, v in METADATA.items() if n != "none"
    }
    assert {t.name: t.tensor_type.name for t in reader.tensors} == {"x": "F32", "h": "F16"}
    np.testing.assert_array_equal(reader.tensors[0].data, x)
    writer = GGUFWriter(theirs, "llama")
    writer.add_array("tokens", ["a", "b"])
    writer.add_float32("eps", 0.5)
    for name in ("F32", "F16", "BF16", *QUANTIZED):
        kind = GGMLQuantizationType[name]
        wide = np.tile(x, (1, 4))
        if name in SEARCHED:
            data = np.frombuffer(quantize_blocks(name, wide.tobytes(), wide.shape), "u1").reshape(3, -1)
        else:
            data = quants.quantize(wide, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = open_weights(theirs, "cpu")
    assert found.metadata["tokens"] == ["a", "b"] and found.metadata["general.architecture"] == "llama"
    for tensor in GGUFReader(theirs).tensors:
        wanted = quants.dequantize(tensor.data, tensor.tensor_type)
        np.testing.assert_array_equal(found[tensor.name].float().numpy().view("u4"), wanted.view("u4"))
