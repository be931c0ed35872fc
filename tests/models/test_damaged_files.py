"""Drawn mutations of a small GGUF file: each is read, or refused by one error, in little memory."""

import random
import struct
import time
import tracemalloc

import pytest
from helpers.gguf_models import tiny_chat

from flambeau import models
from flambeau.errors import FlambeauError
from flambeau.io import load_gguf
from flambeau.models.opened import open_model

EXTREMES = (0, 1, 2, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1)
COUNT = 40  # of each kind
SECONDS = 20.0  # of one file, on a loaded machine
ROOM = 24 << 20  # bytes that reading takes besides the file's: codebooks, tables, the tokenizer


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "tiny.gguf"
    tiny_chat(path, {r"(attn_[qkv]|ffn_gate)\.weight": "Q4_0"})
    return path.read_bytes()


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A cut, changed bytes, an extreme number, or bytes moved: mostly in the header."""
    end = rng.choice([64, 400, 2000, len(data)])
    at, kind = rng.randrange(min(end, len(data) - 8)), rng.randrange(5)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9))) + data[at + 4 :]
    if kind == 2:
        return data[:at] + struct.pack("<Q", rng.choice(EXTREMES)) + data[at + 8 :]
    if kind == 3:
        return data[:at] + struct.pack("<I", rng.choice(EXTREMES) & 0xFFFFFFFF) + data[at + 4 :]
    return data[:at] + data[at + rng.randrange(1, 64) :]


def read(call, data: bytes) -> bool:
    """Whether it was read; a FlambeauError is the only error that may come."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        call()
        was_read = True
    except FlambeauError as e:
        was_read = False
        assert "\n" not in str(e) and len(str(e)) < 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.perf_counter() - start < SECONDS
    assert peak < 40 * len(data) + ROOM, f"{peak:,} bytes for a file of {len(data):,}"
    return was_read


def test_tensors_of_mutations(whole):
    rng = random.Random(1)
    outcomes = [
        read(lambda d=d: [t.numpy() for t in load_gguf(d, "cpu").values()], d)
        for d in (mutated(whole, rng) for _ in range(COUNT))
    ]
    assert any(outcomes) and not all(outcomes)


@pytest.mark.share(2)
def test_networks_of_mutations(whole, tmp_path):
    rng, path = random.Random(2), tmp_path / "x.gguf"
    outcomes = []
    for _ in range(COUNT):
        data = mutated(whole, rng)
        path.write_bytes(data)
        outcomes.append(read(lambda: open_model(path, "cpu", keep_quantized=True), data))
    assert any(outcomes) and not all(outcomes)


SIZES = ("block_count", "embedding_length", "feed_forward_length", "attention.head_count",
         "attention.head_count_kv", "context_length")  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("name", SIZES)
def test_a_size_that_lies(name, whole, tmp_path):
    """A network is not built larger than its file."""
    key = f"llama.{name}".encode()
    at = whole.index(key) + len(key) + 4
    for value in (0, 1, 3, 100_000, 2**31 - 1, 2**32 - 1):
        data = whole[:at] + struct.pack("<I", value) + whole[at + 4 :]
        (tmp_path / "x.gguf").write_bytes(data)
        was_read = read(lambda: models.from_pretrained(tmp_path / "x.gguf", "cpu"), data)
        assert not was_read or name == "context_length", value
