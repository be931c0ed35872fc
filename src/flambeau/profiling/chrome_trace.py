"""Writes a Profile in the Trace Event Format, JSON that Perfetto and chrome://tracing load."""

import json
from pathlib import Path
from typing import Any

HOST, GPU = 1, 2  # process ids of the trace


def events(p: Any) -> list[dict[str, Any]]:
    """Return the stages of each thread, the kernels, and counters of memory; times in us from the start."""
    threads = {t: i for i, t in enumerate(dict.fromkeys(s.thread for s in p.stages), 1)}

    def us(time: int) -> float:
        return (time - p.begin) / 1000

    # Phases ("ph"): M is metadata, X a span with "ts" and "dur" in us, C a counter.
    out = [name_event(HOST, 0, "process_name", "host"), name_event(GPU, 0, "process_name", str(p.device))]
    out += [name_event(HOST, i, "thread_name", f"thread {i}") for i in threads.values()]
    for s in p.stages:
        span = {"ts": us(s.begin), "dur": (s.end - s.begin) / 1000}
        out.append({"ph": "X", "name": s.name, "cat": "host", "pid": HOST, "tid": threads[s.thread], **span})
    for k in p.kernels:
        w = k.work
        args = {"shape": list(w.shape), "bytes": w.nbytes, "flops": w.flops, "template": w.template}
        span = {"ts": us(k.begin), "dur": (k.end - k.begin) / 1000, "args": args}
        out.append({"ph": "X", "name": w.name, "cat": "gpu", "pid": GPU, "tid": 1, **span})
    for m in p.memory:
        args = {"in use": m.live, "taken": m.reserved}
        out.append({"ph": "C", "name": "memory", "pid": GPU, "tid": 0, "ts": us(m.time), "args": args})
    return out


def name_event(pid: int, tid: int, kind: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def write(p: Any, path: Path) -> None:
    """Write the profile as a trace."""
    trace = {"traceEvents": events(p), "displayTimeUnit": "ms", "otherData": {"device": str(p.device)}}
    path.write_text(json.dumps(trace), encoding="utf-8")
