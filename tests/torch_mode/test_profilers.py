"""torch.profiler: blocks with their seconds, schedules, traces; and fake quantisation."""

import json


def test_blocks_and_schedule(mode, tmp_path):
    profiler = mode.profiler
    traces = []
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], schedule=plan, on_trace_ready=traces.append
    ) as p:
        for _ in range(5):
            with profiler.record_function("block"):
                mode.ones(2).sum().item()
            p.step()
    assert traces == [p]
    rows = {row.key: row for row in p.key_averages()}
    assert rows["block"].count == 2 and rows["block"].cpu_time_total > 0
    assert "block" in p.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {e["name"] for e in events} >= {"block", "ProfilerStep#2"}


def test_fake_quantisation(mode):
    x = mode.tensor([0.26, -0.5, 3.0, 100.0], requires_grad=True)
    y = mode.fake_quantize_per_tensor_affine(x, 0.1, 2, -8, 7)
    y.sum().backward()
    assert [round(v, 5) for v in y.tolist()] == [0.3, -0.5, 0.5, 0.5] and x.grad.tolist() == [1, 1, 0, 0]
    z = mode.fake_quantize_per_channel_affine(
        mode.ones(2, 2) * 0.33, mode.tensor([0.1, 0.5]), mode.tensor([0, 0]), 1, 0, 255
    )
    assert [round(v, 5) for v in z[0].tolist()] == [0.3, 0.5]
