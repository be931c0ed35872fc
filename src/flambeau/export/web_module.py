"""A program's description becomes the ES module that runs it in a page, and the module's TypeScript types."""

import re
from pathlib import Path
from typing import Any

from ..core.files import web_file
from ..io.safetensors import write_bytes

MODULE, EXECUTOR, TYPES = "index.js", "executor.js", "index.d.ts"
ARRAYS = {
    "f32": "Float32Array",
    "i32": "Int32Array",
    "u32": "Uint32Array",
    "i64": "BigInt64Array",
    "u64": "BigUint64Array",
    "bool": "Uint8Array",
    "i8": "Int8Array",
    "u8": "Uint8Array",
    "i16": "Int16Array",
    "u16": "Uint16Array",
    "f16": "Uint16Array",
    "bf16": "Uint16Array",
}

DECLARED = """\
/** Types of the program in this folder. */

/** Elements and their shape. bool comes as 0 and 1, f16 and bf16 as their bits. */
export interface Value<Elements> {{
  data: Elements;
  shape: number[];
  dtype: string;
}}

/** What goes in: elements alone where only the batch size is open, else with their shape. */
export type Given<Elements> = Elements | {{ data: Elements; shape: readonly number[] }};

export interface Inputs {{
{inputs}
}}

export {result}

/** What goes wrong; `name` is LoadError, InputError, Disposed, NoAdapter, DeviceLost, OutOfMemory, ... */
export class ExecutorError extends Error {{}}

/** The GPU, which several programs may share. */
export interface Executor {{
  readonly name: string;
  readonly software: boolean;
  readonly lost: string | null;
}}

export interface Program {{
  readonly adapter: string;
  readonly batch: readonly [least: number, most: number];
  readonly inputs: readonly {{ name: string; dtype: string; shape: readonly (number | "N")[] }}[];
  readonly outputs: readonly {{ name: string; dtype: string }}[];
  run(inputs: Inputs): Promise<Outputs>;
  /** Compile and allocate for a batch size ahead of its first run. */
  prepare(batch?: number): Promise<void>;
  /** Begin the program's random numbers anew, as flambeau.manual_seed does. */
  seed(seed: number | bigint): void;
  dispose(): void;
}}

export interface Options {{
  executor?: Executor;
  onprogress?: (ready: number, all: number) => void;
  /** Those of the folder's files that are there already. */
  files?: {{ [name: string]: ArrayBuffer }};
}}

/** Load the folder at `url`, or the one that this module lies in. */
export function load(url?: string | URL, options?: Options): Promise<Program>;

export function open(): Promise<Executor>;
"""


def check_arrays(program: dict[str, Any]) -> None:
    """TypeError where a page has no array for what goes in or out, or is kept."""
    every = [*program["inputs"], *program["outputs"], *program["weights"]]
    if (strange := next((e for e in every if e["dtype"] not in ARRAYS), None)) is not None:
        what = f"{strange['name']!r} is {strange['dtype']}"
        rule = "a page has no arrays of complex numbers: take, keep and return fb.view_as_real(...)"
        raise TypeError(f"save_program(target='web'): {what}: {rule}")


def add_module(folder: Path, program: dict[str, Any]) -> None:
    """Write the module, its executor and its types beside the program."""
    for name, source in ((MODULE, "program.js"), (EXECUTOR, "executor.js")):
        write_bytes(folder / name, bare(web_file(source).read_text("utf-8")).encode())
    write_bytes(folder / TYPES, types_of(program).encode())


def bare(source: str) -> str:
    """JavaScript without indentation and comments: less to load. No text of the source may have a " // "."""
    comment = r"^ */\*(?:(?!\*/)(?:.|\n))*\*/ *\n"
    return re.sub(rf"{comment}|^ *(?://.*)?\n|^ +| +// .*$", "", source, flags=re.M)


def types_of(program: dict[str, Any]) -> str:
    """The .d.ts file: inputs and outputs by name, with their arrays."""
    inputs = []
    for i in program["inputs"]:
        inputs.append(f"  /** {i['dtype']}[{', '.join(map(str, i['shape']))}] */")
        inputs.append(f"  {_key(i['name'])}: Given<{ARRAYS[i['dtype']]}>;")
    values = [f"Value<{ARRAYS[o['dtype']]}>" for o in program["outputs"]]
    if program["result"] == "dict":
        fields = [f"  {_key(o['name'])}: {v};" for o, v in zip(program["outputs"], values, strict=True)]
        result = "interface Outputs {\n" + "\n".join(fields) + "\n}"
    else:
        result = (
            f"type Outputs = {values[0] if program['result'] == 'tensor' else '[' + ', '.join(values) + ']'};"
        )
    return DECLARED.format(inputs="\n".join(inputs), result=result)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f'"{name}"'
