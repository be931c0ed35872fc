"""Fixtures: every test that asks for `device` runs on the best adapter and on the NumPy device.

A test that asks for `torch` compares with PyTorch. Such tests are left out, and counted in one line, unless
pytest is called with `--torch`, which runs them and nothing else: a missing torch is an error then.
"""

import ctypes
import gc
import os
import secrets
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytest.register_assert_rewrite("helpers", "grids")
pytest_plugins = ["helpers.budget", "helpers.kernels", "helpers.quick", "helpers.shares"]

os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")  # Mesa warns on stderr without one
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # a peer in tests: several processes would fill a GPU with it
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # SciPy computes with the arrays that it is given
os.environ.setdefault("FLAMBEAU_TUNE", "off")  # the rules are tested, not what was measured on this machine
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads spin while they wait
# Where Python is told to keep no bytecode, each process that a test starts would compile all modules anew,
# which is half of the second that it takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
GRID_SEED, TURN = "FLAMBEAU_GRID_SEED", "FLAMBEAU_TURN"


def turn_of_commit() -> str:
    """The number of commits, so that the next has the next turn; of a shallow clone, digits of the hash."""
    folder = Path(__file__).parent.parent
    shallow = (folder / ".git" / "shallow").exists()
    call = ["git", *(["rev-parse", "HEAD"] if shallow else ["rev-list", "--count", "HEAD"])]
    try:
        answer = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "0"  # no repository
    return str(int(answer[:6], 16)) if shallow else answer.strip()


if TURN not in os.environ:  # before helpers.draws is imported; xdist's workers inherit it
    os.environ[TURN] = turn_of_commit()

# marker, and option of pytest and of `./run test`: the library that its tests compare with
PEERS = {"torch": "PyTorch", "jax": "JAX"}
LEFT_OUT = pytest.StashKey[Counter]()


def pytest_addoption(parser):
    for name, library in PEERS.items():
        told = f"run the comparisons with {library}, and nothing else"
        parser.addoption(f"--{name}", action="store_true", help=told)


def pytest_report_header(config):
    if config.getoption("--torch"):
        return f"new cases by {GRID_SEED}={os.environ[GRID_SEED]}"
    return f"shares by {TURN}={os.environ.get(TURN, 0)}; FLAMBEAU_GRID=2 takes all"


def pytest_configure(config):  # before a device is opened; workers inherit what is set
    if config.getoption("--torch"):  # the fixed cases alone are drawn without it
        os.environ.setdefault(GRID_SEED, str(secrets.randbelow(10**6)))
    if "FLAMBEAU_KERNELS" not in os.environ:  # there the driver is as users have it
        from helpers import tint

        # Most of a test's time is a software driver compiling a kernel that runs once: SwiftShader takes a
        # third of llvmpipe's. Drivers named here come before others, so it is the best adapter but for a GPU.
        os.environ.setdefault("VK_ADD_DRIVER_FILES", tint.driver_file())
        if not config.getoption("--torch"):  # what is drawn anew there takes it as users have it
            os.environ.setdefault("GALLIVM_PERF", "nopt")  # of llvmpipe, where there is none of it
    config.stash[LEFT_OUT] = Counter()
    for name, library in PEERS.items():
        config.addinivalue_line("markers", f"{name}: compares with {library} in `./run test --{name}`")


def peer_of(item) -> str:
    """The library that a test compares with, or ""."""
    asked = {*item.fixturenames, *(mark.name for mark in item.iter_markers())}
    return next((name for name in PEERS if name in asked), "")


@pytest.hookimpl(trylast=True)  # of what -k and -m leave
def pytest_collection_modifyitems(config, items):
    wanted = {name for name in PEERS if config.getoption(name)} or {""}
    for item in items:
        if name := peer_of(item):
            item.add_marker(name)
    others = [item for item in items if peer_of(item) not in wanted]
    config.stash[LEFT_OUT] = Counter(filter(None, map(peer_of, others)))
    if hasattr(config, "workeroutput"):  # a worker of xdist, which has no summary of its own
        config.workeroutput["left out"] = dict(config.stash[LEFT_OUT])
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if peer_of(item) in wanted]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Nothing of what is collected dies: looking through it again and again is for nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def keep_memory():
    """Have glibc keep what is freed for the next kernel: else the system takes it back and zeroes it anew,
    which is a twentieth of a test's time."""
    trim, pad = -1, -2  # M_TRIM_THRESHOLD and M_TOP_PAD of malloc.h
    with suppress(AttributeError, OSError, TypeError):  # another libc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(trim, 1 << 30), mallopt(pad, 64 << 20)


def pytest_collection_finish():
    keep_memory()
    keep_out()


def keep_out():
    """Keep what is there, 17,000 tests at first, out of each gc.collect() of a test: half a second each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def young():
    """What earlier files left behind for good, as caches of plans, is looked through once."""
    yield
    keep_out()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[LEFT_OUT] |= Counter(getattr(node, "workeroutput", {}).get("left out", {}))


def pytest_terminal_summary(terminalreporter, config):
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    tried = Counter()
    for properties in (dict(r.user_properties) for r in reports if r.when == "call"):
        tried.update({name: count for name, count in properties.items() if isinstance(count, int)})
    if tried["new cases"]:
        terminalreporter.write_line(
            f"{tried['new cases']:,} new cases by {GRID_SEED}={os.environ[GRID_SEED]}"
        )
    if lines := tried["lines"]:
        ran = tried["lines by torch"]
        told = f"{ran:,} of {lines:,} lines of random programs ({ran / lines:.1%}) ran on torch as well"
        terminalreporter.write_line(told)
    for name, count in config.stash[LEFT_OUT].items():
        told = f"{count:,} comparison{'s' * (count > 1)} with {PEERS[name]}: ./run test --{name}"
        terminalreporter.write_line(told)


@pytest.fixture(scope="session")
def torch():
    """PyTorch, whose results ours are compared with."""
    import torch

    torch.set_num_threads(1)  # xdist's workers have the other cores
    return torch


@pytest.fixture(scope="session", autouse=True)
def opened():
    """The default device, opened before any test: what that says of the adapter is no test's output."""
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    with suppress(DeviceError):
        get_device()


@pytest.fixture
def users_driver():
    """The adapter that most users without a GPU have, llvmpipe, as the default device, where there is one."""
    from flambeau import set_default_device
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    with suppress(DeviceError):
        set_default_device("gpu:llvmpipe")
    yield get_device()
    set_default_device(None)


def leave_torch_mode():
    """Turn torch mode off, which an import of flambeau.torch turns on."""
    if (torch_mode := sys.modules.get("flambeau.torch.switch")) is not None:
        torch_mode.disable()


@pytest.fixture(autouse=True)
def alone():
    """A test begins as if no other thread had run anything: what several do is counted otherwise."""
    from threading import get_ident

    from flambeau.core import node as graph
    from flambeau.device import default

    graph._thread, graph._in_a_row = get_ident(), graph.ALONE
    blocks = default.blocks.get()
    leave_torch_mode()
    yield
    leave_torch_mode()
    assert default.process is None, "the test leaves a default device to the next: set None at its end"
    assert not blocks, "a fixture yields in a `with device` block: tests of other files would be in it"


@pytest.fixture(scope="module")
def uncollected():
    """Pause the garbage collector: a file that parses all sources spends three quarters of its time in it."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def collected():
    """Free what earlier tests left: freed during this one, it would change the memory that is counted."""
    gc.collect()


@pytest.fixture(scope="session", params=["gpu", "cpu"])
def device(request):
    """The device a test runs on; a machine without an adapter says so and skips the half it can't run."""
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    try:
        return get_device(request.param)
    except DeviceError as e:
        pytest.skip(f"no adapter: {e}")


@pytest.fixture(scope="session")
def gpu():
    """The best adapter, for tests of what only kernels do."""
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    try:
        return get_device("gpu")
    except DeviceError as e:
        pytest.skip(f"no adapter: {e}")
