"""The documentation as pages: links, headings, functions, search; and the folder that the command writes."""

import json
import os
import re
import subprocess
from html import unescape

import pytest
from click.testing import CliRunner
from helpers.draws import in_turn
from helpers.page_parts import Page

from flambeau.cli import main
from flambeau.site import docs, markdown, node, reference, search
from flambeau.site.archives import web_folder

SOME = ("flambeau.nn.init", "flambeau.learner", "flambeau.amp")


@pytest.fixture(scope="module")
def files():
    """The pages, with the functions of some modules."""
    entries = [
        reference.entry_of(module, name, value)
        for module in SOME
        for name, value in reference.members(__import__(module, fromlist=["x"])).items()
        if callable(value)
    ]
    return docs.docs_files(entries)


def text_of(html):
    return unescape(re.sub(r"<[^>]+>", "", html))


def test_no_link_is_dead_and_each_page_has_a_group(files):
    assert list(docs.dead_links(files)) == []
    pages = docs.sources()
    listed = [name for names in docs.groups(pages).values() for name in names]
    assert sorted(listed) == sorted(pages)
    assert docs.groups(pages).get(docs.MORE) is None, "name these pages in GROUPS of site/docs.py"


def test_a_dead_link_is_found(files):
    broken = files["learner.html"].replace(b'href="data.html', b'href="dates.html', 1)
    broken = broken.replace(b"<article>", b'<article><a href="data.html#no-such-heading">x</a>')
    found = list(docs.dead_links(files | {"learner.html": broken}))
    assert any(f.startswith("learner.html: dates.html") for f in found)
    assert "learner.html: data.html#no-such-heading" in found


def test_examples_are_pages_with_their_code(files):
    page = files["examples/vae.html"].decode()
    assert 'href="vae.py"' in page and "class VAE" in text_of(page) and "variational autoencoder" in page
    assert b'href="examples/vae.html"' in files["examples.html"]
    assert files["examples/vae.py"].startswith(b'"""A variational')
    subjects = {place.partition("#")[0] for place in search.SUBJECTS}
    anchors = {
        f"{s}"
        for s in search.SUBJECTS
        if f'id="{s.partition("#")[2]}"' in files[s.partition("#")[0]].decode()
    }
    assert subjects <= files.keys() and anchors == set(search.SUBJECTS)


def test_a_page_of_markdown():
    text = (
        "# One\n\nSee `x` in [data](data.md#rows) and [this](../src/x.py).\n\n## Two & 2\n\n"
        "|a|\n|-|\n|b|\n\n```python\nx = 1\n```\n<b>\n"
    )
    page = markdown.render(text, lambda target: target.replace(".md", ".html") if ".md" in target else None)
    assert (page.title, [(s.anchor, s.level) for s in page.sections]) == ("One", [("one", 1), ("two--2", 2)])
    assert '<a href="data.html#rows">data</a>' in page.html and "<span>this</span>" in page.html
    assert '<div class="table"><table>' in page.html and '<span class="mi">1</span>' in page.html
    assert "not run" not in markdown.render("# One\n\n<!-- not run:\nx -->\n", lambda target: target).html
    assert "<b>" not in page.html and page.sections[0].text == "One See x in data and this."


def test_tables_without_a_head_have_none():
    page = markdown.render("|||\n|-|-|\n|b|c|\n\n||x|\n|-|-|\n|b|c|\n", lambda target: target)
    assert page.html.count("<thead>") == 1 and "<td></td>\n<th>x</th>" in page.html


def test_pages_of_functions_and_classes(files):
    page = text_of(files["reference/flambeau.learner.Learner-class.html"].decode())
    assert (
        "Learner(model, optimizer, loss, *, metrics=()" in page
        and "fit(train_loader, valid_loader=None" in page
    )
    assert "A model in training: fit with loaders" in page and "Used in" in page
    assert re.search(r"Source: flambeau/learner/learner.py, line \d+", page) and "class Learner:" in page
    page = text_of(files["reference/flambeau.learner.EarlyStopping-class.html"].decode())
    assert "Ends a run when monitor, a name in its history" in page
    listed = text_of(files["reference/index.html"].decode())
    assert "kaiming_normal_" in listed and "GradScaler" in listed


def test_every_public_name_has_a_page():
    import flambeau as fb

    names = {entry.title for module in ("flambeau.fft", "flambeau.optim") for entry in read(module)}
    assert {f"flambeau.fft.{n}" for n in fb.fft.__all__} <= names and "flambeau.optim.AdamW" in names


def read(module):
    value = __import__(module, fromlist=["x"])
    return [reference.entry_of(module, n, v) for n, v in reference.members(value).items() if callable(v)]


def test_the_search_index(files):
    names = json.loads(files["names.json"])
    assert ["flambeau.amp.GradScaler", "reference/flambeau.amp.GradScaler-class.html"] in [
        n[:2] for n in names
    ]
    index = json.loads(files["words.json"])
    places, postings = index["places"], index["words"]["checkpoint_every"]
    found = {places[i][2] for i in postings[::2]}
    assert "learner.html#learner" in found
    assert search.words_of("The load_state_dict of 3 models") == [
        "load_state_dict",
        "load",
        "state",
        "dict",
        "models",
    ]


PHRASES = {
    "convert numpy array to tensor": "howto/arrays",
    "train an LSTM on sequences of variable length": "howto/sequences",
    "class weights imbalanced": "data",
    "save and resume": "howto/resume",
    "learning rate finder": "howto/learning_rate",
    "how do I save my model": "howto/weights",
    "train on 2 gpus": "howto/several_devices",
    "export to a page": "howto/page",
    "two GPUs": "howto/several_devices",
    "gradient clipping": "howto/training_loop",
    "oom": "recording",
    "fp16": "howto/sixteen_bits",
    "resume training": "howto/resume",
    "train a gpt": "book/gpt",
    "transfer learning": "fine_tuning",
    "confusion matrix": "learner",
    "out of memory": "recording",
    "docker gpu": "install",
    "vae": "examples/vae",
    "image folder": "howto/photographs",
    "csv table": "tables",
    "write a wgsl kernel": "howto/own_op",
    "lstm": "nn",
}


def test_a_search_finds_the_page_of_a_task(files, tmp_path):
    (tmp_path / "words.json").write_bytes(files["words.json"])
    (tmp_path / "rank.mjs").write_bytes(files["rank.js"])
    (tmp_path / "ask.mjs").write_text("""
        import { readFileSync } from "node:fs";
        import { rank } from "./rank.mjs";
        const index = JSON.parse(readFileSync("words.json", "utf8")), [phrases] = process.argv.slice(2);
        const page = (place) => index.places[place][2].split(".html")[0];
        const pages = (query) => rank(query, index, 3).map(page);
        console.log(JSON.stringify(JSON.parse(phrases).map(pages)));
    """)
    if not (program := node.program("node")):
        pytest.skip("no ranking of a query: Node.js is not installed")
    command = [program, "ask.mjs", json.dumps([*PHRASES, "contributing to Flambeau", "class constructors"])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    *results, inside, _ = json.loads(done.stdout)  # "constructor" is in every object of JavaScript
    wrong = {p: r for (p, page), r in zip(PHRASES.items(), results, strict=True) if page not in r}
    assert not wrong
    assert "contributing" in inside  # it counts less, and is still found


def test_pages_inside_a_site_lead_back_to_it(files, monkeypatch):
    few = {name: text for name, text in docs.sources().items() if name in ("index", "howto/page")}
    monkeypatch.setattr(docs, "sources", lambda: few)
    inside = docs.docs_files([], with_site=True)
    assert b'class="home" href="../">' in inside["index.html"] and b"../playground/" in inside["index.html"]
    assert b'class="home" href="../../">' in inside["howto/page.html"]
    assert b'class="home" href="index.html">' in files["index.html"]
    assert b"playground/" not in files["index.html"]


def test_disabled_buttons_keep_the_contrast_of_their_text():
    for name in ("site.css", "book/style.css"):
        (rule,) = re.findall(r":disabled[^{]*\{([^}]*)\}", (web_folder() / name).read_text("utf-8"))
        assert "opacity" not in rule and "color: var(--soft); background: var(--paper)" in rule
    open_link = re.search(r"\.bar \.open \{([^}]*)\}", (web_folder() / "book/style.css").read_text("utf-8"))
    assert open_link and "min-height: 24px" in open_link[1]


def test_pages_keep_the_sites_policy_and_name_their_parts(files):
    pages = [name for name in files if name.endswith(".html") and not name.startswith("inspect/")]
    of_functions = [name for name in pages if name.startswith("reference/")]  # all by one template
    for name in {*pages}.difference(of_functions).union(in_turn(of_functions, 8)):
        page = files[name].decode()
        assert Page(page).wrong == [], name
        assert "script-src 'self' 'wasm-unsafe-eval'" in page
        assert not re.search(r"<script(?![^>]*src=)|<style|<[^>]* (on\w+|style)=", page), name


def test_the_command_writes_a_folder(tmp_path, monkeypatch):
    few = {name: path for name, path in docs.sources().items() if name in ("index", "learner", "data")}
    monkeypatch.setattr(docs, "sources", lambda: few)  # the files above are made of all pages
    monkeypatch.setattr(reference, "MODULES", SOME)
    done = CliRunner().invoke(main, ["docs", "--out", str(tmp_path / "site")])
    assert done.exit_code == 0 and re.match(
        r"wrote .*site: \d+ pages, \d+ of them for functions and classes", done.output
    )
    assert (tmp_path / "site" / "index.html").is_file() and (tmp_path / "site" / "docs.css").is_file()
    again = CliRunner().invoke(main, ["docs", "--out", str(tmp_path / "site")])
    assert again.exit_code == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    refused = CliRunner().invoke(main, ["docs", "--out", str(tmp_path / "mine")])
    assert (
        refused.output
        == f"flambeau: docs: {tmp_path / 'mine'} holds other files: name an empty or new folder\n"
    )


def test_the_pages_are_built_once(tmp_path, monkeypatch):
    """A second call finds the pages of the same files; those of other files are built."""
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    built = []

    def build(out):
        built.append(out)
        out.mkdir()
        (out / docs.MARK).write_text("{}")

    monkeypatch.setattr(docs, "build_docs", build)
    first = docs.kept_docs()
    assert docs.kept_docs() == first and len(built) == 1 and first.parent == tmp_path / "docs"
    old, recent = tmp_path / "docs" / "old", tmp_path / "docs" / "recent"
    old.mkdir()
    recent.mkdir()
    os.utime(old, (0, 0))
    monkeypatch.setattr(docs, "__version__", "9.9")
    second = docs.kept_docs()
    assert second != first and len(built) == 2
    assert {path.name for path in (tmp_path / "docs").iterdir()} == {first.name, second.name, "recent"}
    monkeypatch.setenv("FLAMBEAU_CACHE", str(first / docs.MARK))  # a file: no folder can be made in it
    with pytest.raises(OSError):
        docs.kept_docs()


def test_a_long_word_is_no_argument_and_is_found_at_once():
    """The words of a line without a colon are tried once, not in all ways to split them into names."""
    word = "a_name_of_an_argument" * 20
    assert docs.doc_html(f"{word} {word}") == f"<p>{word} {word}</p>"
    assert docs.doc_html("x, *args, N: numbers") == "<ul><li><code>x, *args, N</code>: numbers</li></ul>"


@pytest.mark.parametrize(
    "doc, html",
    [
        ("One\ntwo.", "<p>One two.</p>"),
        (
            "x: a size,\n    or two\n*more, k: <others>\nRaises ValueError for x:\n    none.",
            "<ul><li><code>x</code>: a size, or two</li><li><code>*more, k</code>: &lt;others&gt;</li></ul>"
            "<p>Raises ValueError for x: none.</p>",
        ),
        ("Does it.\nfn: what", "<p>Does it.</p><ul><li><code>fn</code>: what</li></ul>"),
        ("x: one. y,\nz: two, and\nmore. Note: it", "<p>x: one. y, z: two, and more. Note: it</p>"),
        ("Note: it is\nlong", "<p>Note: it is long</p>"),
    ],
    ids=["prose", "arguments", "prose and arguments", "arguments in a paragraph", "a note"],
)
def test_arguments_of_a_docstring_are_a_list(doc, html):
    assert docs.doc_html(doc) == html


def test_a_class_s_page_lists_its_arguments():
    entry = next(e for e in read("flambeau.nn") if e.title == "flambeau.nn.LSTM")
    page = docs.doc_html(entry.doc)
    assert page.startswith("<p>Long short-term memory (Hochreiter and Schmidhuber, 1997).")
    assert "<li><code>hidden_size</code>: features of the state</li>" in page
    assert "<p>Raises ValueError for sizes below 1; for probabilities outside 0 to 1;" in page
