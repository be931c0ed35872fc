"""DistributedDataParallel: gradients and errors with threads as workers, and a script beside torch."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parent / "workers" / "train_ddp.py"


def of_two(work):
    """The results of a function of a group on two workers."""
    from flambeau import distributed

    return distributed.run_threads(2, work)


def test_gradients_are_means(mode):
    from flambeau.torch import nn

    def work(group):
        mode.manual_seed(group.rank)  # rank 0's weights count
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        parallel = nn.parallel.DistributedDataParallel(model, process_group=group)
        x = mode.arange(12.0).reshape(4, 3) * (group.rank + 1)
        y = mode.arange(8.0).reshape(4, 2)
        alone = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        alone.load_state_dict(model.state_dict())
        (alone(x) * y).sum().backward()
        with parallel.no_sync():  # half of it, kept
            (parallel(x) * y).sum().div(2).backward()
        model[1].running_mean.fill_(group.rank)
        (parallel(x) * y).sum().div(2).backward()
        own = [p.grad.tolist() for p in alone.parameters()]
        return own, [p.grad.tolist() for p in parallel.parameters()], list(parallel.state_dict())

    (own, got, names), (other, also, _) = of_two(work)
    assert got == also and names[0] == "module.0.weight"
    for a, b, c in zip(own, other, got, strict=True):
        np.testing.assert_allclose(c, (np.array(a) + np.array(b)) / 2, rtol=2e-5, atol=2e-5)


def test_parameters_without_a_gradient(mode):
    from flambeau.torch import nn

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(nn.Linear(2, 1, bias=False) for _ in range(3))

        def forward(self, x, which):
            return self.parts[which](x)

    def work(group):
        options = {"process_group": group, "broadcast_buffers": False}
        model = nn.parallel.DistributedDataParallel(Branches(), find_unused_parameters=True, **options)
        model(mode.ones(1, 2), group.rank).sum().backward()
        gradients = [None if p.grad is None else p.grad.tolist() for p in model.parameters()]
        strict = nn.parallel.DistributedDataParallel(Branches(), **options)
        strict(mode.ones(1, 2), 0).sum().backward()
        with pytest.raises(RuntimeError, match="depend on parts.1.weight, parts.2.weight: pass find_unused"):
            strict(mode.ones(1, 2), 0)
        with pytest.raises(ValueError, match="no parameter of it requires a gradient"):
            nn.parallel.DistributedDataParallel(nn.ReLU(), **options)
        return gradients

    assert of_two(work) == [[[[0.5, 0.5]], [[0.5, 0.5]], None]] * 2


def test_objects(mode):
    dist = mode.distributed

    def work(group):
        every, sent = [None, None], [{"w": mode.ones(2)}] if group.rank == 0 else [None]
        dist.all_gather_object(every, (group.rank, "x"), group)
        dist.broadcast_object_list(sent, 0, group)
        return every, sent[0]["w"].tolist(), dist.get_backend(group)

    assert of_two(work) == [([(0, "x"), (1, "x")], [1, 1], "gloo")] * 2


@pytest.mark.share(4)
def test_script_prints_what_torch_prints(torch, tmp_path):
    """Two workers of gloo by torchrun, and of flambeau launch."""
    assert torch
    real = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ours = [sys.executable, "-m", "flambeau", "launch", "--torch", "--nproc-per-node", "2"]

    def lines(call):
        done = subprocess.run(
            [*call, str(SCRIPT), str(tmp_path / "model.pt")],
            capture_output=True, text=True, check=False, timeout=90,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return sorted(re.sub(r"^\[\d\] ", "", line) for line in done.stdout.splitlines())

    printed = lines(ours)
    assert len(printed) == 7 and printed == lines(real)
