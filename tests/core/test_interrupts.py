"""A Ctrl-C at any moment: parameters and an optimiser's state are from before a step, or from after it."""

import signal
import sys
import threading

import numpy as np
import pytest

import flambeau as fb
from flambeau import optim
from flambeau.core import modes
from flambeau.core.interrupts import uninterrupted

LR, MOMENTUM, STARTS = 0.01, 0.9, (np.float32([[1, 2], [3, 4]]), np.float32([5, -6, 7]))
DAMPENING = 0.25
# the provider's objects that were half made say so as they die
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
MOMENTS = 90  # of each call


class Moments:
    """Raises SIGINT at the k-th moment of a call where Python looks for signals: where a function of Python's
    begins, and where one of C's has returned; `since` a function of that name began. `count` is how many
    there were."""

    def __init__(self, k: int = 0, since: str = ""):
        self.k, self.count, self.since = k, 0, since

    def __call__(self, frame, event, arg):
        if frame.f_code.co_qualname == self.since:
            self.since = ""
        if event in ("call", "c_return") and not self.since:
            self.count += 1
            if self.count == self.k:
                signal.raise_signal(signal.SIGINT)

    def run(self, call) -> bool:
        """Whether the call was interrupted."""
        sys.setprofile(self)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
            modes._grad.set(True)  # a `with no_grad()` that is interrupted as it ends leaves them off
        return False


@pytest.fixture(autouse=True)
def raising():
    """A job in a script's background ignores SIGINT."""
    given = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, given)


class Training:
    """SGD with momentum on two parameters, of which NumPy knows what a step does."""

    def __init__(self, device, offload=False):
        self.params = [fb.tensor(s, device=device, requires_grad=True) for s in STARTS]
        self.optimizer = optim.SGD(
            self.params, lr=LR, momentum=MOMENTUM, dampening=DAMPENING, offload=offload
        )

    def step(self):
        total = sum((p * p).sum() for p in self.params)
        self.optimizer.step(total.backward())
        return total

    def values(self):
        """Parameters, moments and the number of steps."""
        states = [self.optimizer.state[p] for p in self.params]
        tensors = {0: self.params[0], 1: self.params[1]}
        tensors |= {i + 3: s["momentum_buffer"] for i, s in enumerate(states)}
        return {"count": states[0]["step"].item()} | {i: t.numpy() for i, t in tensors.items()}


def after(v, steps=1):
    """The values after steps."""
    for _ in range(steps):
        share = 1 - DAMPENING if v["count"] else 1  # the first gradient is taken whole
        m = {i: MOMENTUM * v[i + 3] + share * 2 * v[i] for i in (0, 1)}
        v = {"count": v["count"] + 1} | {i: v[i] - LR * m[i] for i in m} | {i + 3: m[i] for i in m}
    return v


def is_whole(got, before) -> bool:
    """Whether all values are from before a step, or all from after it."""
    want = after(before, int(got["count"] - before["count"]))
    for i in want:
        np.testing.assert_allclose(got[i], want[i], rtol=1e-5, err_msg=f"{i} after {got['count']}")
    return got["count"] - before["count"] in (0, 1)


def moments(call, since=""):
    """Moments of a call, spread over it."""
    call(), call()
    (whole := Moments(since=since)).run(call)
    return np.unique(np.linspace(1, whole.count, MOMENTS, dtype=int)).tolist()


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.share(5)
def test_an_eager_step_is_whole(device, offload):
    training = Training(device, offload)
    seen = set()
    for k in moments(training.step):
        before = training.values()
        total = sum((p * p).sum() for p in training.params).backward()
        assert Moments(k).run(lambda total=total: training.optimizer.step(total)) or seen
        now = training.values()
        assert is_whole(now, before), k
        seen.add(now["count"] - before["count"])
    assert seen == {0, 1}


@pytest.mark.parametrize("check, since", [("never", ""), ("always", ""), ("always", "undo")])
@pytest.mark.share(5)
def test_a_replay_is_whole(check, since, gpu):
    training = Training(gpu)
    call = fb.jit(training.step, check=check)
    seen = set()
    for k in moments(call, since):
        before = training.values()
        held = [p.node for p in training.params] if k % 2 else []  # their values move to buffers of their own
        Moments(k, since).run(call)
        for node, i in zip(held, (0, 1), strict=False):
            np.testing.assert_array_equal(fb.Tensor(node).numpy(), before[i])
        now = training.values()
        assert is_whole(now, before), k
        seen.add(now["count"] - before["count"])
    assert seen == {0, 1} and call.programs


def test_a_call_that_is_recorded_is_whole(gpu):
    """Both states, also the one whose new value can't be written over the old one."""
    turn = np.float32([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    x, w, n = fb.tensor(turn, device=gpu), fb.tensor(turn, device=gpu), fb.zeros(1, device=gpu)

    def call():
        x.assign_(x @ w)
        n.assign_(n + 1)

    for k in moments(lambda: fb.jit(call)(), "Call._build_program"):
        before, recorded = n.item(), fb.jit(call)
        Moments(k, "Call._build_program").run(recorded)
        count = n.item()
        assert count - before in (0, 1)
        np.testing.assert_array_equal(x.numpy(), np.linalg.matrix_power(turn, int(count) + 1), str(k))
        recorded(), recorded()
        assert recorded.programs and n.item() == count + 2
        np.testing.assert_array_equal(x.numpy(), np.linalg.matrix_power(turn, int(count) + 3), str(k))


@pytest.mark.parametrize("since", ["", "send_params"])
def test_a_run_is_whole(since, device):
    """A read computes what a run that was interrupted left, and the next run has numbers of its own."""
    scale = fb.HostScalar(1.0)
    x = fb.tensor(STARTS[1], device=device).realize()

    def results():
        fb.realize(*(found := ((x * scale).sum(), (x * scale).abs() @ x)))
        return found

    def check(total, product):
        scaled = STARTS[1] * scale.value
        np.testing.assert_allclose(total.item(), scaled.sum(), rtol=1e-6)
        np.testing.assert_allclose(product.item(), np.abs(scaled) @ STARTS[1], rtol=1e-6)

    def run():
        scale.value = 3 - scale.value
        results()

    for k in moments(run, since):
        scale.value = 2.0
        made = []
        Moments(k, since).run(lambda made=made: made.extend(results()))
        if made:
            check(*made)
        scale.value = 1.0
        check(*results())


# --- the context


def test_a_signal_waits_and_the_second_does_not():
    reached = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        reached.append(1)
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        reached.append(2)
    assert reached == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_of_others_are_called_at_the_outermost_end():
    came = []

    def theirs(number, frame):
        came.append((number, frame.f_code.co_name))

    signal.signal(signal.SIGINT, theirs)
    with uninterrupted():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
        assert not came
    assert [number for number, _ in came] == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is theirs


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_is_no_function_is_left_as_it_is(handler):
    signal.signal(signal.SIGINT, handler)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_need_nothing():
    found = []

    def work():
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_it_is_whole_itself():
    """Interrupted while it begins or ends, it leaves the handler that was there."""
    counter, k = Moments(), 0

    def enter():
        with uninterrupted():
            pass

    counter.run(enter)
    for k in range(1, counter.count + 1):
        assert Moments(k).run(enter) and signal.getsignal(signal.SIGINT) is signal.default_int_handler
