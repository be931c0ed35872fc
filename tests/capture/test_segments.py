"""Replays in segments: the results, states and random numbers of a replay at once."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.capture.segments import SegmentedJit

F = fb.nn.functional


def begin(function, *arguments, seed=0):
    """A replay in segments: calls that record or check the function come before."""
    fb.manual_seed(seed)
    while (play := function.begin(*arguments)) is None:
        function(*arguments)
        fb.manual_seed(seed)
    return play


@pytest.mark.share(2)
def test_segments_give_what_a_replay_gives(gpu):
    state = fb.zeros(3, device=gpu)

    def chain(x):
        state.assign_(state + 1)
        results = []
        for _ in range(4):
            x = F.dropout((x @ x).tanh(), 0.5)
            results += [x, x.sum(0)]
        return results, state * 2

    function = SegmentedJit(chain, 64)
    x = fb.tensor(np.random.default_rng(0).standard_normal((8, 8)).astype("f"), device=gpu)
    for _ in range(2):  # the first time small results are copied to their places, then bound
        play = begin(function, x)
        del play.result
        assert sum(len(ready) for ready in play) == 9
        play = begin(function, x, seed=5)
        results, twice = play.result
        ready, read = [], {}
        for positions in play:
            ready.append(positions)
            # a value that is read before the next segment is submitted
            read |= {i: results[i].numpy() for i in positions if i < 8}
        after = state.tolist()
        fb.manual_seed(5)
        wanted, _ = function(x)
        assert sorted(sum(ready, ())) == list(range(9)) and len(ready) > 2
        for i, value in enumerate(wanted):
            np.testing.assert_array_equal(read[i], value.numpy())
            np.testing.assert_array_equal(results[i].numpy(), value.numpy())
        assert twice.tolist() == [2 * n for n in after] and after[0] > 2


def test_a_replay_that_is_left_early_is_complete(gpu):
    """An error between two segments leaves no state half updated."""
    state = fb.zeros(2, device=gpu)

    def step(x):
        y = x.exp()
        z = y @ y
        state.assign_(state + 1)
        return y, z, state + 0

    function = SegmentedJit(step, 1)
    x = fb.ones(4, 4, device=gpu)
    list(begin(function, x))
    play = None
    while play is None:  # a call that is to be checked can't be replayed in segments
        before = state.tolist()
        play = function.begin(x)
        if play is None:
            function(x)
    with pytest.raises(KeyError):
        for _ in play:
            raise KeyError
    assert state.tolist() == [n + 1 for n in before]
    assert function.begin(x) is not None
