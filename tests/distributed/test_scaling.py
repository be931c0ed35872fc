"""The model of a step on many workers, by numbers that are written out."""

from math import inf

import pytest

from flambeau.distributed.scaling import Machine, Method, WorkerStep, predict

ROUND = 32 << 20
HOST = Machine(
    read=1e9, write=2e9, add=2e9, copy=4e9, cores=4, message=1e-3, network=5e8, latency=1e-2, bus=inf
)
WORK = WorkerStep(nbytes=10 * ROUND, compute=2.0, update=0.5)


def test_one_worker_exchanges_nothing():
    alone = predict(WORK, HOST)
    assert alone.exchange == 0 and alone.step == 2.5 and alone.efficiency == 1


def test_the_slowest_stage_counts_for_all_rounds():
    g = WORK.nbytes
    two = predict(WORK, HOST, devices=2)
    assert two.read == g / 1e9 and two.write == g / 2e9 and two.network == 0
    assert two.host == pytest.approx(g / 2 / 2e9)  # the sums of a half
    assert two.messages == pytest.approx(2 * 10 * 1e-3)
    expected = (two.read + two.host + two.write) / 10 + 0.9 * two.read + 0.02
    assert two.exchange == pytest.approx(expected) and two.step == pytest.approx(2.5 + expected)
    # Eight eighths are read and one is written, 9 passes in place of 3. Two workers share a core.
    assert predict(WORK, HOST, devices=8).host == pytest.approx(g / 8 * 3 / 2e9 * 2)
    half = predict(WORK, HOST, devices=2, method=Method(wire=0.5))
    assert half.host == pytest.approx(two.host + 7.5 * g / 4e9)
    wide = predict(WORK, HOST._replace(cores=16), devices=2, method=Method(wire=0.5))
    assert wide.host == pytest.approx(two.host + 7.5 * g / 4e9 / 4)  # a quarter of the cores for each pass


def test_hosts_send_what_all_their_workers_have():
    g = WORK.nbytes
    four = predict(WORK, HOST, devices=2, hosts=2, method=Method(wire=0.5))
    assert four.network == pytest.approx(2 * 2 * 0.5 * g * 0.5 / 5e8)
    assert four.messages == pytest.approx(2 * 3 * 10 * 1e-3 + 2e-2)
    sums = predict(WORK, HOST, devices=2, hosts=2, method=Method(wire=0.5, hierarchical=True))
    assert sums.network == four.network / 2 and sums.messages < four.messages


def test_what_is_hidden_and_what_is_rare():
    plain = predict(WORK, HOST, devices=2)
    hidden = predict(WORK, HOST, devices=2, method=Method(overlap=0.05))
    assert hidden.step == pytest.approx(plain.step - 0.1)
    assert predict(WORK, HOST, devices=2, method=Method(overlap=1.0)).efficiency == 1
    late = WORK._replace(last=4 * ROUND)  # of ten rounds
    exposed = predict(late, HOST, devices=2, method=Method(overlap=1.0)).step - 2.5
    assert exposed == pytest.approx(0.4 * plain.exchange)
    slow = predict(late, HOST._replace(bus=1e9), devices=2, method=Method(overlap=1.0)).step - 2.5
    assert slow == pytest.approx(exposed + 2 * 0.6 * WORK.nbytes / 1e9)
    rare = predict(WORK, HOST, devices=2, method=Method(every=100))
    assert rare.step == pytest.approx(2.5 + plain.exchange / 100)
    with pytest.raises(ValueError, match=r"predict\(0 devices, 1 hosts, every=1\): must be at least 1"):
        predict(WORK, HOST, devices=0)
