"""Folders with one for each class: images, texts and sound against files that Pillow and `wave` wrote."""

import pickle
import struct
import sys
import uuid
import wave

import numpy as np
import pytest

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader


def said(kind, call, root):
    with pytest.raises(kind) as e:
        call()
    return str(e.value).replace(str(root), "T")


def write_wav(path, raw, width, channels=1, rate=16_000):
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(raw)


def test_images(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    for name, colour in (("cat", (255, 0, 0)), ("dog", (0, 0, 255))):
        (tmp_path / name).mkdir()
        for i in range(2):
            pillow.new("RGB", (3, 2), colour).save(tmp_path / name / f"{i}.png")
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    folder = data.ImageFolder(tmp_path)
    assert folder.classes == ["cat", "dog"] and folder.class_to_idx["dog"] == 1 and len(folder) == 4
    images, labels = next(iter(DataLoader(folder, 4, num_workers=2)))
    assert images.shape == (4, 2, 3, 3) and images.dtype is fb.uint8 and labels.tolist() == [0, 0, 1, 1]
    assert images[2, 0, 0].tolist() == [0, 0, 255]
    small = data.ImageFolder(
        tmp_path, lambda image: image.mean(), loader=lambda path: np.ones(2) * len(path.stem)
    )
    assert small[3] == (1.0, 1)
    names = data.ImageFolder(tmp_path, np.mean, ["cat", "dog"].__getitem__)
    assert names[0] == (85.0, "cat") and names[3] == (85.0, "dog")
    some = data.ImageFolder(tmp_path, is_valid_file=lambda path: path.endswith(("1.png", ".txt")))
    assert [p.name for p, _ in some.samples] == ["1.png", "1.png", "notes.txt"]


def test_files_of_any_kind(tmp_path):
    """Nested folders, endings in capitals, an empty class, a folder called like a file, a stray file."""
    for name in ("a/b/c", "empty", "z/folder.NPY"):
        (tmp_path / name).mkdir(parents=True)
    files = {"a/b/c/one.npy": 1, "a/two.NPY": 2, "z/folder.NPY/three.npy": 3, "stray.npy": 4}
    for name, value in files.items():
        with open(tmp_path / name, "wb") as file:
            np.save(file, np.array([value]))
    (tmp_path / "a" / "other.txt").write_text("x")
    for extensions in (".npy", [".npy", ".npz"]):
        folder = data.DatasetFolder(tmp_path, np.load, extensions, lambda a: a * 10)
        assert folder.classes == ["a", "empty", "z"] and len(folder) == 3
        assert [(a.tolist(), label) for a, label in folder] == [([10], 0), ([20], 0), ([30], 2)]
    chosen = data.DatasetFolder(
        tmp_path,
        lambda path: path.name,
        target_transform=lambda label: -label,
        is_valid_file=lambda path: "two" in path or "three" in path,
    )
    assert list(chosen) == [("two.NPY", 0), ("three.npy", -2)]
    every = data.DatasetFolder(tmp_path, lambda path: path.name)
    assert list(every) == [("one.npy", 0), ("other.txt", 0), ("two.NPY", 0), ("three.npy", 2)]


def test_texts(tmp_path):
    texts = {
        "gut/ä.txt": "schön\n",
        "gut/b/ö.TXT": "",
        "schlecht/a.txt": "übel\r\nnein",
        "schlecht/a.md": "-",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    folder = data.TextFolder(tmp_path, encoding="latin-1")
    assert folder.classes == ["gut", "schlecht"]
    found = {folder.samples[i][0].name: folder[i] for i in range(len(folder))}
    assert found == {"ä.txt": ("schön\n", 0), "ö.TXT": ("", 0), "a.txt": ("übel\nnein", 1)}
    sizes = data.TextFolder(tmp_path, len, "latin-1")
    batches = [(n.tolist(), labels.tolist()) for n, labels in DataLoader(sizes, 2, num_workers=2)]
    assert batches == [([0, 6], [0, 0]), ([9], [1])]
    wrong = "T/gut/ä.txt'): it is not utf-8 at byte 3: pass its encoding"
    assert said(ValueError, lambda: data.TextFolder(tmp_path)[1], tmp_path) == f"TextFolder('{wrong}"
    with pytest.raises(ValueError, match="it is not utf-8 at byte 3") as e:
        list(DataLoader(data.TextFolder(tmp_path), 2, num_workers=1))
    assert "TextFolder: raised by item 1" in e.value.__notes__


# (bits, the samples' bytes, what they are worth in units of the lowest bit): little endian, 8 bit from 128 on
SAMPLES = [
    (8, bytes([128, 0, 255, 129, 127]), [0, -128, 127, 1, -1]),
    (16, np.array([0, -32768, 32767, 1, -1], "<i2").tobytes(), [0, -32768, 32767, 1, -1]),
    (24, bytes.fromhex("000000 000080 ffff7f 010000 ffffff"), [0, -(2**23), 2**23 - 1, 1, -1]),
    (32, np.array([0, -(2**31), 2**31 - 1, 1, -1], "<i4").tobytes(), [0, -(2**31), 2**31 - 1, 1, -1]),
]


@pytest.mark.parametrize("bits, raw, worth", SAMPLES, ids=[str(bits) for bits, *_ in SAMPLES])
def test_read_audio(tmp_path, bits, raw, worth):
    path = tmp_path / "ton ♪.wav"
    write_wav(path, raw, bits // 8, rate=44_100)
    sound, rate = data.read_audio(path)
    expected = (np.array(worth) / 2.0 ** (bits - 1)).astype("f4")
    assert rate == 44_100 and sound.dtype == np.float32 and sound.shape == (1, 5)
    assert np.array_equal(sound[0], expected) and np.abs(sound).max() == 1
    write_wav(path, raw * 2, bits // 8, channels=2)  # 10 samples of one channel are 5 of two
    sound, _ = data.read_audio(path)
    assert np.array_equal(sound, np.tile(expected, 2).reshape(5, 2).T) and sound.flags.c_contiguous
    write_wav(path, b"", bits // 8, channels=3)
    assert data.read_audio(path)[0].shape == (3, 0)


def test_sound_with_a_long_head(tmp_path):
    """WAVE_FORMAT_EXTENSIBLE, as ffmpeg writes 24 bit: written out by the format's description."""
    path, raw = tmp_path / "a.wav", bytes.fromhex("000040 0000c0")
    guid = uuid.UUID("00000001-0000-0010-8000-00aa00389b71").bytes_le
    head = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 96_000, 288_000, 3, 24, 22, 24, 4) + guid
    chunks = b"WAVEfmt " + struct.pack("<I", 40) + head + b"data" + struct.pack("<I", len(raw)) + raw
    path.write_bytes(b"RIFF" + struct.pack("<I", len(chunks)) + chunks)
    sound, rate = data.read_audio(path)
    assert sound.tolist() == [[0.5, -0.5]] and rate == 96_000


def test_sound_that_is_cut_off(tmp_path):
    """As of a recorder that was killed: whole samples of all channels are given."""
    path = tmp_path / "cut.wav"
    write_wav(path, np.arange(8, dtype="<i2").tobytes(), 2, channels=2)
    path.write_bytes(path.read_bytes()[:-3])
    assert (data.read_audio(path)[0] * 2**15).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_audio_folder(tmp_path):
    """SpeechCommands' layout, batches by threads; a transform is of the samples alone."""
    for i, name in enumerate(("no/a_nohash_0.wav", "yes/a_nohash_0.wav", "yes/b_nohash_1.WAV")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_wav(tmp_path / name, np.full(4 + i, i << 8, "<i2").tobytes(), 2)
    folder = data.AudioFolder(tmp_path, lambda sound: sound[:, :4] * 2)
    ((sound, rate, label),) = DataLoader(folder, 3, num_workers=2)
    assert sound.shape == (3, 1, 4) and sound.dtype is fb.float32 and rate.tolist() == [16_000] * 3
    assert label.tolist() == [0, 1, 1] and sound[:, 0, 0].tolist() == [0, 2 / 128, 4 / 128]
    plain = data.AudioFolder(tmp_path)
    assert plain.classes == ["no", "yes"] and plain[-1][0].shape == (1, 6) and plain[-1][1:] == (16_000, 1)
    with pytest.raises(IndexError, match=r"^AudioFolder\[3\]: index is out of range: the length is 3$"):
        plain[3]
    (tmp_path / "_background_noise_").mkdir()
    write_wav(tmp_path / "_background_noise_" / "doing_the_dishes.wav", b"\0\0", 2)
    assert data.AudioFolder(tmp_path).samples == plain.samples and "_" not in "".join(plain.classes)


def test_folders_go_to_processes(tmp_path):
    """What is read there is read here: a folder pickles with what it reads by."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_bytes(b"\xe9")
    write_wav(tmp_path / "a" / "b.wav", b"\0\0", 2)
    texts, sounds = data.TextFolder(tmp_path, encoding="latin-1"), data.AudioFolder(tmp_path)
    assert pickle.loads(pickle.dumps(texts))[0] == ("é", 0)
    assert pickle.loads(pickle.dumps(sounds))[0] == (np.zeros((1, 1)), 16_000, 0)


def test_errors(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert said(fb.FlambeauError, lambda: data.read_image("a.png"), tmp_path) == (
        "read_image('a.png'): needs pillow, which is not installed: pip install"
        " 'flambeau[data]', or only pillow"
    )
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.flac").write_bytes(b"fLaC")
    rule = "pass a folder with one subfolder for each class"
    for kind, holds in (("Image", "images"), ("Text", "texts (.txt)"), ("Audio", "sound (.wav)")):
        make = getattr(data, f"{kind}Folder")
        for root in (tmp_path, tmp_path / "none"):
            is_none = root.name == "none"
            reason = "no such folder" if is_none else f"it contains no {holds}"
            assert said(ValueError, lambda m=make, r=root: m(r), tmp_path) == (
                f"{kind}Folder('{'T/none' if is_none else 'T'}'): {reason}: {rule}"
            )
    assert said(ValueError, lambda: data.DatasetFolder(tmp_path, np.load, ".npy"), tmp_path) == (
        f"DatasetFolder('T'): it contains no files: {rule}"
    )
    both = {"extensions": ".npy", "is_valid_file": str.isalpha}
    assert said(ValueError, lambda: data.DatasetFolder(tmp_path, np.load, **both), tmp_path) == (
        "DatasetFolder(extensions=..., is_valid_file=...): both select files: pass one of them"
    )


def test_errors_of_sound(tmp_path):
    path = tmp_path / "a.wav"
    rule = "only PCM .wav of 8, 16, 24 or 32 bits is supported: convert the file"

    def told(content):
        path.write_bytes(content)
        return said(ValueError, lambda: data.read_audio(path), tmp_path)

    write_wav(path, b"\0\0", 2)
    whole = path.read_bytes()
    assert told(b"fLaC" * 20) == f"read_audio('T/a.wav'): file does not start with RIFF id: {rule}"
    assert told(b"") == f"read_audio('T/a.wav'): it ends too early: {rule}"
    floats = whole[:20] + b"\3\0" + whole[22:]
    assert told(floats) == f"read_audio('T/a.wav'): unknown format: 3: {rule}"
    wide = whole[:34] + b"\x40\0" + whole[36:]
    assert told(wide) == f"read_audio('T/a.wav'): samples of 64 bit: {rule}"
    with pytest.raises(FileNotFoundError):
        data.read_audio(tmp_path / "none.wav")
