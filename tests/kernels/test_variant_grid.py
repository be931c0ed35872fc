"""Every variant of every family of kernels, on drawn work, for both classes of adapters.

Each kind of work runs for one class, and for the other in the next run: as the rules have it and then with
variants forced, those first that were tried least. By hand, for longer:
FLAMBEAU_GRID_SEED=7 FLAMBEAU_GRID=200 python -m pytest tests/kernels/test_variant_grid.py -s
"""

from collections import Counter

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import TIMES, draws, in_turn, off, one_of
from helpers.grid_cases import KINDS
from helpers.kernels import planned_for

from flambeau.core import choose
from flambeau.core.limits import MachineSpeed
from flambeau.kernels.contract.subgroup_matrix import PLAIN

FORCED = 3 if TIMES > 1 else 1  # runs of a case with variants forced
DRAWN = {"product": 3}  # cases of a kind in every run; one of others
tried: Counter = Counter()  # (family, variant)


def limits_of(rng, software: bool) -> dict:
    """Limits that send work down ways that few sizes need: grids of two dims, rounds of few cores, units."""
    found = {}
    if rng.random() < 0.15:
        found["groups"] = one_of(rng, (7, 64, 300))
    if software and rng.random() < 0.15:
        found["turns"] = one_of(rng, (600, 3000))
    if not software and rng.random() < 0.3:
        found["matrix"] = (PLAIN,)
    if rng.random() < 0.1:
        found["storage_buffers"] = one_of(rng, (5, 6))
    return found


def forced_of(rng, asked) -> dict[str, str]:
    """For each family that was asked for one of the variants that were tried least."""
    found = {}
    for family, _, names, _ in asked:
        least = min((tried[family, n] for n in names), default=0)
        fewest = [n for n in names if tried[family, n] == least]
        found |= {family: one_of(rng, fewest)} if fewest else {}
    return found


def is_dear(case) -> bool:
    """Of two expanded operands each element is a tile of its own: minutes where one is forced."""
    return case.words.count("expand") > 1


def run(case, gpu, software, limits, names):
    """How a case differs from what is known, in a text, and the choices that it was made by."""
    with choose.questions() as asked, planned_for(gpu, software, **limits):
        found = values(*case.call(gpu))
    for family, _, fit, default in asked:
        tried[family, names.get(family) if names.get(family) in fit else default] += 1
    for i, (got, want) in enumerate(zip(found, case.want, strict=True)):
        error = off(got, want, case.least)
        if not error <= case.tol:
            bad = np.abs(got.astype("f8") - want) > case.tol if got.shape == want.shape else np.ones(1)
            return f"result {i} is off by {error:.1e} in {int(bad.sum())} of {bad.size}", asked
    return "", asked


@pytest.mark.parametrize(
    ("kind", "software"), [(k, s) for i, k in enumerate(KINDS) for s in in_turn((True, False), 2, first=i)]
)
@pytest.mark.share(5)
def test_drawn(kind, software, gpu, monkeypatch):
    wrong = []
    for at, rng in draws(f"{kind} {'software' if software else 'gpu'}", DRAWN.get(kind, 1)):
        case, limits = KINDS[kind](rng), limits_of(rng, software)
        cores = one_of(rng, (132, 132, 1, 2, 3))
        limits["machine"] = MachineSpeed(cores)
        names, asked = {}, []
        for i in range(1 + FORCED):
            if i and (not asked or is_dear(case)):
                break
            names = forced_of(rng, asked) if i else {}
            monkeypatch.setattr(choose, "forced", lambda names=names: names)
            try:
                why, asked = run(case, gpu, software, limits, names)
            except Exception as e:  # what is raised is as wrong as another number, and others are to be tried
                why = f"{type(e).__name__}: {str(e)[:600]}"
            if why:
                wrong.append(f"{at}: {case.words}\n  {names} {limits} cores={cores}: {why}")
                print(wrong[-1], flush=True)
    if wrong:
        pytest.fail(f"{len(wrong)} differ:\n" + "\n".join(wrong[:20]))


def test_table():
    """What was tried, with -s."""
    for (family, name), n in sorted(tried.items()):
        print(f"{family}={name}: {n}")
