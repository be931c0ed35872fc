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
WITH_CHILDREN = """
import torch
import torch.multiprocessing as mp
from squares import Squares
from torch.utils.data import DataLoader

def work(rank, queue, x):
    torch.manual_seed(rank)
    y = (x * (rank + 3)).requires_grad_()
    (y * y).sum().backward()
    queue.put((rank, torch.__version__, y.grad.tolist(), torch.rand(1).item()))

def double(x):
    return x * 2

if __name__ == "__main__":
    x, context = torch.tensor([1.0, 2.0]), mp.get_context("spawn")
    queue = context.Queue()
    mp.spawn(work, args=(queue, x), nprocs=1)
    print(queue.get(timeout=60))
    with context.Pool(1) as pool:
        print(pool.map(double, [x, x + 1]))
    loader = DataLoader(Squares(), batch_size=2, num_workers=2, multiprocessing_context="spawn")
    print([batch.tolist() for batch in loader])
"""
SQUARES = """
import torch

class Squares(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return torch.tensor([i * i, torch.utils.data.get_worker_info() is not None])
"""
PRINTED = "tensor([3., 3.]) cpu torch.int64\n"


def run(*command, cwd):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=240, cwd=cwd)


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


@pytest.mark.share(8)
def test_children_of_the_method_spawn(tmp_path):
    """They import the script again, with the parent's torch. PyTorch prints the same, but for its version."""
    (tmp_path / "squares.py").write_text(SQUARES)
    (tmp_path / "script.py").write_text(WITH_CHILDREN)
    done = run("-m", "flambeau", "run", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "(0, '2.13.0+flambeau', [6.0, 12.0], 0.49625658988952637)",
        "[tensor([2., 4.]), tensor([4., 6.])]",
        "[[[0, 1], [1, 1]], [[4, 1]]]",
    ]
