"""Turns the types of exported programs into errors of their users, by TypeScript's own compiler."""

import json
import subprocess

import pytest
from helpers.typescript import compiler

import flambeau as fb
from flambeau.errors import FlambeauError
from flambeau.export import web_module
from flambeau.site import node

STRICT = ["--strict", "--noEmit", "--pretty", "false", "--target", "es2022"]

USES = """\
import { load, open, ExecutorError, type DType, type Program, type Value } from "./two/index.js";
import { load as loadNamed, type Inputs, type Outputs } from "./named/index.js";
import { load as loadOne } from "one";

const executor = await open({ powerPreference: "low-power" });
const onprogress = (ready: number, all: number) => ready / all, ondownload = onprogress;
const files = { "program.txt": new ArrayBuffer(8), "kernels.wgsl": "https://example.org/kernels.wgsl" };
const { signal } = new AbortController();
const options = { executor, onprogress, ondownload, signal, files };
const model: Program = await load(new URL("./two/", import.meta.url), options);
const a = new Float32Array(6), b = new Float32Array(12);
const [product, positive, half] = await model.run({ a: { data: a, shape: [2, 3] }, b });
const numbers: Float32Array = product.data, bits: Uint16Array = half.data, flags: Uint8Array = positive.data;
const shape: number[] = product.shape, adapter: string = model.adapter, most: number = model.batch[1];
const size: number | "N" = model.inputs[0].shape[0], first: "a" | "b" = model.inputs[0].name;
const kind: "f32" = product.dtype, any: DType = model.outputs[0].dtype, kept: Value[] = [product, positive];
await model.prepare(2);
model.seed(2n ** 40n);
model.dispose();

const lists = await model.run({ a: [[1, 2, 3]], b: [...a, ...b] }, { output: "array" });
const nested: (typeof lists)[1]["data"] = [[true], false];
const [{ data: buffer }] = await model.run({ a, b }, { output: "gpu" }), bytes: number = buffer.size;
const device = model.executor.device, more = await load([new File([], "program.txt")], { device });
await more.run({ a: { data: buffer, shape: [1, 3] }, b: document.createElement("canvas") });
await more.run({ a: [new ImageData(1, 1), new OffscreenCanvas(1, 1)], b: new Image() });
const address = new URL("https://example.org");
await load({ "program.txt": new Blob(), "kernels.wgsl": new Uint8Array(2), "weights.safetensors": address });

const named = await loadNamed(), inputs: Inputs = { tokens: new Int32Array(3), "a mask": [true, 0, false] };
const { best, "how sure": sure }: Outputs = await named.run(inputs);
const index: BigInt64Array = best.data, part: Float32Array = sure.data;
const { data, dtype } = await (await loadOne("https://example.org/one")).run({ x: a });
const text: string = dtype, sum: number = data.reduce((x: number, y: number) => x + y, 0);
try {
  await named.run(inputs);
} catch (error) {
  if (error instanceof ExecutorError) console.log(error.name === "InputError", executor.lost);
}
"""
# What must not pass: an expression and what is wrong with it.
WRONG = [
    "await model.run({ a })",  # an input is missing
    "await model.run({ a, b, c: a })",  # one too many
    'await model.run({ a: ["1"], b })',  # no numbers
    "await model.run({ a: [1n], b })",  # those of another dtype
    "await model.run({ a: new Float64Array(6), b })",  # another array
    "await model.run({ a: { data: a }, b })",  # data without its shape
    "await model.run({ a: { data: new ImageData(1, 1), shape: [1] }, b })",  # pictures have none
    "await model.run({ a: new Blob(), b })",  # to be decoded first
    'await model.run({ a, b }, { output: "list" })',
    "(await model.run({ a, b }))[3]",  # three results
    "(await named.run(inputs)).worst",  # results have names
    "((await named.run(inputs)).best.data) satisfies Float32Array",
    'product.dtype satisfies "i32"',
    "buffer satisfies Float32Array",
    "await load(3)",
    'await load({ "program.txt": new Blob() })',  # a whole folder
    'await load("", { files: { "weights.bin": new Blob() } })',
    "model.batch[0] = 3",  # read only
    "named.run()",
    'new ExecutorError("Oops", "")',
]


@pytest.fixture(scope="module")
def check(gpu, tmp_path_factory):
    """What the compiler says to a source that lies beside three exported programs."""
    program = node.program("node")
    if not program:
        pytest.skip("no TypeScript: Node.js is not installed")
    try:
        tsc = compiler()
    except FlambeauError as e:
        pytest.skip(f"no TypeScript: {e}")
    folder = tmp_path_factory.mktemp("typed")

    def two(a, b):
        return [a @ b, (a.sum(1) > 0), b.half()]

    def named(tokens, mask):
        x = tokens.float().expand(4, -1).T * mask.float().unsqueeze(1)
        return {"best": x.argmax(-1), "how sure": x.amax(-1)}

    programs = {
        "one": (lambda x: x.exp(), {"x": "f32[N, 3]"}),
        "two": (two, {"a": "f32[N, 3]", "b": "f32[3, 4]"}),
        "named": (named, {"tokens": "i32[N]", "a mask": "bool[N]"}),
    }
    for name, (fn, inputs) in programs.items():
        fb.save_program(fn, inputs, folder / name, max_batch=4, target="web")

    (folder / "node_modules").mkdir()
    (folder / "one").rename(folder / "node_modules" / "one")  # as npm would put it there

    def run(source: str, *options: str) -> list[str]:
        (folder / "use.ts").write_text(source)
        (folder / "package.json").write_text('{"type": "module"}')
        done = subprocess.run(
            [program, str(tsc), *STRICT, *options, "use.ts"],
            cwd=folder, capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert bool(done.returncode) == bool(done.stdout), done.stderr
        return done.stdout.splitlines()

    return run


BUNDLER = ("--module", "esnext", "--moduleResolution", "bundler")
NODE = ("--module", "nodenext")


@pytest.mark.share(5)
def test_uses_pass_the_strict_compiler_and_wrong_ones_are_refused_each_in_its_line(check):
    begin = USES.count("\n") + 1
    said = check(USES + "".join(f"{line};\n" for line in WRONG), *NODE)
    lines = {int(line.split("(")[1].split(",")[0]) for line in said if line.startswith("use.ts(")}
    assert lines == set(range(begin, begin + len(WRONG))), "\n".join(said)


@pytest.mark.share(5)
def test_the_types_stand_in_a_worker_alone(check):
    """Whose library has no elements of pages."""
    source = """import { load } from "one";
        const { data } = await (await load()).run({ x: new ImageData(1, 1) }, { output: "gpu" });
        export const size: number = data.size;"""
    assert check(source, *BUNDLER, "--lib", "es2022,webworker") == []


def test_a_folder_is_a_package(gpu, tmp_path):
    """Its package.json, by the folder's name, and all that it names is there."""
    folder = fb.save_program(lambda x: x + 1, {"x": "f32[2]"}, tmp_path / "My net_2", target="web")
    package = json.loads((folder / "package.json").read_text())
    assert package == {
        "name": "my-net-2",
        "version": "1.0.0",
        "type": "module",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}, "./*": "./*"},
        "types": "./index.d.ts",
        "sideEffects": False,
        "files": [
            "index.js", "executor.js", "values.js", "index.d.ts",
            "program.txt", "kernels.wgsl", "weights.safetensors",
        ],
    }  # fmt: skip
    assert {p.name for p in folder.iterdir()} == {*package["files"], "package.json"}
    assert web_module.package("")["name"] == web_module.package("Привет")["name"] == "program"
    assert len(web_module.package("a" * 500)["name"]) == 200
