"""Shaders held to what Chromium's compiler takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.device import told
from helpers import tint


def compiled(shaders: list[tuple[str, str, int | None]]) -> list[str]:
    """What Tint refuses of (WGSL, label, inputs or None): label, Tint's line, and the text about it."""
    icd = tint.driver_file()
    if not icd:
        pytest.skip(f"no Tint: there is no {tint.FILE} beside a Chromium, or no Chromium")
    env = os.environ | {"VK_DRIVER_FILES": icd, "VK_ICD_FILENAMES": icd}
    call = [sys.executable, str(Path(tint.__file__))]
    done = subprocess.run(call, input=json.dumps(shaders), capture_output=True, text=True, env=env)
    assert not done.returncode, f"Tint could not be asked: {done.stderr[-2000:]}"
    return [
        f"{shaders[int(i)][1]}: {told(message, shaders[int(i)][0])}"
        for i, message in json.loads(done.stdout).items()
    ]
