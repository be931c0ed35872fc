"""Turns `python -m native SIDE WORK` into that pair's process, spoken to in JSON lines.

First line: {"adapter", "setup_ms", "first_ms", "error"}, or {"unavailable": why}: it ends.
{"seconds": s} -> {"steps", "seconds", "median_ms"}; {} or the end of stdin ends it.
"""

import json
import sys
import time
from importlib import import_module

import numpy as np
from _measure import timed
from peers.__main__ import private_stdout
from peers.protocol import Unsupported

from native import given

EXACT = ("onnx", "ferrotensor")  # whose gelu is the exact one


def main(side: str, name: str) -> None:
    say = private_stdout()
    g = given.given(name)
    try:
        begin = time.perf_counter()
        adapter, call, read = import_module(f"native.{side}_side").start(name, g)
        ready = time.perf_counter()
        result = call()
        first = time.perf_counter()
    except (Unsupported, ModuleNotFoundError) as e:
        return say({"unavailable": str(e)})
    if side in EXACT and name in ("elt4m", "block_fwd"):
        given.gelu = given.exact_gelu
        g["x"] = g["x"][:4096]  # of elt4m a part: an erf in Python takes a while; the block has fewer rows
    wanted = given.expected(name, g).reshape(-1)
    found = np.array(read(result), np.float64)[: len(wanted)]
    error = float(np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30))
    times = {"setup_ms": (ready - begin) * 1e3, "first_ms": (first - ready) * 1e3}
    say({"adapter": adapter, "error": error, **times})
    for line in sys.stdin:
        if not (asked := json.loads(line)):
            return
        say(timed(call, asked["seconds"])._asdict())


if __name__ == "__main__":
    main(*sys.argv[1:])
