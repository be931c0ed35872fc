"""Turns calls of `run` into what it calls, in a made-up checkout whose Python is a shell script."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from helpers.paths import ROOT

RUN = ROOT / "run"
POSIX = pytest.mark.skipif(os.name == "nt", reason="stands a shell script in for .venv's Python")
HELP = """\
./run COMMAND [ARGUMENTS]    (on Windows: python run COMMAND [ARGUMENTS])

  mnist        train a network on handwritten digits; writes mnist.safetensors and mnist.png
  test         check the code and run its tests; other arguments go to pytest
  check        the checks that test begins with: ruff and pyright
  web          build the site that runs flambeau in the browser, and serve it
  onnx         check, run, describe and write ONNX files
  classify     name photographs
  docs         build and serve the documentation
  doctor       say what this machine can run on, and what to do where it cannot
  test --quick ruff, and a test or two of every package: within a minute, for each save
  test --torch run the tests that compare with PyTorch
  test --jax   run the tests that compare with JAX

Any other command goes to flambeau, as in `./run bench --help`.
The first call makes .venv beside this file and installs into it what the command needs.
"""
FAKE_PYTHON = """\
#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
    "-m pip --version") ;;
    *"pip --disable"*) touch "$(dirname "$0")/flambeau"; echo "$PIP_SAYS"; exit ${PIP_CODE:-0} ;;
    *"-m ruff"*) echo "ruff: $*"; exit ${RUFF_CODE:-0} ;;
    *) echo "ran $*"; exit ${CODE:-0} ;;
esac
"""
FAKE_APT = '#!/bin/sh\necho "apt-get $@" >> "$CALLS"\n[ -z "$APT_SAYS" ] || { echo "$APT_SAYS"; exit 100; }\n'


def load_run():
    loader = SourceFileLoader("run_script", str(RUN))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_script", loader))
    loader.exec_module(module)
    return module


run = load_run()


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Checkout:
    """A folder with `run`, a pyproject.toml and a .venv whose Python only writes down its arguments."""

    def __init__(self, root: Path):
        self.root, self.calls = root / "checkout", root / "calls"
        self.root.mkdir()
        shutil.copy(RUN, self.root / "run")
        (self.root / "pyproject.toml").write_text("[project]\n")
        executable(self.root / ".venv/bin/python", FAKE_PYTHON)
        executable(root / "bin/apt-get", FAKE_APT)
        path = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "CALLS": str(self.calls)}

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """Calls the script and forgets the calls of the time before."""
        self.calls.write_text("")
        return subprocess.run(
            [sys.executable, self.root / "run", *arguments],
            env=self.environment | environment,
            capture_output=True,
            text=True,
        )

    def called(self) -> list[str]:
        """The calls of .venv's Python, with ROOT for the checkout's path."""
        lines = self.calls.read_text().replace(str(self.root), "ROOT").splitlines()
        return [line for line in lines if not line.startswith("apt-get")]


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def installs(what: str) -> list[str]:
    return ["-m pip --version", f"-m pip --disable-pip-version-check install --no-input -e ROOT{what}"]


def test_help_lists_the_commands():
    for arguments, code in [(["--help"], 0), (["-h"], 0), ([], 2)]:
        done = subprocess.run([sys.executable, RUN, *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (code, HELP, "")


def test_parses_on_python_3_8():
    ast.parse(RUN.read_text(), feature_version=(3, 8))


def test_old_python_is_told_what_to_install():
    with pytest.raises(run.Stop) as stop:
        run.check_python((3, 8, 10, "final", 0), "mnist")
    assert str(stop.value) == (
        "run mnist: Python 3.8.10 is too old: install 3.11 or newer and call `python3.11 run mnist`"
    )
    run.check_python((3, 11, 0, "final", 0), "mnist")


def test_every_extra_is_in_pyproject():
    import tomllib

    extras = tomllib.loads((RUN.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = [*run.COMMANDS.values(), *run.PEERS.values()]
    assert {extra for needed, _ in rows for extra in needed} <= set(extras)


def test_libraries_to_compare_with_come_by_their_extra_alone():
    import tomllib

    extras = tomllib.loads((RUN.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["torch"][0] == "torch==2.13.0"
    for name in ("torch", "jax"):
        assert [extra for extra, needs in extras.items() if any(n.startswith(name) for n in needs)] == [name]


def ready_root(root: Path, extras: list[str]) -> str:
    (root / "pyproject.toml").write_text("a")
    for name in ("python", "flambeau"):
        executable(Path(run.scripts(str(root), name)), "")
    run.write_stamp(str(root), extras)
    return str(root)


def test_stamp_answers_for_its_extras_and_their_subsets(tmp_path):
    root = ready_root(tmp_path, ["dev", "train"])
    assert run.read_stamp(root) == (run.fingerprint(root), ["dev", "train"])
    assert run.is_ready(root, []) and run.is_ready(root, ["train"]) and run.is_ready(root, ["train", "dev"])
    assert not run.is_ready(root, ["dawn"])
    assert [path.name for path in (tmp_path / ".venv").glob("*stamp*")] == ["flambeau.stamp"]


def test_stamp_ends_with_a_change_of_pyproject(tmp_path):
    root = ready_root(tmp_path, [])
    (tmp_path / "pyproject.toml").write_text("b")
    assert not run.is_ready(root, [])


def test_stamp_ends_with_a_move_of_the_checkout(tmp_path):
    (tmp_path / "here").mkdir()
    ready_root(tmp_path / "here", [])
    (tmp_path / "here").rename(tmp_path / "there")
    assert not run.is_ready(str(tmp_path / "there"), [])


@pytest.mark.parametrize("gone", ["python", "flambeau"])
def test_stamp_ends_with_a_lost_executable(tmp_path, gone):
    root = ready_root(tmp_path, [])
    os.remove(run.scripts(root, gone))
    assert not run.is_ready(root, [])


@pytest.mark.parametrize("text", ["", "nonsense", "\n\n"])
def test_broken_stamp_means_not_ready(tmp_path, text):
    root = ready_root(tmp_path, [])
    Path(run.stamp_path(root)).write_text(text)
    assert not run.is_ready(root, [])


@POSIX
def test_first_call_installs_and_second_only_runs(checkout):
    done = checkout.run("mnist", "--epochs", "1")
    assert checkout.called() == [*installs("[train]"), "ROOT/.venv/bin/flambeau mnist --epochs 1"]
    assert "installing flambeau[train] into .venv (once; a few minutes at most) ...\n" in done.stderr
    done = checkout.run("mnist", "--epochs", "1")
    assert checkout.called() == ["ROOT/.venv/bin/flambeau mnist --epochs 1"]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"ran {checkout.root}/.venv/bin/flambeau mnist --epochs 1\n"


@POSIX
def test_extras_add_up_over_commands(checkout):
    checkout.run("bench")
    assert checkout.called() == [*installs(""), "ROOT/.venv/bin/flambeau bench"]
    checkout.run("test")
    assert checkout.called()[:2] == installs("[dawn,dev,train]")
    checkout.run("mnist")
    assert checkout.called() == ["ROOT/.venv/bin/flambeau mnist"]
    (checkout.root / "pyproject.toml").write_text("[project] # new\n")
    checkout.run("doctor")
    assert checkout.called()[:2] == installs("[dawn,dev,train]")


@POSIX
def test_exit_code_is_the_commands_own(checkout):
    assert checkout.run("doctor", CODE="7").returncode == 7


@POSIX
def test_test_checks_the_code_first(checkout):
    checkout.run("doctor")
    done = checkout.run("test", "-k", "exp")
    assert checkout.called()[-3:] == [
        "-m ruff check .",
        "-m pyright",
        "-m pytest -n 2 --dist worksteal -k exp",
    ]
    assert done.stderr.endswith(
        "run test: ruff check .\nrun test: pyright\nrun test: pytest -n 2 --dist worksteal -k exp\n"
    )
    assert checkout.run("test", RUFF_CODE="1").returncode == 1
    assert checkout.called() == ["-m ruff check ."]


@POSIX
def test_the_checks_alone(checkout):
    checkout.run("doctor")
    assert checkout.run("check").stderr.endswith("run test: ruff check .\nrun test: pyright\n")
    assert checkout.called()[-2:] == ["-m ruff check .", "-m pyright"]
    assert checkout.run("check", RUFF_CODE="1").returncode == 1
    assert checkout.called() == ["-m ruff check ."]


@POSIX
def test_pyright_runs_again_only_if_a_file_that_it_reads_changed(checkout):
    checkout.run("doctor")
    source, both = checkout.root / "src/flambeau/one.py", ["-m ruff check .", "-m pyright"]
    source.parent.mkdir(parents=True)
    source.write_text("x: int = 1\n")
    assert checkout.run("check", CODE="1").returncode == 1  # a failure is not kept
    checkout.run("check")
    assert checkout.called()[-2:] == both
    passed = f"before (delete {checkout.root}/.venv/pyright.passed to run it again)"
    assert checkout.run("check").stderr.endswith(f"run test: pyright passed on these files {passed}\n")
    assert checkout.called() == both[:1]
    (checkout.root / "README.md").write_text("no source")
    checkout.run("check")
    assert checkout.called() == both[:1]
    source.write_text("x: int = 2\n")
    checkout.run("check")
    assert checkout.called() == both
    source.rename(source.with_name("two.py"))
    checkout.run("check")
    assert checkout.called() == both
    (checkout.root / ".venv/lib/python3.12/site-packages/numpy-2.0.dist-info").mkdir(parents=True)
    checkout.run("check")
    assert checkout.called() == both
    checkout.run("check")
    assert checkout.called() == both[:1]


@POSIX
def test_help_of_the_checks_calls_nothing(checkout):
    told = checkout.run("--help").stdout
    for words in (["test", "--help"], ["check", "-h"], ["test", "-k", "exp", "--help"]):
        assert checkout.run(*words).stdout == told and checkout.called() == []
    done = checkout.run("check", "--quick")
    assert (done.returncode, done.stderr) == (
        1,
        "run check: it takes no arguments: --quick: `./run test` passes them to pytest\n",
    )
    assert checkout.called() == []


@POSIX
def test_a_quick_one_leaves_out_what_is_slow(checkout):
    checkout.run("test")
    done = checkout.run("test", "--quick")
    assert checkout.called() == ["-m ruff check .", "-m pytest -n 2 --dist worksteal --quick"]
    assert done.stderr.endswith("run test: ruff check .\nrun test: pytest -n 2 --dist worksteal --quick\n")


@POSIX
def test_comparisons_install_their_library_once_and_run_alone(checkout):
    checkout.run("test")
    done = checkout.run("test", "--torch", "-k", "conv")
    ran = "-m pytest -n 2 --dist worksteal --torch -k conv"
    assert checkout.called() == [*installs("[arrays,clients,dawn,dev,torch,train]"), ran]
    assert done.stderr.endswith("run test: pytest -n 2 --dist worksteal --torch -k conv\n")
    checkout.run("test", "-k", "conv", "--torch")
    assert checkout.called() == ["-m pytest -n 2 --dist worksteal -k conv --torch"]
    checkout.run("test")
    assert checkout.called()[-2:] == ["-m ruff check .", "-m pytest -n 2 --dist worksteal"]
    checkout.run("bench", "--torch")
    assert checkout.called() == ["ROOT/.venv/bin/flambeau bench --torch"]


def after_installing(done: subprocess.CompletedProcess) -> str:
    return done.stderr.partition("(once; a few minutes at most) ...\n")[2]


@POSIX
def test_failed_pip_is_one_line(checkout):
    says = "Collecting x\nERROR: No space left on device\nnote: y"
    done = checkout.run("mnist", PIP_CODE="1", PIP_SAYS=says)
    assert done.returncode == 1
    assert after_installing(done) == (
        "run mnist: pip could not install flambeau[train]: No space left on device: "
        f"see {checkout.root}/.venv/pip.log and call it again\n"
    )
    assert (checkout.root / ".venv/pip.log").read_text().startswith("Collecting x\n")
    checkout.run("mnist")
    assert checkout.called()[:2] == installs("[train]")  # a failure leaves no stamp


@POSIX
def test_no_network_is_one_line(checkout):
    retrying = "WARNING: Retrying (Retry(total=4, ...\nERROR: No matching distribution found for hatchling"
    done = checkout.run("bench", PIP_CODE="1", PIP_SAYS=retrying)
    assert done.returncode == 1
    assert after_installing(done) == (
        "run bench: pip could not install flambeau: the package index cannot be reached: "
        "connect to the network and call it again\n"
    )


def test_failed_venv_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "output", lambda call: (1, ["first", "no ensurepip"]))
    with pytest.raises(run.Stop) as stop:
        run.make_venv(str(tmp_path), "mnist")
    assert str(stop.value) == (
        "run mnist: .venv could not be made: no ensurepip: "
        "see that this folder is writable and this Python has ensurepip, and call it again"
    )


def test_unwritable_checkout_is_one_line(tmp_path, monkeypatch):
    (tmp_path / ".venv").write_text("a file where a folder should be")
    monkeypatch.setattr(run, "SYSTEM", [])
    monkeypatch.setattr(run, "make_venv", lambda root, command: None)
    with pytest.raises(run.Stop) as stop:
        run.set_up(str(tmp_path), "mnist", [])
    log = os.path.join(str(tmp_path), ".venv", "pip.log")
    assert str(stop.value).startswith("run mnist: .venv could not be written: [Errno ")
    assert str(stop.value).endswith(f": {log!r}")


ROW = {
    "what": "a lamp",
    "commands": ["test"],
    "is_missing": lambda: True,
    "packages": {"apt-get": "lamp oil", "dnf": "lantern"},
    "without": "it stays dark",
}


def said_of(row: dict, monkeypatch, capsys, installers: list[str], user: int, apt=(0, [])) -> str:
    monkeypatch.setattr(shutil, "which", lambda name: name if name in installers else None)
    monkeypatch.setattr(run.os, "geteuid", lambda: user, raising=False)
    monkeypatch.setattr(run, "apt_get", lambda packages: apt)
    run.provide(row, "test")
    return capsys.readouterr().err


INSTALLING = "installing lamp oil with apt-get (once) ...\n"
DARK = "without it it stays dark\n"


@pytest.mark.parametrize(
    ("installers", "user", "text"),
    [
        (["apt-get"], 0, INSTALLING),
        (["apt-get"], 9, f"run test: a lamp is missing: call `sudo apt-get install -y lamp oil`: {DARK}"),
        (["dnf"], 0, f"run test: a lamp is missing: call `sudo dnf install lantern`: {DARK}"),
        ([], 0, f"run test: a lamp is missing: install it by hand: {DARK}"),
    ],
)
def test_missing_system_package(monkeypatch, capsys, installers, user, text):
    assert said_of(ROW, monkeypatch, capsys, installers, user) == text


def test_failed_apt_is_one_line(monkeypatch, capsys):
    apt = (100, ["Reading lists", "E: Unable to locate package lamp"])
    assert said_of(ROW, monkeypatch, capsys, ["apt-get"], 0, apt) == INSTALLING + (
        "run test: a lamp is missing, and apt-get failed (E: Unable to locate package lamp): "
        f"call `apt-get install -y lamp oil`: {DARK}"
    )


def test_present_system_package_is_left_alone(monkeypatch, capsys):
    assert said_of(ROW | {"is_missing": lambda: False}, monkeypatch, capsys, ["apt-get"], 0) == ""


def test_system_rows_serve_only_their_commands(monkeypatch, tmp_path):
    provided = []
    monkeypatch.setattr(run, "SYSTEM", [ROW, ROW | {"commands": ["*"]}])
    monkeypatch.setattr(run, "provide", lambda row, command: provided.append((row["commands"], command)))
    for name in ("make_venv", "install", "write_stamp"):
        monkeypatch.setattr(run, name, lambda *given: None)
    run.set_up(str(tmp_path), "mnist", [])
    run.set_up(str(tmp_path), "test", [])
    assert provided == [(["*"], "mnist"), (["test"], "test"), (["*"], "test")]


@POSIX
def test_failed_apt_lets_the_command_go_on(checkout):
    done = checkout.run("doctor", APT_SAYS="E: no network", XDG_DATA_DIRS="/nowhere", HOME="/nowhere")
    assert (done.returncode, checkout.called()[-1]) == (0, "ROOT/.venv/bin/flambeau doctor")


@pytest.mark.parametrize(
    ("driver", "library", "missing"),
    [("lvp.json", True, False), ("lvp.json", False, True), (None, True, True), ("README", True, True)],
)
def test_vulkan_needs_a_driver_file_and_the_loader(tmp_path, monkeypatch, driver, library, missing):
    folder = tmp_path / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    if driver:
        (folder / driver).write_text("{}")
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path))
    monkeypatch.setattr(run.sys, "platform", "linux")
    monkeypatch.setattr(run, "loads", lambda name: library)
    listed = run.os.path.isdir
    monkeypatch.setattr(run.os.path, "isdir", lambda path: path.startswith(str(tmp_path)) and listed(path))
    assert run.lacks_vulkan() is missing


def test_vulkan_is_asked_for_on_linux_only(monkeypatch):
    monkeypatch.setattr(run.sys, "platform", "darwin")
    assert not run.lacks_vulkan()


def test_mesa_gets_a_private_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(run.sys, "platform", "linux")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/mine")
    run.quiet_mesa(str(tmp_path))
    assert os.environ["XDG_RUNTIME_DIR"] == "/mine"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    run.quiet_mesa(str(tmp_path))
    assert os.environ.pop("XDG_RUNTIME_DIR") == str(tmp_path / ".venv" / "runtime")
    assert (tmp_path / ".venv" / "runtime").stat().st_mode & 0o077 == 0 or os.name == "nt"


def comparisons(tmp_path, *options: str) -> list[str]:
    """The last lines of pytest over one file that has one comparison, where torch can't be imported."""
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    call = [sys.executable, "-m", "pytest", "-q", "tests/core/test_promotion.py", *options]
    env = os.environ | {"PYTHONPATH": path, "FLAMBEAU_DEVICE": "cpu"}
    done = subprocess.run(call, capture_output=True, text=True, cwd=RUN.parent, env=env)
    return done.stdout.splitlines()[-4:]


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.share(3)
def test_comparisons_are_counted_where_they_are_left_out(tmp_path, workers):
    *_, told, summary = comparisons(tmp_path, "-n", workers)
    assert told == "1 comparison with PyTorch: ./run test --torch"
    assert "passed" in summary and "skipped" not in summary


@pytest.mark.share(3)
def test_comparisons_without_their_library_are_errors(tmp_path):
    *_, summary = comparisons(tmp_path, "--torch")
    assert "1 error" in summary and "passed" not in summary and "skipped" not in summary
