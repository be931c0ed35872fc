"""web/executor.js by itself, in Node: what a command that fails leaves behind."""

import json
import subprocess

import pytest

from flambeau.core.files import web_file
from flambeau.device import web
from flambeau.errors import DeviceError
from flambeau.site import node

# A device that does nothing; `refusals` are the messages of kernels that do not compile, in order.
START = """
import { Executor, dispatch, FREE, FORGET, COPY, REPLAY, STORAGE, UNIFORM } from "./executor.mjs";
const refusals = [], live = new Set();
const anything = () => new Proxy(function () {}, {
  get: (_, name) => name === "then" ? undefined : anything(), apply: () => anything(),
});
const device = {
  limits: { maxStorageBufferBindingSize: 1 << 30, maxBufferSize: 1 << 30 },
  features: new Set(), lost: new Promise(() => {}), queue: anything(), pushErrorScope() {},
  popErrorScope: async () => null, createShaderModule: anything(), createBindGroupLayout: anything(),
  createPipelineLayout: anything(), createBindGroup: anything(), createCommandEncoder: anything(),
  createComputePipelineAsync: async () => {
    if (refusals.length) throw new Error(refusals.shift());
    return {};
  },
  createBuffer({ size }) {
    const buffer = { size, destroy: () => live.delete(buffer), mapAsync: async () => {}, unmap() {},
                     getMappedRange: (_, n) => new ArrayBuffer(n) };
    live.add(buffer);
    return buffer;
  },
};
const executor = new Executor(device, { description: "none" });
const words = (...list) => Uint32Array.from(list.flat());
const settled = () => new Promise((done) => setTimeout(done, 10));
const params = executor.alloc(2048, UNIFORM), [a, b, c] = [0, 1, 2].map(() => executor.alloc(256, STORAGE));
const read = (handle) =>
  executor.read(words([handle, 4])).then((bytes) => bytes.length, (error) => error.message);
"""


def run(tmp_path, code):
    text = web_file("executor.js").read_text(encoding="utf-8")
    (tmp_path / "executor.mjs").write_text(text, encoding="utf-8")
    (tmp_path / "test.mjs").write_text(START + code, encoding="utf-8")
    command = [node.program("node"), str(tmp_path / "test.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_a_failed_submit_frees_is_freed(tmp_path):
    """The kernel does not compile; what is behind it in the list has ended all the same."""
    code = """
refusals.push("it is wrong");
const pipeline = executor.pipeline("text", "bad", 1), kept = executor.prepare(words([COPY, a, b, 4]));
const before = live.size;
executor.submit(words(dispatch(pipeline, params, 0, [1, 1, 1], [a, b]), [FREE, c, FORGET, kept]));
await settled();
const freed = before - live.size;
console.log(JSON.stringify([freed, executor.buffers.has(c), executor.prepared.size, await read(b)]));
"""
    assert run(tmp_path, code) == [1, False, 0, "bad: it is wrong"]


def test_what_frees_twice_frees_once(tmp_path):
    code = """
for (const _ of [0, 1]) executor.submit(words([FREE, c]));
console.log(JSON.stringify([executor.buffers.size, await read(a)]));
"""
    assert run(tmp_path, code) == [3, 4]


def test_what_throws_in_line_does_not_stop_it(tmp_path):
    """Prepared commands that are not there: a read raises that, and those after it read."""
    code = """
executor.pipeline("text", "good", 1);
executor.submit(words([REPLAY, 77, FREE, c]));
const reads = [a, a, a].map(read);
await settled();
const last = (await Promise.all(reads)).at(-1);
console.log(JSON.stringify([executor.line.length, executor.buffers.has(c), last]));
"""
    waiting, has, last = run(tmp_path, code)
    assert (waiting, has, last) == (0, False, 4)


def test_python_sends_again_what_was_not_sent():
    class Refused(Exception):
        name, message = "DeviceLost", "gone"

    def refuse(words):
        device.ends.append(web.FREE)  # a buffer dies meanwhile
        device.ends.append(8)
        raise Refused

    sent = []
    device = object.__new__(web.WebDevice)
    vars(device).update(ends=[web.FREE, 7], _error=Refused, _submit=refuse, _words=list)
    with pytest.raises(DeviceError):
        device.submit([])
    device._submit = sent.append
    device.submit([1], [2])
    device.submit([3])
    assert sent == [[1, 2, web.FREE, 7, web.FREE, 8], [3]]


def test_the_first_write_to_a_new_buffer_is_of_all_of_it(tmp_path):
    """A browser clears what a first write leaves out, which may run beside the write."""
    code = """
const writes = [];
executor.queue = {
  writeBuffer: (_, at, data, from, size = data.length) => writes.push([at, size, ...data.slice(0, 7)]),
};
executor.write(a, Uint8Array.of(1, 2, 3, 4, 5));
executor.write(a, Uint8Array.of(6, 7, 8, 9));
const pipeline = executor.pipeline("text", "good", 1);
executor.submit(words(dispatch(pipeline, params, 0, [1, 1, 1], [b, c])));
executor.write(b, Uint8Array.of(1, 2, 3, 4));
await settled();
console.log(JSON.stringify(writes));
"""
    assert run(tmp_path, code) == [
        [0, 256, 1, 2, 3, 4, 5, 0, 0],
        [0, 4, 6, 7, 8, 9],
        [0, 4, 1, 2, 3, 4],
    ]


def test_the_first_copy_to_a_new_buffer_is_of_all_of_it(tmp_path):
    """As a write: zeros come first, unless the copy or a kernel before it writes the buffer."""
    code = """
const writes = [];
executor.queue = {
  submit: () => writes.push("submit"),
  writeBuffer: (to, at, _, from, size) => writes.push([handles.get(to), at, size]),
};
const handles = new Map([...executor.buffers].map(([handle, buffer]) => [buffer, handle]));
const pipeline = executor.pipeline("text", "good", 1), made = () => {
  const handle = executor.alloc(256, STORAGE);
  handles.set(executor.buffers.get(handle), handle);
  return handle;
};
await settled();
const [part, replayed, all, computed] = [1, 2, 3, 4].map(made);
const kept = executor.prepare(words([COPY, a, replayed, 8]));
const computes = dispatch(pipeline, params, 0, [1, 1, 1], [a, computed]);
const copies = [COPY, a, part, 4, COPY, a, part, 8, COPY, a, all, 256];
executor.submit(words(copies, computes, [COPY, a, computed, 4]));
executor.replay(kept);
executor.submit(words([COPY, a, part, 4, REPLAY, kept]));
const last = made(), late = executor.prepare(words([COPY, a, last, 8]));
executor.replay(late);
executor.write(last, Uint8Array.of(1, 2, 3, 4));
await settled();
console.log(JSON.stringify([part, replayed, last, writes]));
"""
    part, replayed, last, writes = run(tmp_path, code)
    first, late = [[part, 0, 256], "submit"], [[last, 0, 256], "submit", [last, 0, 4]]
    assert writes == [*first, [replayed, 0, 256], "submit", "submit", *late]


def test_a_buffer_to_read_from_is_mapped_before_its_first_copy(tmp_path):
    code = """
const made = [], create = device.createBuffer;
device.createBuffer = (wanted) => (made.push(wanted.mappedAtCreation ?? false), create(wanted));
await read(a);
await read(b);
console.log(JSON.stringify(made));
"""
    assert run(tmp_path, code) == [True]
