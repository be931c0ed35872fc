"""A kernel's WGSL into the language of a driver: an adapter's by Dawn, another by a compiler in PATH."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..device.generated import Generated, dawn_compiler
from ..errors import DeviceError, FlambeauError, KernelError

SUFFIXES = {".spvasm": "SPIR-V", ".metal": "MSL", ".hlsl": "HLSL", ".glsl": "GLSL"}
SECONDS = 60  # that a compiler may take
# what a compiler is called with, by language; {text} is the file that it reads, {out} the one that it writes
COMPILERS = {
    "tint": {
        language: ("--format", name, "-o", "{out}", "{text}")
        for language, name in {"SPIR-V": "spvasm", "MSL": "msl", "HLSL": "hlsl", "GLSL": "glsl"}.items()
    },
    "naga": {language: ("{text}", "{out}") for language in ("MSL", "HLSL")},
}


def emitted(wgsl: str, language: str = "", adapter: str = "") -> Generated:
    """What a driver is given for a kernel. language: SPIR-V, MSL, HLSL or GLSL; "" that of Dawn. adapter: the
    name of the one that Dawn is to take. FlambeauError where nobody here writes that, KernelError where the
    text does not compile."""
    try:
        generated = dawn_compiler(adapter).compile(wgsl)
        if language in ("", generated.language):
            return generated
        why = f"Dawn writes {generated.language} here"
    except DeviceError as e:
        why = str(e)
    for name, languages in COMPILERS.items():
        path = shutil.which(name)
        if path and language in languages:
            return Generated(language, _compile(path, languages[language], wgsl, language))
    known = " or ".join(name for name, languages in COMPILERS.items() if language in languages)
    advice = f": put {known} into PATH" if known else ""
    raise FlambeauError(f"inspect --emit: no {language or 'code'} of a driver: {why}{advice}")


def _compile(path: str, words: tuple[str, ...], wgsl: str, language: str) -> str:
    """What a compiler writes."""
    suffix = next(s for s, name in SUFFIXES.items() if name == language)
    with tempfile.TemporaryDirectory() as folder:
        files = {"text": Path(folder, "kernel.wgsl"), "out": Path(folder, f"kernel{suffix}")}
        files["text"].write_text(wgsl, "utf-8")
        command = [path, *(word.format(**files) for word in words)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise FlambeauError(f"inspect --emit: {path} can't be run: {e}") from None
        if ran.returncode or not files["out"].is_file():
            message = (ran.stderr or ran.stdout).strip() or f"exit code {ran.returncode}"
            raise KernelError(f"inspect --emit: {Path(path).name} does not compile it: {message}")
        return files["out"].read_text("utf-8", "replace")


def of_kernel(inspection: Any, kernel: int, language: str = "", wgsl: str | None = None) -> Generated:
    """What a driver is given for a kernel of an inspection, or for another text of it."""
    from .send import row_of

    row = row_of(inspection, kernel)
    name = inspection.device.removeprefix("gpu:").rpartition(" (")[0]
    return emitted(inspection.shaders[row.shader].wgsl if wgsl is None else wgsl, language, name)
