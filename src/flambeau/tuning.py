"""A graph into the variants of its kernels that are fastest here: each is run, compared and timed."""

import json
import os
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

from . import choice, run, tuned
from .dtype import DType
from .errors import FlambeauError
from .fuse import Plan, plan
from .heads import Kernel
from .host import from_raw, to_raw
from .node import Node
from .pipeline import compile_plan, patch_params
from .profiling.ceilings import steady
from .tuned import Choice

BUDGET, ROUNDS = 0.02, 3  # seconds that timing a candidate takes, beside warming up, and how often
BETTER = 0.97  # of the default's time: what a candidate must reach to take its place
HOPELESS = 2.0  # times the best: not timed more exactly
TOLERANCE = {"f32": 1e-3, "f16": 2e-2, "bf16": 1e-1}  # of the largest magnitude; other types must agree
# set by a parent that watches this process (cli/apart.py): a list of [family, bucket, name] as JSON, which
# are not tried. Each candidate is then told on stdout before it is run, and null after
LEFT_OUT, TRIAL = "FLAMBEAU_TUNE_LEFT_OUT", "@trial "
MISSED = (FlambeauError, ValueError, AssertionError)  # what planning or compiling a candidate may raise


class autotune:
    """Measure the variants of each kernel that runs from now on, or in a `with` block, and use the fastest.

    Each variant's results are compared with the default's first: one that does not compile, or gives other
    numbers, is dropped and named on stderr. What was measured before, here or by others (docs/tuning.md), is
    not measured again, unless `again`. choices: what was found. mode=False switches it off.
    """

    def __init__(self, mode: bool = True, again: bool = False):
        self.choices: list[Choice] = []
        self._done: set = set()
        self._again, self._before = again, run.tuner
        run.tuner = self._tune if mode else None

    def __enter__(self) -> "autotune":
        return self

    def __exit__(self, *_):
        run.tuner = self._before

    def __repr__(self) -> str:
        return "\n".join(map(str, self.choices)) or "no choice of kernels was measured"

    def _tune(self, device: Any, roots: list[Node], order: list[Node], graph: tuple) -> None:
        """Measure what a graph asks for and was not measured yet."""
        found = []
        if (device.name, graph) in self._done:
            return
        self._done.add((device.name, graph))
        for family, bucket, names, default in asked_by(device, roots, order):
            key = family, bucket
            seen = (device.name, key) in self._done or (not self._again and key in device.limits.tuned)
            self._done.add((device.name, key))
            if seen or len(names) < 2 or family in choice.forced():
                continue
            made = contest(device, roots, order, Choice(family, bucket, default, default), names)
            if made is not None:
                found.append(made)
                device.limits.tuned[key] = made.choice
                if identity := getattr(device, "identity", None):
                    tuned.keep(identity, [made])  # at once: a later candidate may end the process
        if found:
            self.choices += found
            run.forget(device, *device.__dict__.get("plans", {}))


def asked_by(device: Any, roots: list[Node], order: list[Node]) -> list[tuple]:
    """The choices that planning a graph asks for, each once, with all the names that fit somewhere."""
    choice.asked = []
    try:
        plan(roots, device.limits, order)
        found: dict[tuple, tuple] = {}
        for family, bucket, names, default in choice.asked:
            before = found.get((family, bucket), ((), default))
            found[family, bucket] = (*dict.fromkeys((*before[0], *names)),), before[1]
    finally:
        choice.asked = None
    return [(*key, *value) for key, value in found.items()]


def contest(device: Any, roots: list[Node], order: list[Node], made: Choice, names: tuple) -> Choice | None:
    """Run every candidate in place of the default: the fastest of those that agree with it; None where the
    default itself can't be run."""
    plans: dict[str, Plan] = {}
    lost = left_out()
    for name in (made.default, *(n for n in names if n != made.default)):
        if _key(made, name) in (lost or ()):
            made.dropped[name] = "it crashed"
            continue
        chosen = {**device.limits.tuned, (made.family, made.bucket): name}
        try:
            plans[name] = plan(roots, replace(device.limits, tuned=chosen), order)
        except MISSED as e:
            drop(made, name, f"it can't be planned ({_line(e)})")
    if made.default not in plans:
        return None
    default = plans.pop(made.default)
    bench = Bench(device, order, made)
    others = {n: (unlike(default, p), unlike(p, default)) for n, p in plans.items()}
    mine = list(dict.fromkeys(k for ours, _ in others.values() for k in ours))
    if not mine:
        return None  # the name makes no difference here
    wanted = bench.measure(made.default, default, mine, None)
    for name, (_, theirs) in others.items():
        if wanted is None:
            return None
        if theirs:  # else it is the default by another name
            bench.measure(name, plans[name], theirs, wanted)
    bench.finish()
    best = min(made.ms, key=lambda n: made.ms[n])
    if made.ms[best] < BETTER * made.ms[made.default]:
        made.choice = best
    return made


def _key(made: Choice, name: str) -> list:
    """A candidate, as JSON gives it back."""
    return json.loads(json.dumps([made.family, made.bucket, name]))


def left_out() -> list | None:
    """The candidates that crashed an earlier process; None where no parent watches."""
    text = os.environ.get(LEFT_OUT)
    return None if text is None else json.loads(text)


def tell(made: Choice | None, name: str = "") -> None:
    """Say to the parent, if there is one, which candidate is run now."""
    if LEFT_OUT in os.environ:
        print(TRIAL + json.dumps(made and _key(made, name)), flush=True)


def unlike(a: Plan, b: Plan) -> list[Kernel]:
    """The kernels of `a` that `b` does not have, each once."""
    kept, found = Counter(map(_same, b.kernels)), {}
    for k in a.kernels:
        if kept[_same(k)]:
            kept[_same(k)] -= 1
        else:
            found.setdefault(_same(k), k)
    return list(found.values())


def _same(k: Kernel) -> tuple:
    return k.shader, k.quantities, k.grid


def drop(made: Choice, name: str, why: str) -> None:
    """Leave a candidate out, and say so."""
    made.dropped[name] = why
    print(f"flambeau: tune: {made.family} {list(made.bucket)}: {name} is dropped: {why}", file=sys.stderr)


def _line(e: Exception) -> str:
    return (str(e).strip().splitlines() or [type(e).__name__])[0]


class Bench:
    """Runs some kernels of a plan by themselves, on made-up numbers that are the same for all candidates."""

    def __init__(self, device: Any, order: list[Node], made: Choice):
        self.device, self.order, self.made = device, order, made
        self.given: dict[int, Any] = {}
        self.ready: dict[str, tuple] = {}  # what runs each candidate

    def measure(self, name: str, whole: Plan, kernels: list[Kernel], wanted: dict | None) -> dict | None:
        """Time a candidate's kernels once when their results are those wanted; returns its results."""
        tell(self.made, name)
        try:
            words, buffers, params = self.prepared(whole, kernels)
            self.device.submit(words)
            results = self.results(kernels, buffers)
        except MISSED as e:
            tell(None)
            return drop(self.made, name, f"it does not run ({_line(e)})")
        tell(None)
        if wanted is not None and (wrong := self.difference(results, wanted)):
            return drop(self.made, name, f"it gives wrong numbers ({wrong})")
        self.ready[name] = words, buffers, params
        self.made.ms[name] = self.time(name, BUDGET / 10)
        return results

    def time(self, name: str, budget: float) -> float:
        """Milliseconds of a candidate's kernels."""
        return round(1e3 * steady(self.device, self.ready[name][0], budget)[0], 6)

    def finish(self) -> None:
        """Time those that may win in turns, so that what else the machine does falls on all of them."""
        ms = self.made.ms
        close = [n for n in ms if ms[n] < HOPELESS * min(ms.values()) or n == self.made.default]
        for _ in range(ROUNDS):
            for name in close:
                ms[name] = min(ms[name], self.time(name, BUDGET))
        for _, _, params in self.ready.values():
            self.device.free(params)

    def prepared(self, whole: Plan, kernels: list[Kernel]) -> tuple[list[int], dict[int, Any], int]:
        """The commands of these kernels, the buffers that they were given, and that of their Params."""
        sizes = dict(whole.stored) | {i: n.nbytes for i, n in enumerate(self.order)}
        compiled = compile_plan(self.device, Plan(tuple(kernels), (), (), (), (), {}))
        patch_params(compiled.params, compiled.patches, self.order)
        self.device.write(compiled.uniform, compiled.params.tobytes())
        written = {v for k in kernels for v in k.outputs}
        buffers: dict[int, Any] = {}
        for v in dict.fromkeys(value for _, value in compiled.slots):
            if v in written or v >= len(self.order):
                buffers[v] = self.device.pool.take(sizes[v])
                self.device.write(buffers[v].handle, bytes(buffers[v].size))
            else:
                buffers[v] = self.input(v)
        words = list(compiled.words)
        for place, value in compiled.slots:
            words[place] = buffers[value].handle
        return words, buffers, compiled.uniform

    def input(self, value: int) -> Any:
        """Numbers between -1 and 1 (whole ones from 0 to 7) in place of a node's value."""
        if value not in self.given:
            node = self.order[value]
            made = self.device.pool.take(max(node.nbytes, 4))
            self.device.write(
                made.handle, _numbers(value, max(made.nbytes // node.dtype.itemsize, 1), node.dtype)
            )
            self.given[value] = made
        return self.given[value]

    def results(self, kernels: list[Kernel], buffers: dict[int, Any]) -> dict[int, Any]:
        """What these kernels make of the graph's values."""
        values = [v for v in dict.fromkeys(v for k in kernels for v in k.outputs) if v < len(self.order)]
        parts = self.device.read([(buffers[v].handle, self.order[v].nbytes) for v in values])
        return {v: from_raw(p, self.order[v].dtype) for v, p in zip(values, parts, strict=True)}

    def difference(self, found: dict[int, Any], wanted: dict[int, Any]) -> str:
        """Where results differ by more than their type allows."""
        import numpy as np

        for v in found.keys() & wanted.keys():
            tolerance = TOLERANCE.get(self.order[v].dtype.short, 0.0)
            a, b = (x.astype("f8") for x in (found[v], wanted[v]))
            ends = np.isfinite(b)
            error = np.abs(np.where(ends, a - b, 0)).max(initial=0.0)
            top = np.abs(np.where(ends, b, 0)).max(initial=0.0)
            if not (error <= tolerance * top and np.array_equal(ends, np.isfinite(a))):
                return f"off by {error:.1e} where the largest is {top:.1e}"
        return ""


def _numbers(seed: int, count: int, dtype: DType) -> bytes:
    import numpy as np

    rng = np.random.default_rng(seed)
    if dtype.is_float:
        return to_raw(rng.uniform(-1, 1, count).astype("f4"), dtype).tobytes()
    return to_raw(rng.integers(0, 2 if dtype.kind == "b" else 8, count), dtype).tobytes()


if os.environ.get("FLAMBEAU_TUNE") == "on":
    autotune()
