"""Values that nobody reads are computed in time: a graph does not grow with the steps of a program."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.core import node as graph
from flambeau.core.node import toposort
from flambeau.runtime.pipeline import counters


@pytest.fixture
def shallow(monkeypatch):
    """Nodes wait for 20 others at most."""
    monkeypatch.setattr(graph, "DEEP", 20)
    graph.has_run()
    yield
    monkeypatch.undo()
    graph.has_run()


@pytest.mark.share(3)
def test_a_sum_that_nobody_reads_is_run_in_time(device):
    """A total over steps keeps neither their values nor a graph that grows with them."""
    x = fb.ones(3, device=device).realize()
    total, deepest = fb.zeros(3, device=device), 0
    for i in range(3 * graph.DEEP):
        total = total + x * (i % 2)
        if i % 500 == 0:
            deepest = max(deepest, len(toposort([total.node])))
    assert deepest < 4 * graph.DEEP
    assert total.tolist() == [1.5 * graph.DEEP] * 3


def test_a_sum_over_runs_is_run_in_time(gpu):
    total, step, longest = fb.zeros((), device=gpu), fb.jit(lambda x: x * 2), 0
    for i in range(300):
        total = total + step(fb.full((4,), float(i), device=gpu)).sum()
        longest = max(longest, len(toposort([total.node])))
    assert longest < 400  # of 1,000 nodes and more
    assert total.item() == 4 * 2 * sum(range(300))


def test_gradients_reach_through_what_was_run_in_time(device, shallow):
    x = fb.tensor([0.5, -1.0], device=device, requires_grad=True)
    y = x
    for _ in range(60):
        y = y * 0.9 + x.sin()
    slope = 0.9**60 + np.cos([0.5, -1.0]) * sum(0.9**i for i in range(60))
    np.testing.assert_allclose(y.sum().backward()[x].numpy(), slope, rtol=1e-5)


def test_a_recording_runs_nothing_in_time(gpu, shallow):

    @fb.jit
    def deep(x):
        for _ in range(60):
            x = x * 0.5 + 1
        return x

    given = [fb.tensor([start]).realize() for start in (1.0, 2.0, 3.0)]
    submits = counters.submits
    for x in given:
        np.testing.assert_allclose(deep(x).numpy(), [2.0], rtol=1e-6)
    assert counters.submits == submits  # replays alone


def test_a_total_of_losses_keeps_no_graph(gpu, shallow):
    """After each backward a loss is a number: what is made of such numbers leads to no gradient."""
    w = fb.ones(3, device=gpu, requires_grad=True)
    total = fb.zeros((), device=gpu)
    for i in range(100):
        loss = (w * i).sum()
        fb.realize(*loss.backward())
        total = total + loss
    assert len(ancestors(total.node)) < 50
    assert total.item() == 3 * sum(range(100))


def test_a_gradient_through_a_loss_of_the_past_is_refused(device):
    w = fb.ones(3, device=device, requires_grad=True)
    loss = (w * 2).sum()
    loss.backward()
    assert loss.item() == 6
    with pytest.raises(ValueError) as raised:
        (loss * 3 + w.sum()).backward()
    assert str(raised.value) == (
        "backward(f32[]): the graph of f32[], which it depends on, was freed by an earlier backward:"
        " pass retain_graph=True to that call"
    )
    assert (w.sum() + loss.detach()).backward()[w].tolist() == [1.0] * 3


def ancestors(node):
    """All nodes that one keeps alive."""
    found, todo = set(), [node]
    while todo:
        n = todo.pop()
        if n not in found:
            found.add(n)
            todo += [*n.inputs, *n.parents]
    return found
