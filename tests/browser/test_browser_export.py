"""An exported program in a plain page, without Python: the desktop's numbers, and what is said otherwise."""

import base64
import json
import re
import shutil
import struct
import threading

import numpy as np
import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau import nn
from flambeau.core.faults import VALUES
from flambeau.site import serve
from flambeau.site.server import address

RUN = """async ([folder, inputs, seed]) => {
    const { load } = await import(`/${folder}/index.js`);
    globalThis.models ??= {};
    const model = globalThis.models[folder] ??= await load();
    if (seed !== null) model.seed(seed);
    const given = {};
    for (const [name, { type, text, shape }] of Object.entries(inputs)) {
        const data = new globalThis[type](Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
        given[name] = shape ? { data, shape } : data;
    }
    const made = await model.run(given);
    const one = ({ data, shape, dtype }) => {
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        return { text: btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")), shape, dtype,
                 type: data.constructor.name };
    };
    if (made.data) return one(made);
    return Array.isArray(made) ? made.map(one)
        : Object.fromEntries(Object.entries(made).map(([name, value]) => [name, one(value)]));
}"""
ARRAYS = {"f32": "Float32Array", "i32": "Int32Array", "i64": "BigInt64Array"}
ARRAYS |= {"u8": "Uint8Array", "bool": "Uint8Array"}
NUMPY = {"f32": "f4", "i32": "i4", "i64": "i8", "u8": "u1", "bool": "?", "f16": "f2"}


class Digits(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(
            nn.Conv2d(1, 4, 5), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5),
            nn.Linear(4 * 12 * 12, 10),
        )  # fmt: skip
        self.body(fb.rand(4, 1, 28, 28) + 1)

    def forward(self, x):
        return self.body(x)


class Attention(nn.Module):
    def __init__(self):
        self.project, self.out = nn.Linear(8, 24), nn.Linear(8, 6)

    def forward(self, tokens):
        q, k, v = self.project(tokens).chunk(3, -1)
        scores = self.out(nn.functional.scaled_dot_product_attention(q, k, v)).softmax(-1)
        return {"scores": scores, "best": scores.argmax(-1), "sure": scores.amax(-1) > 0.2}


MODELS = {
    "digits": (Digits, {"x": "f32[N, 1, 28, 28]"}),
    "attention": (Attention, {"tokens": "f32[N, 5, 8]"}),
    "two": (lambda: lambda a, b: [a @ b, (a.sum(1) > 0), b.half()], {"a": "f32[N, 3]", "b": "f32[3, 4]"}),
    "bytes": (lambda: lambda x, m: fb.where(m, x.float() / 255, -1.0), {"x": "u8[N, 7]", "m": "bool[N, 7]"}),
    "rows": (lambda: lambda i: nn.functional.embedding(i, fb.arange(5.0).unsqueeze(1)), {"i": "i32[N]"}),
    "chances": (lambda: lambda x: nn.functional.binary_cross_entropy(x, x * 0 + 0.5), {"x": "f32[N]"}),
    "noise": (lambda: lambda x: x + fb.rand(*x.shape), {"x": "f32[N, 5]"}),
}


def decoder():
    """A small language model with the same random weights each time."""
    fb.manual_seed(11)
    config = fb.models.LlamaConfig(97, 32, 64, 2, 4, num_key_value_heads=2)
    return fb.models.LlamaForCausalLM(config).eval()


STATE = {}  # of "counting", by name


def counting():
    """A step of attention with a cache, and two vectors that trade places: the function and its inputs."""
    cache, w = nn.KVCache(1, 2, 16, 4), fb.rand(8, 24)
    a, b = fb.zeros(3).realize(), fb.tensor([1.0, 2, 3])
    STATE.update({"keys": cache.keys, "values": cache.values, "count": cache.count, "a": a, "b": b})

    def step(x):
        q, k, v = (t.reshape(1, -1, 2, 4).transpose(1, 2) for t in (x @ w).chunk(3, -1))
        y, before, total = cache(q, k, v), a.clone(), a + b
        a.assign_(b)
        b.assign_(total)
        return {"y": y, "before": before, "count": cache.count}

    return step, {"x": "f32[N, 8]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, gpu):
    """A site of exported programs, and a page with nothing on it."""
    made = tmp_path_factory.mktemp("exported")
    fb.manual_seed(2)
    for name, (model, inputs) in MODELS.items():
        fb.save_program(model(), inputs, made / name, max_batch=20, target="web")
    table, places = fb.arange(10.0).reshape(5, 2), fb.tensor([7, 1])
    fb.save_program(*counting(), made / "counting", max_batch=4, target="web", state=STATE)
    fb.models.save_decoder(decoder(), made / "decoder", context=96, chunk=2, sample=True, target="web")
    spoilt = lambda x: x @ table.index_select(0, places).softmax(0)  # noqa: E731
    fb.save_program(spoilt, {"x": "f32[N, 2]"}, made / "spoilt", max_batch=3, target="web")
    (made / "page.html").write_text("<!doctype html><title>plain</title>")
    return made


@pytest.fixture(scope="module")
def home(folder):
    server = serve(folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server)
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def plain(browser, home):
    """One page for the tests that only compute."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{home}page.html")
    yield page
    context.close()


def inputs_of(name, n):
    rng, made = np.random.default_rng(n), {}
    for key, text in MODELS[name][1].items():
        dtype, sizes = text.rstrip("]").split("[")
        shape = [n if s.strip() == "N" else int(s) for s in sizes.split(",")]
        values = (
            rng.normal(0, 1, shape)
            if dtype == "f32"
            else rng.integers(0, 2 if dtype == "bool" else 255, shape)
        )
        made[key] = values.astype(NUMPY[dtype])
    return made


def sent(array, with_shape=False):
    kind = {"f4": "Float32Array", "u1": "Uint8Array", "b1": "Uint8Array", "i4": "Int32Array"}[
        array.dtype.str[1:]
    ]
    text = base64.b64encode(array.tobytes()).decode()
    return {"type": kind, "text": text, "shape": list(array.shape) if with_shape else None}


def in_page(page, name, given, with_shape=False, seed=None):
    made = page.evaluate(RUN, [name, {k: sent(v, with_shape) for k, v in given.items()}, seed])

    def value(m):
        raw = base64.b64decode(m["text"])
        return np.frombuffer(raw, NUMPY[m["dtype"]]).reshape(m["shape"])

    if isinstance(made, list):
        return [value(m) for m in made]
    return value(made) if "text" in made else {k: value(m) for k, m in made.items()}


def flat(result):
    if isinstance(result, dict):
        return list(result.values())
    return result if isinstance(result, list) else [result]


@pytest.mark.parametrize("name", ["digits", "attention", "two", "bytes"])
@pytest.mark.parametrize("n", [1, 3, 17])
def test_the_page_gives_the_desktops_numbers(name, n, plain, folder):
    given = inputs_of(name, n)
    wanted = fb.load_program(folder / name)(**given)
    found = in_page(plain, name, given, with_shape=n == 3)
    assert isinstance(found, dict) == isinstance(wanted, dict)
    for there, here in zip(flat(found), flat(wanted), strict=True):
        assert there.shape == here.shape
        np.testing.assert_allclose(there, here.numpy(), rtol=1e-4, atol=1e-4)


STATES = """async () => {
    const { load } = await import("/counting/index.js"), plain = (value) => [...value.data];
    const calls = [2, 1, 4, 1, 3].map((n, i) =>
        Float32Array.from({ length: 8 * n }, (_, j) => Math.sin(i + j)));
    const one = await load(), other = await load(), found = [], kept = {};
    for (const x of calls) {
        const { y, before, count } = await one.run({ x });
        found.push([plain(y), plain(before), plain(count)]);
    }
    for (const [name, value] of Object.entries(await one.state())) kept[name] = plain(value);
    const first = await other.run({ x: calls[0] });
    one.reset();
    const again = await one.run({ x: calls[0] }, { output: "array" });
    const last = [plain(first.y), plain(first.count)];
    last.push(again.y.data.flat(3), again.before.data, again.count.data);
    one.dispose(), other.dispose();
    return [found, kept, last];
}"""


def test_state_stays_in_the_page_from_run_to_run(plain, folder):
    """A second program of the page has its own; `reset` restores its first values."""
    found, kept, (y, count, y_again, before, count_again) = plain.evaluate(STATES)
    program = fb.load_program(folder / "counting")
    for i, (n, there) in enumerate(zip([2, 1, 4, 1, 3], found, strict=True)):
        wanted = program(np.sin(i + np.arange(8 * n)).astype("f4").reshape(n, 8))
        for a, b in zip(there, wanted.values(), strict=True):
            np.testing.assert_allclose(a, b.numpy().reshape(-1), rtol=1e-4, atol=1e-5)
    for name, value in program.state().items():
        np.testing.assert_allclose(kept[name], value.numpy().reshape(-1), rtol=1e-4, atol=1e-5)
    assert y == y_again == found[0][0]
    assert (before, count, count_again) == ([0, 0, 0], [2], [2])
    for tensor in STATE.values():  # saving changes nothing
        assert tensor.numpy().sum() in (0, 6)


WRITES = """async (prompt) => {
    const { load } = await import("/decoder/index.js"), model = await load(), tokens = [];
    let token = null;
    for (let at = 0; at < prompt.length; at += 2)
        ({ token } = await model.run({ tokens: Int32Array.from(prompt.slice(at, at + 2)) }));
    while (tokens.push(token.data[0]) < 64) ({ token } = await model.run({ tokens: token.data }));
    return tokens;
}"""


def test_some_of_the_results(plain):
    """Only these are read; a wrong name is said, and so is a batch size that was not saved."""
    told = plain.evaluate("""async () => {
        const { load } = await import("/decoder/index.js"), model = await load();
        const tokens = Int32Array.of(5, 9), { token } = await model.run({ tokens }), said = [];
        const only = ["token"];
        model.reset();
        const typed = await model.run({ tokens }, { only });
        model.reset();
        const kept = await model.run({ tokens }, { only: ["logits"], output: "gpu" });
        const draw = await load("/decoder/draw/", { executor: model.executor }), { batches } = model;
        const best = await draw.run({
            ...kept, temperature: Float32Array.of(0), top_k: Int32Array.of(0), top_p: Float32Array.of(1),
        });
        said.push(best.token.data[0] - token.data[0]);
        for (const wrong of [{ only: ["tokens"] }, { only: ["token"], output: "x" }])
            await model.run({ tokens }, wrong).catch((error) => said.push(`${error.name}: ${error.message}`));
        model.dispose();
        return [Object.keys(typed), typed.token.data[0] - token.data[0], Object.keys(kept), batches, said];
    }""")
    assert told == [["token"], 0, ["logits"], [1, 2], [
        0,
        "InputError: run: no result 'tokens': it has token, logits",
        'InputError: run: output is "x": give "typed", "array" or "gpu"',
    ]]  # fmt: skip


@pytest.mark.share(3)
def test_a_language_model_writes_the_desktops_tokens(plain):
    """64 greedy tokens after a prompt."""
    prompt = [3, 5, 7, 11, 13, 17, 19]
    wanted = fb.models.generate(decoder(), [prompt], max_new_tokens=64).tolist()[0][len(prompt) :]
    assert len(set(wanted)) > 8  # no single token again and again
    assert plain.evaluate(WRITES, prompt) == wanted


def test_random_numbers_are_the_desktops(plain, folder):
    x = {"x": np.zeros((7, 5), "f4")}
    found = [in_page(plain, "noise", x, seed=seed) for seed in (2**40 + 9, None)]
    fb.manual_seed(2**40 + 9)
    program = fb.load_program(folder / "noise")
    for there in found:
        np.testing.assert_array_equal(there, program(**x).numpy())


def test_calls_at_the_same_time_do_not_mix(plain):
    got = plain.evaluate("""async () => {
        const { load } = await import("/noise/index.js");
        const first = await load("/bytes");
        const x = (v, n) => ({ x: new Uint8Array(7 * n).fill(v), m: new Uint8Array(7 * n).fill(1) });
        const made = await Promise.all([1, 2, 3, 4, 5, 6, 2].map((n) => first.run(x(51 * (n % 3), n))));
        const other = await load("/noise", { executor: first.executor });
        await other.prepare(2);
        const shared = (await other.run({ x: new Float32Array(10) })).shape;
        other.dispose();
        const still = (await first.run(x(255, 1))).data[6];
        first.dispose();
        const disposed = await first.run(x(0, 1)).catch((error) => `${error.name}: ${error.message}`);
        return [made.map(({ data, shape }) => [shape[0], data[0], data.at(-1)]), shared, still, disposed];
    }""")
    wanted = [[n, pytest.approx(0.2 * (n % 3)), pytest.approx(0.2 * (n % 3))] for n in [1, 2, 3, 4, 5, 6, 2]]
    assert got == [wanted, [2, 5], 1, "Disposed: this program was disposed: load it again"]


def test_programs_that_are_disposed_leave_nothing_on_a_shared_executor(plain):
    found = plain.evaluate("""async () => {
        const { load, open } = await import("/noise/index.js"), executor = await open(), counts = [];
        const filled = (n, value) => new Uint8Array(7 * n).fill(value);
        const inputs = { noise: (n) => ({ x: new Float32Array(5 * n) }),
                         bytes: (n) => ({ x: filled(n, 51), m: filled(n, 1) }) };
        const stays = await load("/noise", { executor });
        await stays.run(inputs.noise(3));
        for (let round = 0; round < 50; round++) {
            const name = Object.keys(inputs)[round % 2], model = await load(`/${name}`, { executor });
            for (const n of [1, 3, 1 + round % 5]) {
                const { data } = await model.run(inputs[name](n));
                if (name === "bytes" && data.some((v) => Math.abs(v - 0.2) > 1e-6)) return `wrong: ${data}`;
            }
            if (round % 3) model.dispose();
            else {
                const running = model.run(inputs[name](2)); // its answer comes all the same
                model.dispose();
                if ((await running).data.length !== 2 * { noise: 5, bytes: 7 }[name]) return "short";
            }
            await executor.wait();
            const { bindings, users, buffers, prepared, pipelines } = executor;
            const sizes = [bindings, users, buffers, prepared, ...users.values()].map(({ size }) => size);
            counts.push([pipelines.filter(Boolean).length, ...sizes].join());
        }
        const rest = (await stays.run(inputs.noise(3))).shape;
        executor.device.destroy();
        return [[...new Set(counts)].length, executor.pipelines.length < 12, rest];
    }""")
    assert found == [1, True, [3, 5]]


def test_no_more_bind_groups_are_kept_than_so_many(plain):
    found = plain.evaluate("""async () => {
        const { open, load } = await import("/bytes/index.js"), executor = await open();
        executor.bindingsKept = 2;
        const model = await load(undefined, { executor }), seen = [];
        for (const n of [1, 2, 3, 4, 5, 6, 1, 2, 3]) {
            const x = new Uint8Array(7 * n).fill(51), m = new Uint8Array(7 * n).fill(1);
            const { data } = await model.run({ x, m });
            seen.push(data.every((v) => Math.abs(v - 0.2) < 1e-6) && executor.bindings.size <= 3);
        }
        executor.device.destroy();
        return seen;
    }""")
    assert found == [True] * 9


def test_an_index_out_of_range_throws_in_its_own_run(plain):
    got = plain.evaluate("""async () => {
        const { load } = await import("/rows/index.js"), model = await load(), found = [];
        const run = (...i) => model.run({ i: Int32Array.from(i) });
        for (const i of [[0, 4], [1, 5], [-1, 2], [3, 0]])
            found.push(await run(...i).then((y) => [...y.data], (e) => `${e.name}: ${e.message}`));
        const both = await Promise.allSettled([run(9, 1), run(2, 1)]);
        model.dispose();
        return [...found, both.map((one) => one.status)];
    }""")
    told = "IndexError: embedding(dim 0 of size 5): index {} is out of range: give indices that are inside"
    assert got == [[0, 4], told.format(5), told.format(-1), [3, 0], ["rejected", "fulfilled"]]


def test_a_value_out_of_range_throws_in_its_own_run(plain):
    got = plain.evaluate("""async () => {
        const { load } = await import("/chances/index.js"), model = await load(), found = [];
        const run = (x) => model.run({ x: Float32Array.from(x) });
        for (const x of [[0.5, 0.5], [0.5, 1.5], [0.5, 0.5]])
            found.push(await run(x).then((y) => y.data[0], (e) => `${e.name}: ${e.message}`));
        model.dispose();
        return found;
    }""")
    assert got[1] == f"InputError: {VALUES['binary_cross_entropy input']}"
    assert np.allclose([got[0], got[2]], np.log(2), atol=1e-6)


def test_what_is_computed_once_of_an_index_out_of_range_throws_in_each_run(plain):
    got = plain.evaluate("""async () => {
        const { open, load } = await import("/spoilt/index.js"), executor = await open();
        const model = await load(undefined, { executor }), rows = await load("/rows/", { executor });
        const found = [], told = (e) => `${e.name}: ${e.message}`;
        for (const n of [1, 2, 1])
            found.push(await model.run({ x: new Float32Array(2 * n) }).then(() => "", told));
        found.push([...(await rows.run({ i: Int32Array.of(3, 0) })).data]);
        executor.device.destroy();
        return found;
    }""")
    told = "IndexError: index_select(dim 0 of size 5): index 7 is out of range: give indices that are inside"
    assert got == [told, told, told, [3, 0]]


WRONG = {
    "new Float32Array(3)": "run: inputs come by name: it takes {a: f32[N, 3], b: f32[3, 4]}",
    "{ a }": "run: no 'b': it takes {a: f32[N, 3], b: f32[3, 4]}",
    "{ a, b, c: a }": "run: no input 'c': it takes {a: f32[N, 3], b: f32[3, 4]}",
    "{ a: new Float32Array(4), b }": "run: a has 4 elements, and f32[1, 3] has 3",
    "{ a: { data: a, shape: [3, 2] }, b }": "run: a is f32[3, 2], not f32[N, 3] with N = 3",
    "{ a: { data: a, shape: [6] }, b }": "run: a is f32[6], not f32[N, 3]",
    "{ a, b: a }": "run: b has 6 elements, and f32[3, 4] has 12",
    "{ a: new Float32Array(300), b }": (
        "run: a batch of 100, and the program was saved for 1 to 20: split it, or export"
        " again with max_batch=100"
    ),
    "{ a: new Float32Array(0), b }": (
        "run: a batch of 0, and the program was saved for 1 to 20: it takes at least 1"
    ),
}  # fmt: skip


def test_wrong_inputs_are_said(plain):
    found = plain.evaluate("""async (cases) => {
        const { load, ExecutorError } = await import("/two/index.js"), model = await load();
        const a = new Float32Array(6), b = new Float32Array(12), said = {};
        for (const text of cases) {
            const given = new Function("a", "b", `return ${text}`)(a, b);
            said[text] = await model.run(given).then(() => "nothing", (error) =>
                error instanceof ExecutorError && error.name === "InputError" ? error.message : `${error}`);
        }
        model.dispose();
        return said;
    }""", list(WRONG))  # fmt: skip
    assert found == WRONG


def change(name, text):
    return lambda f: (f / name).write_text(text((f / name).read_text()))


def header(edit):
    """Change the header of the weights, and its length with it."""

    def changed(f):
        data = (f / "weights.safetensors").read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        found = json.loads(data[8 : 8 + length])
        edit(found)
        text = json.dumps(found).encode()
        (f / "weights.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return changed


DAMAGE = {
    "no kernels": (
        lambda f: (f / "kernels.wgsl").unlink(),
        "kernels.wgsl can't be had from {url}kernels.wgsl (404): name a folder of save_program, whole",
    ),
    "cut": (
        change("program.txt", lambda t: ""),
        "program.txt is no JSON (Unexpected end of JSON input): save the program again",
    ),
    "of something else": (
        change("program.txt", lambda t: "[]"),
        "program.txt is of something else: name a folder of save_program",
    ),
    "key": (
        change("program.txt", lambda t: t.replace('"kernels"', '"colonels"')),
        "program.txt is damaged (Cannot read properties of undefined (reading 'length')): save the program"
        " again",
    ),
    "version": (
        change("program.txt", lambda t: t.replace('"version": 5', '"version": 6')),
        "program.txt is of version 6 of the format, and this module reads 5: export the program again, with"
        " its module",
    ),
    "kernels of another": (
        lambda f: (f / "kernels.wgsl").write_text(""),
        "program.txt has {kernels} kernels, kernels.wgsl 0: the files are not of one program",
    ),
    "half the weights": (
        lambda f: (f / "weights.safetensors").write_bytes((f / "weights.safetensors").read_bytes()[:-40]),
        "weights.safetensors is cut short or no .safetensors file: get a whole copy",
    ),
    "more than the weights": (
        lambda f: (f / "weights.safetensors").write_bytes((f / "weights.safetensors").read_bytes() + b"more"),
        "weights.safetensors is cut short or no .safetensors file: get a whole copy",
    ),
    "weights of fewer bytes": (
        header(lambda h: h["out.bias"].update(shape=[7])),
        "weights.safetensors is cut short or no .safetensors file: get a whole copy",
    ),
    "weights that overlap": (
        header(lambda h: h["out.bias"].update(data_offsets=h["project.bias"]["data_offsets"])),
        "weights.safetensors is cut short or no .safetensors file: get a whole copy",
    ),
    "a plan": (
        change("program.txt", lambda t: t.replace('"plan_of"', '"plans_of"')),
        "program.txt is damaged (Cannot read properties of undefined (reading 'flatMap')): save the program"
        " again",
    ),
    "weights of another": (
        lambda f: fb.save({"project.weight": fb.zeros(3)}, f / "weights.safetensors"),
        "weights.safetensors is of another model: 'project.weight' is f32[3], not f32[24, 8]; 'project.bias'"
        " is missing, not f32[24]; 'out.weight' is missing, not f32[6, 8]; 'out.bias' is missing, not f32[6]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_folder_is_told(what, plain, folder, home):
    damage, told = DAMAGE[what]
    name = f"damaged-{list(DAMAGE).index(what)}"
    shutil.copytree(folder / "attention", folder / name)
    damage(folder / name)
    kernels = len(json.loads((folder / "attention" / "program.txt").read_text())["kernels"])
    found = plain.evaluate(
        """(name) => import("/attention/index.js").then(({ load }) => load(`/${name}`))
            .then((model) => model.prepare(1))
            .then(() => "nothing", (error) => `${error.name}: ${error.message}`)""",
        name,
    )
    assert found == f"LoadError: {told.format(url=f'{home}{name}/', kernels=kernels)}"


def test_without_webgpu_nothing_is_downloaded(browser, home):
    context = browser.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda r: asked.append(r.url))
    page.add_init_script("delete Navigator.prototype.gpu")
    page.goto(f"{home}page.html")
    found = page.evaluate("""() => import("/two/index.js").then(({ load }) => load())
        .then(() => "nothing", (error) => `${error.name}: ${error.message}`)""")
    context.close()
    assert found == "NoAdapter: this browser has no WebGPU: update it or turn WebGPU on"
    assert {url.removeprefix(home) for url in asked} <= {
        "page.html", "two/index.js", "two/executor.js", "favicon.ico",
    }  # fmt: skip


def test_a_lost_gpu_is_told_and_loading_again_helps(browser, home):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{home}page.html")
    lost, again = page.evaluate("""async () => {
        const { load } = await import("/noise/index.js"), x = new Float32Array(5), model = await load();
        await model.run({ x });
        model.executor.device.destroy();
        await model.executor.device.lost;
        const said = await model.run({ x }).catch((error) => `${error.name}: ${error.message}`);
        model.dispose();
        return [said, (await (await load()).run({ x })).shape];
    }""")
    context.close()
    assert lost.startswith("DeviceLost: the GPU was lost (")
    assert lost.endswith("): load the program again")
    assert again == [1, 5]


def test_the_module_is_small_and_typed(folder):
    size = sum((folder / "digits" / name).stat().st_size for name in ("index.js", "executor.js"))
    # 300 bytes of them fill new buffers before a write to a part, for Dawn on NVIDIA; 1,700 keep state; 500
    # read some of the results, and tell the batch sizes that were saved
    assert size < 37_000
    texts = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("export.md", "tutorial.md"))
    for kilobytes in re.findall(r"module of about (\d+) kB", texts):
        assert int(kilobytes) == round(size / 1000), kilobytes
    assert (folder / "digits" / "values.js").stat().st_size < 9_500  # for what is no typed array
    assert "timestamps(" not in (folder / "digits" / "executor.js").read_text()
    types = (folder / "attention" / "index.d.ts").read_text()
    for line in (
        '  /** f32[N, 5, 8] */\n  tokens: Given<"f32">;\n',
        'export interface Outputs<O extends Output = "typed"> {\n  scores: Value<"f32", O>;\n'
        '  best: Value<"i64", O>;\n  sure: Value<"bool", O>;\n}\n',
    ):
        assert line in types
    two = (folder / "two" / "index.d.ts").read_text()
    values = 'Value<"f32", O>, Value<"bool", O>, Value<"f16", O>'
    assert f'export type Outputs<O extends Output = "typed"> = [{values}];' in two


@pytest.mark.share(3)
def test_the_documentation_runs(browser, home, folder, monkeypatch):
    text = (ROOT / "docs" / "export.md").read_text("utf-8")
    python, html = (
        re.search(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)[1] for kind in ("python", "html")
    )
    monkeypatch.chdir(folder)
    made: dict = {}
    exec(python, made)
    (folder / "iris.html").write_text(html)
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{home}iris.html")
    page.wait_for_function("document.querySelector('#best').value")
    x = fb.tensor([[5.1, 3.5, 1.4, 0.2], [6.7, 3.1, 5.6, 2.4]])
    best = ",".join(map(str, made["classify"](x)["best"].tolist()))
    assert page.locator("#best").inner_text().startswith(f"{best} of 2,3, on ")
    context.close()


@pytest.mark.share(3)
def test_kernels_of_gpus_give_the_same(plain, folder):
    given = inputs_of("digits", 6)
    found = plain.evaluate(
        """async (text) => {
            const { load, open } = await import("/digits/index.js"), executor = await open();
            executor.software = false; // takes the kernels for GPUs, whatever this is
            const model = await load(undefined, { executor });
            const data = new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
            const made = [...(await model.run({ x: data })).data];
            executor.device.destroy();
            return made;
        }""",
        sent(given["x"])["text"],
    )
    wanted = fb.load_program(folder / "digits")(**given).numpy()
    np.testing.assert_allclose(np.reshape(found, (6, 10)), wanted, rtol=1e-4, atol=1e-4)
