"""`flambeau launch`: the environment, the output, exit codes, kill -9, restarts, and what ends with it."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from click.testing import CliRunner

from flambeau import distributed
from flambeau.cli import main as command
from flambeau.distributed.launcher import Launcher, LaunchPlan

SCRIPT = textwrap.dedent("""
    import os, sys, time
    import numpy as np
    from flambeau import distributed
    distributed.init_process_group(timeout=20)
    rank, mode = distributed.get_rank(), sys.argv[1]
    total = np.full(50_000, rank + 1.0)  # through shared memory
    distributed.all_reduce(total)
    print(total[-1], os.environ["LOCAL_RANK"], os.environ["FLAMBEAU_DEVICE"])
    if rank == 1 and mode == "raise":
        raise ValueError("broken here")
    if rank == 1 and mode == "kill":
        os.kill(os.getpid(), 9)
    if mode == "restart":
        if rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            sys.exit(7)
    if mode == "elastic":
        try:  # rank 1 may die while another one is in its first barrier
            distributed.barrier()  # a rank that has not mapped rank 1's memory yet would raise above
            if rank == 1:
                os.kill(os.getpid(), 9)
            distributed.barrier()
        except distributed.DistributedError as error:
            print(error)
            group = distributed.reconfigure(10)
            distributed.barrier()
            print("left are", group.size)
    if mode == "wait":
        print("pid", os.getpid(), flush=True)
        time.sleep(60)
    if mode != "elastic":
        distributed.barrier()
""")


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return str(path)


def launch(*arguments: str):
    result = CliRunner().invoke(command, ["launch", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("workers", [1, 4])
def test_threads_of_numpy_do_not_depend_on_the_workers_that_compute_by_it(workers, monkeypatch):
    monkeypatch.setattr("flambeau.distributed.launcher.os.cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for device, threads in (("cpu", "1"), ("gpu:0", str(8 // workers))):
        monkeypatch.setenv("FLAMBEAU_DEVICE", device)
        rows = Launcher(LaunchPlan(["true"], workers))._environments(1, 0)
        assert [row["OMP_NUM_THREADS"] for row in rows] == [threads] * workers


@pytest.mark.share(3)
def test_output_and_a_traceback_printed_last(script):
    code, out, err = launch("--nproc-per-node", "2", "--max-restarts", "1", script, "restart")
    assert code == 0, err
    # both attempts: the second has no failure
    assert sorted(out.splitlines()) == ["[0] 3.0 0 cpu"] * 2 + ["[1] 3.0 1 cpu"] * 2
    assert "launch: rank 1 failed with exit code 7\nlaunch: restart 1 of 1\n" in err
    code, out, err = launch("--devices", "2", script, "raise")
    assert code == 1
    assert err.endswith('    raise ValueError("broken here")\nValueError: broken here\n')
    assert "[0] flambeau.errors.DistributedError: " in err and "rank 1: ValueError: broken here" in err


@pytest.mark.share(3, first=1)
def test_kill_9_and_an_elastic_run(script):
    began = time.monotonic()
    code, out, err = launch("--devices", "2", script, "kill")
    assert code == 137 and "rank 1 died" in err and err.endswith("launch: rank 1 failed with exit code 137\n")
    code, out, err = launch("--devices", "3", "--elastic", script, "elastic")
    assert code == 0, err
    assert "[0] left are 2\n" in out and "[2] left are 2\n" in out
    assert "launch: rank 1 ended with code 137: the others go on\n" in err
    assert time.monotonic() - began < 30


@pytest.mark.share(3, first=2)
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_and_kill_9_of_the_launcher_end_the_workers(script):
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        run = [sys.executable, "-m", "flambeau", "launch", "--devices", "2", script, "wait"]
        child = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        pids = []
        while len(pids) < 2:
            line = child.stdout.readline()
            pids += [int(line.split()[-1])] if " pid " in line else []
        child.send_signal(number)
        assert child.wait(20) == code
        deadline = time.monotonic() + 60
        while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not [pid for pid in pids if is_alive(pid)]
        child.stdout.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:  # nobody waits for an orphan in some containers
        return file.read().rpartition(")")[2].split()[0] != "Z"


def test_wrong_options(script, monkeypatch):
    for arguments, text in [
        (
            ("--devices", "0"),
            "launch(devices=0, hosts=1, rank=0): devices must be at least 1, and host ranks count from 0",
        ),
        (
            ("--hosts", "2"),
            "several hosts need a token: set FLAMBEAU_TOKEN to the same secret on all of them",
        ),
    ]:
        code, _, err = launch(*arguments, script, "")
        assert (code, err) == (1, f"flambeau: {text}\n")


def test_an_incomplete_environment(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="RANK, WORLD_SIZE, MASTER_ADDR not set: start the script by"):
        distributed.init_process_group()
    with pytest.raises(ValueError, match="unknown: use one of auto, sockets, gloo, nccl, mpi"):
        distributed.init_process_group("smoke")
    with pytest.raises(ValueError, match="no process group exists: call"):
        distributed.get_rank()
    distributed.init_process_group(rank=0, world_size=1)
    with pytest.raises(ValueError, match="a process group already exists"):
        distributed.init_process_group(rank=0, world_size=1)
    distributed.destroy_process_group()
    assert not distributed.is_initialized()
