"""The device seam as it is written down, compared with the devices that there are."""

import inspect
import threading

import pytest
from helpers.paper import PaperDevice
from helpers.watched import WatchedDevice

import flambeau as fb
from flambeau.device import get_device
from flambeau.device.cpu import CpuDevice
from flambeau.device.native import ForkedDevice, NativeDevice
from flambeau.device.protocol import Arrays, Caches, Common, Gpu
from flambeau.device.web import WebDevice
from flambeau.remote.client import RemoteDevice

KINDS = {
    NativeDevice: Gpu,
    ForkedDevice: Gpu,
    WatchedDevice: Gpu,
    WebDevice: Gpu,
    RemoteDevice: Gpu,
    PaperDevice: Gpu,
    CpuDevice: Arrays,
}


def calls_of(seam: type) -> dict[str, inspect.Signature]:
    """The calls of a protocol and of those that it goes on from."""
    found = {n: f for kind in seam.__mro__ for n, f in vars(kind).items() if inspect.isfunction(f)}
    return {n: inspect.signature(f) for n, f in found.items() if not n.startswith("_")}


def asked(signature: inspect.Signature) -> list[tuple]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_device_takes_the_calls_of_its_seam(kind):
    """What it takes beyond them has a default; one that refuses everything takes everything."""
    wanted = calls_of(KINDS[kind])
    assert len(wanted) == {Gpu: 18, Arrays: 8}[KINDS[kind]]
    for name, signature in wanted.items():
        if (own := getattr(kind, name, None)) is getattr(ForkedDevice, "_refuse"):  # noqa: B009  private
            continue
        if name == "keep_pace" and own is None:  # the native device's own is its provider's
            assert issubclass(kind, NativeDevice)
            continue
        mine, theirs = asked(inspect.signature(own)), asked(signature)
        named = [[(k, d) if k is inspect.Parameter.VAR_POSITIONAL else (n, k, d) for n, k, d in found]
                 for found in (mine[: len(theirs)], theirs)]  # fmt: skip
        assert named[0] == named[1], name
        assert all(default is not inspect.Parameter.empty for _, _, default in mine[len(theirs) :]), name


def test_every_device_has_what_its_seam_names(gpu):
    for device, seam in ((gpu, Gpu), (PaperDevice(), Gpu), (get_device("cpu"), Arrays)):
        assert isinstance(device, seam) and isinstance(device, Common | Caches)
        assert not isinstance(device, Arrays if seam is Gpu else Gpu)
        assert device.kind == {Gpu: "gpu", Arrays: "cpu"}[seam]
        assert device.lost is None and device.can_wait is True
        assert type(device.lock) is type(threading.RLock())


def test_a_device_without_memory_or_driver_says_so():
    cpu = get_device("cpu")
    assert (cpu.pool, cpu.adapter, cpu.identity) == (None, None, None)
    assert (WebDevice.adapter, WebDevice.identity, WebDevice.compilers) == (None, None, 1)
    assert fb.memory("cpu") == {"live": 0, "peak": 0, "reserved": 0, "allocations": 0}


def test_devices_share_no_cache():
    one, other = PaperDevice(), PaperDevice()
    fb.zeros(3, device=one).exp().realize()
    assert one.plans and one.pipelines and not other.plans and not other.pipelines
    assert (one.saved_pipelines, one.meter, one.ceilings) == ({}, None, None)


def test_what_is_no_device_is_refused():
    rule = r"^zeros\(3, device=5.0\): device\(5.0\): float is not a device: use 'gpu', 'gpu:1', 'cpu' or a"
    with pytest.raises(TypeError, match=rule):
        fb.zeros(3, device=5.0)  # type: ignore[arg-type]
    x = fb.zeros(2, device="cpu")
    assert fb.zeros(3, device=x).device is x.device is get_device(x)
