"""Files from strangers: good ones of each kind, what becomes of them, and whether that is told.

`python -m helpers.strangers [MINUTES] [SEED]`, in this folder's parent, changes files of weights and
networks of onnx's suite for so long, in a process of its own each thousand, and prints what was not one clean
error: a crash, a hang, much memory, another exception.
"""

import asyncio
import io
import random
import re
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter

import numpy as np

import flambeau as fb
from flambeau.io import save_bytes, save_gguf
from helpers.paths import TESTS

HERE = TESTS / "io" / "made_by_torch"
WORDS = [b"\0\0\0\0", b"\xff" * 8, b"\x80\x02", b"PK\x03\x04", b"PK\x05\x06", b"(" * 9, b"]" * 9, b"R", b"."]
WORDS += [
    b"cos\nsystem\n",
    b"X\xff\xff\xff\xff",
    b"\x8a\xff",
    b"{",
    b"}",
    b"[" * 30,
    b"-1",
    b"9" * 30,
    b"'",
    b"GGUF",
]


def good_files() -> dict[str, bytes]:
    """One of each kind."""
    t = {"w": fb.arange(64, device="cpu").float().reshape(2, 32), "b": fb.tensor([True], device="cpu")}
    gguf, torch, npz, npy, deflated = (io.BytesIO() for _ in range(5))
    save_gguf({"w": t["w"], "i": t["w"].to(fb.int8)}, gguf, {"a": ["x", "y"], "n": [1, 2]}, quantize="Q4_0")
    np.savez(npz, a=np.arange(6.0), b=np.asfortranarray(np.ones((2, 3))))
    np.save(npy, np.ones((2, 3), "i2"))
    np.savez_compressed(deflated, a=np.arange(600.0))
    with zipfile.ZipFile(torch, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", b"\x80\x02}X\x01\x00\x00\x00aK\x01s.")
    files = {p.name: p.read_bytes() for p in sorted(HERE.iterdir())}
    return files | {
        "safetensors": asyncio.run(save_bytes(t, {"by": "a test"})),
        "gguf": gguf.getvalue(),
        "npz": npz.getvalue(),
        "npy": npy.getvalue(),
        "deflated.npz": deflated.getvalue(),
        "deflated.pt": torch.getvalue(),
    }


def changed(whole: bytes, rng: random.Random) -> bytes:
    """A file after one to three changes: bytes set, removed, put in, repeated, moved, or the end cut off."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(max(len(data), 1))
        kind = rng.randrange(7)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b""
        elif kind == 2:
            del data[at : at + rng.choice((1, 2, 9, 100))]
        elif kind == 3:
            word = rng.choice(WORDS)
            data[at : at + len(word) * rng.randrange(2)] = word
        elif kind == 4:
            data[at:at] = data[at : at + rng.choice((1, 8, 50))]
        elif kind == 5:
            other = rng.randrange(max(len(data), 1))
            data[at : at + 16] = data[other : other + 16]
        else:
            del data[at:]
    return bytes(data)


def sizes(found, seen=None) -> int:
    """Elements of all tensors of a nest."""
    seen = set() if seen is None else seen
    if id(found) in seen:
        return 0
    seen.add(id(found))
    if isinstance(found, fb.Tensor):
        return found.numel()
    if isinstance(found, dict | list | tuple):
        return sum(sizes(v, seen) for v in (found.values() if isinstance(found, dict) else found))
    return 0


def tried(name: str, data: bytes) -> bool:
    """Whether a file is refused; AssertionError where it takes long, much, or fails in another way."""
    began = time.process_time()
    try:
        sizes(fb.load(data, device="cpu"))
        refused = False
    except fb.FlambeauError as e:
        text = str(e)
        assert text.startswith("load(...): ") or re.match(r"element \d+ of ", text), text
        assert "\n" not in text and len(text) < 1200, text
        refused = True
    assert time.process_time() - began < 2, name
    return refused


# --- for longer ---

ROUND = 1000  # files that a process tries
MEMORY = 4 << 30  # bytes that it may take
PATIENCE = 30  # seconds for a file


def networks(rng: random.Random, count: int = 40) -> dict[str, tuple[bytes, dict]]:
    """Networks of onnx's suite as files, with what is fed to each."""
    from helpers import onnx_cases

    found, made = onnx_cases.cases(every=False), {}
    for name in rng.sample(sorted(found), count):
        model = onnx_cases.model_of(found[name])
        inputs = next(iter(onnx_cases.data_of(found[name], model)), ([], []))[0]
        feeds = dict(zip([v.name for v in model.graph.input], inputs, strict=False))
        made[name] = model.SerializeToString(), feeds
    return made


def network_tried(data: bytes, feeds: dict) -> bool:
    """Whether a network is refused, as a file or by what it is fed; any other error is raised."""
    try:
        fb.onnx.load(data, device="cpu")(feeds)
    except fb.onnx.OnnxError as e:
        assert str(e).replace("\n- ", "").isprintable(), str(e)  # a list of problems has a line for each
        return True
    return False


def a_round(seed: int) -> None:
    """Try files of a seed, each as often; print what is wrong, and at the end how many there were."""
    rng = random.Random(seed)
    files = {name: (whole, None) for name, whole in good_files().items()} | networks(rng)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    refused = 0
    for number in range(ROUND):
        name = rng.choice(list(files))
        whole, feeds = files[name]
        data = changed(whole, rng)
        signal.alarm(PATIENCE)
        try:
            refused += tried(name, data) if feeds is None else network_tried(data, feeds)
        except Exception as e:
            print(f"WRONG {seed} {number} {name}: {type(e).__name__}: {str(e)[:300]!r}", flush=True)
        signal.alarm(0)
    print(f"tried {ROUND} refused {refused}", flush=True)


def main(minutes: float, seed: int) -> None:
    """Rounds in processes of their own; what ends one is told with its seed."""
    end, counts = time.monotonic() + 60 * minutes, Counter()
    while time.monotonic() < end:
        command = [sys.executable, "-m", "helpers.strangers", "round", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            if line.startswith("tried "):
                counts.update(tried=int(line.split()[1]), refused=int(line.split()[3]))
            elif line.startswith("WRONG"):
                counts["wrong"] += 1
                print(line, flush=True)
        if done.returncode:
            counts["ended"] += 1
            print(f"ENDED {seed}: {done.returncode}: {done.stderr[-300:]!r}", flush=True)
        seed += 1
    print(", ".join(f"{count:,} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["round"]:
        a_round(int(sys.argv[2]))
    else:
        main(float((sys.argv[1:] or ["1"])[0]), int((sys.argv[2:] or ["0"])[0]))
