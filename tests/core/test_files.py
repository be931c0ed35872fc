"""Files: whole or not there, whoever is killed; nothing of the dead is left, nothing of the living taken."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flambeau.core import files

pytestmark = pytest.mark.skipif(files.fcntl is None, reason="this system lets nobody remove open files")
HANGS = """
import sys, time
from pathlib import Path
from flambeau.core import files
def write(part):
    {write}
    print("there", flush=True)
    time.sleep(100)
files.write_whole(Path(sys.argv[1]), write)
"""


def python(code: str, *args) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def writer(tmp_path):
    """A process that has written half of a file, and is about to write the other half."""
    process = python(HANGS.format(write="part.write_bytes(b'half')"), tmp_path / "x")
    assert process.stdout.readline() == "there\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_what_a_killed_process_left_goes_with_the_next_write(writer, tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / ".x.0123abcd.part").write_bytes(b"somebody else's")
    files.write_whole(tmp_path / "y", lambda part: part.write_bytes(b"y"))
    assert len(left(tmp_path)) == 4  # the living one's stays
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert (tmp_path / "x").read_bytes() == b"old" and len(left(tmp_path)) == 4
    files.write_whole(tmp_path / "y", lambda part: part.write_bytes(b"z"))
    assert left(tmp_path) == [".x.0123abcd.part", "x", "y"]
    assert (tmp_path / "y").read_bytes() == b"z"


def test_a_folder_that_a_killed_process_left_goes_too(tmp_path):
    process = python(
        "import sys, time\nfrom pathlib import Path\nfrom flambeau.core import files\n"
        "with files.part_of(Path(sys.argv[1]), folder=True) as part:\n"
        "    (part / 'deep').mkdir(); (part / 'deep' / 'file').write_text('half')\n"
        "    print('there', flush=True); time.sleep(100)",
        tmp_path / "x",
    )
    assert process.stdout.readline() == "there\n"
    files.sweep(tmp_path)
    assert len(left(tmp_path)) == 1
    process.kill()
    process.wait()
    process.stdout.close()
    files.sweep(tmp_path)
    assert left(tmp_path) == []


def test_a_write_that_fails_or_is_interrupted_leaves_what_was_there(tmp_path):
    files.write_whole(tmp_path / "x", lambda part: part.write_bytes(b"old"))
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def write(part, error=error):
            part.write_bytes(b"half")
            raise error

        with pytest.raises(type(error)):
            files.write_whole(tmp_path / "x", write)
        assert left(tmp_path) == ["x"] and (tmp_path / "x").read_bytes() == b"old"
    mask = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "y", lambda part: part.write_bytes(b""))
    finally:
        os.umask(mask)
    assert (tmp_path / "y").stat().st_mode & 0o777 == 0o640


@pytest.mark.share(5)
def test_many_writers_at_once(tmp_path):
    """Two processes and four threads write the same files for a while, one of them killed again and again."""
    code = (
        "import sys, itertools\nfrom pathlib import Path\nfrom flambeau.core import files\n"
        "print('there', flush=True)\n"
        "for i in itertools.count():\n"
        "    data = bytes([i % 251]) * 50_000\n"
        "    files.write_checked(Path(sys.argv[1]) / str(i % 3), data)\n"
    )
    stop, wrong = threading.Event(), []

    def work(seed: int) -> None:
        i = seed
        while not stop.is_set():
            i += 1
            path = tmp_path / str(i % 3)
            try:
                files.write_checked(path, bytes([i % 251]) * 50_000)
                data = files.read_checked(path)
                if data is None or len(data) != 50_000 or len(set(data)) != 1:
                    wrong.append(data)
            except Exception as e:
                wrong.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        process = python(code, tmp_path)
        process.stdout.readline()
        time.sleep(0.1)
        process.kill()
        process.wait()
        process.stdout.close()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    files.sweep(tmp_path)
    assert left(tmp_path) == ["0", "1", "2"]


def test_a_damaged_cache_file_is_none(tmp_path):
    path = tmp_path / "cache" / "x"
    assert files.read_checked(path) is None
    files.write_checked(path, b"what was made")
    assert files.read_checked(path) == b"what was made"
    whole = path.read_bytes()
    for damaged in (
        b"",
        whole[:10],
        whole[:-1],
        whole + b"x",
        bytes(len(whole)),
        whole[:40] + b"X" + whole[41:],
    ):
        path.write_bytes(damaged)
        assert files.read_checked(path) is None
    path.unlink()
    os.mkfifo(path)
    assert files.read_checked(path) is None


@pytest.mark.share(5)
def test_damaged_caches_of_the_start_are_made_anew(tmp_path):
    """Every file that a first run leaves in the cache folder, cut, changed, or none: the same numbers."""
    code = "import flambeau as fb\nprint((fb.arange(6).reshape(2, 3).float() @ fb.ones(3, 2)).exp().tolist())"
    env = {**os.environ, "FLAMBEAU_CACHE": str(tmp_path)}

    def result() -> str:
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wanted, kept = result(), [p for p in tmp_path.rglob("*") if p.is_file()]
    assert kept and not [p for p in kept if files.LEFT.fullmatch(p.name)]
    for i, path in enumerate(kept):
        data = path.read_bytes()
        changed = bytearray(data)
        for at in range(len(changed) // 2, len(changed), 97):
            changed[at] ^= 1 << i % 8
        path.write_bytes((data[: len(data) // 2], bytes(changed), b"", os.urandom(300))[i % 4])
    assert result() == wanted
    for path in kept:
        path.unlink()
        os.mkfifo(path)
    assert result() == wanted


def test_a_site_that_was_killed_while_written_is_written_again(tmp_path, monkeypatch):
    from flambeau.site.build import replace

    write = Path.write_bytes
    first = {"a.js": b"a", "old/b.js": b"b", "old/deep/c.js": b"c", "manifest.json": b"{1}"}
    second = {"a.js": b"A", "new/b.js": b"B", "manifest.json": b"{2}"}
    replace(tmp_path, first)

    def killed(path, data):
        if path.name == "b.js":
            raise KeyboardInterrupt
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        replace(tmp_path, second)
    monkeypatch.undo()
    assert (tmp_path / "manifest.json").read_bytes() == b""  # a site, and none that a page takes
    replace(tmp_path, second)
    found = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == second and not (tmp_path / "old").exists()
