"""Shaders held to what Chromium's compiler takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.device import locate_error
from helpers import tint


def compiled(shaders: list[tuple[str, str, int | None]]) -> list[str]:
    """What Tint refuses of (WGSL, label, inputs or None): label, Tint's line, and the text about it."""
    pytest.importorskip("wgpudawn", reason="no Tint: wgpudawn is not installed")
    env = os.environ | {"WGPU_BACKEND_TYPE": "Null"}
    call = [sys.executable, str(Path(tint.__file__))]
    done = subprocess.run(call, input=json.dumps(shaders), capture_output=True, text=True, env=env)
    assert not done.returncode, f"Tint could not be asked: {done.stderr[-2000:]}"
    return [
        f"{shaders[int(i)][1]}: {locate_error(message, shaders[int(i)][0])}"
        for i, message in json.loads(done.stdout).items()
    ]
