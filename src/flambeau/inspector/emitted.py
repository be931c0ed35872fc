"""Compiles a kernel's WGSL to a driver's language, with Dawn for an adapter or a compiler in PATH."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..device.generated import Generated, dawn_compiler
from ..errors import DeviceError, FlambeauError, KernelError

SUFFIXES = {".spvasm": "SPIR-V", ".metal": "MSL", ".hlsl": "HLSL", ".glsl": "GLSL"}
SECONDS = 60  # the time limit of a compiler
# The arguments of each compiler by language; {text} is the input file, {out} the output file.
COMPILERS = {
    "tint": {
        language: ("--format", name, "-o", "{out}", "{text}")
        for language, name in {"SPIR-V": "spvasm", "MSL": "msl", "HLSL": "hlsl", "GLSL": "glsl"}.items()
    },
    "naga": {language: ("{text}", "{out}") for language in ("MSL", "HLSL")},
}


def emit_code(wgsl: str, language: str = "", adapter: str = "") -> Generated:
    """Compile a kernel to the code that a driver gets.

    language: SPIR-V, MSL, HLSL or GLSL; "" for the one that Dawn uses. adapter: the name of the adapter that
    Dawn opens. FlambeauError if no compiler here writes the language, KernelError if the text does not
    compile.
    """
    try:
        generated = dawn_compiler(adapter).compile(wgsl)
        if language in ("", generated.language):
            return generated
        reason = f"Dawn writes {generated.language} here"
    except DeviceError as e:
        reason = str(e)
    for name, languages in COMPILERS.items():
        path = shutil.which(name)
        if path and language in languages:
            return Generated(language, _compile(path, languages[language], wgsl, language))
    compilers = " or ".join(name for name, languages in COMPILERS.items() if language in languages)
    advice = f": put {compilers} into PATH" if compilers else ""
    raise FlambeauError(f"inspect --emit: the driver provides no {language or 'code'}: {reason}{advice}")


def _compile(path: str, words: tuple[str, ...], wgsl: str, language: str) -> str:
    """Run a compiler and return its output."""
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
    """Compile an inspection's kernel, or an edited text of it, to the code that a driver gets."""
    from .send import row_of

    row = row_of(inspection, kernel)
    name = inspection.device.removeprefix("gpu:").rpartition(" (")[0]
    return emit_code(inspection.shaders[row.shader].wgsl if wgsl is None else wgsl, language, name)
