"""Dataclasses through JSON and command lines: what comes back, and each message in full."""

import json
import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Optional

import pytest

from flambeau.config import from_dict, load, parse, save, to_dict


class Rule(Enum):
    adam = 1
    sgd = 2


@dataclass
class Model:
    depth: int = 4  # layers
    sizes: tuple[int, ...] = (8, 8)
    """how wide
    each layer is"""
    dropout: float | None = None


@dataclass
class Config:
    """Trains a model."""

    data: Path  # a folder of files
    lr: float = 0.1
    shuffle: bool = True
    name: str = "run"
    rule: Rule = Rule.adam
    mode: Literal["fast", "exact", 3] = "fast"
    betas: tuple[float, float] = (0.9, 0.999)
    tags: list[str] = field(default_factory=list)
    seed: Optional[int] = field(default=None, metadata={"help": "of all draws"})  # noqa: UP045 - both ways
    model: Model = field(default_factory=Model)
    teacher: Model | None = None
    extra: dict[str, float] = field(default_factory=dict)
    note: Any = None
    limit: int | str = 0


GIVEN = Config(
    Path("d"), 0.5, False, "x", Rule.sgd, 3, (0.5, 0.25), ["a", "b"], 7, Model(2, (1, 2, 3), 0.1), Model(1),
    {"a": 1.5}, [1, {"b": None}], "all",
)  # fmt: skip


@dataclass
class Deep:
    model: Model = field(default_factory=lambda: Model(12, (64,), 0.5))
    inner: Config = field(default_factory=lambda: Config(Path("d"), model=Model(7)))


def test_a_field_of_a_dataclass_leaves_the_others_as_its_default_has_them(capsys):
    assert parse(Deep, ["--model.dropout", "0.1"]).model == Model(12, (64,), 0.1)
    assert from_dict(Deep, {"model": {"depth": 1}}).model == Model(1, (64,), 0.5)
    found = parse(Deep, ["--inner.model.dropout", "0.1"]).inner
    assert found == Config(Path("d"), model=Model(7, (8, 8), 0.1))
    assert parse(Config, ["--data", "d", "--teacher.depth", "1"]).teacher == Model(1)  # its default is None
    with pytest.raises(SystemExit):
        parse(Deep, ["--help"])
    told = capsys.readouterr().out
    assert "layers  [default 12]" in told and "[default 7]" in told and "a folder of files  [default" in told


@dataclass
class Keyed:
    rates: dict[int, float]
    rules: dict[Rule, list[int]]


def test_keys_are_of_their_type_again():
    given = Keyed({1: 0.5, -2: 1.0}, {Rule.sgd: [1]})
    assert from_dict(Keyed, json.loads(json.dumps(to_dict(given)))) == given
    assert from_dict(Keyed, {"rates": {1: 0.5, -2: 1.0}, "rules": {"sgd": [1]}}) == given
    with pytest.raises(ValueError) as e:
        from_dict(Keyed, {"rates": {"a": 1.0}, "rules": {}})
    assert str(e.value) == "Keyed(rates): takes keys of int: got 'a'"


def test_json_and_back(tmp_path):
    path = tmp_path / "config.json"
    save(GIVEN, path)
    assert load(Config, path) == GIVEN
    assert from_dict(Config, to_dict(GIVEN)) == GIVEN
    assert [p.name for p in tmp_path.iterdir()] == ["config.json"]
    written = json.loads(path.read_text())
    assert written["rule"] == "sgd" and written["betas"] == [0.5, 0.25] and written["data"] == "d"
    assert from_dict(Config, {"data": "d"}) == Config(Path("d"))
    assert type(from_dict(Config, {"data": "d", "lr": 1}).lr) is float


@pytest.mark.parametrize(
    "words, wanted",
    [
        ("", {}),
        ("--lr 1e-3 --name=a=b", {"lr": 1e-3, "name": "a=b"}),
        ("--lr -2", {"lr": -2.0}),
        ("--no-shuffle", {"shuffle": False}),
        ("--shuffle", {"shuffle": True}),
        ("--shuffle off", {"shuffle": False}),
        ("--rule sgd --mode 3", {"rule": Rule.sgd, "mode": 3}),
        ("--betas 0.5 0.6", {"betas": (0.5, 0.6)}),
        ("--betas 0.5,0.6", {"betas": (0.5, 0.6)}),
        ("--betas [0.5,1]", {"betas": (0.5, 1.0)}),
        ("--tags a", {"tags": ["a"]}),
        ("--tags a b", {"tags": ["a", "b"]}),
        ("--tags", {"tags": []}),
        ("--seed 1_000", {"seed": 1000}),
        ("--seed 1e3", {"seed": 1000}),
        ("--seed 9007199254740993", {"seed": 9007199254740993}),
        ("--seed none", {"seed": None}),
        ("--model.depth 12 --model.sizes 1 2", {"model": Model(12, (1, 2))}),
        ("--model.dropout 0.5", {"model": Model(dropout=0.5)}),
        ("--teacher.depth 1", {"teacher": Model(1)}),
        ('--model {"depth":9} --model.dropout 0', {"model": Model(9, dropout=0.0)}),
        ("--teacher none", {"teacher": None}),
        ('--extra {"a":1}', {"extra": {"a": 1.0}}),
        ("--note [1] --limit 5", {"note": [1], "limit": 5}),
        ("--note plain --limit most", {"note": "plain", "limit": "most"}),
        ("--lr 1 --lr 2", {"lr": 2.0}),
    ],
)
def test_words_become_fields(words, wanted):
    found = parse(Config, ["--data", "d", *words.split()])
    assert found == Config(Path("d"), **wanted)
    assert type(found.lr) is float


def test_dashes_and_lines_are_the_same():
    @dataclass
    class Loader:
        batch_size: int = 1

    assert parse(Loader, ["--batch-size", "2"]) == parse(Loader, ["--batch_size", "2"]) == Loader(2)


def test_a_file_lies_under_the_words(tmp_path):
    path = tmp_path / "c.json"
    path.write_text('{"data": "e", "lr": 3, "model": {"depth": 1, "dropout": 0.5}}')
    for words in (
        ["--config", str(path), "--model.depth", "2"],
        ["--model.depth", "2", "--config", str(path)],
    ):
        assert parse(Config, words) == Config(Path("e"), 3.0, model=Model(2, dropout=0.5))


@pytest.mark.parametrize(
    "words, message",
    [
        ("--lrr 1", "parse(--lrr): no option of that name: did you mean '--lr'?"),
        ("--model.dept 1", "parse(--model.dept): no option of that name: did you mean '--model.depth'?"),
        ("--lr fast", "parse(--lr fast): takes float: got 'fast'"),
        ("--lr", "parse(--lr): takes a value, float: got none"),
        ("--lr 1 2", "parse(--lr 1 2): takes one value, float: got '1 2'"),
        ("--seed 1.5", "parse(--seed 1.5): takes int: got '1.5'"),
        ("--model.depth inf", "parse(--model.depth inf): takes int: got 'inf'"),
        ("--shuffle maybe", "parse(--shuffle maybe): takes true or false: got 'maybe'"),
        ("--rule adma", "parse(--rule adma): takes adam | sgd: got 'adma': did you mean 'adam'?"),
        ("--mode exat", "parse(--mode exat): takes fast | exact | 3: got 'exat': did you mean 'exact'?"),
        ("--betas 1", "parse(--betas 1): takes tuple[float, float], 2 values: got 1"),
        ("--betas 1 x", "parse(--betas 1 x): takes float: got 'x'"),
        ("--extra 1=2", "parse(--extra 1=2): takes dict[str, float] as JSON: got '1=2'"),
        ("--extra [1]", "parse(--extra): takes dict: got [1]"),
        ("loose", "parse(loose): an option begins with --, as in --data"),
        ("--config", "parse(--config): takes one file"),
    ],
)
def test_what_is_wrong_is_said(words, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse(Config, words.split() if words == "loose" else ["--data", "d", *words.split()])


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"data": "d", "model": {"dept": 1}},
            "Config(model.dept): no field of that name: did you mean 'depth'?",
        ),
        ({}, "Config(data): it has no default: give Path"),
        ({"data": 3}, "Config(data): takes str: got 3"),
        ({"data": "d", "lr": "0.1"}, "Config(lr): takes float: got '0.1'"),
        ({"data": "d", "shuffle": 1}, "Config(shuffle): takes bool: got 1"),
        ({"data": "d", "seed": True}, "Config(seed): takes int: got True"),
        ({"data": "d", "limit": 1.5}, "Config(limit): takes int | str: got 1.5"),
        ({"data": "d", "tags": "a"}, "Config(tags): takes list[str]: got 'a'"),
        ({"data": "d", "model": {"sizes": [1, "2"]}}, "Config(model.sizes): takes int: got '2'"),
        ({"data": "d", "rule": 1}, "Config(rule): takes adam | sgd: got 1"),
        ({"data": "d", "model": 3}, "Config(model): takes dict: got 3"),
    ],
)
def test_what_is_wrong_in_values(given, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        from_dict(Config, given)


def test_what_is_wrong_in_files_and_classes(tmp_path):
    path = tmp_path / "c.json"
    for text, reason in (
        ("{", "no JSON: line 1: Expecting property name enclosed in double quotes"),
        ("[1]", "takes a JSON object: got list"),
        ('{"dat": "d"}', "dat: no field of that name: did you mean 'data'?"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"^{re.escape(f'load({str(path)!r}): {reason}')}$"):
            load(Config, path)
    with pytest.raises(
        TypeError, match=re.escape("parse(<class 'int'>): takes a class: decorate it with @dataclass")
    ):
        parse(int, [])

    @dataclass
    class Odd:
        what: complex = 1j

    rule = (
        "Odd(what): fields of type complex are not kept in JSON: use numbers, str, Path, list, tuple, dict,"
        " Enum, Literal or a dataclass"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(rule)}$"):
        from_dict(Odd, {"what": 1})
    with pytest.raises(ValueError, match=re.escape("parse(--data): it has no default: give Path")):
        parse(Config, [])


HELP = """\
usage: train.py [--option value ...]
Trains a model.

  --data Path                         a folder of files  [required]
  --lr float                          [default 0.1]
  --shuffle bool                      [default true]
  --name str                          [default "run"]
  --rule adam | sgd                   [default "adam"]
  --mode fast | exact | 3             [default "fast"]
  --betas tuple[float, float]         [default [0.9, 0.999]]
  --tags list[str]                    [default []]
  --seed int | none                   of all draws  [default null]
  --model.depth int                   layers  [default 4]
  --model.sizes tuple[int, ...]       how wide each layer is  [default [8, 8]]
  --model.dropout float | none        [default null]
  --teacher.depth int                 layers  [default 4]
  --teacher.sizes tuple[int, ...]     how wide each layer is  [default [8, 8]]
  --teacher.dropout float | none      [default null]
  --extra dict[str, float]            [default {}]
  --note Any                          [default null]
  --limit int | str                   [default 0]
  --config FILE                       begin with the values of a JSON file
  --help                              print this
"""


def test_help(capsys):
    with pytest.raises(SystemExit) as exit:
        parse(Config, ["--lr", "1", "--help"], prog="train.py")
    assert exit.value.code == 0
    shown = capsys.readouterr().out
    squeeze = lambda text: re.sub(r"  +", "  ", text)  # noqa: E731
    assert squeeze(shown) == squeeze(HELP)
