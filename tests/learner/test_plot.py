"""Curves into braille and ASCII, compared with pictures written out."""

from math import inf, nan

from flambeau.learner.plot import Drawn, lines, plot


def shown(*curves, width=22, height=6, **given):
    return lines(plot([Drawn(str(i), c, i) for i, c in enumerate(curves)], width, height, **given))


def test_a_line():
    assert shown([(0, 0), (10, 1)], unicode=False) == [
        "1 |                ***",
        "  |            ****",
        "  |       *****",
        "  |   ****",
        "0 |***",
        "   0                10",
    ]
    assert shown([(0, 0), (10, 1)])[:5] == [
        "1 │               ⢀⡠⠔⠊",
        "  │           ⢀⡠⠔⠊⠁",
        "  │       ⢀⡠⠔⠊⠁",
        "  │   ⢀⡠⠔⠊⠁",
        "0 │⡠⠔⠊⠁",
    ]


def test_two_curves_on_a_log_scale():
    """Two straight lines there; what has no logarithm is left out; the later curve lies on top."""
    found = shown([(0, 1), (5, 10), (10, 100)], [(0, 50), (5, 1), (10, 0)], log=True, unicode=False)
    assert found == [
        "100 |              ***",
        "    |oo         ***",
        "    |  ooo *****",
        "    |   **oo",
        "  1 |***    oo",
        "     0              10",
    ]


def test_a_curve_on_top_keeps_its_form():
    """A cell has one colour: dots of what is beneath would look like the upper curve's own."""
    assert shown([(0, 1), (0, -1), (2, 1), (2, -1), (4, 1)], [(0, 0), (4, 0)]) == [
        " 1 │⡇      ⢀⠔⡇      ⡠⠊",
        "   │⡇    ⢀⠔⠁ ⡇    ⢀⠜",
        "   │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤",
        "   │⡇ ⡠⠊     ⡇ ⡔⠁",
        "-1 │⡧⠊       ⡧⠊",
        "    0                4",
    ]


def test_labels_between_the_ends():
    rows = shown([(0, 0), (90, 10)], width=68, height=13)
    labels = [row.partition("│")[0].strip() for row in rows[:-1]]
    assert labels == ["10", "", "", "", "6.364", "", "", "3.636", "", "", "", "0"]
    assert rows[-1].split() == ["0", "30", "60", "90"]


def test_gaps_and_points_alone():
    found = shown([(0, 0), (5, nan), (10, 1)], unicode=False)
    assert "".join(found[:5]).count("*") == 2 and found[0].endswith("*") and found[4] == "0 |*"
    assert shown([(3, 7)], unicode=False)[2] == "7 |         *"


def test_there_is_something_where_there_is_nothing():
    for points in ([], [(0, nan), (1, inf)], [(0, nan)]):
        assert shown(points)[3].strip() == "nothing to draw yet"
    assert shown([(0, 1)], width=10)[3] == "no room to"
    assert shown([(0, -1), (1, 0)], log=True)[3].strip() == "nothing to draw yet"
    for width, height in ((20, 3), (21, 4), (200, 60)):
        assert len(shown([(0, 1), (1, 2)], width=width, height=height)) == height


def test_rows_fit():
    for width in range(20, 60):
        rows = shown([(0, -1.23456e-7), (123456, 1e9)], width=width)
        assert max(map(len, rows)) <= width
