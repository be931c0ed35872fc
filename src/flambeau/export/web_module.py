"""Writes the ES module that runs a saved program in a web page: an npm package with types."""

import json
import re
from pathlib import Path
from typing import Any

from ..core.files import web_file
from ..io.safetensors import write_bytes

# The description is JSON in a .txt file, because Parcel (a bundler) converts .json files that a module
# references by URL to JavaScript.
PROGRAM_FILES = ("program.txt", "kernels.wgsl", "weights.safetensors")
MODULE, EXECUTOR, VALUES = "index.js", "executor.js", "values.js"
TYPES, PACKAGE = "index.d.ts", "package.json"
# source files in web/
SOURCES = {MODULE: "program.js", EXECUTOR: "executor.js", VALUES: "values.js", TYPES: "program.d.ts"}
FILES = (*SOURCES, PACKAGE)  # the runtime files that a program for a page includes
FOR_PYTHON = "// --- for Python alone"  # the module has only the lines of a source file before this one
LONGEST = 200  # the longest package name; npm allows 214
# dtypes with an array type in program.d.ts
DTYPES = {"f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"}


def check_arrays(program: dict[str, Any]) -> None:
    """Raise TypeError if JavaScript has no array type for an input, output or weight."""
    entries = [*program["inputs"], *program["outputs"], *program["weights"]]
    if (unknown := next((e for e in entries if e["dtype"] not in DTYPES), None)) is not None:
        complex_value = f"{unknown['name']!r} is {unknown['dtype']}"
        rule = "JavaScript has no complex arrays: use fb.view_as_real(...) for inputs, state and results"
        raise TypeError(f"save_program(target='web'): {complex_value}: {rule}")


def add_module(folder: Path, program: dict[str, Any]) -> None:
    """Write the module, its types and its package.json beside the program."""
    for name, source in SOURCES.items():
        text = web_file(source).read_text("utf-8").partition(FOR_PYTHON)[0]
        write_bytes(
            folder / name, (typescript_text(text, program) if name == TYPES else minify(text)).encode()
        )
    write_bytes(folder / PACKAGE, json.dumps(package(folder.resolve().name), indent=2).encode() + b"\n")


def package(name: str) -> dict[str, Any]:
    """Return the package.json that makes the folder an npm package of this name."""
    return {
        "name": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST] or "program",
        "version": "1.0.0",
        "type": "module",
        "exports": {".": {"types": f"./{TYPES}", "default": f"./{MODULE}"}, "./*": "./*"},
        "types": f"./{TYPES}",  # for TypeScript's oldest module resolution
        "sideEffects": False,
        "files": [*SOURCES, *PROGRAM_FILES],
    }


def minify(source: str) -> str:
    """Remove indentation and comments from JavaScript. No string in the source may contain " // "."""
    comment = r"^ */\*(?:(?!\*/)(?:.|\n))*\*/ *\n"
    return re.sub(rf"{comment}|^ *(?://.*)?\n|^ +| +// .*$", "", source, flags=re.M)


def typescript_text(text: str, program: dict[str, Any]) -> str:
    """Return the text of program.d.ts for one program: its inputs and outputs by name, with their dtypes."""
    inputs: list[str] = []
    for i in program["inputs"]:
        inputs.append(f"  /** {i['dtype']}[{', '.join(map(str, i['shape']))}] */")
        inputs.append(f'  {_key(i["name"])}: Given<"{i["dtype"]}">;')
    values = [f'Value<"{o["dtype"]}", O>' for o in program["outputs"]]
    outputs = 'Outputs<O extends Output = "typed">'
    if program["result"] == "dict":
        fields = [f"  {_key(o['name'])}: {v};" for o, v in zip(program["outputs"], values, strict=True)]
        result = _block(f"interface {outputs}", fields)
    else:
        is_tensor = program["result"] == "tensor"
        result = f"export type {outputs} = {values[0] if is_tensor else '[' + ', '.join(values) + ']'};"
    return text.replace("//: inputs", _block("interface Inputs", inputs)).replace("//: outputs", result)


def _block(head: str, lines: list[str]) -> str:
    return "\n".join([f"export {head} {{", *lines, "}"])


def _key(name: str) -> str:
    # TypeScript's property names need quotes unless they are identifiers.
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)
