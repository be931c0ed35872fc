"""`flambeau serve`: it says where it listens, answers, and ends at an interrupt."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner
from helpers.gguf_models import tiny_chat

from flambeau.cli import main, serve
from flambeau.models.opened import measure


@pytest.mark.share(4)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_a_server_from_its_start_to_its_end(tmp_path):
    tiny_chat(tmp_path / "tiny.gguf")
    call = [
        sys.executable,
        "-m",
        "flambeau",
        "serve",
        tmp_path / "tiny.gguf",
        "--device",
        "cpu",
        "--port",
        "0",
    ]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = iter(process.stderr.readline, "")
            url = next(found[0] for line in lines if (found := re.search(r"http://\S+(?=;)", line)))
            with urllib.request.urlopen(f"{url}/models") as answer:
                assert json.load(answer)["data"][0]["id"] == "tiny"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0 and "ending" in process.stderr.read()
        finally:
            process.kill()


def test_what_fits_is_said_before_loading(tmp_path, monkeypatch):
    tiny_chat(tmp_path / "tiny.gguf")
    call = ["serve", str(tmp_path / "tiny.gguf"), "--device", "cpu", "--context", "256"]
    monkeypatch.setattr(serve, "open_model", lambda *_: pytest.fail("it was loaded"))
    size = measure(tmp_path / "tiny.gguf")
    room = size.weights + size.token * 1000
    monkeypatch.setattr(serve, "memory_of", lambda device: room)
    done = CliRunner().invoke(main, [*call, "--slots", "64"])
    assert done.exit_code == 1 and "256 tokens of each of 64 slots" in done.stderr
    assert done.stderr.strip().endswith(f"of {room / 2**20:,.0f} MiB of memory: pass --slots 3")
    done = CliRunner().invoke(main, [*call, "--slots", "5"])
    assert done.stderr.strip().endswith("pass --slots 3 or --context 200")
    room = size.weights - 1
    done = CliRunner().invoke(main, call)
    assert done.stderr.strip().endswith("MiB of memory: serve a smaller or quantised model")


def test_errors(tmp_path):
    tiny_chat(tmp_path / "tiny.gguf")
    for args, message in (
        ((tmp_path / "none.gguf",), "no such file: check the path"),
        ((tmp_path / "tiny.gguf", "--device", "cpu", "--host", "0.0.0.0"), "other machines reach it"),
    ):
        done = CliRunner().invoke(main, ["serve", *map(str, args)])
        assert done.exit_code == 1 and message in done.stderr
