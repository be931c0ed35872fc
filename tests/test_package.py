"""Turns the checkout into a wheel and an sdist, and those into an installed flambeau that runs elsewhere."""

import email
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from helpers.packaging import OFFLINE, built_wheel, call
from helpers.paths import ROOT


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def metadata(wheel: Path) -> Message:
    return email.message_from_bytes(contents(wheel)["flambeau-0.1.0.dist-info/METADATA"])


def packaged() -> dict[str, bytes]:
    """The name in the wheel and the bytes of each file of ours that has to be there."""
    folders = {
        "flambeau": ROOT / "src" / "flambeau",
        "flambeau/wgsl": ROOT / "wgsl",
        "flambeau/web": ROOT / "web",
        "flambeau/docs": ROOT / "docs",
        "flambeau/docs/examples": ROOT / "examples",
    }
    readme = {"flambeau/docs/README.md": (ROOT / "README.md").read_bytes()}
    return readme | {
        f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for name, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_wheel_holds_the_package_and_its_wgsl_and_nothing_else(wheel):
    ours = {name: data for name, data in contents(wheel).items() if ".dist-info/" not in name}
    assert ours == packaged()
    assert (
        "flambeau/wgsl/kernel.wgsl" in ours
        and "flambeau/web/executor.js" in ours
        and "flambeau/__init__.py" in ours
        and "flambeau/py.typed" in ours  # type checkers read the annotations of a package that has it
    )


def test_wheel_holds_both_licences_and_the_command(wheel):
    files = contents(wheel)
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert files[f"flambeau-0.1.0.dist-info/licenses/{name}"] == (ROOT / name).read_bytes()
    entry_points = files["flambeau-0.1.0.dist-info/entry_points.txt"].decode()
    assert entry_points == "[console_scripts]\nflambeau = flambeau.cli:main\n"


def test_metadata_names_licence_python_and_dependencies(wheel):
    fields = metadata(wheel)
    assert fields["License-Expression"] == "MIT OR Apache-2.0"
    assert fields["Requires-Python"] == ">=3.11"
    assert set(fields.get_all("Provides-Extra")) == {
        "arrays",
        "chat",
        "clients",
        "data",
        "dawn",
        "dev",
        "hub",
        "jax",
        "models",
        "onnx",
        "ray",
        "torch",
        "train",
        "web",
    }
    required = [line for line in fields.get_all("Requires-Dist") if "extra ==" not in line]
    everywhere = [line for line in required if not line.endswith("; sys_platform != 'emscripten'")]
    assert everywhere == ["jinja2<4,>=3.1.6"]  # all that a browser needs
    assert len(required) == 7  # markdown-it-py and pygments are what rich needs, too


@pytest.mark.share(3, first=1)
def test_sdist_builds_the_same_wheel(wheel, tmp_path):
    call("-m", "hatchling", "build", "--target", "sdist", "--directory", tmp_path, cwd=ROOT)
    with tarfile.open(tmp_path / "flambeau-0.1.0.tar.gz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # older Pythons have none
        archive.extractall(tmp_path)
    (tmp_path / "out").mkdir()
    assert contents(built_wheel(tmp_path / "flambeau-0.1.0", tmp_path / "out")) == contents(wheel)


OUTSIDE = """
import flambeau as fb
print(fb.__file__)
print((fb.tensor([1.0, 2.0]).exp() * 0 + 2).tolist())
"""


@pytest.mark.share(3, first=0)
def test_installed_wheel_runs_outside_the_checkout(wheel, tmp_path):
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    call("-m", "pip", "install", *OFFLINE, "--target", target, wheel, cwd=elsewhere)
    where, value = call("-c", OUTSIDE, cwd=elsewhere, PYTHONPATH=str(target)).splitlines()[-2:]
    assert Path(where) == target / "flambeau" / "__init__.py"  # not the editable one
    assert value == "[2.0, 2.0]"
