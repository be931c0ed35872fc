"""Calls into inspections: whose line and layer each op is of, what recurs, what memory holds, refusals."""

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.kernels import planned_for

import flambeau as fb
from flambeau import nn, optim
from flambeau.errors import FlambeauError
from flambeau.inspector import report
from flambeau.inspector.dispatches import CallTrace

pytestmark = pytest.mark.usefixtures("gpu")


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 4, bias=False)

    def forward(self, x):
        return self.scale(x) / 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Half(), Half()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x.relu()


def head_of(made, k):
    return made.ops[k.head]


def test_layers_lines_and_gradients():
    """Each op is of the innermost module and the line of the program, a gradient of those of its op."""
    net = Net()
    optimizer = optim.SGD(net.parameters(), lr=0.5)

    def step(x):
        loss = net(x).sum()
        optimizer.step(loss.backward())
        return loss

    made = fb.inspect(step, fb.ones(2, 4))
    assert made.target.endswith("step")
    by_name = {layer.name: layer for layer in made.layers}
    assert {n: layer.kind for n, layer in by_name.items()} == {
        "Net": "Net", "Net.parts": "ModuleList", "Net.parts.0": "Half", "Net.parts.0.scale": "Linear",
        "Net.parts.1": "Half", "Net.parts.1.scale": "Linear", "optimizer": "",
    }  # fmt: skip
    assert made.layers[by_name["Net.parts.0.scale"].parent].name == "Net.parts.0"
    products = [o for o in made.ops if o.kind == "contract"]
    layers = [made.layers[o.layer].name for o in products]
    assert sorted(set(layers)) == ["Net.parts.0.scale", "Net.parts.1.scale"]
    backward = [o for o in products if o.gradient_of >= 0]
    assert backward and all(made.ops[o.gradient_of].kind == "contract" for o in backward)
    assert all(made.ops[o.gradient_of].layer == o.layer for o in backward)
    assert {made.sites[o.site].text for o in backward} == {"optimizer.step(loss.backward())"}
    texts = {made.sites[o.site].text for o in products if o.gradient_of < 0}
    assert texts == {"return self.scale(x) / 2"}
    assert {o.name for o in made.ops if o.layer == by_name_index(made, "optimizer")} >= {"mul", "sub"}
    assert {"Net.parts.0.scale.weight", "Net.parts.1.scale.weight"} <= {v.name for v in made.values}


def by_name_index(made, name):
    return next(i for i, layer in enumerate(made.layers) if layer.name == name)


def test_what_recurs_is_there_once():
    """Two calls: the kernels of one, with the times of both; their results are the function's."""
    results = []

    def call(x):
        results.append((x * 3).exp().sum())
        return results[-1]

    made = fb.inspect(call, fb.ones(8), runs=2)
    assert len(results) == 2 and [k.runs for k in made.kernels] == [2] * len(made.kernels)
    assert all(k.least <= k.seconds / 2 for k in made.kernels)
    np.testing.assert_allclose(results[1].item(), 8 * np.exp(3), rtol=1e-5)


def test_the_first_call_is_no_part_of_the_times_where_there_are_others(monkeypatch):
    """It is warm-up: the kernel that it alone is slow in is not the dearest."""
    calls = []

    def slow_at_first(trace):
        assign(trace)
        for one in trace.dispatches.values():
            one.times[:] = [9.0 if n < one.first else 1.0 for n in range(len(one.times))]

    assign = CallTrace._assign_times
    monkeypatch.setattr(CallTrace, "_assign_times", slow_at_first)
    for runs, seconds in ((1, 9.0), (2, 2.0), (5, 5.0)):
        made = fb.inspect(lambda x: calls.append(1) or x.exp().sum(), fb.ones(8), runs=runs)
        found = {(k.seconds, k.least, k.runs, k.timed) for k in made.kernels}
        assert found == {(seconds, 9.0 if runs == 1 else 1.0, runs, min(runs, 3))}
    assert len(calls) == 8


def test_a_thousand_steps_take_no_more_room_than_one():
    @fb.jit
    def step(x):
        return x * 0.5 + 1

    def loop(n):
        x = fb.ones(16)
        for _ in range(n):
            x = step(x)
        return x

    sizes = [len(fb.inspect(loop, n).to_json()) for n in (4, 40)]
    assert sizes[1] < sizes[0] * 1.1


def test_memory_is_what_is_alive():
    """A chain of products of 4 KB: what each reads and writes, and what is there before and after."""
    x = fb.ones(32, 32).realize()
    made = fb.inspect(lambda: (x @ x) @ x)
    first, second = made.values[0], made.values[1]
    assert (first.kind, second.kind) == ("leaf", "temporary")
    assert [v.nbytes for v in made.values] == [4096] * 3
    assert made.live() == [8192, 12288]


def test_inputs_are_no_part_of_the_call():
    made = fb.inspect(lambda x: x + 1, fb.ones(4).exp().exp())
    assert [k.name for k in made.kernels] == ["add"]


def test_values_of_earlier_submits_are_known():
    """What one graph made, another reads: one op, and one value."""

    def call(x):
        y = x.exp()
        y.realize()
        return y * 2

    made = fb.inspect(call, fb.ones(4))
    exp, mul = made.kernels
    assert mul.inputs == exp.outputs and made.values[exp.outputs[0]].end == 1
    assert [o.name for o in made.ops if o.kind == "elementwise"] == ["exp", "mul"]


def test_plans_and_pipelines_of_the_cache_are_told_from_new_ones(gpu):
    with planned_for(gpu, software=True):
        fb.inspect(lambda x: x.exp() * 7.25, fb.ones(3, 5))
        again = fb.inspect(lambda x: x.exp() * 7.25, fb.ones(3, 5))
    assert [k.is_new for k in again.kernels] == [False]
    assert [o.name for o in again.ops if o.kind == "elementwise"] == ["exp", "mul"]


def test_every_line_of_a_kernel_leads_somewhere(product):
    """WGSL to its template's lines, and those of steps to the op and the line of Python."""
    made, _ = product
    (k,) = made.kernels
    shader = made.shaders[k.shader]
    lines = shader.wgsl.splitlines()
    assert all(shader.places)
    relu = next(i for i, line in enumerate(lines) if "rectified" in line)
    op = made.ops[k.steps[shader.steps[relu]]]
    assert (op.name, made.sites[op.site].text.count("relu")) == ("relu", 1)
    files = {made.places[p].file: made.places[p].text for p in shader.places[relu]}
    assert "macro relu" in files["lib/elementwise.wgsl"]
    loop = next(i for i, line in enumerate(lines) if line.lstrip().startswith("for"))
    assert made.places[shader.places[loop][0]].file == shader.template and shader.steps[loop] == ""
    assert [b.name for b in shader.bindings if b.writes] == ["out"]
    assert dict(zip([n for n, _ in shader.params], k.params, strict=True))["summed"] == 16


def test_a_kernels_text_begins_with_its_line_of_python(product):
    made, _ = product
    lines = made.wgsl(0).splitlines()
    assert lines[0] == "// matmul+add+relu: relu(add(matmul(in0, in1), in2))"
    assert re.fullmatch(r"// in0: f32\[.*\], in1: f32\[.*\], in2: f32\[.*\] -> out: f32\[.*\]", lines[1])
    assert re.fullmatch(r"// .*conftest\.py:\d+: .* @ .*", lines[2])
    assert lines[3:] == made.shaders[made.kernels[0].shader].wgsl.splitlines()


def test_the_report(product):
    made, _ = product
    lines = str(made).splitlines()
    assert lines[0].startswith("product on gpu:") and "1 dispatch of 1 kernel" in lines[0]
    first, second = (replace(made.kernels[0], seconds=s) for s in (1e-3, 2e-3))  # some GPUs' clocks show 0
    (row,) = report.table(replace(made, kernels=(first,)))
    assert row[:2] == ("0", "matmul+add+relu") and row[3:5] == ("100.0%", "1")
    several = replace(made, kernels=(first, second, first))  # by time, with the numbers that options take
    assert [row[0] for row in report.table(several)] == ["1", "0", "2"]
    assert report.text(several, 2).endswith("\n1 more kernel")
    assert report.text(several, 1).endswith("\n2 more kernels")
    assert row[-1].startswith("conftest.py:") and row[-1].endswith(" matmul")


def test_other_code_sees_nothing_of_it():
    """When a call ends, and when it raises, nobody listens any more."""
    from flambeau.core import events, node

    def broken(x):
        x.exp().realize()
        raise KeyError("mine")

    before = node._serial
    with pytest.raises(KeyError, match="mine"):
        fb.inspect(broken, fb.ones(2))
    assert events.listener is None and node._serial is before and not events.has_listener("plan")


def refused(call, *args, **kw):
    with pytest.raises((FlambeauError, ValueError)) as e:
        fb.inspect(call, *args, **kw)
    return str(e.value)


def nothing():
    return 3


def test_what_is_refused(gpu):
    assert refused(nothing) == (
        "inspect(nothing): nothing ran on a GPU: it computes no tensor: return the tensors to compute"
    )
    assert refused(nothing, runs=0) == "inspect(runs=0): must be at least 1: pass another number"
    cpu = fb.device("cpu")
    with cpu:
        assert refused(lambda: fb.ones(2) + 1, target="sum") == (
            "inspect(sum): nothing ran on a GPU: the device is cpu: use one that runs kernels, as with"
            " FLAMBEAU_DEVICE=gpu"
        )
    with fb.profile():
        assert refused(lambda: fb.ones(2)) == "inspect: a profile is running: end it first"


def test_a_call_after_one_that_raised(gpu):
    """The times of a call that raised are not those of the next one."""

    def broken(x):
        (x * 3).realize()
        raise OSError("no such file")

    with gpu:
        x = fb.ones(8).realize()
        with pytest.raises(OSError, match="no such file"):
            fb.inspect(broken, x)
        assert [k.name for k in fb.inspect(lambda: x * 2).kernels] == ["mul"]


def test_of_many_runs_some_are_timed(gpu):
    """A thousand of them take no more room than one, and all are counted."""
    with gpu:
        x, total = fb.ones(8).realize(), fb.zeros(8).realize()

        @fb.jit
        def step(x):
            total.add_(x * 2)
            return total.sum()

        once = fb.inspect(step, x, runs=2)
        made = fb.inspect(step, x, runs=1000)
    assert total.tolist() == [2.0 * 1002] * 8
    assert {k.runs for k in made.kernels} == {1000} and {k.timed for k in once.kernels} == {2}
    assert all(8 <= k.timed <= 40 for k in made.kernels), [k.timed for k in made.kernels]
    assert len(made.kernels) == len(once.kernels)
    assert abs(len(made.to_json()) - len(once.to_json())) < 1000
    for k in made.kernels:
        assert 0 <= k.least <= k.seconds / k.runs > 0  # a card's clock may not tick in a run this short
    assert 0 <= made.overhead <= made.wall
    timed = made.kernels[0].timed
    assert f"; {timed} of 1,000 runs were timed\n" in str(made) and "were timed" not in str(once)


def test_a_warm_call_leaves_out_the_first(gpu):
    """What only the first call runs is no part of it, and no time of the first counts."""
    first = []

    def call(x):
        y = x.exp().sum()
        return y if first else (first.append(1), fb.realize(x.sin() + 1), y)[2]

    x = fb.ones(8, device=gpu)
    made = fb.inspect(call, x, warm=True)
    assert made.warm and [k.runs for k in made.kernels] == [1] and "sum" in made.kernels[0].name
    assert {c.which for c in made.calls} == {"first", "later"}
    assert "a warm call, times by " in str(made)
    first.clear()
    made = fb.inspect(call, x)
    assert not made.warm and len(made.kernels) == 2 and "the first call, times by " in str(made)
    step = fb.jit(lambda x: x.exp().sum())
    made = fb.inspect(step, x, runs=3, warm=True)
    assert [k.runs for k in made.kernels] == [3]
    first.clear()
    made = fb.inspect(
        lambda x: first.append(1) or (fb.realize(x.cos()) if len(first) == 1 else None), x, warm=True
    )
    assert [k.runs for k in made.kernels] == [1]  # no later call ran any
