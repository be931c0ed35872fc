"""Runs the scoreboard of flambeau.torch, and writes its results and docs/libraries.md.

python scripts/write_libraries.py         # runs all models (needs `pip install flambeau[torch]`), writes both
python scripts/write_libraries.py --page  # writes the page from the results that there are
python scripts/write_libraries.py --measured FILE  # takes the times of bench/libraries.py into both
python scripts/write_libraries.py --names # runs timm's models by name instead (20 minutes), writes both
"""

import json
import sys
import tempfile
import textwrap
import tomllib
from collections import Counter
from datetime import date
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers import scoreboard, timm_cases  # noqa: E402
from helpers.library_cases import CASES  # noqa: E402

RESULTS = ROOT / "tests" / "torch_mode" / "scoreboard.toml"
PAGE = ROOT / "docs" / "libraries.md"
COMMAND = "python scripts/write_libraries.py"
STAGES = ("forward", "gradients", "step")
HEAD = """# Libraries

Models of libraries that were written for PyTorch, run with `import torch` answered by
[`flambeau.torch`](from_pytorch.md): the sources of the packages are unchanged. `{command}`
writes this page from `tests/torch_mode/scoreboard.toml`; a test checks that it is current, and
`./run test --torch` runs a tenth of the models beside the real torch each time.

**{all_pass} of {count} models of {packages} packages pass all four checks.** Each model has a small
configuration. The weights are those of the model on PyTorch, with random numbers in place of constants.

| check | what is compared with PyTorch 2.13 on a CPU |
|---|---|
| forward | all outputs in eval mode: the norm of the difference is at most 0.001 of the norm |
| gradients | `p.grad` of every parameter after `loss.backward()`, and which have none |
| state dict | names, their order, and shapes |
| step | all parameters and buffers after one `optimizer.step()` of `torch.optim` |

Times are seconds of forward, backward and the step, each run for the first time: on the adapter they include
compiling the kernels. They were measured on two processors that others used too ({date}), and show the order
of magnitude. The adapter is a software one (llvmpipe){adapter}.

On an H100 (2026-11-28, wgpu-native, driver 580.159.04), a training step of timm's ResNet-50 through
`torch.compile` takes 30.7 ms, one of our own implementation 30.7 ms; for timm's ViT-S 33.5 and 33.4 ms (32
images of 224 x 224, AdamW; `bench/torch_mode.py`).

Two models have inputs or a mode that were chosen for a comparison. An activation of Unet lies within rounding
of ReLU's kink for another input. PyTorch 2.13's gradient of `batch_norm` in eval mode is wrong for a gradient
that comes from a transposed tensor (`torch.autograd.gradcheck` fails), so XCiT is compared in training mode.

Where an activation is within rounding of a kink, gradients in float32 are on one side of it or the other, and
differ by up to 2e-2 of their norm: PyTorch's from its own in float64 as well. Of 24 inputs of torchvision's
squeezenet1_0, PyTorch's gradient in float32 is off by 7e-3 for one, Flambeau's by 6e-3 and 1e-2 for two
others, compared with PyTorch's in float64; in float64 the two agree to 2e-15 for all of them. wide_resnet50_2
behaves similarly: of 6 inputs one is within rounding for both, and they agree to 8e-15 in float64.
"""
GPU = """
## On a GPU

{text}

| model | forward | PyTorch | step | compiled | PyTorch |
|---|---|---|---|---|---|
"""
GPU_TEXT = """
The same models on {name} ({date}, wgpu-native; `bench/libraries.py`): all four checks beside PyTorch on
the same GPU pass for **{passing} of {count}**{failing}. Milliseconds of warm calls, in float32; PyTorch
is {torch}, eager, without TF32. A step is zero_grad, forward, backward and the optimizer's step; compiled
is the same step as `torch.compile(step)` of `flambeau.torch`. Models and fields that are absent were not
measured. The models are small: most of a call's time is that of building graphs and starting kernels. The
median of PyTorch's time divided by Flambeau's is {ratios}. Where compiled takes as long as the step, the step
was not recorded; since then `torch.compile` records models of transformers too, by the code that ran, which
has not been timed.
"""
NAMES = """
## Detection and segmentation of torchvision

The operators of torchvision's compiled library (`nms`, `roi_align`, `roi_pool`, `ps_roi_align`,
`ps_roi_pool`, `deform_conv2d`) are made of tensor operations; all agree with torchvision 0.28's own kernels
to 1e-6 of their size, values and gradients. Compared once (2026-11-28) in float64 with small images,
detections in eval mode, losses, gradients and a step in training mode: Faster R-CNN (MobileNet), RetinaNet,
FCOS, FCN, DeepLabV3 and LR-ASPP pass all four checks. SSDlite passes all but the detections: its scores are
equal to 6e-17, so that rounding orders them. Mask R-CNN passes all four checks, Keypoint R-CNN the forward
pass; its gradients and SSD300 were not compared, since they take many minutes on a CPU.

Video models and optical flow, compared once (2026-11-28, small images): r3d_18, mc3_18, MViT (both
forms), Swin3D, RAFT small and large pass all four checks, and so does r2plus1d_18 in float64 (in float32
its gradients are off by 6e-3: kinks of ReLU).

## Architectures of transformers

Small configurations of architectures that no test has, compared once (2026-11-28): all four checks pass for
29 of 29: albert, audio-spectrogram-transformer, beit, bloom, cohere, convnextv2, deberta-v2, dinov2,
distilbert, electra, falcon, funnel, gpt_neox, hubert, levit, longformer, mamba2, mpnet, olmo2, opt,
patchtst, pegasus, phi, segformer, siglip, stablelm, videomae, whisper, xlnet. For rwkv, PyTorch's own
backward pass refuses.

## Other packages

Models and losses of packages that no test has, compared once (2026-11-28), all four checks: auraloss,
bottleneck-transformer-pytorch, captum, conformer, coral-pytorch, denoising-diffusion-pytorch, egnn-pytorch,
einx, ema-pytorch, entmax, focal-loss-torch, g-mlp-pytorch, geomloss, gpytorch, h-transformer-1d,
halonet-pytorch, info-nce-pytorch, julius, kornia, lambda-networks, linear-attention-transformer, linformer,
lion-pytorch, mixture-of-experts, mlp-mixer-pytorch, ncps, nflows, normflows, nystrom-attention,
open-clip-torch, perceiver-pytorch, piq, product-key-memory, pytorch-crf, pytorch-metric-learning,
pytorch-msssim, pytorch-tabnet, pytorch-tcn, pytorchcv, rotary-embedding-torch, rtdl-revisiting-models,
segment-anything, sinkhorn-transformer, siren-pytorch, slot-attention, snntorch, soft-moe-pytorch,
spikingjelly, timesformer-pytorch, torch-dct, torch-geometric, torch-pruning, torchcde, torchinfo,
vector-quantize-pytorch, zuko. e3nn does not run: it writes `torch.fx` graphs.

## timm by name

`timm.create_model(name)` for {count} names of {modules} architectures, the smallest of each, with small
images and few blocks where the model has such options (`tests/torch_mode/timm_names.toml`): **forward,
gradients, state dict and step are PyTorch's for {all_pass} of {count}.** {train} are compared in training
mode, because of `batch_norm`'s gradient above, and {double} in float64, because of a kink.
`./run test --torch` runs some each time.

{names}
"""


def page(results: dict[str, dict[str, Any]], facts: dict[str, Any]) -> str:
    """The text of docs/libraries.md."""
    passing = sum(all(row[p] for p in scoreboard.PASSES) for row in results.values())
    packages = {name.partition("/")[0] for name in results}
    checked = [row for row in results.values() if "adapter_passes" in row]
    good = sum(row["adapter_passes"] for row in checked)
    head = HEAD.format(
        command=COMMAND,
        all_pass=passing,
        count=len(results),
        packages=len(packages),
        date=facts["date"],
        adapter=f"; {good} of {len(checked)} pass all four checks on it too" if checked else "",
    )
    lines = [
        head,
        "| package | model | forward | gradients | state dict | step | PyTorch | CPU device | adapter |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    notes: list[str] = []
    for package, rows in groupby(results.items(), key=lambda row: row[0].partition("/")[0]):
        for name, row in rows:
            marks = " | ".join("yes" if row[p] else "no" for p in ("forward", "gradients", "state", "step"))
            times = " | ".join(_number(row.get(key)) for key in ("torch", "cpu", "adapter"))
            lines.append(f"| {package} | {name.partition('/')[2]} | {marks} | {times} |")
            notes += [f"- {name}: {row['why']}"] if row["why"] else []
    if notes:
        lines += ["", "Why a model does not pass:", "", *notes]
    return "\n".join(lines) + "\n" + gpu_section(results, facts) + names_section()


def gpu_section(results: dict[str, dict[str, Any]], facts: dict[str, Any]) -> str:
    """Times on a GPU beside PyTorch's, "" if none were measured."""
    rows = {name: row["gpu"] for name, row in results.items() if "gpu" in row}
    if not rows:
        return ""

    ratios: list[str] = []
    for theirs, ours, what in (
        ("torch_forward", "forward", "the forward pass"),
        ("torch_step", "step", "the step"),
        ("torch_step", "compiled", "the compiled step"),
    ):
        pairs = [(row.get(theirs), row.get(ours)) for row in rows.values()]
        known = [a / b for a, b in pairs if a and b]
        ratios += [f"{median(known):.2f} for {what}"] if known else []

    failing = [f"{name} ({_first_reason(row['why'])})" for name, row in rows.items() if not row["passes"]]
    text = GPU_TEXT.format(
        name=facts["gpu"]["name"].replace(" (driver", ", driver").rstrip(")"),
        date=facts["gpu"]["date"],
        torch=facts["gpu"]["torch"],
        count=len(rows),
        passing=len(rows) - len(failing),
        failing=f" (not {'; '.join(failing)})" if failing else "",
        ratios=", ".join(ratios),
    )
    columns = ("forward", "torch_forward", "step", "compiled", "torch_step")
    lines = [f"| {name} | {' | '.join(_number(row.get(c)) for c in columns)} |" for name, row in rows.items()]
    filled = textwrap.fill(" ".join(text.split()), 110, break_on_hyphens=False, break_long_words=False)
    return GPU.format(text=filled) + "\n".join(lines) + "\n"


def _first_reason(why: str) -> str:
    """What failed first, without the place of an error."""
    return why.partition(";")[0].partition(" [")[0].partition(": WGSL")[0]


def take_measured(file: Path) -> None:
    """Write the times of a file of bench/libraries.py into the results."""
    measured = json.loads(file.read_text(encoding="utf-8"))
    results, facts = read()
    for name, row in measured["models"].items():
        passes = all(row.get(p, False) for p in scoreboard.PASSES)
        if measured["is_software"]:
            results[name] |= {"adapter": row.get("first_seconds", 0.0), "adapter_passes": passes}
            continue
        names = {key.replace("flambeau ", "").replace(" ms", "").replace(" ", "_"): key for key in row}
        times = {short: row[key] for short, key in names.items() if key.endswith(" ms")}
        known = results[name].get("gpu", {})  # PyTorch's times, where it was not timed again
        results[name]["gpu"] = known | {
            "passes": passes,
            "why": row.get("why") or row.get("error", ""),
            **times,
        }
    if not measured["is_software"]:
        facts["gpu"] = {key: measured[key] for key in ("name", "date", "torch")}
    RESULTS.write_text(text_of(results, facts), encoding="utf-8")


def names_section() -> str:
    """What of timm's models by name passes."""
    rows = timm_cases.rows()
    modes = Counter(row["mode"] for row in rows.values())
    failing = {name: row["passes"] for name, row in rows.items() if row["passes"] != "all"}
    names = ", ".join(name if name not in failing else f"{name} ({failing[name]} only)" for name in rows)
    return NAMES.format(
        count=len(rows),
        modules=len({row["module"] for row in rows.values()}),
        all_pass=len(rows) - len(failing),
        train=modes["train"],
        double=modes["float64"],
        names=textwrap.fill(names, 140, break_on_hyphens=False),
    )


def measure_names() -> None:
    """Run timm's models by name, and write what passes."""
    rows = timm_cases.rows()
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("eval", "train", "float64"):
            names = [name for name, row in rows.items() if row["mode"] == mode]
            for name, row in run_names(names, mode, Path(folder)).items():
                passing = [p for p in scoreboard.PASSES if row[p]]
                rows[name]["passes"] = "all" if len(passing) == len(scoreboard.PASSES) else ", ".join(passing)
    head = [line for line in timm_cases.FILE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines = [
        f"{name} = {{{', '.join(f'{k} = {toml(v)}' for k, v in row.items())}}}" for name, row in rows.items()
    ]
    timm_cases.FILE.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


def run_names(names: list[str], mode: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The comparison of each of these names of timm, all of one mode."""
    variables, module = timm_cases.variables(mode), "helpers.timm_cases"
    theirs = scoreboard.run("torch", folder, names, module, **variables)
    ours = scoreboard.run("flambeau", folder, names, module, **variables)
    return {name: scoreboard.compare(name, folder, theirs[name], ours[name]) for name in names}


def toml(value: Any) -> str:
    """A value of a row of a TOML file."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def total(facts: dict[str, Any]) -> float:
    """The seconds of forward, backward and the step."""
    return round(sum(facts.get(f"{stage} seconds", 0.0) for stage in STAGES), 3)


def measure() -> dict[str, dict[str, Any]]:
    """The results of all models; what was measured on GPUs stays."""
    results, _ = read()
    names = list(CASES)
    with tempfile.TemporaryDirectory() as folder:
        theirs = scoreboard.run("torch", Path(folder), names)
        ours = scoreboard.run("flambeau", Path(folder), names)
        for name in names:
            row = scoreboard.compare(name, Path(folder), theirs[name], ours[name])
            row |= {"torch": total(theirs[name]), "cpu": total(ours[name])}
            results[name] = results.get(name, {}) | row
    return {name: results[name] for name in names}


def text_of(results: dict[str, dict[str, Any]], facts: dict[str, Any]) -> str:
    """The file of results."""
    lines = [f"# Written by `{COMMAND}`: what of each model is PyTorch's, and seconds"]
    lines += [f"{key} = {toml(value)}" for key, value in facts.items()]
    for name, row in results.items():
        lines += ["", f'[models."{name}"]', *(f"{key} = {toml(value)}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def read() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The results that are written, and the facts of all: dates, machines."""
    facts = tomllib.loads(RESULTS.read_text(encoding="utf-8"))
    return facts.pop("models"), facts


def main(arguments: list[str]) -> None:
    if "--names" in arguments:
        measure_names()
    elif "--measured" in arguments:
        take_measured(Path(arguments[arguments.index("--measured") + 1]))
    elif "--page" not in arguments:
        facts = read()[1] | {"date": date.today().isoformat()}
        RESULTS.write_text(text_of(measure(), facts), encoding="utf-8")
    PAGE.write_text(page(*read()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
