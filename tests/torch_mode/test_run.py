"""`flambeau run` and `python -m flambeau.torch` run scripts as `python` does."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from pathlib import Path
import torch
from beside import NAME

print(torch.__version__, sys.argv, __name__, Path(__file__).name, NAME)
x = torch.ones(2, requires_grad=True)
(x * 3).sum().backward()
print(x.grad, x.device, torch.tensor([1]).dtype)
if "fail" in sys.argv:
    def f():
        raise KeyError("a fault of the script")
    f()
sys.exit(3 if "exit" in sys.argv else 0)
"""
PRINTED = "tensor([3., 3.]) cpu torch.int64\n"


def run(*command, cwd):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60, cwd=cwd)


@pytest.mark.share(3)
def test_scripts_run_as_python_runs_them(tmp_path):
    """Of one process each: a script that exits, one that fails, and a module."""
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("-m", "flambeau", "run", "script.py", "--epochs", "2", "exit", cwd=tmp_path)
    head = "2.13.0+flambeau ['script.py', '--epochs', '2', 'exit'] __main__ script.py beside\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, head + PRINTED, "")
    failed = run("-m", "flambeau.torch", "script.py", "fail", cwd=tmp_path)
    assert failed.returncode == 1 and failed.stdout.endswith(PRINTED)
    lines = failed.stderr.splitlines()
    assert (
        lines[0] == "Traceback (most recent call last):" and lines[-1] == "KeyError: 'a fault of the script'"
    )
    assert 'File "script.py"' in lines[1] and "flambeau" not in failed.stderr
    module = run("-m", "flambeau.torch", "-m", "script", "a", cwd=tmp_path)
    assert module.returncode == 0 and "__main__ script.py beside" in module.stdout
    missing = run("-m", "flambeau.torch", "nothing.py", cwd=tmp_path)
    assert missing.returncode == 2
    assert missing.stderr == "flambeau run: can't open file 'nothing.py': No such file or directory\n"
