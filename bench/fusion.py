"""A 6-op elementwise chain on 4M floats, fused, beside one op alone: both read and write the same bytes.

python bench/fusion.py
"""

from _measure import interleave, ratio, show_table, timed

import flambeau as fb

N = 1 << 22


def main() -> None:
    x = fb.rand(N).realize()

    def one():
        (x * 2.0).realize()
        fb.synchronize()

    def fused():
        return ((x * 2.0 + 1.0).relu() * x - 0.5).abs()

    def chain():
        fused().realize()
        fb.synchronize()

    assert len(fused().plan()) == 1

    def separate():
        y = x
        for op in (lambda v: v * 2.0, lambda v: v + 1.0, fb.relu, lambda v: v * x, lambda v: v - 0.5, fb.abs):
            y = op(y).realize()
        fb.synchronize()

    contestants = {"one op": one, "6 ops fused": chain, "6 ops apart": separate}
    found = interleave(
        {name: (lambda s, f=f: timed(f, s)) for name, f in contestants.items()}, rounds=5, seconds=0.5
    )
    gigabytes = {"one op": 2, "6 ops fused": 2, "6 ops apart": 13}
    rows = []
    for name, timings in found.items():
        ms = sorted(t.median_ms for t in timings)[len(timings) // 2]
        rows.append(
            (
                name,
                f"{ms:.2f}",
                f"{gigabytes[name] * N * 4 / ms / 1e6:.1f}",
                f"{1 / ratio(timings, found['one op']):.2f}",
            )
        )
    show_table(
        f"elementwise on {N:,} floats, {x.device} (goal: fused at most 1.3x one op)",
        ("what", "ms", "GB/s", "time / one op"),
        rows,
    )


if __name__ == "__main__":
    main()
