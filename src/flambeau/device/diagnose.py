"""Finds a machine's known problems from files, environment and adapters, and the most likely fix."""

import ctypes
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Facts = dict[str, Any]  # the result of `facts`: plain values, so that a test can describe any machine

NAMES_ICDS = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")  # the first of them wins
VARIABLES = (
    *NAMES_ICDS,
    "VK_ADD_DRIVER_FILES",
    "LD_LIBRARY_PATH",
    "CONDA_PREFIX",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "FLAMBEAU_BACKEND",
    "FLAMBEAU_DEVICE",
    "FLAMBEAU_WEBGPU",
)
PACKAGES = "mesa-vulkan-drivers libvulkan1"
SYSTEM_FOLDERS = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")


class Trap(NamedTuple):
    """A problem and its fix."""

    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.problem}: {self.fix}"


def facts() -> Facts:
    """Collect facts about this machine without opening a driver."""
    env = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
    return {
        "system": platform.system(),
        "wsl": "microsoft" in platform.release().lower(),
        "container": any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
        "env": env,
        "loader": loader(),
        "stray_loaders": stray_loaders(env),
        "icds": [icd(path) for path in icd_files(env)],
        "render_nodes": {str(p): os.access(p, os.R_OK | os.W_OK) for p in list_files("/dev/dri", "renderD*")},
        "nvidia": any(map(os.path.exists, ("/dev/nvidia0", "/dev/nvidiactl"))),
    }


def list_files(folder: str | Path, pattern: str) -> list[Path]:
    try:
        return sorted(Path(folder).glob(pattern))
    except OSError:
        return []


def loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def loader() -> str:
    """The Vulkan loader as the dynamic linker finds it, or an empty string."""
    names = {"Windows": ("vulkan-1.dll",), "Darwin": ("libvulkan.dylib", "libMoltenVK.dylib")}
    file_names = names.get(platform.system(), ("libvulkan.so.1",))
    return next((name for name in file_names if loads(name)), "")


def stray_loaders(env: dict[str, str]) -> list[str]:
    """Find Vulkan loaders that conda or LD_LIBRARY_PATH put before the system's."""
    folders = [Path(f) for f in env.get("LD_LIBRARY_PATH", "").split(os.pathsep) if f]
    if "CONDA_PREFIX" in env:
        folders.append(Path(env["CONDA_PREFIX"]) / "lib")
    others = [f for f in folders if not f"{f.resolve()}/".startswith(SYSTEM_FOLDERS)]
    return list(dict.fromkeys(str(f / "libvulkan.so.1") for f in others if (f / "libvulkan.so.1").exists()))


def icd_files(env: dict[str, str]) -> list[Path]:
    """List the driver files that the Vulkan loader would read, in its order."""
    if not sys.platform.startswith("linux"):
        return []
    setting = next((env[name] for name in NAMES_ICDS if name in env), "")
    if setting:
        return driver_files(setting)
    shared = (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    homes = ["/etc/xdg", "/usr/local/etc", "/etc", str(Path.home() / ".local/share"), *shared]
    added = driver_files(env.get("VK_ADD_DRIVER_FILES", ""))
    usual = [path for home in homes for path in list_files(Path(home) / "vulkan" / "icd.d", "*.json")]
    return list(dict.fromkeys([*added, *usual]))


def driver_files(paths: str) -> list[Path]:
    """List the files in a variable's value; a folder stands for all driver files in it."""
    named = [Path(p) for p in paths.split(os.pathsep) if p]
    return [file for p in named for file in (list_files(p, "*.json") if p.is_dir() else [p])]


def icd(path: Path) -> Facts:
    """Read a driver file: the library it names, and the problem of either ("" for none)."""
    library, wrong = "", ""
    try:
        library = json.loads(path.read_text(encoding="utf-8"))["ICD"]["library_path"]
    except OSError as e:
        wrong = f"cannot be read ({e.strerror or e})"
    except (ValueError, KeyError, TypeError):
        wrong = "is not a driver file"
    else:
        # a path with a slash is relative to the file's folder; the linker searches for a bare name
        if not loads(str(path.parent / library) if "/" in library else library):
            wrong = f"names {library}, which cannot be loaded"
    return {"path": str(path), "library": library, "wrong": wrong}


def has_gpu(f: Facts) -> bool:
    """Whether a GPU is available, as far as known: only the doctor lists adapters."""
    return any(a["type"] != "CPU" for a in f.get("adapters", ()))


def is_linux(f: Facts) -> bool:
    return f["system"] == "Linux"


def usable_drivers(f: Facts) -> list[Facts]:
    return [i for i in f["icds"] if not i["wrong"]]


def gives(f: Facts, word: str) -> bool:
    """Whether a working driver file has this word in its name or its library's."""
    return any(word in i["path"].lower() or word in i["library"].lower() for i in usable_drivers(f))


def lacks_graphics(f: Facts) -> bool:
    """Whether NVIDIA's container runtime provides a card without its Vulkan driver, as for CUDA images."""
    asked = f["env"].get("NVIDIA_VISIBLE_DEVICES", "void")
    capabilities = f["env"].get("NVIDIA_DRIVER_CAPABILITIES", "compute,utility")
    has_graphics = not {"graphics", "all"}.isdisjoint(capabilities.split(","))
    return f["nvidia"] and asked not in ("void", "none") and not has_graphics


def names_icds(f: Facts) -> bool:
    return any(name in f["env"] for name in NAMES_ICDS)


def broken_icds(f: Facts) -> list[Facts]:
    """Return the broken driver files if all are broken, or if the environment names them."""
    bad = [i for i in f["icds"] if i["wrong"]]
    return bad if names_icds(f) or not usable_drivers(f) else []


def provider_trap(f: Facts) -> Trap:
    """Return why adapters could not be listed: a setting, a missing package, or a driver that crashes."""
    error, fix = f["provider_error"], f.get("provider_fix", "")
    if fix:
        return Trap(error.removesuffix(f": {fix}"), fix)
    fix = "update the graphics driver; VK_DRIVER_FILES=FILE tries one driver alone"
    return Trap(f"listing the adapters failed: {error}", fix)


def icd_trap(f: Facts) -> Trap:
    bad = broken_icds(f)[0]
    name = next((name for name in NAMES_ICDS if name in f["env"]), "")
    if name:
        return Trap(f"{name} names {bad['path']}, which {bad['wrong']}", f"unset {name}")
    return Trap(f"{bad['path']} {bad['wrong']}", "reinstall the graphics driver that it belongs to")


def stray_trap(f: Facts) -> Trap:
    path = f["stray_loaders"][0]
    conda = f["env"].get("CONDA_PREFIX", "")
    by_conda = conda and path.startswith(conda)
    fix = "'conda remove libvulkan-loader'" if by_conda else "remove its folder from LD_LIBRARY_PATH"
    return Trap(f"{path} is found before the system's Vulkan loader and may miss its drivers", fix)


def no_driver_trap(f: Facts) -> Trap:
    no_loader, no_file = "the Vulkan loader (libvulkan.so.1) is missing", "no Vulkan driver file is installed"
    return Trap(no_file if f["loader"] else no_loader, f"'apt install {PACKAGES}' gives a software driver")


def unreadable_nodes(f: Facts) -> list[str]:
    nodes = f["render_nodes"]
    return [] if any(nodes.values()) else list(nodes)


# (condition, problem): the first that holds is the likely cause. Evaluated only if no GPU is available.
Rule = tuple[Callable[[Facts], Any], Callable[[Facts], Trap]]
RULES: list[Rule] = [
    (lambda f: f.get("provider_error"), provider_trap),
    (
        lambda f: "FLAMBEAU_BACKEND" in f["env"] and not f.get("provider_error"),
        lambda f: Trap(f"FLAMBEAU_BACKEND={f['env']['FLAMBEAU_BACKEND']} hides the others", "unset it"),
    ),
    (
        lambda f: "FLAMBEAU_WEBGPU" in f["env"] and not f.get("adapters") and not f.get("provider_error"),
        lambda f: Trap(f"FLAMBEAU_WEBGPU={f['env']['FLAMBEAU_WEBGPU']} reports no adapter", "unset it"),
    ),
    (lambda f: is_linux(f) and names_icds(f) and broken_icds(f), icd_trap),
    (
        lambda f: is_linux(f) and lacks_graphics(f),
        lambda f: Trap(
            "the container has an NVIDIA card without its graphics driver",
            "start it with -e NVIDIA_DRIVER_CAPABILITIES=all",
        ),
    ),
    (lambda f: is_linux(f) and f["stray_loaders"], stray_trap),
    (lambda f: is_linux(f) and (not f["loader"] or not f["icds"]), no_driver_trap),
    (lambda f: is_linux(f) and not names_icds(f) and broken_icds(f), icd_trap),
    (
        lambda f: is_linux(f) and f["nvidia"] and not gives(f, "nvidia"),
        lambda f: Trap(
            "there is an NVIDIA card and no Vulkan driver file of NVIDIA that works",
            "install libnvidia-gl of the driver's version, libegl1 and libxext6",
        ),
    ),
    (
        lambda f: is_linux(f) and unreadable_nodes(f),
        lambda f: Trap(
            f"{unreadable_nodes(f)[0]} may not be opened by this user",
            "'sudo usermod -aG render $USER', then log in again",
        ),
    ),
    (
        lambda f: f["wsl"] and not gives(f, "dzn"),
        lambda f: Trap(
            "WSL2 shows its GPU only through Mesa's dzn driver, which is not installed",
            "install a Mesa that has dzn, or run flambeau in Windows",
        ),
    ),
    (
        lambda f: is_linux(f) and f["container"] and not f["render_nodes"] and not f["nvidia"],
        lambda f: Trap(
            "no GPU is passed into this container",
            "start it with --device /dev/dri, or --gpus all for NVIDIA",
        ),
    ),
]


def traps(f: Facts) -> list[Trap]:
    """Return the possible reasons for a missing GPU, the likeliest first; [] if one is available."""
    if has_gpu(f):
        return []
    return [tell(f) for holds, tell in RULES if holds(f)]


def describe_adapter(adapter: Facts) -> str:
    return f"{adapter['name']} ({adapter['backend']})"


def likely_fix(f: Facts) -> str:
    """Return the likeliest fix in one line."""
    wrong = [a for a in f.get("adapters", ()) if a.get("problem")]
    right = [a for a in f.get("adapters", ()) if not a.get("problem")]
    if wrong and (not right or has_gpu({"adapters": wrong})):
        fix = f"{describe_adapter(wrong[0])} {wrong[0]['problem']}: update its driver"
        return (
            f"{fix}, or use {describe_adapter(right[0])} with device='gpu:{right[0]['index']}'"
            if right
            else fix
        )
    if has_gpu(f):
        return "nothing to fix: a GPU is available"
    hiding = traps(f)
    if right:
        does = "a software adapter is used"
        if not hiding:
            return f"nothing to fix: no GPU was detected, and {does}"
        return f"{does}; if there is a GPU: {hiding[0]}"
    if hiding:
        return str(hiding[0])
    if is_linux(f):
        return "the installed drivers report no adapter: update them, or run on a machine with a GPU"
    return "update the graphics driver"
