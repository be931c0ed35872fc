"""Six calls into what an inspection says of each, without times: as it was.

FLAMBEAU_GOLDEN=write writes it anew. Software kernels, whatever the adapter is.
"""

import json
import os
from pathlib import Path

import pytest
from helpers.kernels import planned_for
from helpers.paths import TESTS

import flambeau as fb
from flambeau import nn, optim

GOLDEN = TESTS / "golden"
F = nn.functional


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x):
        return x + self.linear(self.norm(x)).relu()


def trained():
    model = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @fb.jit
    def step(x, y):
        loss = F.mse_loss(model(x), y)
        optimizer.step(loss.backward())
        return loss

    return step, fb.ones(4, 8), fb.ones(4, 3)


CALLS = {
    "inspect_chain": lambda: (lambda x: (x.exp() * 2 + 1).sigmoid(), fb.ones(4, 6)),
    "inspect_softmax": lambda: (lambda x: F.softmax(x, -1), fb.ones(5, 7)),
    "inspect_block": lambda: (Block(), fb.ones(3, 8)),
    "inspect_train": trained,
    "inspect_several": lambda: (lambda x: [(x * 2).sum().item(), x.exp()], fb.ones(4, 4)),
    "inspect_conv": lambda: (nn.Conv2d(2, 3, 3), fb.ones(1, 2, 6, 6)),
}


def structure(made: fb.Inspection) -> dict:
    """What is said of a call, by names in place of numbers where that reads better."""

    def name(o):
        return f"{o}:{made.ops[o].name}" if o >= 0 else ""

    return {
        "layers": [[layer.name, layer.kind, layer.parent] for layer in made.layers],
        "lines": [[Path(s.file).name, s.function, s.text] for s in made.sites],
        "ops": [
            [o.name, o.kind, o.dtype, list(o.shape), list(o.inputs), o.layer, o.site, o.call, o.gradient_of]
            for o in made.ops
        ],
        "kernels": [
            {
                "name": k.name,
                "template": made.shaders[k.shader].template,
                "ends": k.ends,
                "ops": [name(o) for o in k.ops],
                "head": name(k.head),
                "steps": {step: name(o) for step, o in k.steps.items()},
                "reads": [made.values[v].name for v in k.inputs],
                "writes": [made.values[v].name for v in k.outputs],
                "counts": [k.runs, k.plan, k.reads, k.writes, k.flops, *k.grid],
            }
            for k in made.kernels
        ],
        "values": [[v.name, v.kind, v.nbytes, v.op, v.begin, v.end] for v in made.values],
    }


def written(data: dict) -> str:
    """JSON with a row of a table a line."""
    parts = []
    for name, rows in data.items():
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        parts.append(f' "{name}": [\n  {lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


@pytest.mark.parametrize("name", CALLS)
def test_what_is_said_is_as_it_was(name, gpu):
    with planned_for(gpu, software=True), gpu:
        fn, *given = CALLS[name]()
        made = fb.inspect(fn, *given)
    assert fb.Inspection.from_json(made.to_json()) == made
    path = GOLDEN / f"{name}.json"
    found = structure(made)
    if os.environ.get("FLAMBEAU_GOLDEN") == "write":
        path.write_text(written(found))
    assert found == json.loads(path.read_text())


def test_no_file_is_left_over():
    assert sorted(p.stem for p in GOLDEN.glob("*.json")) == sorted(CALLS)
