"""Dicts of what was kept last: the oldest goes, and what comes once is not made."""

from flambeau.core.lru_cache import Again, Recent


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


def test_values_are_made_the_second_time():
    found, made = Again(), []

    def make():
        made.append(len(made))
        return made[-1]

    assert [found.of("a", make, 2) for _ in range(3)] == [None, 0, 0]
    assert [found.of(key, make, 2) for key in "bcbab"] == [None, None, 1, None, None]
    assert made == [0, 1]
    assert dict(found) == {"a": None, "b": None}  # the place of "b" went as the oldest
