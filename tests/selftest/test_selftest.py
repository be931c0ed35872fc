"""`flambeau selftest` as a user runs it: what it prints, what it leaves behind, how it ends."""

import re

import pytest
from click.testing import CliRunner

import flambeau as fb
from flambeau.cli import main
from flambeau.cli.selftest import variants_table
from flambeau.selftest import EVERY, Selftest


def selftest(*args):
    return CliRunner().invoke(main, ["selftest", *map(str, args)])


@pytest.mark.share(5)
def test_a_table_of_what_was_tried():
    done = selftest("--minutes", 0.05, "--device", "cpu", "--family", "reductions", "--family", "dtypes")
    assert done.exit_code == 0, done.output
    first, *_ = done.output.splitlines()
    assert re.fullmatch(r"cpu, seed \d+", first)
    rows = dict(re.findall(r"^(\w+) +(\d+) +0", done.output, re.M))
    assert set(rows) == {"reductions", "dtypes", "all"}
    assert int(rows["all"]) == int(rows["reductions"]) + int(rows["dtypes"]) > 0


@pytest.mark.share(5)
def test_a_table_of_the_variants_that_were_forced():
    test = Selftest(fb.tensor(0.0, device="cpu").device, 3, ["products", "losses"])
    assert variants_table(test) == "no variant of a kernel was forced"
    test.tallies["products"].variants.update([("contract", "tiles"), ("contract", "tiles"), ("map", "1")])
    test.tallies["losses"].variants.update([("contract", "tiles")])
    assert variants_table(test).splitlines() == [
        "variant         forced  of",
        "contract=tiles       3  products 2, losses 1",
        "map=1                1  products 1",
    ]
    done = selftest("--minutes", 0, "--device", "cpu", "--family", "views", "--variants")
    assert done.output.endswith("no variant of a kernel was forced\n")


@pytest.mark.share(5)
def test_a_gpu_gives_what_numpy_gives(gpu):
    """A few cases of everything but threads, whose order no seed fixes."""
    test = Selftest(gpu, 3, [f for f in EVERY if f != "threads"])
    for _ in range(len(test.families)):
        test.step()
    assert not test.found, [str(wrong) for _, wrong in test.found]
    assert {t.tried for t in test.tallies.values()} == {1}


@pytest.mark.share(5)
def test_another_seed_each_time_and_the_same_again():
    given = ("--minutes", 0, "--device", "cpu", "--family", "views")
    seeds = {selftest(*given).output.splitlines()[0] for _ in range(2)}
    assert len(seeds) == 2
    assert selftest(*given, "--seed", 71).output.startswith("cpu, seed 71\n")


def flipped(self, dims):
    return self


@pytest.mark.share(5)
def test_what_differs_is_told_and_written(monkeypatch, tmp_path):
    monkeypatch.setattr(fb.Tensor, "flip", flipped)
    out = tmp_path / "report.txt"
    given = ("--minutes", 0.1, "--seed", 4, "--device", "cpu", "--family", "views", "--out", out)
    done = selftest(*given)
    assert done.exit_code == 1
    told, text = done.output, out.read_text()
    assert "views: on NumPy's device: v" in told
    assert told.endswith(f"wrote {out}: please attach it to a bug report\n")
    assert "seed      4\n" in text and ".flip(0)" in text and "import flambeau as fb" in text


@pytest.mark.parametrize("when", [0, 3])
def test_ctrl_c_prints_the_table_so_far(when, monkeypatch):
    step, count = Selftest.step, []

    def stopped(self, end=0.0, family=None):
        count.append(0)
        if len(count) > when:
            raise KeyboardInterrupt
        step(self, end, family)

    monkeypatch.setattr(Selftest, "step", stopped)
    done = selftest("--device", "cpu", "--family", "views")
    assert done.exit_code == 130 and "stopped: these are the results so far" in done.output
    assert re.search(rf"^all +{when} +0", done.output, re.M)


def test_an_unknown_family():
    done = selftest("--device", "cpu", "--family", "product")
    assert done.exit_code == 1
    assert done.output == "flambeau: selftest --family 'product': unknown: did you mean 'products'?\n"
    every = ", ".join(EVERY)
    told = selftest("--device", "cpu", "--family", "nothing").output
    assert told == f"flambeau: selftest --family 'nothing': unknown: choose from {every}\n"


@pytest.mark.share(5)
def test_a_file_that_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setattr(fb.Tensor, "flip", flipped)
    out = tmp_path / "none" / "report.txt"
    given = ("--minutes", 0.1, "--seed", 4, "--device", "cpu", "--family", "views", "--out", out)
    done = selftest(*given)
    assert done.output.splitlines()[-1] == (
        f"flambeau: selftest --out {out}: can't be written (No such file or directory): check the path"
    )
