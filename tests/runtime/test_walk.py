"""How far a reader walks who follows one value: `bench/walk.py` says how it is counted."""

import re
import subprocess
import sys

import pytest
from helpers.paths import ROOT

import flambeau as fb


def test_a_value_passes_few_files_on_its_way_to_the_host():
    device = fb.get_default_device()
    if device.kind != "gpu" or not device.limits.software:
        pytest.skip("the kernels of GPUs are chosen in more files")
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "walk.py"], capture_output=True, text=True, check=True
    )
    files, changes = map(int, re.search(r"numpy: (\d+) files, (\d+) changes", done.stdout).groups())
    assert files <= 29, done.stdout
    assert changes <= 166, done.stdout
