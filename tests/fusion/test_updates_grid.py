"""Drawn updates of several states at once against NumPy: which old values are written over, and which others
still read."""

import numpy as np
import pytest
from helpers.inputs import in_turn
from helpers.plans import GPU, kernels_of, leaf

import flambeau as fb

SHAPES = ((6, 4), (5, 3), (8, 8), (7,), (3, 5, 2), (64, 16), (4, 1), (1,))


class Drawn:
    """A step of states, gradients and what else is read, drawn from a seed; for tensors and for arrays."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.shape = SHAPES[seed % len(SHAPES)]
        self.states, self.grads = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        self.terms = []  # of each new state: (what it reads, how, and times what)
        for i in range(self.states):
            names = [f"old{i}"] if rng.random() < 0.85 else []
            names += [self._name(rng, i) for _ in range(rng.integers(1, 4))]
            self.terms.append([(n, self._view(rng), float(rng.choice([-0.5, 0.25, 0.75]))) for n in names])
        self.kept = [i for i in range(self.states) if rng.random() < 0.1]  # asked for, and not assigned
        self.asked = [self._name(rng, self.states) for _ in range(rng.integers(0, 3))]  # read by others too

    def _name(self, rng, news):
        kind = rng.choice(["old", "grad", "new"] if news else ["old", "grad"])
        return f"{kind}{rng.integers({'old': self.states, 'grad': self.grads, 'new': news}[kind])}"

    def _view(self, rng):
        return str(rng.choice(["flip", "turn", "first"])) if rng.random() < 0.12 else ""

    def _seen(self, x, how, flip):
        if how == "flip":
            return flip(x)
        if how == "turn" and len(self.shape) == 2 and self.shape[0] == self.shape[1]:
            return x.T
        return x[:1] if how == "first" else x

    def news(self, olds, grads, flip):
        """The new states, and what is asked for beside them."""
        values = {f"old{i}": x for i, x in enumerate(olds)} | {f"grad{i}": x for i, x in enumerate(grads)}
        for i, terms in enumerate(self.terms):
            seen = [self._seen(values[name], how, flip) * by for name, how, by in terms]
            values[f"new{i}"] = sum(seen[1:], values[terms[0][0]] * 0 + seen[0])
        others = [flip(values[name]) * 2 + values[name].sum() for name in self.asked]
        return [values[f"new{i}"] for i in range(self.states)], others


@pytest.mark.parametrize("seed", in_turn(range(96), 4))
def test_drawn_updates(gpu, seed):
    drawn, rng = Drawn(seed), np.random.default_rng(seed)

    def arrays(n):
        return [rng.integers(-8, 9, drawn.shape).astype("f4") / 8 for _ in range(n)]

    wanted = arrays(drawn.states)
    states = [fb.tensor(x, device=gpu) for x in wanted]

    @fb.jit
    def step(*grads):
        news, others = drawn.news(states, grads, lambda x: x.flip(0))
        for i, (state, new) in enumerate(zip(states, news, strict=True)):
            if i not in drawn.kept:
                state.assign_(new)
        return [*(news[i] for i in drawn.kept), *others]

    for _ in range(3):
        grads = arrays(drawn.grads)
        got = step(*[fb.tensor(g, device=gpu) for g in grads])
        news, others = drawn.news(wanted, grads, lambda x: np.flip(x, 0))
        for g, w in zip(got, [*(news[i] for i in drawn.kept), *others], strict=True):
            np.testing.assert_allclose(g.numpy(), w, rtol=1e-5, atol=1e-5)
        wanted = [wanted[i] if i in drawn.kept else new for i, new in enumerate(news)]
    for state, w in zip(states, wanted, strict=True):
        np.testing.assert_allclose(state.numpy(), w, rtol=1e-5, atol=1e-5)


def test_old_values_are_not_counted_beside_new_ones():
    m, v, n, p, g = (leaf(6, 4, seed=i) for i in range(5))
    news = [m * 0.5 + g, v * 0.5 + g * g, n + 1 / (1 + g * g)]
    news.append(p - news[0] * news[1] * news[2])
    (k,) = kernels_of(*news, dying=[m, v, n, p])
    assert (k.reads, k.writes, k.over) == (1, 4, 4)
    assert len(kernels_of(*news)) == 2  # in a plan that is run once: nine buffers


@pytest.mark.parametrize("read", [lambda x: x.flip(0), lambda x: x.sum(0)])
def test_who_reads_old_values_later_has_the_kernel_taken_apart(read):
    *olds, p, g = (leaf(6, 4, seed=i) for i in range(6))
    news = [old * 0.5 + g for old in olds]
    news.append(p - sum(x * x for x in news))
    later = sum(read(old) for old in olds[:3]) * news[4].sum()
    found = kernels_of(*news, later, dying=[*olds, p])
    assert not any(k.reads_what_it_writes_over for k in found)
    updates = [(k.reads, k.writes, k.over) for k in found if k.kind == "map_multi"]
    assert updates == [(4, 3, 0), (4, 2, 2)]  # where one kernel would bind nine
    assert all(k.reads + k.writes <= GPU.storage_buffers for k in found)
