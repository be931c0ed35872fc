"""Turns the types of exported programs into errors of their users, by TypeScript's own compiler."""

import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

import flambeau as fb
from flambeau.core.files import cache_folder
from flambeau.errors import FlambeauError
from flambeau.site import node

VERSION = "5.9.3"
SHA256 = "10e108c9cf7d5f2879053dff18515fb405abf2ccef63eaaf017d9c571687a1d3"  # of the npm package's .tgz
STRICT = ["--strict", "--noEmit", "--pretty", "false", "--target", "es2022", "--module", "esnext"]

USES = """\
import { load, open, ExecutorError, type Program } from "./two/index.js";
import { load as loadNamed, type Inputs, type Outputs } from "./named/index.js";
import { load as loadOne } from "./one/index.js";

const executor = await open();
const onprogress = (ready: number, all: number) => ready / all;
const files = { "program.json": new ArrayBuffer(8) };
const model: Program = await load(new URL("./two/", import.meta.url), { executor, onprogress, files });
const a = new Float32Array(6), b = new Float32Array(12);
const [product, positive, half] = await model.run({ a: { data: a, shape: [2, 3] }, b });
const numbers: Float32Array = product.data, bits: Uint16Array = half.data, flags: Uint8Array = positive.data;
const shape: number[] = product.shape, adapter: string = model.adapter, most: number = model.batch[1];
const size: number | "N" = model.inputs[0].shape[0];
await model.prepare(2);
model.seed(2n ** 40n);
model.dispose();

const named = await loadNamed(), inputs: Inputs = { tokens: new Int32Array(3), "a mask": new Uint8Array(3) };
const { best, "how sure": sure }: Outputs = await named.run(inputs);
const index: BigInt64Array = best.data, part: Float32Array = sure.data;
const { data, dtype } = await (await loadOne("https://example.org/one")).run({ x: a });
const text: string = dtype, sum: number = data.reduce((x: number, y: number) => x + y, 0);
try {
  await named.run(inputs);
} catch (error) {
  if (error instanceof ExecutorError) console.log(error.name, executor.lost ?? executor.software);
}
"""
# What must not pass: an expression and what is wrong with it.
WRONG = [
    "await model.run({ a })",  # an input is missing
    "await model.run({ a, b, c: a })",  # one too many
    "await model.run({ a: [1, 2, 3], b })",  # no typed array
    "await model.run({ a: new Float64Array(6), b })",  # another one
    "await model.run({ a: { data: a }, b })",  # data without its shape
    "(await model.run({ a, b }))[3]",  # three results
    "(await named.run(inputs)).worst",  # results have names
    "((await named.run(inputs)).best.data) satisfies Float32Array",
    "await load(3)",
    "model.batch[0] = 3",  # read only
    "named.run()",
]


def compiler() -> Path:
    """TypeScript from npm, unpacked in the cache once."""
    found = cache_folder(f"typescript-{VERSION}-{SHA256[:8]}")
    if not found.is_dir():
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=found.parent) as scratch:
            package = node.packed(f"typescript@{VERSION}", Path(scratch))
            assert hashlib.sha256(package.read_bytes()).hexdigest() == SHA256, "typescript: another checksum"
            with tarfile.open(package) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(scratch)
            try:
                (Path(scratch) / "package").rename(found)
            except OSError:
                assert found.is_dir()  # another process was quicker
    return found / "lib" / "tsc.js"


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

    def run(source: str) -> list[str]:
        (folder / "use.ts").write_text(source)
        call = [program, str(tsc), *STRICT, "--moduleResolution", "bundler", "use.ts"]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=100)
        assert bool(done.returncode) == bool(done.stdout), done.stderr
        return done.stdout.splitlines()

    return run


def test_the_types_of_an_exported_program_pass_the_strict_compiler(check):
    assert check(USES) == []


def test_wrong_uses_are_refused_each_in_its_line(check):
    begin = USES.count("\n") + 1
    said = check(USES + "".join(f"{line};\n" for line in WRONG))
    lines = {int(line.split("(")[1].split(",")[0]) for line in said if line.startswith("use.ts(")}
    assert lines == set(range(begin, begin + len(WRONG))), "\n".join(said)
