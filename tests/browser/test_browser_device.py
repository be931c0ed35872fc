"""The device of a browser: values, order, errors, and what is said where waiting is impossible."""

import random

import pytest

import flambeau as fb
from flambeau.io import load_bytes

START = "import asyncio\nimport flambeau as fb\n"


def test_values_awaited_and_waited_for_are_the_same(python):
    got = python.run(f"""{START}
x = fb.arange(6).reshape(2, 3).float()
y = (x @ x.T).relu() + 1
[(await y.read()).tolist(), list(await fb.read(x.sum(), y.mean())), y.tolist(), y.device.name, str(y)]
""")
    assert got[0] == got[2] == [[6.0, 15.0], [15.0, 51.0]]
    assert got[1] == [15.0, 21.75]
    assert "swiftshader" in got[3]
    assert got[4] == "tensor([[ 6., 15.],\n        [15., 51.]])"


def test_typed_arrays_come_in_and_go_out(python):
    python.install(
        "doubler.py", "import flambeau as fb\nasync def twice(x): return await (fb.tensor(x) * 2).read()"
    )
    got = python.page.evaluate("""async () => {
        const value = await python.call("doubler.twice", new Float32Array([1, 2.5]));
        return [value.constructor.name, [...value]];
    }""")
    assert got == ["Float32Array", [2.0, 5.0]]


def test_zero_sizes_bools_and_numbers_of_several_types(python):
    got = python.run(f"""{START}
x = fb.tensor([[1, -2], [3, 0]])
list(await fb.read(fb.zeros(0, 3), x > 0, x.sum(), fb.tensor(2.5), fb.zeros(2, 0).sum(0)))
""")
    assert got == [[], [[True, False], [True, False]], 2, 2.5, []]


def test_a_synchronous_entry_is_told_to_await(python):
    source = f"""{START}
from pyodide.code import run_js
def f():
    try:
        fb.tensor([1.0]).item()
    except fb.FlambeauError as e:
        return str(e)
run_js("(f) => f()")(f), run_js("(f) => f()")(lambda: repr(fb.tensor([1.0])))
"""
    told, shown = python.run(source)
    assert told == (
        "read: this call from JavaScript can't wait for the GPU: `await t.read()` or `await fb.read(t)`, or "
        "enter Python by runPythonAsync or callPromising"
    )
    assert shown == "tensor(f32[1], not read: await t.read())"


def test_what_waits_for_a_kernel_to_compile_is_what_it_was(python):
    """Arrays of one length cross in the same memory, and those that wait in line are overtaken by others."""
    got = python.run(f"""{START}
(fb.ones(3).exp() - 0.5).cos().realize()
unsettled = fb.ones(3).device._executor.unsettled
x = [fb.tensor([i, i + 0.5, i + 0.25]).realize() for i in range(20)]
y = [(t * 2).realize() for t in x]
fetches = [t.read() for t in x]
[unsettled > 0, [d.tolist() for d in await asyncio.gather(*fetches)], list(await fb.read(*y))]
""")
    wanted = [[i, i + 0.5, i + 0.25] for i in range(20)]
    assert got == [True, wanted, [[2 * v for v in row] for row in wanted]]


def test_a_kernel_that_does_not_compile_is_told_with_its_line(python):
    told = python.run(f"""{START}
from flambeau.core.commands import Dispatch
device = await fb.open_device()
number = device.pipeline("@compute @workgroup_size(1)\\nfn main() {{\\n  let x = y;\\n}}\\n", "broken", 0)
out, uniform, good = device.pool.take(256), device.uniform(256), fb.tensor([1.0, 2.0]) * 3
device.submit(Dispatch(number, uniform, 0, (1, 1, 1), (out.handle,)).words())
said = []
for asked in ([(out.handle, 8)], [(out.handle, 8)]):
    try:
        await device.fetch(asked).arrive()
    except fb.KernelError as e:
        said.append(str(e))
device.write(out.handle, bytes(8))  # a new value makes the place good again
[said, list(bytes((await device.fetch([(out.handle, 8)]).arrive())[0])), (await good.read()).tolist()]
""")
    first, second = told[0]
    assert first == second
    assert first.startswith(
        "gpu: the kernel does not compile: broken: Error while parsing WGSL: :3:11 error:"
    )
    assert first.endswith("     2 fn main() {\n     3   let x = y;\n     4 }\n     5 ")
    assert told[1:] == [[0] * 8, [3.0, 6.0]]


def test_too_large_a_tensor_is_refused_with_its_size(python):
    with pytest.raises(AssertionError, match=r"DeviceError: .*binds at most 1,073,741,824 bytes a tensor"):
        python.run(f"{START}await fb.realize(fb.rand(300_000_000).exp())")


def test_memory_that_runs_out_is_told_and_the_rest_goes_on(python):
    told = python.run(f"""{START}
device = await fb.open_device()
kept, said = [], ""
try:
    for _ in range(8):  # a GiB each: the software adapter has less than one to give
        kept.append(device.pool.take(1 << 30))
        device.write(kept[-1].handle, bytes(4))
        await device.fetch([(kept[-1].handle, 4)]).arrive()
except fb.DeviceError as e:
    said = str(e)
kept.clear()
device.pool.trim()
[said, (await (fb.tensor([1.0]) + 1).read()).tolist()]
""")
    assert told[0].startswith("gpu: out of memory (1073741824 bytes: ")
    assert told[0].endswith("): use a smaller batch")
    assert told[1] == [2.0]


def test_calls_that_wait_at_the_same_time_do_not_mix(python):
    got = python.run(f"""{START}
import contextlib
async def task(i):
    with fb.no_grad() if i % 2 else contextlib.nullcontext():
        x = fb.tensor([float(i)], requires_grad=True) * 1
        for _ in range(3):
            x = x + (x * 0 + 1).item()  # suspends this task's stack
            x = x + (await (x * 0 + 1).read()).item()
        return [x.item(), x.requires_grad]
[*await asyncio.gather(*map(task, range(6))), (fb.tensor([1.0], requires_grad=True) * 1).requires_grad]
""")
    assert got == [*([i + 6.0, i % 2 == 0] for i in range(6)), True]


TRAIN = f"""{START}
fb.manual_seed(3)
nn = fb.nn
model = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.25), nn.Conv2d(4, 8, 3, stride=2),
    nn.Tanh(), nn.Flatten(), nn.Linear(128, 16), nn.Dropout(0.25), nn.Linear(16, 3))
optimizer = fb.optim.Adam(model.parameters(), lr=0.01)
x = fb.rand(30, 1, 11, 11)
y = x[:, 0, 5, 4:7].argmax(1)

def step(x, y):
    loss = fb.nn.functional.cross_entropy(model(x), y)
    optimizer.step(loss.backward())
    return loss

def losses(step):
    return [step(x, y) for _ in range(40)]
"""


@pytest.mark.share(3)
def test_training_and_its_recording_lower_the_loss_as_on_the_desktop(python, gpu):
    there = python.run(f"{TRAIN}\nlist(await fb.read(*losses(fb.jit(step))))")
    here: dict = {}
    exec(TRAIN, here)
    wanted = [loss.item() for loss in here["losses"](here["step"])]
    assert there == pytest.approx(wanted, rel=1e-5)
    assert there[-1] < 0.9 * there[0]


RECORDED = f"""{START}
import io
from contextlib import redirect_stderr
F, nn = fb.nn.functional, fb.nn
fb.manual_seed(3)
x, image, labels = fb.rand(4, 6).realize(), fb.rand(1, 2, 6, 6).realize(), fb.tensor([0, 2, 1, 5])
q, dropout, linear, norm = fb.rand(1, 2, 3, 6).realize(), nn.Dropout(0.5), nn.Linear(6, 6), nn.BatchNorm1d(6)
conv, embedding, lstm = nn.Conv2d(2, 3, 3), nn.Embedding(8, 6), nn.LSTM(6, 6)
attention = nn.MultiheadAttention(6, 2)

def training(optimizer):
    def step(x):
        loss = F.cross_entropy(linear(x), labels)
        optimizer.step(loss.backward())
        return loss
    return step

def scheduled(x):
    scheduler.step()
    return x * 2

def written(x):
    y = x.clone()
    y[0], y[[1, 3]] = 1.0, fb.arange(6.0)
    return y

def under(context):
    def f(x):
        with context():
            return linear(x) + fb.ones(6)
    return f

adam = fb.optim.Adam(linear.parameters(), lr=0.1)
scheduler = fb.optim.lr_scheduler.StepLR(adam, 10)
calls = dict(
    arange=lambda x: x + fb.arange(6), zeros=lambda x: x + fb.zeros(6), ones=lambda x: x + fb.ones(6),
    full=lambda x: x + fb.full((6,), 2.5), empty=lambda x: fb.empty(6).fill_(1.0),
    eye=lambda x: x @ fb.eye(6),
    linspace=lambda x: x + fb.linspace(0, 1, 6), logspace=lambda x: x + fb.logspace(0, 1, 6),
    tensor=lambda x: x + fb.tensor([1.0] * 6), as_tensor=lambda x: x + fb.as_tensor(1.5),
    like=lambda x: fb.zeros_like(x) + fb.full_like(x, 3.0) + x.new_ones(6),
    tril=lambda x: fb.ones(4, 6).tril() * x,
    meshgrid=lambda x: fb.meshgrid(fb.arange(3), fb.arange(4), indexing="ij"),
    on_gpu=lambda x: fb.zeros(6, device="gpu") + fb.zeros(6, device=x.device),
    in_device=under(lambda: fb.device("gpu")), get_device=lambda x: x + len(fb.get_default_device().kind),
    to_device=lambda x: x.to("gpu") + 1, to_dtype=lambda x: x.to(fb.float16) + 1,
    to_both=lambda x: x.to("gpu", fb.int32),
    rand=lambda x: x + fb.rand(6), randn=lambda x: x + fb.randn(6), randint=lambda x: fb.randint(0, 5, (6,)),
    randperm=lambda x: x[:, fb.randperm(6)], bernoulli=fb.bernoulli, multinomial=lambda x: x.multinomial(2),
    uniform=lambda x: fb.zeros(3).uniform_(), f_dropout=lambda x: F.dropout(x, 0.5),
    dropout=lambda x: dropout(x),
    cross_entropy=lambda x: F.cross_entropy(x, labels), mse=lambda x: F.mse_loss(x, x * 2),
    bce=lambda x: F.binary_cross_entropy_with_logits(x, x), nll=lambda x: F.nll_loss(x, labels),
    smooth_l1=lambda x: F.smooth_l1_loss(x, x * 2), index=lambda x: x[1:3, ::2] + x[fb.tensor([0, 1])][:, :3],
    lists=lambda x: x[[0, 2]], written=written, gather=lambda x: x.gather(1, labels.unsqueeze(1)),
    scatter=lambda x: fb.zeros(4, 6).scatter(1, labels.unsqueeze(1), 1.0),
    one_hot=lambda x: F.one_hot(labels, 6) * x,
    masked=lambda x: x.masked_fill(fb.arange(6) > 2, 0.0), topk=lambda x: x.topk(2),
    sort=lambda x: x.sort(-1),
    linear=lambda x: linear(x), conv=lambda x: conv(image), norm=lambda x: norm(x),
    pool=lambda x: F.max_pool2d(image, 2),
    embedding=lambda x: embedding(labels), lstm=lambda x: lstm(x), attention=lambda x: attention(x, x, x),
    causal=lambda x: F.scaled_dot_product_attention(q, q, q, is_causal=True), no_grad=under(fb.no_grad),
    autocast=under(lambda: fb.autocast("gpu", fb.float16)), einsum=lambda x: fb.einsum("ij,kj->ik", x, x),
    sgd=training(fb.optim.SGD(linear.parameters(), lr=0.1, momentum=0.9)), adam=training(adam),
    scheduled=scheduled,
    grad=fb.func.grad(lambda x: (x * x).sum()), vmap=fb.vmap(lambda row: row + fb.arange(6)),
)
said = {{}}
for name, f in calls.items():
    jitted = fb.jit(f)
    with redirect_stderr(io.StringIO()) as told:
        for _ in range(3):
            if not jitted.programs:
                jitted(x)
    if not jitted.programs:
        said[name] = told.getvalue().partition("unrecorded: ")[2].strip()
ramp = fb.jit(lambda x: x + fb.arange(3))
[len(calls), said, [(await ramp(fb.full((3,), float(i))).read()).tolist() for i in range(3)]]
"""


@pytest.mark.share(3)
def test_what_the_desktop_records_is_recorded_in_the_page(python):
    """Every call that makes a tensor asks the page's device whether it is lost: no stranger's code."""
    count, unrecorded, ramps = python.run(RECORDED)
    assert count == 58
    assert unrecorded == {  # as on the desktop
        "scheduled": "it changes scheduler.last_epoch: keep that in a tensor, or outside of it"
    }
    assert ramps == [[i, i + 1, i + 2] for i in range(3)]


def test_lists_in_brackets_need_no_numpy(python):
    got = python.run(f"""{START}
import sys
x = fb.arange(12.0).reshape(4, 3)
y = x.clone()
y[[0, 2], 1] = 9.0
found = [x[[0, -1]], x[:, [2, 0]], x[[0, 1], [1, 2]], x[[[0], [3]], 1], x[range(2), 0]]
found += [x[[True, False, False, True]], x[[]], x[True], x[False], x[:, [False] * 3], y]
said = []
for wrong in ([0, 4], [0.5], ["a"], [[0], [1, 2]]):
    try:
        await x[wrong].read()
    except (IndexError, TypeError, ValueError) as e:
        said.append(f"{{type(e).__name__}}: {{e}}")
[[[list(t.shape), t.tolist()] for t in found], said, "numpy" in sys.modules]
""")
    rows = [[3.0 * i, 3.0 * i + 1, 3.0 * i + 2] for i in range(4)]
    values, said, has_numpy = got
    assert values == [
        [[2, 3], [rows[0], rows[3]]],
        [[4, 2], [[row[2], row[0]] for row in rows]],
        [[2], [1.0, 5.0]],
        [[2, 1], [[1.0], [10.0]]],
        [[2], [0.0, 3.0]],
        [[2, 3], [rows[0], rows[3]]],
        [[0, 3], []],
        [[1, 4, 3], [rows]],
        [[0, 4, 3], []],
        [[4, 0], [[], [], [], []]],
        [[4, 3], [[0.0, 9.0, 2.0], rows[1], [6.0, 9.0, 8.0], rows[3]]],
    ]
    assert said == [
        "IndexFault: __getitem__(dim 0 of size 4): index 4 is out of range: call it inside"
        " debug.check_indices() to see the line",
        "IndexError: __getitem__(f32[4, 3], [0.5]): [0.5] is not an index: use integers, slices, None, ...,"
        " or lists, arrays or tensors of integers or bools",
        "TypeError: __getitem__(f32[4, 3], ['a']): tensor(...):"
        " 'a' is not a number: nest lists of numbers of equal length",
        "ValueError: __getitem__(f32[4, 3], [[0], [1, 2]]): tensor(...):"
        " rows differ in length: expected 1 elements, got [1, 2]",
    ]
    assert not has_numpy


def test_weights_saved_in_the_page_load_there_and_here(python):
    saved, mine, others = python.run(f"""{START}
from flambeau.io import load_bytes, save_bytes
fb.manual_seed(1)
model, other = (fb.nn.Sequential(fb.nn.Linear(3, 4), fb.nn.BatchNorm1d(4)) for _ in range(2))
data = await save_bytes(model.state_dict())
other.load_state_dict(load_bytes(data))
x = fb.ones(2, 3)
[data, *await fb.read(model.eval()(x), other.eval()(x))]
""")
    assert mine == others
    found = load_bytes(bytes(saved.values() if isinstance(saved, dict) else saved))
    model = fb.nn.Sequential(fb.nn.Linear(3, 4), fb.nn.BatchNorm1d(4))
    model.load_state_dict(found)
    assert model.eval()(fb.ones(2, 3)).tolist() == [pytest.approx(row, abs=1e-5) for row in mine]


def test_a_lost_device_is_told_and_opens_again(python):
    got = python.run(f"""{START}
device, x = await fb.open_device(), fb.tensor([1.0])
device._executor.device.destroy()
await asyncio.sleep(0.05)
said = []
for use in (lambda: x + 1, lambda: fb.tensor([1.0])):
    try:
        said.append((await use().read()).tolist())
    except fb.DeviceError as e:
        said.append(str(e))
again = await fb.open_device()
[said, again is device, (await (fb.tensor([2.0]) + 1).read()).tolist()]
""")
    assert got[0][0].startswith("gpu: the GPU was lost (")
    assert got[0][0].endswith("), and its contents are lost: `await fb.open_device()` opens it again")
    assert got[1:] == [False, [3.0]]


@pytest.mark.parametrize("how", ["timestamps", "repeats"])
def test_profiles_time_kernels_in_a_page(python, how):
    got = python.run(f"""{START}
from flambeau.profiling import meter
device = await fb.open_device()
tested = meter.meter_of(device).how
device.meter.how = "{how}"
x, w = fb.randn(32, 16), fb.randn(16, 8)
fb.realize(x, w)
plain = (x @ w).relu().tolist()
with fb.profile() as p:
    found = (x @ w).relu().tolist()
    fb.cat([x, x, x, x]).sum().item()
(span,) = [s for s in p.kernels if s.work.name.startswith("matmul")]
p.chrome_trace("trace.json")
device.meter = None
lines, c = len(str(p).splitlines()), p.ceilings
[tested, found == plain, span.work.nbytes, span.seconds, lines, c.copy, c.fma]
""")
    assert got[0] in ("timestamps", "repeats")
    assert got[1:3] == [True, 4 * (32 * 16 + 16 * 8 + 32 * 8)]
    assert 0 <= got[3] < 1 and got[4] > 10
    assert got[5] > 1e6 and got[6] > 1e6


@pytest.mark.parametrize("kept", [1, 16])
def test_replays_with_buffers_in_any_order(python, kept):
    """Fillings that come once, again, and after what was prepared for them was dropped."""
    got = python.run(f"""{START}
import random
from flambeau.capture import bindings
before, bindings.KEPT = bindings.KEPT, {kept}
total, draw = fb.zeros(8).realize(), random.Random(3)
@fb.jit
def step(x, y):
    total.assign_(total + x)
    return (x * 3).relu().sum() + y, x + y
given, found, olds = [fb.full((8,), float(i)).realize() for i in range(3)], [], []
for _ in range(60):
    a, b = draw.choices(range(3), k=2)
    out = step(given[a], given[b])
    if draw.random() < 0.5:
        found.append((24 * a + b, a + b, out))
        olds.append(total.clone())
bindings.KEPT = before
told = []
for sums, both, (x, y) in found:
    told.append([(await x.read()).tolist() == [sums] * 8, (await y.read()).tolist() == [both] * 8])
[all(map(all, told)), [(await old.read()).tolist()[0] for old in olds], (await total.read()).tolist()]
""")
    draw, total, olds = random.Random(3), 0, []
    for _ in range(60):
        total += draw.choices(range(3), k=2)[0]
        olds += [total] if draw.random() < 0.5 else []
    assert len(olds) > 20 and got == [True, olds, [total] * 8]


def test_a_bad_value_is_bad_in_a_replay_and_good_in_the_next(python):
    got = python.run(f"""{START}
device = await fb.open_device()
number = device.pipeline("@compute @workgroup_size(1)\\nfn main() {{\\n  let x = z;\\n}}\\n", "broken", 0)
x, uniform = fb.tensor([1.0, 2.0]).realize(), device.uniform(256)
f = fb.jit(lambda x: (x @ x).exp().log() + x)
said = []
for i in range(6):
    if i in (2, 4):
        device.submit([1, number, uniform, 0, 1, 1, 1, 1, x.node.buffer.handle])
    elif i:
        device.write(x.node.buffer.handle, bytes(memoryview(__import__("array").array("f", [i, 0.0]))))
    try:
        said.append((await f(x).read()).tolist())
    except fb.KernelError as e:
        said.append(str(e)[:38])
said
""")
    bad = "gpu: the kernel does not compile: brok"
    values = [[6.0, 7.0], [2.0, 1.0], bad, [12.0, 9.0], bad, [30.0, 25.0]]
    assert got == [v if v is bad else pytest.approx(v, rel=1e-4) for v in values]
