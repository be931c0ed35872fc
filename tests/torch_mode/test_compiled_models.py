"""torch.compile of models like those of transformers: what decides the result may change between calls."""

import importlib
import sys

import numpy as np
import pytest

import flambeau as fb

MODEL = """
import inspect
import sys
import threading
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import lru_cache

import torch

COLLECTOR = ContextVar("collector", default=None)
SCALE = 1.0
NEVER_RUNS = threading.Lock()


def global_name(name):
    return globals()[name]  # can read anything: nothing calls it


class Config:
    attribute_map = {"width": "hidden_size"}

    def __init__(self):
        self.hidden_size, self.factor, self.use_extra, self.form = 4, 1.0, False, "plain"
        self.lock = None

    def __getattribute__(self, key):
        if key != "attribute_map" and key in super().__getattribute__("attribute_map"):
            key = super().__getattribute__("attribute_map")[key]
        return super().__getattribute__(key)


@dataclass
class Output(OrderedDict):
    out: object = None
    extra: object = None

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value


torch.utils._pytree.register_pytree_node(
    Output, lambda o: (list(o.values()), list(o)), lambda values, keys: Output(**dict(zip(keys, values)))
)


@lru_cache
def offset_of(form):
    return {"plain": 0.0, "shifted": 1.0}[form]


def captured(method):
    def wrapper(self, x, **kw):
        for name in ("use_extra",):
            kw.setdefault(name, getattr(self.config, name))
        token = COLLECTOR.set({})
        try:
            return method(self, x, **kw)
        finally:
            COLLECTOR.reset(token)

    return wrapper


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.inner = torch.nn.Linear(self.config.width, 4)
        self.drop = torch.nn.Dropout(0.5)

    @captured
    def forward(self, x, use_extra=False, cache=None):
        y = self.inner(x) * self.config.factor * SCALE + offset_of(self.config.form)
        if self.training:
            y = y * 3
        if cache is not None:
            cache["seen"] = cache.get("seen", 0) + 1
            y = y + cache["seen"]
        if "x" not in inspect.signature(self.inner_of).parameters:
            y = y * 7
        extra = self.further(y) if use_extra else None
        return Output(out=y, extra=extra)

    def inner_of(self, x):
        return x

    def further(self, y):
        return y.exp()

    def lock_it(self):
        return NEVER_RUNS, sys.modules, global_name
"""


@pytest.fixture
def library(mode, tmp_path, monkeypatch):
    """The module of MODEL, in torch mode."""
    source = MODEL.replace("import torch", "import flambeau.torch as torch")
    (tmp_path / "model_of_a_library.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("model_of_a_library")
    del sys.modules["model_of_a_library"]


def programs(compiled):
    calls = vars(compiled)["_calls"]
    return sum(len(p) for p in calls.record.programs.values())


@pytest.mark.share(4)
def test_what_a_library_reads_is_compared(mode, library, capsys):
    """Each change is seen by the next call, and what did not change is replayed."""
    module, torch = library, mode
    with fb.device("gpu"):
        torch.manual_seed(0)
        model = module.Model().to("cuda").eval()
        compiled = torch.compile(model)
        x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 4)).astype("f4")).to("cuda")

        def check(**kw):
            with torch.no_grad():
                for _ in range(3):
                    got, want = compiled(x, **kw), model(x, **kw)
                    assert type(got) is module.Output and list(got) == list(want)
                    for key in want:
                        np.testing.assert_allclose(
                            got[key].cpu().numpy(), want[key].cpu().numpy(), rtol=1e-5, atol=1e-6
                        )

        check()
        assert programs(compiled) == 1
        for change in (
            lambda: setattr(model.config, "factor", 2.0),
            lambda: setattr(model.config, "use_extra", True),
            lambda: setattr(model.config, "form", "shifted"),
            lambda: setattr(module, "SCALE", 0.5),
            lambda: setattr(module.Model, "further", lambda self, y: y.sin()),
            lambda: setattr(module, "offset_of", lambda form: 5.0),
            lambda: setattr(model, "inner_of", lambda other: other),
            lambda: model.inner.register_forward_hook(lambda m, a, y: y * 2),
            lambda: model.train(),
            lambda: model.eval(),
            lambda: model.inner.weight.data.mul_(2),
            lambda: setattr(model.config, "use_extra", False),
            lambda: setattr(module.Config, "factor_of_class", 1),
        ):
            change()
            check()
            assert "unrecorded" not in capsys.readouterr().err
        check(use_extra=True)
        x = torch.cat([x, x + 1])
        check()
    told = capsys.readouterr().err
    assert "unrecorded" not in told and "shows that" not in told  # no check found what guards had missed
