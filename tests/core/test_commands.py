"""The flat list of commands: what is read back was written so, and the JavaScript reads the same."""

import re
from types import SimpleNamespace

from flambeau.core import commands
from flambeau.core.commands import Copy, Dispatch, copy_command, decode, dispatches, encode, flat, spans_of
from flambeau.core.files import web_file
from flambeau.device import web

ONE = Dispatch(3, 40, 256, (7, 8, 9), (11, 12, 13))
NONE = Dispatch(0, 41, 0, (0, 0, 0), ())
MOVES = Copy(11, 14, 64), Copy(14, 15, 8)
LIST = [ONE, *MOVES, NONE, ONE]
WORDS = [1, 3, 40, 256, 7, 8, 9, 3, 11, 12, 13, 2, 11, 14, 64, 2, 14, 15, 8, 1, 0, 41, 0, 0, 0, 0, 0]


def test_commands_are_written_as_the_format_says():
    assert encode(LIST) == [*WORDS, *ONE.words()]
    assert ONE.bound() == (40, 11, 12, 13)


def test_what_is_read_back_is_what_was_written():
    assert list(decode(encode(LIST))) == LIST
    assert dispatches(encode(LIST)) == [ONE, NONE, ONE]
    assert [WORDS[i:end] for i, end in commands.commands(WORDS)] == [c.words() for c in LIST[:4]]
    assert list(decode([])) == []


def test_the_named_places_are_those_of_the_fields():
    words = ONE.words()
    assert [words[at] for at in (commands.PIPELINE, commands.PARAMS, commands.OFFSET)] == [3, 40, 256]
    assert words[commands.GRID : commands.COUNT] == [7, 8, 9]
    assert words[commands.COUNT] == len(words) - commands.BUFFERS == 3
    assert words[commands.BUFFERS :] == [11, 12, 13]
    words = MOVES[0].words()
    assert [words[at] for at in (commands.FROM, commands.TO, commands.BYTES)] == [11, 14, 64]
    assert len(words) == commands.COPY_WORDS


def test_copies_beside_each_other_are_timed_together():
    assert list(spans_of(encode(LIST))) == [[ONE], [*MOVES], [NONE], [ONE]]


def test_a_value_is_copied_in_whole_words():
    source, target, empty = (SimpleNamespace(handle=h, nbytes=n) for h, n in ((5, 6), (6, 6), (7, 0)))
    assert list(decode(copy_command(source, target))) == [Copy(5, 6, 8)]
    assert copy_command(empty, empty) == []


def test_prepared_commands_are_words_again():
    class Prepared:
        words = ONE.words()

    assert flat([MOVES[0].words(), Prepared]) == encode([MOVES[0], ONE])


def test_the_pages_read_the_same_list():
    """executor.js names the same places, and its own commands do not take the numbers of these."""
    text = web_file("executor.js").read_text(encoding="utf-8")
    lines = re.findall(r"^(?:export )?const ((?:[A-Z_]+ = \d+(?:, )?)+);", text, re.M)
    theirs = {name: int(n) for line in lines for name, n in re.findall(r"([A-Z_]+) = (\d+)", line)}
    ours = {n: v for n, v in vars(commands).items() if n.isupper() and isinstance(v, int)}
    assert len(ours) == 12
    assert {name: theirs.get(name) for name in ours} == ours
    assert {n: theirs[n] for n in ("REPLAY", "FREE", "FORGET")} == {
        "REPLAY": web.REPLAY,
        "FREE": web.FREE,
        "FORGET": web.FORGET,
    }
