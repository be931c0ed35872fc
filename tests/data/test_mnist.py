import gzip
import hashlib
import importlib.util
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from helpers.paths import ROOT

from flambeau import data
from flambeau.data.download import Content
from flambeau.data.idx import read_idx

module = sys.modules["flambeau.data.mnist"]  # `data.mnist` is the function
NAMES = list(module.FILES)
ADVICE = "delete it or replace it with a complete copy"
SHIPPED = "12,000 of MNIST's 70,000 digits, shipped with flambeau: "


def said(kind, call):
    with pytest.raises(kind) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


# --- MNIST's files


def idx(array, kind=8):
    return bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def tiny_files(counts=(7, 3)):
    rng = np.random.default_rng(0)
    files = {}
    for prefix, count in zip(("train", "t10k"), counts):
        files[f"{prefix}-images-idx3-ubyte"] = idx(rng.integers(0, 256, (count, 28, 28), np.uint8))
        files[f"{prefix}-labels-idx1-ubyte"] = idx(np.arange(count, dtype=np.uint8) % 10)
    return files


@pytest.fixture
def folder(tmp_path):
    """A folder with four tiny files, two of them packed."""
    root = tmp_path / "digits"
    root.mkdir()
    for name, content in tiny_files().items():
        if name.startswith("train"):
            (root / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (root / name).write_bytes(content)
    return root


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No test reads the user's cache or reaches a network."""
    monkeypatch.delenv("FLAMBEAU_DATA", raising=False)
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(module, "MIRRORS", ("http://127.0.0.1:9/",))
    monkeypatch.setattr(module, "failed_downloads", {})


def test_mnist_from_a_folder(folder, monkeypatch):
    train, test = data.mnist(root=folder), data.mnist(train=False, root=str(folder))
    assert train.images.shape == (7, 28, 28) and train.images.dtype == np.uint8
    assert train.labels.tolist() == list(range(7)) and train.labels.dtype == np.int32
    assert train.source == f"7 training digits from {folder}"
    assert len(test) == 3 and test.source == f"3 test digits from {folder}"
    image, label = test[2]
    assert (image == test.images[2]).all() and label == 2
    monkeypatch.setenv("FLAMBEAU_DATA", str(folder))
    assert data.mnist().source == train.source


def test_mnist_from_the_cache(folder, tmp_path):
    (tmp_path / "cache").mkdir()
    folder.rename(tmp_path / "cache" / "mnist")
    assert data.mnist().source == f"7 training digits from {tmp_path / 'cache' / 'mnist'}"


def test_the_shipped_subset():
    train, test = data.mnist(download=False), data.mnist(train=False, download=False)
    assert train.images.shape == (10_000, 28, 28) and test.images.shape == (2_000, 28, 28)
    assert np.bincount(train.labels).tolist() == [987, 1124, 993, 1022, 974, 904, 986, 1044, 975, 991]
    assert np.bincount(test.labels).tolist() == [196, 227, 206, 202, 196, 178, 192, 206, 195, 202]
    assert {train.source, test.source} == {SHIPPED + "download=False"}
    assert sum(file.stat().st_size for file in module.SUBSET.iterdir()) < 2_500_000


def test_missing_files_are_listed_at_once(folder, tmp_path):
    (folder / NAMES[1]).with_suffix(".gz").unlink()
    (folder / NAMES[2]).unlink()
    assert said(ValueError, lambda: data.mnist(root=folder)) == (
        f"mnist(root='{folder}'): missing train-labels-idx1-ubyte, t10k-images-idx3-ubyte: "
        "put the files there, plain or with .gz"
    )
    assert said(ValueError, lambda: data.mnist(root=tmp_path / "none")) == (
        f"mnist(root='{tmp_path / 'none'}'): no such folder: name one that holds MNIST's four files"
    )


images = np.zeros((2, 28, 28), np.uint8)
whole = idx(images)
promise = f"{(2**32 - 1) ** 3:,}"
BAD = {
    "labels": (idx(np.zeros(2, np.uint8)), "wrong magic number: it starts with 0x00000801, not 0x00000803"),
    "floats": (idx(images, 13), "wrong magic number: it starts with 0x00000d03, not 0x00000803"),
    "empty": (b"", "wrong magic number: it starts with 0x, not 0x00000803"),
    "header": (whole[:9], "it ends inside its 16-byte header"),
    "short": (whole[:1000], "it ends after 984 of the 1,568 bytes that its header promises"),
    "long": (whole + b"\0", "it holds more than the 1,568 bytes that its header promises"),
    "liar": (whole[:4] + b"\xff" * 12, f"its header promises {promise} bytes, more than 1,073,741,824"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_idx_files(tmp_path, case):
    content, problem = BAD[case]
    for path, packed in ((tmp_path / "f", content), (tmp_path / "f.gz", gzip.compress(content))):
        path.write_bytes(packed)
        text = said(ValueError, lambda path=path: read_idx(path, 3))
        assert text == f"mnist('{path}'): {problem}: {ADVICE}"


def test_bad_gzip_files(tmp_path):
    path, packed = tmp_path / "f.gz", gzip.compress(whole)
    for content, problem in (
        (b"<html>", "not a gzip file: it starts with 0x3c68, not 0x1f8b"),
        (packed[:-6], "its gzip data ends early"),
        (packed[:-8] + b"\0" * 8, "its gzip data is damaged"),
        (packed[:10] + b"\xff" * 20, "its gzip data is damaged"),
    ):
        path.write_bytes(content)
        assert said(ValueError, lambda: read_idx(path, 3)) == f"mnist('{path}'): {problem}: {ADVICE}"


def test_an_unreadable_file(tmp_path):
    assert said(ValueError, lambda: read_idx(tmp_path, 3)) == (
        f"mnist('{tmp_path}'): it cannot be read (it is a folder, not a file): {ADVICE}"
    )


def test_files_that_do_not_fit(folder):
    images, labels = folder / NAMES[2], folder / NAMES[3]

    def problem():
        return said(ValueError, lambda: data.mnist(train=False, root=folder))

    labels.write_bytes(idx(np.zeros(4, np.uint8)))
    advice = "use two files of the same set"
    assert problem() == f"mnist('{labels}'): 4 labels for the 3 images of {images.name}: {advice}"
    labels.write_bytes(idx(np.array([0, 12, 3], np.uint8)))
    assert problem() == f"mnist('{labels}'): a label is 12, not 0 to 9: put files in MNIST's format there"
    images.write_bytes(idx(np.zeros((3, 8, 8), np.uint8)))
    assert problem() == f"mnist('{images}'): images are 8 x 8, not 28 x 28: put files in MNIST's format there"
    images.write_bytes(idx(np.zeros((0, 28, 28), np.uint8)))
    labels.write_bytes(idx(np.zeros(0, np.uint8)))
    assert problem() == f"mnist('{images}'): no images in it: put files in MNIST's format there"


# --- downloading


class Mirror(BaseHTTPRequestHandler):
    """Serves `files`: path -> bytes, or (bytes, length promised)."""

    files: dict = {}
    asked: list = []

    def do_GET(self):
        self.asked.append(self.path)
        found = self.files.get(self.path)
        if found is None:
            return self.send_error(404)
        content, promised = found if isinstance(found, tuple) else (found, len(found))
        self.send_response(200)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def mirror(monkeypatch):
    """A server with the four tiny files under /a/ and /b/, taken as MNIST's mirrors."""
    handler = type("Handler", (Mirror,), {"files": {}, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    handler.netloc = f"127.0.0.1:{server.server_port}"
    monkeypatch.setattr(module, "MIRRORS", tuple(f"http://{handler.netloc}/{part}/" for part in "ab"))
    files = tiny_files()
    content = {n: Content(len(c), hashlib.sha256(c).hexdigest()) for n, c in files.items()}
    monkeypatch.setattr(module, "FILES", content)
    for name, unpacked in files.items():
        handler.files[f"/a/{name}.gz"] = gzip.compress(unpacked, 1)
        handler.files[f"/b/{name}.gz"] = gzip.compress(unpacked, 9)  # other bytes, the same content
    yield handler
    server.shutdown()
    server.server_close()
    thread.join()


def cache(tmp_path):
    return sorted(file.name for file in (tmp_path / "cache" / "mnist").glob("*"))


def test_downloads_once_with_progress(mirror, tmp_path):
    calls = []
    train = data.mnist(progress=lambda *call: calls.append(call))
    assert len(train) == 7 and train.source == f"7 training digits from {tmp_path / 'cache' / 'mnist'}"
    assert cache(tmp_path) == sorted(f"{name}.gz" for name in NAMES)
    first = len(mirror.files[f"/a/{NAMES[0]}.gz"])
    assert calls[0] == (f"{NAMES[0]}.gz", first, first) and len(calls) == 4
    assert len(data.mnist(train=False)) == 3 and len(mirror.asked) == 4


def test_the_second_mirror_stands_in(mirror, tmp_path):
    good = mirror.files[f"/a/{NAMES[0]}.gz"]
    mirror.files[f"/a/{NAMES[0]}.gz"] = (good[:900], len(good))
    mirror.files[f"/a/{NAMES[1]}.gz"] = gzip.compress(b"other content")
    mirror.files[f"/a/{NAMES[2]}.gz"] = good[:900]
    del mirror.files[f"/a/{NAMES[3]}.gz"]
    assert len(data.mnist()) == 7 and len(mirror.asked) == 8
    assert cache(tmp_path) == sorted(f"{name}.gz" for name in NAMES)


@pytest.mark.parametrize(
    ("served", "problem"),
    [
        (lambda good: None, "HTTP 404"),
        (lambda good: b"<html>log in</html>", "the gzip data is incomplete"),
        (lambda good: good[:900], "the gzip data is incomplete"),
        (lambda good: (good[:900], 1000), "cut short after 900 of 1,000 bytes"),
        (lambda good: gzip.compress(gzip.decompress(good)[:-1] + b"x"), "the checksum differs"),
        (lambda good: gzip.compress(gzip.decompress(good)[:-1]), "the checksum differs"),
        (lambda good: gzip.compress(bytes(10**7)), "the checksum differs"),
        (lambda good: bytes(200_000), "more than the 71,040 bytes expected"),
    ],
)
def test_a_bad_download_leaves_nothing_and_says_why(mirror, tmp_path, served, problem):
    for part in "ab":
        path = f"/{part}/{NAMES[0]}.gz"
        mirror.files[path] = served(mirror.files[path])
    reason = f"{mirror.netloc}: {problem}; {mirror.netloc}: {problem}"
    target = tmp_path / "cache" / "mnist" / f"{NAMES[0]}.gz"
    assert said(data.DownloadError, data.download_mnist) == (
        f"download('{target}'): {reason}: check the network, or place the file there yourself"
    )
    assert cache(tmp_path) == []
    assert data.mnist().source == SHIPPED + reason


def test_offline_falls_back_and_asks_once(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setattr(module, "MIRRORS", (f"http://127.0.0.1:{port}/",))  # nobody listens there now
    assert data.mnist().source == SHIPPED + "no network"
    monkeypatch.setattr(module, "download_mnist", None)
    assert data.mnist(train=False).source == SHIPPED + "no network"


def test_a_mirror_that_stalls(mirror, monkeypatch):
    monkeypatch.setattr(sys.modules["flambeau.data.download"], "TIMEOUT", 0.05)
    release = threading.Event()
    mirror.do_GET = lambda self: release.wait(5)
    assert data.mnist().source == SHIPPED + "no network"
    release.set()


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "file"))
    assert data.mnist().source == SHIPPED + "the folder cannot be written (Not a directory)"


def test_a_user_who_stops_a_download_leaves_nothing(mirror, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data.mnist(progress=stop)
    assert cache(tmp_path) == []


def test_cache_folder(monkeypatch, tmp_path):
    assert data.cache_folder("mnist") == tmp_path / "cache" / "mnist"
    monkeypatch.delenv("FLAMBEAU_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for platform, folder in (("linux", "xdg"), ("win32", "local"), ("darwin", "home/Library/Caches")):
        monkeypatch.setattr(sys, "platform", platform)
        assert data.cache_folder("mnist") == tmp_path / folder / "flambeau" / "mnist"


# --- the script that chose the subset


@pytest.fixture
def script():
    path = ROOT / "scripts" / "make_mnist_subset.py"
    spec = importlib.util.spec_from_file_location("make_mnist_subset", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_subset_keeps_the_shares_of_classes(script):
    labels = np.repeat(np.arange(10), [100, 200, 100, 100, 50, 150, 100, 0, 100, 99]).astype(np.uint8)
    chosen = script.choose(labels, 100)
    assert np.bincount(labels[chosen], minlength=10).tolist() == [10, 20, 10, 10, 5, 15, 10, 0, 10, 10]
    assert (np.diff(chosen) > 0).all()


def test_the_subset_is_the_same_byte_for_byte(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "COUNTS", {"train": 40, "t10k": 20})
    for name, content in tiny_files((100, 50)).items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    for target in ("one", "two"):
        script.main(tmp_path, tmp_path / target)
    assert {file.name for file in (tmp_path / "one").iterdir()} == {f"{name}.gz" for name in NAMES}
    for name in NAMES:
        one, two = ((tmp_path / target / f"{name}.gz").read_bytes() for target in ("one", "two"))
        assert one == two and one[4:10] == bytes([0, 0, 0, 0, 2, 255])
    assert read_idx(tmp_path / "one" / f"{NAMES[0]}.gz", 3).shape == (40, 28, 28)
