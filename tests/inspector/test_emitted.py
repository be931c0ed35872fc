"""WGSL in the languages of drivers: by Dawn, by a compiler in PATH, and what is said where there is none."""

import os
import stat

import pytest

from flambeau.device.generated import dawn_compiler
from flambeau.errors import FlambeauError, KernelError
from flambeau.inspector.emitted import SUFFIXES, emit_code, of_kernel

TEXT = """@group(0) @binding(0) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) { o[g.x] *= 2.0; }
"""


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """compiler(name, script): a program that alone is in PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def made(name, script):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)

    return made


def test_by_dawn(product):
    pytest.importorskip("wgpudawn")
    found = emit_code(TEXT)
    assert found.language in SUFFIXES.values() and emit_code(TEXT, found.language) is found
    wanted = {"SPIR-V": "OpExecutionMode", "MSL": "kernel void", "HLSL": "numthreads"}
    assert wanted[found.language] in found.text and found.text.endswith("\n")
    made, _ = product
    assert of_kernel(made, 0).language == found.language
    with pytest.raises(KernelError) as e:
        emit_code(TEXT.replace("2.0", "2u"))
    assert str(e.value).startswith("Dawn does not compile it: ")
    with pytest.raises(FlambeauError) as e:
        of_kernel(made, 5)
    assert str(e.value) == "inspect: kernel 5 does not exist: pass 0"


@pytest.mark.skipif(os.name != "posix", reason="the compiler of this test is a shell script")
def test_by_a_compiler(compiler, monkeypatch):
    without_dawn(monkeypatch)
    compiler("naga", 'while read -r line; do echo "> $line"; done < "$1" > "$2"')
    found = emit_code(TEXT, "MSL")
    assert found == ("MSL", "".join(f"> {line}\n" for line in TEXT.splitlines()))
    compiler("tint", 'echo "$1 $2" > "$4"')
    assert emit_code(TEXT, "GLSL").text == "--format glsl\n"
    compiler("tint", 'echo "no such thing" >&2; exit 3')
    with pytest.raises(KernelError) as e:
        emit_code(TEXT, "GLSL")
    assert str(e.value) == "inspect --emit: tint does not compile it: no such thing"


def without_dawn(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "wgpudawn", None)
    dawn_compiler.cache_clear()


def test_nobody_writes_it(compiler, monkeypatch):
    without_dawn(monkeypatch)
    missing = "wgpudawn is not installed: pip install wgpudawn"
    told = {
        "MSL": f"the driver provides no MSL: {missing}: put tint or naga into PATH",
        "SPIR-V": f"the driver provides no SPIR-V: {missing}: put tint into PATH",
        "": f"the driver provides no code: {missing}",
    }
    for language, text in told.items():
        with pytest.raises(FlambeauError) as e:
            emit_code(TEXT, language)
        assert str(e.value) == f"inspect --emit: {text}"
