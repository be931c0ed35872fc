"""Turns blocks of a program into what a profile says of them, checked against sizes that are known."""

import json
import re
import threading

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim, profiling
from flambeau.core import events
from flambeau.device import get_device
from flambeau.profiling import meter, report, roofline

M, K, N = 48, 32, 64


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))


def operands():
    x, w = fb.randn(M, K), fb.randn(K, N)
    fb.realize(x, w)
    return x, w


def named(p, start):
    return [s for s in p.kernels if s.work.name.startswith(start)]


@pytest.mark.parametrize("how", ["timestamps", "repeats"])
@pytest.mark.share(2)
def test_kernels_have_times_bytes_and_operations(how, monkeypatch):
    monkeypatch.setattr(meter.meter_of(get_device()), "how", how)
    x, w = operands()
    with fb.profile() as p:
        y = (x @ w).relu()
        values = y.numpy()
    assert np.allclose(values, np.maximum(x.numpy() @ w.numpy(), 0), atol=1e-4)
    (span,) = named(p, "matmul")
    assert (span.work.reads, span.work.writes) == (4 * (M * K + K * N), 4 * M * N)
    assert 2 * M * K * N <= span.work.flops <= 2 * M * K * N + 2 * M * N
    assert span.work.shape == (M, N)
    assert 0 <= span.seconds < 10  # as short as this, a difference of repeats may be 0
    assert p.how == how


def test_a_slice_and_a_table_count_what_is_read():
    x, table, at = fb.randn(1000, 8), fb.randn(500, 16), fb.tensor([3, 4, 3])
    fb.realize(x, table, at)
    with fb.profile() as p:
        fb.realize(x[10:20] + 1)
        fb.realize(table.index_select(0, at) * 2)  # by itself: both in one submit may be one kernel
    assert sorted(s.work.reads for s in p.kernels) == [4 * 3 * 16 + 8 * 3, 4 * 10 * 8]


def test_a_long_sum_is_one_operation_an_element_over_its_kernels():
    x = fb.randn(1 << 17)
    fb.realize(x)
    with fb.profile() as p:
        x.sum().item()
    spans = named(p, "sum")
    assert sum(s.work.reads for s in spans) >= 4 << 17
    assert 1 << 17 <= sum(s.work.flops for s in spans) < 1.1 * (1 << 17)


def test_replayed_programs_are_profiled():
    model = nn.Linear(K, N)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @fb.jit
    def step(x):
        loss = (model(x) ** 2).mean()
        optimizer.step(loss.backward())
        return loss

    x, _ = operands()
    plain = [step(x).item() for _ in range(3)][-1]
    with fb.profile() as p:
        found = step(x).item()
    assert found < plain
    assert named(p, "matmul") and all(s.work.flops for s in named(p, "matmul"))
    assert len([s for s in p.kernels if s.work.template]) == len(next(iter(step.programs.values()))[0])
    assert named(p, "copy buffers")
    assert "replay" in p.host() and "plan" not in p.host()


def test_stages_add_up_to_the_wall():
    x, w = operands()
    with fb.profile() as p:
        ((x @ w).sigmoid() * 3.25 + 0.125).sum().item()
    found = p.host()
    assert {"python", "graph", "key", "plan", "encode", "submit", "read"} <= found.keys() | {"submit"}
    assert sum(t for _, t in found.values()) == pytest.approx(p.wall, rel=1e-6)
    assert found["graph"][0] >= 5


def test_stages_of_threads_are_kept_apart():
    def other():
        fb.randn(4).sum().item()

    with fb.profile() as p:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        fb.randn(8).sum().item()
    assert len({s.thread for s in p.stages}) == 2


@pytest.mark.usefixtures("collected")
def test_memory_has_the_peak_of_the_block():
    pool = get_device().pool
    before = pool.peak
    with fb.profile() as p:
        live = pool.live
        x = fb.randn(1 << 16)
        fb.realize(x)
    assert max(m.peak for m in p.memory) >= live + (4 << 16)
    assert pool.peak >= before


def test_a_trace_is_what_perfetto_loads(tmp_path):
    x, w = operands()
    with fb.profile() as p:
        (x @ w).sum().item()
    p.chrome_trace(tmp_path / "trace.json")
    found = json.loads((tmp_path / "trace.json").read_text())
    events = found["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X", "C"}
    for e in events:
        assert isinstance(e["name"], str) and isinstance(e["pid"], int) and isinstance(e["tid"], int)
        if e["ph"] == "X":
            assert e["dur"] >= 0 and isinstance(e["ts"], float)
        if e["ph"] == "C":
            assert all(isinstance(v, int) for v in e["args"].values())
    gpu = [e for e in events if e["ph"] == "X" and e["pid"] == 2]
    assert [e["name"] for e in gpu] == [s.work.name for s in p.kernels]
    assert {e["name"] for e in events if e["ph"] == "M"} == {"process_name", "thread_name"}


def test_the_table_says_all():
    x, w = operands()
    with fb.profile() as p:
        (x @ w).sum().item()
    text = str(p)
    assert re.search(r"^gpu:.*: [\d.]+ ms, GPU busy [\d.]+ ms, [\d,]+ kernels?$", text, re.M)
    assert re.search(r"^ceilings measured on this adapter: copy .*B/s, multiply-add .*FLOP/s$", text, re.M)
    assert re.search(r"^kernel +runs +ms +of GPU +GB/s +of copy +GFLOP/s +of FMA$", text, re.M)
    assert re.search(r"^matmul +1 +[\d.]+ +[\d.]+% ", text, re.M)
    assert re.search(r"^memory: peak ", text, re.M)
    assert re.search(r"^profiling itself: [\d.]+ ms of the time above$", text, re.M)


def test_two_profiles_at_once_are_refused():
    rule = "^profile: another profile is running: end it first$"
    with fb.profile(), pytest.raises(fb.FlambeauError, match=rule), fb.profile():
        pass
    assert events.listener is None


def test_an_error_inside_ends_the_profile():
    with pytest.raises(ZeroDivisionError), fb.profile():
        _ = 1 / 0
    assert events.listener is None


def test_the_cpu_has_stages_alone():
    with fb.profile("cpu") as p:
        (fb.ones(3, device="cpu") + 1).tolist()
    assert p.kernels == [] and p.ceilings is None and "compute" in p.host()
    assert str(p).startswith("cpu: ")


# --- the clock ---


def test_a_clock_is_doubted():
    good = [(1000, 2000), (2100, 3000), (3003, 4001)]
    assert meter.doubt(good, 3200) == ""
    assert meter.doubt([(0, 0)] * 3, 100) == "timestamps are zero"
    assert meter.doubt([(5, 9), (7, 12)], 100) == "timestamps go backwards"
    assert meter.doubt([(5, 5), (7, 12)], 100) == "timestamps go backwards"
    coarse = [(65536 * i, 65536 * (i + 1)) for i in range(1, 4)]
    assert meter.doubt(coarse, 4 * 65536) == "timestamps move in steps of 65.5 us"
    assert meter.doubt(good, 100_000) == "timestamps add up to 0.03 of the time that passed"
    assert meter.doubt(good, 1000) == "timestamps add up to 2.90 of the time that passed"


def test_repeating_leaves_values_alone(monkeypatch):
    monkeypatch.setattr(meter.meter_of(get_device()), "how", "repeats")
    parts = [fb.randn(3, 5) for _ in range(9)]
    fb.realize(*parts)
    with fb.profile():
        joined = fb.cat(parts)  # several kernels, each writing a part
        joined.realize()
    assert np.array_equal(joined.numpy(), np.concatenate([t.numpy() for t in parts]))


def test_repeats_leave_alone_what_later_kernels_read(gpu, monkeypatch):
    """Temporaries are back in the pool before their plan is submitted."""
    x, w = fb.randn(8, 8, device=gpu).realize(), (fb.randn(8, 8, device=gpu) / 3).realize()

    def chain():
        a = b = x
        for _ in range(5):
            a, b = (b @ w).relu() + a, (a @ w).tanh() - b
        return a @ b

    want = chain().numpy()
    monkeypatch.setattr(meter.meter_of(gpu), "how", "repeats")
    for _ in range(3):
        with fb.profile():
            got = chain().realize()
        np.testing.assert_array_equal(got.numpy(), want)


def test_a_device_without_timestamps_repeats(monkeypatch):
    device = get_device()

    def refuse(*_):
        raise fb.DeviceError("timestamps: none here")

    monkeypatch.setattr(device, "timestamps", refuse)
    found = meter.Meter(device)
    assert (found.how, found.why) == ("repeats", "timestamps: none here")


# --- the ceilings ---


def test_ceilings_are_kept_and_read_again():
    device = get_device()
    made = roofline.Ceilings(1e9, 2e9)
    assert roofline.keep(device, made) is made
    assert roofline.cached_ceilings(device) == made


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"of": 3}'])
def test_damaged_ceilings_are_measured_anew(text, capsys):
    device = get_device()
    place = roofline.ceilings_file(device)
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert roofline.cached_ceilings(device) is None
    assert "measured again" in capsys.readouterr().err


def test_ceilings_of_another_driver_are_not_used(capsys):
    device = get_device()
    roofline.keep(device, roofline.Ceilings(1e9, 2e9))
    place = roofline.ceilings_file(device)
    said = json.loads(place.read_text())
    said["of"]["driver"] = "another"
    place.write_text(json.dumps(said))
    assert roofline.cached_ceilings(device) is None
    assert "the ceilings are from another device: measured again" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_said(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "file"))
    made = roofline.Ceilings(1e9, 2e9)
    assert roofline.keep(get_device(), made) is made
    assert "can't be written (Not a directory): ceilings hold for" in capsys.readouterr().err


@pytest.mark.share(2)
def test_ceilings_are_plausible():
    found = roofline.measure_ceilings(get_device())
    assert 1e7 < found.copy < 1e14
    assert 1e7 < found.fma < 1e15


def test_numbers_have_prefixes():
    assert [report.si(v, "B/s") for v in (4.12e12, 97.3e9, 5e6, 12.0)] == [
        "4.12 TB/s", "97.3 GB/s", "5 MB/s", "12 B/s",
    ]  # fmt: skip


def test_public_names():
    assert fb.Profile is profiling.Profile and fb.profile is profiling.profile


def test_a_packed_side_costs_no_operations():
    x, w = fb.randn(2, 8, 12, 12), fb.randn(64, 8, 3, 3)
    fb.realize(x, w)
    with fb.profile() as p:
        y = nn.functional.conv2d(x, w, padding=1).realize()
    full = 2 * y.numel() * 8 * 9
    works = [s.work for s in p.kernels]
    assert full <= max(w.flops for w in works) <= full + 2 * y.numel()
    assert all(w.flops <= 2 * 64 * 72 for w in works if w.name == "copy")


def test_more_kernels_than_a_query_set_holds(monkeypatch):
    from flambeau.device import timestamps

    monkeypatch.setattr(timestamps, "QUERIES", 6)
    monkeypatch.setattr(meter.meter_of(get_device()), "how", "timestamps")
    x = fb.eye(4).realize()
    y = x
    with fb.profile() as p:
        for _ in range(8):
            y = y @ x
        y.realize()
        fb.synchronize()
    assert len(p.kernels) == 8 and all(
        a.end <= b.begin for a, b in zip(p.kernels, p.kernels[1:], strict=False)
    )
    assert p.host()["wait"][0] == 1


def test_times_are_fetched_before_too_many_wait(monkeypatch):
    monkeypatch.setattr(meter, "AT_ONCE", 3)
    monkeypatch.setattr(meter.meter_of(get_device()), "how", "timestamps")
    with fb.profile() as p:
        for i in range(7):
            (fb.ones(4) * i).realize()
    assert len(p.kernels) == 7


def test_saved_programs_name_their_kernels(tmp_path):
    w = fb.randn(8, 4)
    fb.realize(w)
    fb.save_program(lambda x: (x @ w).relu(), "f32[N, 8]", tmp_path / "saved", max_batch=2)
    program = fb.load_program(tmp_path / "saved")
    x = fb.randn(2, 8)
    program(x).tolist()
    with fb.profile() as p:
        program(x).tolist()
    (span,) = named(p, "matmul")
    assert span.work.nbytes == 4 * (2 * 8 + 8 * 4 + 2 * 4)
