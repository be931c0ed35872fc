"""Faults put into the package for a test: templates, rules of gradients, fused kernels, what was kept."""

import re
from contextlib import contextmanager
from functools import cache, partial

from jinja2 import ChoiceLoader, DictLoader

import flambeau as fb
from flambeau.codegen import render
from flambeau.codegen.environment import elementwise_macro
from flambeau.core.files import template_folder
from flambeau.runtime import pipeline

HEAD = '//% extends "launch.wgsl"\n'


@contextmanager
def fresh(device):
    """Caches of its own for the device: what is made of a doctored template is no one else's."""
    plans, pipelines = device.plans, device.pipelines
    device.plans, device.pipelines = {}, {}
    try:
        yield
    finally:
        device.plans, device.pipelines = plans, pipelines


def template(monkeypatch, file, old, new, count=1):
    """Have a template say `new` in the place of the first `count` `old`."""
    source = (template_folder() / file).read_text(encoding="utf-8")
    assert old in source, f"{file} has no {old!r}"
    changed = DictLoader({file: source.replace(old, new, count)})
    real = render.environment

    @cache
    def environment(marked=False):
        own = real(marked).overlay(loader=ChoiceLoader([changed, real(marked).loader]), bytecode_cache=None)
        own.globals = real(marked).globals | {"elementwise": partial(elementwise_macro, own)}
        return own

    monkeypatch.setattr(render, "environment", environment)


def fused(monkeypatch, old, new):
    """Have the texts of kernels of several ops match `old` no more, but say `new`."""
    real = pipeline.render

    def rendered(shader):
        ops = [s for _, f in shader.functions for s in f.steps if s.kind == "op"]
        is_more = len(ops) + (not shader.template.startswith("map/")) > 1
        return re.sub(old, new, real(shader), count=1) if is_more else real(shader)

    for module in ("flambeau.runtime.pipeline", "flambeau.sanitizer.probing"):
        monkeypatch.setattr(f"{module}.render", rendered)


@contextmanager
def rule(op, grad):
    """Give an op another gradient; ops are frozen."""
    before = op.grad
    object.__setattr__(op, "grad", grad)
    try:
        yield
    finally:
        object.__setattr__(op, "grad", before)


def whole(name, work, shared="", groups=2, reads=1, **launch):
    """A custom op of one kernel, over x of 64 elements a workgroup."""
    kernel = f"{HEAD}//% block shared\n{shared}\n//% endblock\n//% block work\n{work}\n//% endblock\n"
    return fb.custom_op(
        name,
        inputs=["x"],
        kernel=kernel,
        launch=lambda limits, x: [
            fb.Launch("", reads=tuple(range(reads)), groups=groups, sizes={"size": x.shape[0]}, **launch)
        ],
        reference=lambda xp, x: x,
    )
