"""The README and the docs pages: their code runs, and their links and paths lead to files that exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.draws import in_turn
from helpers.gguf_models import tiny_chat
from helpers.paths import ROOT

PAGES = [
    *(p.name for p in sorted(ROOT.glob("*.md"))),
    "bench/README.md",
    *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*.md"))),
]


FILES = {
    "docs/howto/chat.md": tiny_chat,
    "docs/howto/chat_page.md": tiny_chat,
}  # pages that read a model.gguf


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)


def local_links(text: str) -> list[str]:
    """The targets of links and images outside of code, without their anchors."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [t.partition("#")[0] for t in targets if not re.match(r"[a-z]+:|#", t)]


def run_blocks(page: str, folder: Path) -> str:
    """Run all Python of a page in one process, in order: later blocks may use names of earlier ones."""
    script = folder / "page.py"
    if page in FILES:
        FILES[page](folder / "model.gguf")
    script.write_text("\n".join(code_blocks(text_of(page))), encoding="utf-8")
    return run(script)


def run(script: Path) -> str:
    """Run a script and return its output; fail if the script fails."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, script],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": path, "FLAMBEAU_DEVICE": "", "FLAMBEAU_DEBUG": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_runs(tmp_path):
    loss, accuracy = map(float, run_blocks("README.md", tmp_path).splitlines()[0].split())
    assert loss < 0.2 and accuracy > 0.9


CLAIMING = (
    "docs/autodiff.md",
    "docs/correctness.md",
    "docs/dashboard.md",
    "docs/data.md",
    "docs/devices.md",
    "docs/from_pytorch.md",
    "docs/fusion.md",
    "docs/dtypes.md",
    "docs/fine_tuning.md",
    "docs/inspector.md",
    "docs/install.md",
    "docs/learner.md",
    "docs/optim.md",
    "docs/mixed_precision.md",
    "docs/models.md",
    "docs/nn.md",
    "docs/profiling.md",
    "docs/remote.md",
    "docs/sanitizer.md",
    "docs/shaders.md",
    "docs/tables.md",
    "docs/tuning.md",
    "docs/weights.md",
)


HOWTO = [p for p in PAGES if p.startswith("docs/howto/")]


@pytest.mark.parametrize("page", [*in_turn(CLAIMING, 8), *in_turn(HOWTO, 8)])
def test_python_of_the_docs_runs(page, tmp_path):
    """These pages assert what they claim."""
    assert code_blocks(text_of(page))
    run_blocks(page, tmp_path)


def test_python_does_what_it_says(gpu, tmp_path):
    """fusion.md promises one kernel; the NumPy device has none to count. A large GPU may sum in pieces."""
    import flambeau as fb

    x, w, b = fb.randn(64, 784, device=gpu), fb.randn(784, 128, device=gpu), fb.zeros(128, device=gpu)
    fb.realize(x, w, b)
    kernels = [k.name for k in (x @ w + b).relu().plan()]
    assert kernels in (["matmul+add+relu"], ["matmul", "sum+add+relu"])
    assert len(kernels) == 1 or not gpu.limits.software


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    folder = (ROOT / page).parent
    missing = [target for target in local_links(text_of(page)) if not (folder / target).exists()]
    assert not missing


def printed(block: str) -> str:
    """The output that a block states: its lines that are comments."""
    return "".join(f"{line}\n" for line in re.findall(r"^# ?(.*)$", block, flags=re.M))


def test_the_worked_example_prints_what_it_says(tmp_path):
    """The object at each stage, as architecture.md shows it; the planner and the templates need no GPU."""
    blocks = code_blocks(text_of("docs/architecture.md"))
    assert len(blocks) == 5 and all(map(printed, blocks))
    script = tmp_path / "stages.py"
    script.write_text("print('@stage')\n".join(blocks), encoding="utf-8")
    outputs = re.sub(r"\n\n+", "\n", run(script)).split("@stage\n")
    assert outputs == [*map(printed, blocks)]


def missing_lines(packages: set[str], page: str) -> list[str]:
    """The modules of packages that a page does not name in backticks."""
    words = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`]+)`", text_of(page)))))
    package = ROOT / "src" / "flambeau"
    paths = [p for name in packages for p in (package / name).glob("*.py")]
    return sorted({p.stem for p in paths} - {"__init__", "__main__"} - words)


INTERNALS = {  # page: the packages whose modules it names
    "core": {"core"},
    "metrics": {"metrics"},
    "legalize": {"legalize"},
    "fusion": {"fusion"},
    "kernels": {"kernels"},
    "contract": {"kernels/contract"},
    "codegen": {"codegen"},
    "runtime": {"runtime"},
    "device": {"device"},
    "autodiff": {"autodiff", "autograd", "func"},
    "capture": {"capture"},
    "export": {"export"},
    "onnx": {"onnx", "onnx/operators"},
    "profiling": {"profiling", "tune"},
    "inspector": {"inspector"},
    "selftest": {"selftest"},
    "sanitizer": {"sanitizer"},
    "wgsl_reader": {"wgsl_reader"},
    "learner": {"learner"},
    "attention": {"ops/attention"},
    "ops": {"ops", "ops/conv", "ops/index", "ops/sort", "ops/linalg", "ops/fft"},
    "surface": {".", "array_api", "cuda", "signal"},
    "nn": {"nn", "nn/utils"},
    "optim": {"optim"},
    "remote": {"remote"},
    "torch": {"torch"},
    "data": {"data", "utils"},
    "io": {"io", "hub"},
    "models": {"models"},
    "tokenizers": {"tokenizers"},
    "vision": {"vision"},
    "named": {"named"},
    "rl": {"rl"},
    "distributions": {"distributions"},
    "cli": {"cli"},
    "serve": {"serve"},
    "site": {"site"},
    "porting": {"porting"},
    "distributed": {"distributed"},
    "tabs": {"tabs"},
}


def test_every_package_has_a_page():
    package = ROOT / "src" / "flambeau"
    folders = {p.parent.relative_to(package).as_posix() for p in package.rglob("*.py")}
    described = set().union(*INTERNALS.values())
    assert not folders - described, "pass these packages a page of docs/internals and a row of INTERNALS"


@pytest.mark.parametrize("page", INTERNALS)
def test_every_module_has_a_line(page):
    assert not missing_lines(INTERNALS[page], f"docs/internals/{page}.md"), "name these modules on the page"


NAMING = [  # files that may name paths of the repository: pages, comments and docstrings
    *PAGES,
    *(
        p.relative_to(ROOT).as_posix()
        for folder in ("src", "wgsl", "web", "scripts", "bench")
        for p in sorted((ROOT / folder).rglob("*"))
        if p.suffix in (".py", ".wgsl", ".js")
    ),
]
FOLDERS = sorted(
    p.name
    for folder in ("src/flambeau", "wgsl", "tests", "src/flambeau/ops", "src/flambeau/kernels")
    for p in (ROOT / folder).iterdir()
    if p.is_dir()
)


def test_paths_lead_somewhere():
    """A path that begins with a folder of the repository, such as core/op.py, names a file that exists."""
    folders = [
        p for p in ROOT.iterdir() if p.is_dir() and p.name[0] != "."
    ]  # not those of .venv, which are many
    found = [p for folder in folders for p in folder.rglob("*.*")]
    files = [p.relative_to(ROOT).as_posix() for p in found if p.suffix in (".py", ".wgsl")]
    paths = {f"/{path}" for path in files}
    ends = {f"/{'/'.join(path.split('/')[i:])}" for path in files for i in range(path.count("/"))} | paths
    added = re.compile(r"`[\w/]+\.py`, a new module")  # which a recipe of contributing.md adds
    path = re.compile(rf"(?<![\w/.])((?:[\w.]+/)*(?:{'|'.join(FOLDERS)})/[a-z0-9_]+\.(?:py|wgsl))\b")
    missing = {
        (page, name)
        for page in NAMING
        for name in path.findall(added.sub("", text_of(page)))
        if f"/{name}" not in ends
    }
    assert not sorted(missing)


def test_the_architecture_is_read_at_a_sitting():
    assert len(text_of("docs/architecture.md").splitlines()) <= 150


def test_the_reading_itself():
    text = "[a](b.md#c) ![d](e.png) [f](https://g) [h](#i) `[j](k)`\n```python\nl\n```\n```\n[m](n)\n```\n"
    assert local_links(text) == ["b.md", "e.png"]
    assert code_blocks(text) == ["l\n"]


def test_every_benchmark_is_described():
    files = [p.name for p in (ROOT / "bench").glob("*.py") if not p.name.startswith("_")]
    readme = text_of("bench/README.md")
    assert [name for name in files if name not in readme] == []
