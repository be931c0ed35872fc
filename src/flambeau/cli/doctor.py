"""`flambeau doctor`: reports the state of this machine, and the most likely fix."""

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from .. import __version__
from ..device import diagnose

Facts = dict[str, Any]

SHOWN_FEATURES = ("shader-f16", "subgroup", "subgroups", "timestamp-query")
SHOWN_LIMITS = {  # limit: (its name in the report, whether it counts bytes)
    "max-buffer-size": ("buffer", True),
    "max-storage-buffer-binding-size": ("binding", True),
    "max-storage-buffers-per-shader-stage": ("storage buffers", False),
    "max-compute-invocations-per-workgroup": ("invocations", False),
    "max-compute-workgroup-storage-size": ("workgroup memory", True),
}
CHILD_SECONDS = 120  # a driver that hangs must not stop the report
TOLERANCE = 1e-3  # of a sum of 64 products of normal numbers in float32


@click.command(short_help="Check what this machine can run on.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def doctor(as_json: bool):
    """Check the adapters and drivers of this machine, and name the most likely fix.

    The output lists every adapter with its driver, limits and features. Each multiplies two matrices, which
    NumPy checks, and evaluates expressions of infinities and NaN that its driver may simplify.

    Example: flambeau doctor --json > report.json
    """
    facts = examine()
    click.echo(json.dumps(facts, indent=2) if as_json else report(facts))


def examine() -> Facts:
    """Collect the facts of the report, as plain values."""
    facts = diagnose.facts()
    kinds = [name for name, is_so in (("WSL2", facts["wsl"]), ("container", facts["container"])) if is_so]
    facts |= {
        "os": ", ".join([platform.platform(), *kinds]),
        "python": f"{platform.python_version()} {sys.executable}",
        "packages": {
            "flambeau": __version__,
            **{name: installed_version(name) for name in ("wgpu", "wgpudawn", "numpy")},
        },
    }
    listing = in_child("list")
    facts["adapters"] = listing.get("adapters", [])
    if "problem" in listing:
        # The provider itself failed, so that no adapter could be listed.
        facts |= {"provider_error": listing["problem"], "provider_fix": listing.get("fix", "")}
    for adapter in facts["adapters"]:
        adapter |= in_child(f"check {adapter['index']}")
    facts["traps"] = [str(t) for t in diagnose.traps(facts)]
    facts["fix"] = diagnose.likely_fix(facts)
    return facts


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


# Each driver is opened in a separate process: a crash or a hang becomes a line of the report.


def in_child(task: str) -> Facts:
    """Run `answer` on a task in another process. Returns its result, or a dict with the `problem`."""
    code = f"from flambeau.cli.doctor import answer; answer({task!r})"
    try:
        # Passes sys.path on, because flambeau may not be installed. FLAMBEAU_DEBUG would print to stdout.
        child = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CHILD_SECONDS,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "FLAMBEAU_DEBUG": ""},
        )
    except subprocess.TimeoutExpired:
        return {"problem": f"did not answer in {CHILD_SECONDS} s"}
    lines = child.stdout.strip().splitlines()
    try:
        # Drivers print to stdout too: the result is the last line.
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        last = (child.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        return {"problem": f"crashed with exit code {child.returncode} ({last})"}


def answer(task: str) -> None:
    """Print the JSON of one task: `list` the adapters, or `check` the arithmetic of one."""
    name, _, index = task.partition(" ")
    try:
        facts = {"adapters": describe_adapters()} if name == "list" else check_device(f"gpu:{index}")
    except Exception as e:  # the report includes every error that a driver causes
        facts = {
            "problem": (str(e).strip().splitlines() or [type(e).__name__])[0],
            "fix": getattr(e, "fix", ""),
        }
    print(json.dumps(facts))


def describe_adapters() -> list[Facts]:
    from ..device.adapters import adapters

    return [
        {
            "index": i,
            "name": a.name,
            "type": a.type,
            "backend": a.backend,
            "driver": a.driver,
            "limits": dict(a.raw.limits),
            "features": sorted(a.raw.features),
        }
        for i, a in enumerate(adapters())
    ]


def check_device(device: Any) -> Facts:
    """Check that a device multiplies correctly, and find expressions of infinities and NaN that it
    evaluates wrongly."""
    import flambeau as fb

    facts = check_multiply(device)
    if "problem" in facts:
        return facts
    adapter = fb.device(device).adapter
    if adapter is not None and adapter.is_software:
        # A software adapter is often slower than NumPy: measure which to recommend.
        facts["step_ms"] = {name: step_ms(where) for name, where in (("adapter", device), ("cpu", "cpu"))}
    return facts | {"not_finite": find_simplified(device)}


def step_ms(device: Any, images: int = 32, steps: int = 5) -> float:
    """Time training steps of a small convolutional network on a device: the fastest, in milliseconds."""
    import flambeau as fb

    nn = fb.nn
    with fb.device(device):
        net = nn.Sequential(
            nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(256, 10),
        )  # fmt: skip
        optimizer = fb.optim.SGD(net.parameters(), lr=0.1)
        x, y = fb.zeros(images, 1, 28, 28), fb.zeros(images, dtype=fb.int32)

        def step(x: Any, y: Any) -> Any:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.step(loss.backward())
            return loss

        recorded, times = fb.jit(step, check="never"), list[float]()
        for _ in range(steps):
            begin = time.perf_counter()
            recorded(x, y).item()
            times.append(time.perf_counter() - begin)
    # The first steps record and compile; the fastest is without these.
    return min(times) * 1e3


def find_simplified(device: Any) -> list[str]:
    """Return the expressions of value NaN that a driver simplifies as if no operand were infinite or NaN, as
    WGSL permits."""
    import flambeau as fb

    # Values, not constants: a compiler would fold constant expressions on the host.
    x = fb.tensor([float("inf"), float("nan")], device=device)
    expressions = {
        "x - x": x - x,
        "x + -x": x + -x,
        "(x + 1) - x": (x + 1) - x,
        "(x - 1) + (1 - x)": (x - 1) + (1 - x),
        "0 * x": 0 * x,
        "x / x": x / x,
        "x * (1 / x)": x * (1 / x),
        "sqrt(-x) ** 2": (-x).sqrt().square(),
        "softmax([x])": x.unsqueeze(1).softmax(1),
        "mean([])": x[:0].mean(),
    }
    # A driver that folds x - x to 0, for example, returns 0 for infinity and NaN.
    return [name for name, value in expressions.items() if not value.isnan().all()]


def check_multiply(device: Any, n: int = 64) -> Facts:
    """Compare [n, n] @ [n, n] with NumPy in float64: the largest error, and a problem text if it is too
    large."""
    import numpy as np

    import flambeau as fb

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n), np.float32) for _ in range(2))
    expected = a.astype(np.float64) @ b
    result = (fb.tensor(a, device=device) @ fb.tensor(b, device=device)).numpy()
    error = float(np.abs(result - expected).max())
    if error < TOLERANCE:
        return {"error": error}
    return {"problem": f"multiplies wrongly (error {error:.1e})"}


# The report.


def report(f: Facts) -> str:
    """Format the facts as text, one per line."""
    rows = [("system", f["os"]), ("Python", f["python"])]
    rows += [(name, text) for name, text in f["packages"].items()]
    if f["system"] == "Linux":
        rows += [("Vulkan loader", f["loader"] or "none"), *map(icd_row, f["icds"] or [dict[str, Any]()])]
        nodes = [name if usable else f"{name} (no permission)" for name, usable in f["render_nodes"].items()]
        rows += [("GPU files", ", ".join([*nodes, *["NVIDIA"] * f["nvidia"]]) or "none")]
    rows += [("environment", f"{name}={value}") for name, value in f["env"].items()]
    rows += [("trap", text) for text in f["traps"]]
    lines = [f"{name:<14} {text}" for name, text in rows]
    for adapter in f["adapters"]:
        lines += ["", *adapter_lines(adapter)]
    if not f["adapters"]:
        reason = f.get("provider_error", "the drivers report none")
        lines += ["", f"no adapter: {reason}: the CPU does the work with NumPy"]
    return "\n".join([*lines, "", f"likely fix: {f['fix']}"])


def icd_row(icd: Facts) -> tuple[str, str]:
    if not icd:
        return "driver file", "none"
    return "driver file", f"{icd['path']} {icd['wrong'] or '-> ' + icd['library']}"


def adapter_lines(a: Facts) -> list[str]:
    limits = [
        f"{text} {size(a['limits'][name]) if in_bytes else a['limits'][name]}"
        for name, (text, in_bytes) in SHOWN_LIMITS.items()
        if name in a["limits"]
    ]
    used = [name for name in SHOWN_FEATURES if name in a["features"]]
    others = len(a["features"]) - len(used)
    features = ", ".join(used) or "none that flambeau uses"
    features += f", and {others} more (--json lists them)" if others else ""
    outcome = a.get("problem") or f"agrees with NumPy, largest error {a['error']:.1e}"
    return [
        f"gpu:{a['index']} {a['name']} ({a['backend']})",
        f"  type         {a['type']}{', software' if a['type'] == 'CPU' else ''}",
        f"  driver       {a['driver'] or 'unknown'}",
        f"  limits       {', '.join(limits)}",
        f"  features     {features}",
        f"  matmul 64    {outcome}",
        *step_lines(a.get("step_ms")),
        *not_finite_lines(a.get("not_finite", [])),
    ]


def step_lines(ms: Facts | None) -> list[str]:
    """Compare the training speed of a software adapter with NumPy's."""
    if ms is None:
        return []
    faster = "the adapter" if ms["adapter"] <= ms["cpu"] else 'device="cpu"'
    times = f'{ms["adapter"]:.3g} ms, {ms["cpu"]:.3g} ms with NumPy (device="cpu")'
    return [f"  CNN step     {times}: {faster} is the faster"]


def not_finite_lines(simplified: list[str]) -> list[str]:
    if not simplified:
        return []
    rule = "not NaN where x is an infinity or NaN, as WGSL permits (docs/correctness.md)"
    return [f"  driver gives {', '.join(simplified)}: {rule}"]


def size(n: int) -> str:
    """Format bytes in the largest unit that gives at least 1."""
    for unit, bytes_in_it in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n + 1 >= bytes_in_it:  # drivers report 2**31 - 1 for 2 GiB
            return f"{n / bytes_in_it:.3g} {unit}"
    return f"{n} bytes"
