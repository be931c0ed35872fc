"""Turns made-up machines into the fix that the doctor names, and this one into a report."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from flambeau.cli import doctor as module
from flambeau.cli import main
from flambeau.cli.doctor import answer, in_child, report, size, step_lines
from flambeau.device import adapters, diagnose
from flambeau.errors import DeviceError

ICDS = "/usr/share/vulkan/icd.d"
LAVAPIPE = {"path": f"{ICDS}/lvp_icd.json", "library": "/usr/lib/libvulkan_lvp.so", "wrong": ""}
GONE = {"path": "/gone.json", "library": "", "wrong": "is gone"}
SOFTWARE = {"index": 0, "name": "llvmpipe", "type": "CPU", "backend": "Vulkan"}
CARD = {"index": 1, "name": "Arc", "type": "DiscreteGPU", "backend": "Vulkan"}


def machine(env=(), **changes):
    """A healthy Linux machine, but for the changes."""
    healthy = {
        "system": "Linux", "wsl": False, "container": False, "env": dict(env), "loader": "libvulkan.so.1",
        "stray_loaders": [], "icds": [LAVAPIPE], "render_nodes": {"/dev/dri/renderD128": True},
        "nvidia": False,
    }  # fmt: skip
    assert not set(changes) - {*healthy, "adapters", "provider_error", "provider_fix"}
    return healthy | changes


def unlisted(problem: str, fix: str, env=()):
    """A machine whose adapters could not be listed, for a reason that says what to do."""
    return machine(env, provider_error=f"{problem}: {fix}", provider_fix=fix)


BROKEN = LAVAPIPE | {"wrong": "names /usr/lib/libvulkan_lvp.so, which cannot be loaded"}
CONDA = "/opt/conda/lib/libvulkan.so.1"
CASES = {
    "backend": (
        machine({"FLAMBEAU_BACKEND": "gl"}),
        "FLAMBEAU_BACKEND=gl hides the others: unset it",
    ),
    "provider": (
        unlisted("device: wgpu can't be loaded (no libwgpu)", adapters.REINSTALL),
        "device: wgpu can't be loaded (no libwgpu): pip install --force-reinstall wgpu, with pip 21 or newer",
    ),
    "provider not installed": (
        unlisted("device: dawn can't be loaded (none)", "pip install 'flambeau[dawn]'"),
        "device: dawn can't be loaded (none): pip install 'flambeau[dawn]'",
    ),
    "unknown backend": (
        unlisted("FLAMBEAU_BACKEND=x: unknown backend", "use one of a, b", {"FLAMBEAU_BACKEND": "x"}),
        "FLAMBEAU_BACKEND=x: unknown backend: use one of a, b",
    ),
    "crashing driver": (
        machine(provider_error="crashed with exit code -11 (noise)"),
        "listing the adapters failed: crashed with exit code -11 (noise): "
        "update the graphics driver; VK_DRIVER_FILES=FILE tries one driver alone",
    ),
    "dawn without an adapter": (
        machine({"FLAMBEAU_WEBGPU": "dawn"}),
        "FLAMBEAU_WEBGPU=dawn reports no adapter: unset it",
    ),
    "CUDA image without a card": (
        machine({"NVIDIA_VISIBLE_DEVICES": "all"}, container=True, render_nodes={}),
        "no GPU is passed into this container: start it with --device /dev/dri, or --gpus all for NVIDIA",
    ),
    "icd named by the environment": (
        machine({"VK_ICD_FILENAMES": "/gone.json"}, icds=[GONE]),
        "VK_ICD_FILENAMES names /gone.json, which is gone: unset VK_ICD_FILENAMES",
    ),
    "container without graphics": (
        machine({"NVIDIA_VISIBLE_DEVICES": "all"}, container=True, nvidia=True),
        "the container has an NVIDIA card without its graphics driver: "
        "start it with -e NVIDIA_DRIVER_CAPABILITIES=all",
    ),
    "conda": (
        machine({"CONDA_PREFIX": "/opt/conda"}, stray_loaders=[CONDA]),
        f"{CONDA} is found before the system's Vulkan loader and may miss its drivers: "
        "'conda remove libvulkan-loader'",
    ),
    "LD_LIBRARY_PATH": (
        machine({"LD_LIBRARY_PATH": "/sdk/lib"}, stray_loaders=["/sdk/lib/libvulkan.so.1"]),
        "/sdk/lib/libvulkan.so.1 is found before the system's Vulkan loader and may miss its drivers: "
        "remove its folder from LD_LIBRARY_PATH",
    ),
    "no loader": (
        machine(loader="", icds=[]),
        "the Vulkan loader (libvulkan.so.1) is missing: "
        "'apt install mesa-vulkan-drivers libvulkan1' gives a software driver",
    ),
    "no driver": (
        machine(icds=[]),
        "no Vulkan driver file is installed: "
        "'apt install mesa-vulkan-drivers libvulkan1' gives a software driver",
    ),
    "broken driver": (
        machine(icds=[BROKEN]),
        f"{BROKEN['path']} {BROKEN['wrong']}: reinstall the graphics driver that it belongs to",
    ),
    "NVIDIA without Vulkan": (
        machine(nvidia=True),
        "there is an NVIDIA card and no Vulkan driver file of NVIDIA that works: "
        "install libnvidia-gl of the driver's version, libegl1 and libxext6",
    ),
    "no permission": (
        machine(render_nodes={"/dev/dri/renderD128": False}),
        "/dev/dri/renderD128 may not be opened by this user: "
        "'sudo usermod -aG render $USER', then log in again",
    ),
    "WSL2": (
        machine(wsl=True, render_nodes={}),
        "WSL2 shows its GPU only through Mesa's dzn driver, which is not installed: "
        "install a Mesa that has dzn, or run flambeau in Windows",
    ),
    "container": (
        machine(container=True, render_nodes={}),
        "no GPU is passed into this container: start it with --device /dev/dri, or --gpus all for NVIDIA",
    ),
    "nothing known": (
        machine(),
        "the installed drivers report no adapter: update them, or run on a machine with a GPU",
    ),
    "Windows": (machine(system="Windows", icds=[], loader=""), "update the graphics driver"),
}


@pytest.mark.parametrize("case", CASES)
def test_names_the_one_likely_fix(case):
    facts, fix = CASES[case]
    assert diagnose.likely_fix(facts) == fix


@pytest.mark.parametrize("case", CASES)
def test_tells_a_trap_once(case):
    found = diagnose.traps(CASES[case][0])
    assert len(set(found)) == len(found)


def test_a_trap_hurts_nobody_who_reaches_a_gpu():
    facts, _ = CASES["conda"]
    facts = facts | {"adapters": [CARD, SOFTWARE]}
    assert diagnose.traps(facts) == []
    assert diagnose.likely_fix(facts) == "nothing to fix: a GPU is available"


def test_a_software_adapter_is_enough_but_the_trap_is_told():
    alone = machine(adapters=[SOFTWARE], render_nodes={})
    does = "a software adapter is used"
    assert diagnose.likely_fix(alone) == f"nothing to fix: no GPU was detected, and {does}"
    facts, fix = CASES["conda"]
    assert diagnose.likely_fix(facts | {"adapters": [SOFTWARE]}) == f"{does}; if there is a GPU: {fix}"


def test_a_driver_that_computes_wrongly_is_the_first_thing():
    bad = CARD | {"problem": "multiplies wrongly (error 3.1e+00)"}
    told = "Arc (Vulkan) multiplies wrongly (error 3.1e+00): update its driver"
    assert diagnose.likely_fix(machine(adapters=[bad])) == told
    both = machine(adapters=[SOFTWARE, bad])
    assert diagnose.likely_fix(both) == f"{told}, or use llvmpipe (Vulkan) with device='gpu:0'"


@pytest.mark.parametrize(
    ("capabilities", "lacks"),
    [(None, True), ("compute,utility", True), ("all", False), ("graphics,compute", False)],
)
def test_nvidia_capabilities(capabilities, lacks):
    env = {"NVIDIA_VISIBLE_DEVICES": "0"}
    env |= {"NVIDIA_DRIVER_CAPABILITIES": capabilities} if capabilities else {}
    assert diagnose.lacks_graphics(machine(env, nvidia=True)) == lacks
    assert not diagnose.lacks_graphics(machine({"NVIDIA_VISIBLE_DEVICES": "void"}, nvidia=True))
    assert not diagnose.lacks_graphics(machine())


def test_reads_driver_files(tmp_path):
    def told(text):
        (tmp_path / "x.json").write_text(text)
        return diagnose.icd(tmp_path / "x.json")["wrong"]

    assert told('{"ICD": {"library_path": "libm.so.6"}}') == ""
    assert told('{"ICD": {"library_path": "./gone.so"}}') == "names ./gone.so, which cannot be loaded"
    assert told("{}") == told("no JSON") == told("[]") == "is not a driver file"
    assert diagnose.icd(tmp_path / "y.json")["wrong"] == "cannot be read (No such file or directory)"


def test_finds_what_the_environment_names(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libvulkan.so.1").touch()
    stray = [str(tmp_path / "lib" / "libvulkan.so.1")]
    assert diagnose.stray_loaders({"CONDA_PREFIX": str(tmp_path)}) == stray
    assert diagnose.stray_loaders({"LD_LIBRARY_PATH": f"/none:{tmp_path / 'lib'}"}) == stray
    assert diagnose.stray_loaders({}) == []
    (tmp_path / "system").symlink_to("/usr/lib")  # the system's own folder, by another name
    assert diagnose.stray_loaders({"LD_LIBRARY_PATH": f"/usr/lib/x86_64-linux-gnu:{tmp_path}/system"}) == []
    if sys.platform.startswith("linux"):
        found = diagnose.icd_files({"VK_DRIVER_FILES": "/a.json:/b.json", "VK_ICD_FILENAMES": "/c.json"})
        assert [str(p) for p in found] == ["/a.json", "/b.json"]
        (tmp_path / "b.json").touch()
        assert diagnose.icd_files({"VK_DRIVER_FILES": str(tmp_path)}) == [tmp_path / "b.json"]


def test_no_adapter_errors_end_with_the_fix(monkeypatch):
    facts, fix = CASES["no driver"]
    monkeypatch.setattr(diagnose, "facts", lambda: facts)
    monkeypatch.setattr(adapters, "adapters", tuple)
    with pytest.raises(DeviceError) as error:
        adapters.choose("")
    assert str(error.value) == f"no WebGPU adapter found: {fix}, or run 'flambeau doctor'"


@pytest.mark.share(3, first=2)
def test_reports_this_machine_as_json(gpu):
    done = CliRunner().invoke(main, ["doctor", "--json"])  # alone it keeps other options of help
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["adapters"] and found["fix"]
    works = [a for a in found["adapters"] if "problem" not in a]  # one API may refuse what another opens
    assert works
    for adapter in works:
        assert not {"x - x", "x + -x", "(x + 1) - x", "mean([])"}.intersection(adapter["not_finite"])
        assert adapter["error"] < 1e-3 and adapter["limits"]["max-buffer-size"] > 0
        assert (adapter["type"] == "CPU") == ("step_ms" in adapter)
        assert all(ms > 0 for ms in adapter.get("step_ms", {}).values())


def test_report_shows_every_part():
    card = CARD | {
        "driver": "Mesa 25",
        "limits": {"max-buffer-size": 2**31 - 1},
        "features": ["shader-f16", "multiview"],
    }
    facts = machine(
        {"CONDA_PREFIX": "/opt/conda"},
        icds=[LAVAPIPE, BROKEN],
        adapters=[card | {"error": 7.5e-6, "not_finite": ["0 * x", "x / x"]}],
    )
    facts |= {"os": "Linux 6", "python": "3.11", "packages": {"wgpu": "0.32.0"}, "traps": [], "fix": "none"}
    assert report(facts).splitlines() == [
        "system         Linux 6",
        "Python         3.11",
        "wgpu           0.32.0",
        "Vulkan loader  libvulkan.so.1",
        "driver file    /usr/share/vulkan/icd.d/lvp_icd.json -> /usr/lib/libvulkan_lvp.so",
        f"driver file    /usr/share/vulkan/icd.d/lvp_icd.json {BROKEN['wrong']}",
        "GPU files      /dev/dri/renderD128",
        "environment    CONDA_PREFIX=/opt/conda",
        "",
        "gpu:1 Arc (Vulkan)",
        "  type         DiscreteGPU",
        "  driver       Mesa 25",
        "  limits       buffer 2 GiB",
        "  features     shader-f16, and 1 more (--json lists them)",
        "  matmul 64    agrees with NumPy, largest error 7.5e-06",
        "  driver gives 0 * x, x / x: not NaN where x is an infinity or NaN, as WGSL permits"
        " (docs/correctness.md)",
        "",
        "likely fix: none",
    ]


@pytest.mark.parametrize("adapter, cpu, faster", [(12.3, 45.6, "the adapter"), (45.6, 12.3, 'device="cpu"')])
def test_report_names_the_faster_of_a_software_adapter_and_numpy(adapter, cpu, faster):
    (line,) = step_lines({"adapter": adapter, "cpu": cpu})
    assert line == f'  CNN step     {adapter} ms, {cpu} ms with NumPy (device="cpu"): {faster} is the faster'


def test_report_without_an_adapter():
    facts = machine(icds=[], adapters=[], provider_error="crashed with exit code -11 (it printed nothing)")
    facts |= {"os": "Linux 6", "python": "3.11", "packages": {}, "traps": ["a: b"], "fix": "a: b"}
    lines = report(facts).splitlines()
    assert "driver file    none" in lines and "trap           a: b" in lines
    problem = "crashed with exit code -11 (it printed nothing)"
    assert lines[-3] == f"no adapter: {problem}: the CPU does the work with NumPy"


def test_a_crash_or_a_hang_is_a_line(monkeypatch):
    def dies(*_, **__):
        return subprocess.CompletedProcess([], -11, stdout="", stderr="noise\nillegal instruction\n")

    def hangs(*_, timeout, **__):
        raise subprocess.TimeoutExpired("x", timeout)

    monkeypatch.setattr(module.subprocess, "run", dies)
    assert in_child("list") == {"problem": "crashed with exit code -11 (illegal instruction)"}
    monkeypatch.setattr(module.subprocess, "run", hangs)
    assert in_child("list") == {"problem": "did not answer in 120 s"}


def test_an_error_of_python_is_a_problem(capsys):
    answer("check 77")
    problem = json.loads(capsys.readouterr().out)["problem"]
    assert "gpu:77" in problem or "no WebGPU adapter" in problem


def test_sizes():
    assert [size(n) for n in (2**31 - 1, 2**27, 32768, 12)] == ["2 GiB", "128 MiB", "32 KiB", "12 bytes"]
