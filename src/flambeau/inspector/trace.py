"""Exports an Inspection in the Trace Event Format for Perfetto: its kernels in sequence, and memory."""

import json
from typing import Any

from ..profiling.chrome_trace import GPU, name_event
from .model import Inspection
from .report import layer_of, line_of


def events(inspection: Inspection) -> list[dict[str, Any]]:
    """Return a span for each kernel with the mean time of a run, in order; times in us."""
    out, now = [name_event(GPU, 0, "process_name", inspection.device)], 0.0
    for k, live in zip(inspection.kernels, inspection.live(), strict=True):
        each = k.seconds / max(k.runs, 1) * 1e6
        args = {
            "layer": layer_of(inspection, k),
            "line": line_of(inspection, k),
            "template": inspection.shaders[k.shader].template,
        }
        args |= {"runs": k.runs, "bytes": k.reads + k.writes, "flops": k.flops, "shape": list(k.shape)}
        out.append(
            {
                "ph": "X",
                "name": k.name,
                "cat": "kernel",
                "pid": GPU,
                "tid": 0,
                "ts": now,
                "dur": each,
                "args": args,
            }
        )
        out.append({"ph": "C", "name": "memory", "pid": GPU, "ts": now, "args": {"bytes": live}})
        now += each
    return out


def text(inspection: Inspection) -> str:
    """Return the contents of a trace file."""
    return json.dumps({"traceEvents": events(inspection), "displayTimeUnit": "ms"})
