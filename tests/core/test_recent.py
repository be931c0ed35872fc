"""A dict of what was kept last: the oldest goes."""

from flambeau.core.lru_cache import Recent


def test_the_oldest_goes():
    found = Recent()
    assert [found.keep(n, str(n), 3) for n in range(5)] == ["0", "1", "2", "3", "4"]
    assert found == {2: "2", 3: "3", 4: "4"}


def test_what_is_kept_again_is_the_newest():
    found = Recent()
    for key in "abcaxy":
        found.keep(key, 0, 3)
    assert list(found) == ["a", "x", "y"]


def test_a_smaller_size_lets_go_of_all_that_is_too_much():
    found = Recent({n: n for n in range(9)})
    found.keep(9, 9, 2)
    assert list(found) == [8, 9]
