"""Runs, compares and times the kernel variants of a graph, and keeps the fastest."""

import json
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core import choose, events
from ..core.node import Node
from ..device import tuned
from ..device.protocol import Gpu
from ..device.tuned import Choice
from ..errors import FlambeauError
from ..fusion.plan import Plan
from ..fusion.planner import plan
from ..kernels.ir import Kernel
from ..runtime import run
from ..runtime.pipeline import pipelines_of
from ..runtime.state import tune_with
from .measure import Trials

MOST = 12  # the most candidates besides the default
BETTER = 0.97  # a candidate must take less than this fraction of the default's time
# A parent that watches this process (cli/child_process.py) sets LEFT_OUT to the candidates that crashed
# earlier processes: a list of [family, bucket, name] as JSON. This process then prints each candidate on
# stdout before it runs, and null after it.
LEFT_OUT, TRIAL = "FLAMBEAU_TUNE_LEFT_OUT", "@trial "
TOGETHER = ""  # the name of compiling all candidates ahead; after a crash the next process skips it
MISSED = (FlambeauError, ValueError, AssertionError)  # exceptions of planning or compiling a candidate


class autotune:
    """Measure the variants of each kernel that runs from now on, or in a `with` block, and use the fastest.

    Each variant's results are first compared with the default's. A variant that does not compile or has wrong
    results is dropped and reported on stderr. Choices that were measured before, here or on another machine
    (docs/tuning.md), are measured only with `again`. choices: the results. mode=False switches it off.
    """

    def __init__(self, mode: bool = True, again: bool = False):
        self.choices: list[Choice] = []
        self._done: set[Any] = set()
        self._again, self._before = again, tune_with(self._tune if mode else None)

    def __enter__(self) -> "autotune":
        return self

    def __exit__(self, *_):
        tune_with(self._before)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.choices)) or "no choice of kernels was measured"

    def _tune(self, device: Gpu, roots: list[Node], order: list[Node], graph: tuple[Any, ...]) -> None:
        """Measure the choices of a graph that were not measured yet."""
        if (device.name, graph) in self._done:
            return
        self._done.add((device.name, graph))
        new = [c for c in choices_in(device, roots, order) if self._is_new(device, *c[:3])]
        before = len(self.choices)
        for done, (family, bucket, names, default) in enumerate(new, 1):
            self._done.add((device.name, (family, bucket)))
            choice = tune_one(device, roots, order, Choice(family, bucket, default, default), names)
            if choice is not None:
                self._keep(device, choice)
            events.emit("tuned", done, len(new), choice)
        # Plans of this device may use other variants now.
        if len(self.choices) > before:
            run.forget(device, *device.plans)

    def _keep(self, device: Gpu, choice: Choice) -> None:
        """Use a choice from now on, and save it at once, because a later candidate may end the process."""
        self.choices.append(choice)
        device.limits.tuned[choice.family, choice.bucket] = choice.choice
        if device.identity:
            tuned.keep(device.identity, [choice])

    def _is_new(self, device: Gpu, family: str, bucket: tuple[Any, ...], names: tuple[Any, ...]) -> bool:
        """Whether several variants fit and their choice was not measured."""
        if len(names) < 2 or family in choose.forced() or (device.name, (family, bucket)) in self._done:
            return False
        # the fastest variant of the bucket may not fit this size
        return self._again or device.limits.tuned.get((family, bucket)) not in names


def choices_in(device: Gpu, roots: list[Node], order: list[Node]) -> list[tuple[Any, ...]]:
    """Collect the choices that planning a graph makes: (family, bucket, names that fit anywhere, default)."""
    with choose.questions() as questions:
        plan(roots, device.limits, order)
    choices: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for family, bucket, names, default in questions:
        names_before, first_default = choices.get((family, bucket), ((), default))
        choices[family, bucket] = (*dict.fromkeys((*names_before, *names)),), first_default
    return [(*key, *value) for key, value in choices.items()]


def tune_one(
    device: Gpu, roots: list[Node], order: list[Node], choice: Choice, names: tuple[Any, ...]
) -> Choice | None:
    """Time every candidate in place of the default. Returns the fastest one that agrees with the default;
    None if the default can't run, or no candidate changes a kernel."""
    plans = plan_candidates(device, roots, order, choice, names)
    default = plans.pop(choice.default, None)
    if default is None:
        return None
    candidates = candidate_kernels(choice.default, default, plans)
    if not candidates:
        return None
    all_kernels = [k for _, kernels in candidates.values() for k in kernels]
    # Kernels that no candidate replaces run only if they compute inputs, so a trial takes little of the
    # graph's time.
    compile_ahead(device, choice, all_kernels)
    trials = Trials(device, order, {v for k in all_kernels for v in k.inputs})
    try:
        for name, (candidate, kernels) in candidates.items():
            if not agrees(trials, choice, name, candidate, kernels) and name == choice.default:
                return None
        choice.ms = trials.time()
    finally:
        trials.close()
    best = min(choice.ms, key=lambda n: choice.ms[n])
    # Noise of a few percent must not change the choice.
    if choice.ms[best] < BETTER * choice.ms[choice.default]:
        choice.choice = best
    return choice


def plan_candidates(
    device: Gpu, roots: list[Node], order: list[Node], choice: Choice, names: tuple[Any, ...]
) -> dict[str, Plan]:
    """Plan the graph for the default and the most promising candidates, by the order of the family's rule."""
    plans: dict[str, Plan] = {}
    others = [n for n in names if n != choice.default]
    for name in (choice.default, *others[:MOST]):
        if _key(choice, name) in (left_out() or ()):
            choice.dropped[name] = "it crashed"
            continue
        chosen = {**device.limits.tuned, (choice.family, choice.bucket): name}
        try:
            plans[name] = plan(roots, replace(device.limits, tuned=chosen), order)
        except MISSED as e:
            drop(choice, name, f"it can't be planned ({_line(e)})")
    return plans


def compile_ahead(device: Gpu, choice: Choice, kernels: list[Kernel]) -> None:
    """Compile the kernels of all candidates in parallel. Errors are ignored here and reported when the
    candidate runs; a crash is reported by the next process."""
    if device.compilers < 2 or _key(choice, TOGETHER) in (left_out() or ()):
        return
    announce(choice, TOGETHER)
    pipelines: list[int] = []
    for k in kernels:
        with suppress(*MISSED):
            pipelines.append(pipelines_of(device, [k])[k.shader])
    for pipeline in pipelines:
        with suppress(*MISSED):
            device.compiled(pipeline)
    announce(None)


def agrees(trials: Trials, choice: Choice, name: str, plan: Plan, kernels: list[Kernel]) -> bool:
    """Run a candidate once. Returns whether it agrees with the default."""
    announce(choice, name)
    try:
        wrong = trials.check(name, plan, kernels)
    except MISSED as e:
        trials.device.check()  # ends this process if the candidate has lost the device
        announce(None)
        drop(choice, name, f"it does not run ({_line(e)})")
        return False
    announce(None)
    if wrong:
        drop(choice, name, f"its results are wrong ({wrong})")
    return not wrong


def candidate_kernels(
    name: str, default: Plan, others: dict[str, Plan]
) -> dict[str, tuple[Plan, list[Kernel]]]:
    """Return the kernels to compare, the default's first: those that any candidate replaces, and each
    candidate's replacements. A candidate without replacements equals the default."""
    replaced = {n: {_identity(k): k for k in missing_from(p, default)} for n, p in others.items()}
    compared = {key: k for kernels in replaced.values() for key, k in kernels.items()}
    candidates = {name: (default, list(compared.values()))} if compared else {}
    for n, p in others.items():
        if new := missing_from(default, p):
            keys = compared.keys() - replaced[n].keys()
            # A kernel that only another candidate replaces is part of each comparison, so that all times
            # include the same work.
            matching = {_identity(k): k for k in p.kernels if _identity(k) in keys}
            candidates[n] = p, [*new, *matching.values()]
    return candidates


def _key(choice: Choice, name: str) -> list[Any]:
    """Return the key of a candidate, with lists in place of tuples as JSON returns them."""
    return json.loads(json.dumps([choice.family, choice.bucket, name]))


def left_out() -> list[Any] | None:
    """Return the candidates that crashed an earlier process; None without a parent process."""
    text = os.environ.get(LEFT_OUT)
    return None if text is None else json.loads(text)


def announce(choice: Choice | None, name: str = "") -> None:
    """Print for a parent process which candidate runs now."""
    if LEFT_OUT in os.environ:
        print(TRIAL + json.dumps(choice and _key(choice, name)), flush=True)


def missing_from(b: Plan, a: Plan) -> list[Kernel]:
    """Return the kernels of `a` that `b` does not have, each once."""
    shared = Counter(map(_identity, b.kernels))
    kernels: dict[tuple[Any, ...], Kernel] = {}
    for k in a.kernels:
        if shared[_identity(k)]:
            shared[_identity(k)] -= 1
        else:
            kernels.setdefault(_identity(k), k)
    return list(kernels.values())


def _identity(k: Kernel) -> tuple[Any, ...]:
    return k.shader, k.quantities, k.grid


def drop(choice: Choice, name: str, why: str) -> None:
    """Drop a candidate, and report it."""
    choice.dropped[name] = why
    print(f"flambeau: tune: {choice.family} {list(choice.bucket)}: {name} is dropped: {why}", file=sys.stderr)


def _line(e: Exception) -> str:
    """Return an error's text in one line, without the compiler's message below it."""
    first, *rest = str(e).strip().splitlines() or [type(e).__name__]
    cause = next((line.strip() for line in rest if "error:" in line), "")
    return f"{first}: {cause}" if cause else first


if os.environ.get("FLAMBEAU_TUNE") == "on":
    autotune()
