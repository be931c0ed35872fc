"""Scripts of semantics/ print the same by the real torch and by `python -m flambeau.torch`."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "semantics").glob("*.py"))


def printed(*command: str) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", *command], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_prints_what_torch_prints(script, torch):
    assert printed("-m", "flambeau.torch", str(script)) == printed(str(script))


@pytest.mark.share(3)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_runs_without_torch(script):
    """Its text is compared with torch's under --torch only; here it runs to its end."""
    assert printed("-m", "flambeau.torch", str(script))
