"""Tables with missing cells, categories and dates, against numbers written out and NumPy."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.data import Columns, DataLoader, Subset
from flambeau.learner import Learner
from flambeau.models import Categorify, DateParts, FillMissing, Normalize, TableEncoder, TabularModel
from flambeau.models.tabular import TablePart, bytes_of

ROWS = {
    "age": np.array([20.0, np.nan, 40.0, 60.0]),
    "city": ["Rome", "NA", "Bern", "Rome"],
    "born": ["2000-02-29", "1999-12-31", "NA", "1970-01-01"],
    "y": [1, 0, 0, 1],
}


@pytest.fixture(autouse=True)
def on_numpy():
    fb.set_default_device("cpu")
    yield
    fb.set_default_device(None)


def encoder():
    parts = [DateParts("born"), FillMissing(["age", "born_year"]), Categorify("city"), Normalize("age")]
    return TableEncoder(parts, numbers=["age", "age_missing", "born_year", "born_weekday"])


def test_the_parts_learn_from_the_training_rows():
    fitted = encoder().fit(ROWS)
    categories, numbers = fitted(ROWS)
    assert categories.tolist() == [[2], [0], [1], [2]] and fitted.sizes == [3]
    ages = np.array([20.0, 40.0, 40.0, 60.0])  # the median of the known ones
    expected = [(ages - 40) / ages.std(), [0, 1, 0, 0], [2000, 1999, 1999, 1970], [1, 4, np.nan, 3]]
    np.testing.assert_allclose(numbers.numpy(), np.transpose(expected), rtol=1e-6)
    # other rows do not change what was learned; a city that was never seen is 0
    more = {"age": ["50", "NA"], "city": ["Oslo", "Bern"], "born": ["1999-01-01", "1970-01-02"]}
    categories, numbers = fitted(more)
    assert categories.tolist() == [[0], [1]]
    np.testing.assert_allclose(numbers.numpy(), [[10 / ages.std(), 0, 1999, 4], [0, 1, 1970, 4]], rtol=1e-6)


def test_date_parts():
    frame = DateParts("t").apply({"t": np.array(["2024-03-01T01:00", "1969-12-31"], "M8[s]")})
    assert {k: v.tolist() for k, v in frame.items() if k != "t"} == {
        "t_year": [2024, 1969], "t_month": [3, 12], "t_day": [1, 31], "t_weekday": [4, 2],
        "t_yearday": [61, 365], "t_elapsed": [1709254800, -86400],
    }  # fmt: skip


@pytest.mark.parametrize("form", ["dict", "Columns", "rows"])
def test_forms_of_tables(form):
    rows = {
        "dict": ROWS, "Columns": Columns(ROWS),
        "rows": [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)],
    }[form]  # fmt: skip
    categories, numbers = encoder().fit(ROWS)(rows)
    np.testing.assert_array_equal(numbers.numpy(), encoder().fit(ROWS)(ROWS)[1].numpy())
    assert categories.tolist() == [[2], [0], [1], [2]]


def test_what_was_learned_saves_with_the_model(tmp_path):
    rng = np.random.default_rng(0)
    rows = {"age": rng.normal(40, 10, 200), "city": rng.choice(["Rome", "Bern"], 200)}
    rows["y"] = ((rows["age"] > 40) ^ (rows["city"] == "Rome")).astype("i8")
    rows["age"][::9] = np.nan

    def parts():
        return [FillMissing("age"), Normalize("age"), Categorify("city")]

    fb.manual_seed(0)
    fitted = TableEncoder(parts()).fit(rows)
    model = TabularModel(fitted, 2, (16,))
    learner = Learner(model, optim.Adam(model.parameters(), 0.02), nn.functional.cross_entropy, renderers=[])
    history = learner.fit(DataLoader(fitted.dataset(rows, "y"), 50, shuffle=True), epochs=15)
    assert history[-1]["train_loss"] < 0.5 * history[0]["train_loss"]
    model.save(tmp_path / "model.safetensors")

    other = TabularModel(TableEncoder(parts()).fit({k: v[:9] for k, v in rows.items()}), 2, (16,))
    other.load(tmp_path / "model.safetensors")
    for found, expected in zip(other.encoder(rows), fitted(rows), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    found, expected = (m.eval()(*m.encoder(rows)) for m in (other, model))
    np.testing.assert_array_equal(found.numpy(), expected.numpy())

    # Another process knows the file alone: a row with a missing number, and one with an unknown city.
    code = f"""
from flambeau.models import TabularModel
model = TabularModel.from_file({str(tmp_path / "model.safetensors")!r})
print(model(*model.encoder([{{"age": "NA", "city": "Rome"}}, {{"age": 51, "city": "Oslo"}}])).tolist())
assert not model.training and model.encoder.sizes == [3]
"""
    env = os.environ | {"FLAMBEAU_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    row = {"age": np.array([np.nan, 51.0]), "city": np.array(["Rome", "Oslo"])}
    np.testing.assert_allclose(json.loads(done.stdout), model(*fitted(row)).numpy(), rtol=1e-5)
    filled = float(np.nanmedian(rows["age"]))  # then scaled by the training rows
    known = np.where(np.isnan(rows["age"]), filled, rows["age"])
    assert fitted(row)[1].numpy()[0, 0] == pytest.approx((filled - known.mean()) / known.std(), rel=1e-5)


def test_a_model_is_rebuilt_from_a_checkpoint_with_parts_of_a_user(tmp_path, capsys):
    class Twice(TablePart):
        def learn(self, column):
            return None

        def change(self, name, column, learned):
            return {name: column * 2}

    rows = {"age": np.array([1.0, 2.0, 3.0, 4.0]), "y": np.array([0, 1, 0, 1])}
    model = TabularModel(TableEncoder([Twice("age")]).fit(rows), 2, (4,), dropout=0.5)
    adam = optim.Adam(model.parameters())
    learner = Learner(
        model, adam, nn.functional.cross_entropy, renderers=[], directory=tmp_path, best="train_loss"
    )
    learner.fit(DataLoader(model.encoder.dataset(rows, "y"), 4), epochs=1)
    found = TabularModel.from_file(tmp_path / "best.safetensors")
    assert "its model is loaded" in capsys.readouterr().err
    expected = model.eval()(*model.encoder(rows)).numpy()
    np.testing.assert_array_equal(found(*found.encoder(rows)).numpy(), expected)

    state = model.state_dict()
    state["_extra_state"] = bytes_of({"parts": [["Gone", ["age"]]]})
    fb.save(state, tmp_path / "gone.safetensors")
    fb.save({"weight": fb.ones(2)}, tmp_path / "other.safetensors")
    for name, rule in {
        "gone": "the class of its part Gone is not defined: import it first",
        "other": "it holds no TabularModel: pass a file of its save(...)",
    }.items():
        path = tmp_path / f"{name}.safetensors"
        with pytest.raises(fb.FlambeauError) as e:
            TabularModel.from_file(path)
        assert str(e.value) == f"from_file({str(path)!r}): {rule}"


def test_classes_as_texts_are_a_target():
    items = TableEncoder([FillMissing("age")]).fit(ROWS).dataset(ROWS, "city")
    assert [int(y) for _, _, y in items] == [2, 0, 1, 2]


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda: TableEncoder([FillMissing("agee")]).fit(ROWS),
            "FillMissing: the table has no column 'agee': did you mean 'age'?: use one of age, city, born, y",
        ),
        (
            lambda: TableEncoder([Normalize("city")]).fit(ROWS),
            "could not convert string to float: 'Rome': a column of numbers has another kind of value:"
            " use Categorify for it",
        ),
        (
            lambda: encoder()(ROWS),
            "TableEncoder: it has learned nothing yet: call fit(rows), or load a state",
        ),
        (
            lambda: TableEncoder([]).set_extra_state(encoder().fit(ROWS).get_extra_state()),
            "TableEncoder.set_extra_state(...): it has 0 parts, the state 4: use the same parts",
        ),
        (
            lambda: TableEncoder([DateParts("city")]).fit({"city": ["Rome"]}),
            "DateParts(['city']): Error parsing datetime string \"Rome\" at position 0: pass dates such as"
            " 2026-01-31",
        ),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError) as e:
        call()
    assert str(e.value) == text


def test_a_split_table_is_read_like_its_columns():
    """The parts that `random_split` returns give the numbers of the rows picked by hand."""
    table = Columns(ROWS)
    rows = [2, 1, 3]
    by_hand = {name: np.asarray(column)[rows] for name, column in ROWS.items()}
    fitted, wanted = encoder().fit(Subset(table, rows)), encoder().fit(by_hand)
    for got, want in zip(
        fitted(Subset(table, [1, 1])), wanted(dict(zip(ROWS, [[c[1]] * 2 for c in ROWS.values()])))
    ):
        assert np.array_equal(got.numpy(), want.numpy(), equal_nan=True)
    inner = Subset(Subset(table, rows), [1, 2])  # rows 1 and 3
    assert encoder().fit(table).dataset(inner, target="y").tensors[2].tolist() == [0, 1]


def test_a_table_s_items_are_rows():
    table = Columns(ROWS)
    assert table[-1]["city"] == "Rome" and table[np.int64(2)]["y"] == 0
    with pytest.raises(TypeError) as error:
        table["age"]
    assert str(error.value) == "Columns['age']: items are rows: for a column write .columns['age']"
    with pytest.raises(TypeError) as error:
        table[:2]
    rule = "an item has an integer index: pass 0 to 3, or Subset(dataset, [...]) for several"
    assert str(error.value) == f"Columns[slice(None, 2, None)]: {rule}"
