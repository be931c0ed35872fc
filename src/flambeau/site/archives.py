"""Packs installed packages as zip archives for a page, as source or compiled for its Python."""

import io
import re
import tempfile
import zipfile
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path, PurePosixPath

from ..codegen.render import compile_templates
from ..core.files import template_folder
from ..data.mnist import SUBSET
from ..errors import FlambeauError
from ..export.web_module import SOURCES
from . import node, pyodide
from .hashes import digest

HERE = Path(__file__).resolve().parents[1]  # the package flambeau
ROOT = HERE.parents[1]  # the root of a checkout
# Excluded from the site's archives, because its pages do not use them: commands, inspector, the learner's
# modules for terminals and processes, pages, 2 MB of digits, other frameworks' formats, template texts (the
# archive has them compiled), and packages that one page loads separately (SEPARATE). The wheel for other
# pages has all of them.
LEFT_OUT = (
    "flambeau/cli/",
    "flambeau/hub/",
    "flambeau/inspector/",
    "flambeau/learner/ray_workers.py",
    "flambeau/learner/tui.py",
    "flambeau/learner/worker_task.py",
    "flambeau/learner/workers.py",
    "flambeau/onnx/",
    "flambeau/sanitizer/",
    "flambeau/remote/links.py",
    "flambeau/remote/objects.py",
    "flambeau/remote/serve",
    "flambeau/remote/session.py",
    "flambeau/remote/streams.py",
    "flambeau/remote/websocket.py",
    "flambeau/site/",
    "flambeau/tabs/",
    "flambeau/torch/",
    "flambeau/web/",
    "flambeau/wgsl_reader/",
    "flambeau/data/mnist_subset/",
    "flambeau/docs/",
    "flambeau/porting/",
    "flambeau/__main__.py",
    "flambeau/selftest/",
    "flambeau/serve/",
    "flambeau/wgsl/",
)
KEPT = {f"flambeau/web/{source}" for source in SOURCES.values()}  # files that an export writes for pages
SEPARATE = ("onnx", "selftest", "inspector")  # packages in separate archives, which some pages load
# Excluded from the wheel for other pages: no Python in a page can use them.
NOT_IN_PAGES = (
    "flambeau/cli/",
    "flambeau/docs/",
    "flambeau/serve/",
    "flambeau/site/",
    "flambeau/tabs/",
    "flambeau/__main__.py",
    "flambeau/data/mnist_subset/",
)
ARRAYS = "arrays.py"  # of web/selftest/
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of the zip format: equal files give equal archives
# Modules of the standard library that a page can't use: it has no processes, servers, terminal or tests.
UNUSED = {
    "_pydatetime",  # and _pyio: the modules in C are there
    "_pyio",
    "_pyrepl",
    "bdb",
    "cProfile",
    "curses",
    "doctest",
    "ensurepip",
    "ftplib",
    "idlelib",
    "imaplib",
    "lib2to3",
    "mailbox",
    "modulefinder",
    "multiprocessing",
    "pdb",
    "pickletools",
    "poplib",
    "profile",
    "pstats",
    "pty",
    "pydoc",
    "pydoc_data",
    "smtplib",
    "socketserver",
    "test",
    "tkinter",
    "trace",
    "turtle",
    "turtledemo",
    "unittest",
    "venv",
    "webbrowser",
    "wsgiref",
    "xmlrpc",
}
BROTLI = "9"  # quality: 11 saves another tenth, but takes 15 times as long
WORTH = 0.95  # a compressed file is kept if it is smaller than this fraction of the original
Files = dict[str, bytes]
Archives = dict[str, bytes]


def package() -> Files:
    """Return the package's files as in its wheel."""
    # name in the archive -> folder on disk
    folders = {"flambeau": HERE}
    if (ROOT / "wgsl" / "kernel.wgsl").is_file():  # a checkout; a wheel has these in the package already
        folders |= {f"flambeau/{name}": ROOT / name for name in ("docs", "web", "wgsl")}
    files = {name: data for prefix, folder in folders.items() for name, data in tree(prefix, folder).items()}
    readme = ROOT / "README.md"
    return files | ({"flambeau/docs/README.md": readme.read_bytes()} if readme.is_file() else {})


def flambeau() -> Files:
    """Return the package without the files that no page of the site uses."""
    return {n: data for n, data in package().items() if n in KEPT or not n.startswith(LEFT_OUT)}


def library() -> Files:
    """Return the package for other pages. Of web/ it has only the files of exported programs."""
    excluded = (*NOT_IN_PAGES, "flambeau/web/")
    return {n: data for n, data in package().items() if n in KEPT or not n.startswith(excluded)}


def separate_package(name: str) -> Files:
    """Return a package that a page loads on demand, with its own dependencies: a module that replaces NumPy;
    for the inspector the reader of WGSL, and the templates, whose lines it shows."""
    if name == "inspector":
        needed = ("flambeau/inspector/", "flambeau/wgsl_reader/", "flambeau/wgsl/")
        return {n: data for n, data in package().items() if n.startswith(needed)}
    numpy = (web_folder() / "selftest" / ARRAYS).read_bytes()
    return tree(f"flambeau/{name}", HERE / name) | {"numpy.py": numpy}


def timm() -> Files:
    """Return the installed timm, with the package that answers its `import torch`; {} if it is not
    installed."""
    try:
        installed = installed_files("timm")
    except PackageNotFoundError:
        return {}
    # lists of classes, which no model reads
    models = {n: data for n, data in installed.items() if not n.startswith("timm/data/_info/")}
    return separate_package("torch") | separate_package("hub") | models


@cache
def stdlib() -> bytes:
    """Zip Pyodide's standard library without the modules that no page can use."""
    with zipfile.ZipFile(pyodide.folder() / pyodide.STDLIB) as archive:
        names = [
            n for n in archive.namelist() if re.split("[./]", n)[0] not in UNUSED and not n.endswith("/")
        ]
        return zip_files({name: archive.read(name) for name in names})


def templates() -> Files:
    """Compile the WGSL templates to Python modules with Jinja, once for the same texts."""
    return dict(_compiled_templates(digest(repr(tree("", template_folder())).encode())))


@cache
def _compiled_templates(_texts: str) -> Files:
    """Compile the templates, whose texts have this digest."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_templates(Path(scratch))
        return tree("flambeau/templates", Path(scratch))


def digits() -> Files:
    """Return the included subset of MNIST under the names that the page requests."""
    return {
        f"{split}-{kind}": (SUBSET / f"{original}-{kind}-idx{dims}-ubyte.gz").read_bytes()
        for split, original in (("train", "train"), ("test", "t10k"))
        for kind, dims in (("images", 3), ("labels", 1))
    }


def tree(prefix: str, folder: Path) -> Files:
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def installed_files(name: str) -> Files:
    """Return an installed distribution's files without its compiled modules, which a browser can't load."""
    suffixes = {".py", ".txt", ".typed"}
    located = {str(PurePosixPath(f)): f.locate() for f in files(name) or () if f.suffix in suffixes}
    inside = {n: Path(str(p)) for n, p in located.items() if not n.startswith("..") and "dist-info" not in n}
    if not inside:
        raise FlambeauError(f"web: {name}: its installation has no list of files: reinstall it with pip")
    return {n: p.read_bytes() for n, p in sorted(inside.items())}


def zip_files(contents: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Zip files. Equal files give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=9) as archive:
        for name in sorted(contents):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), contents[name], method)
    return out.getvalue()


def store_uncompressed(archive: bytes) -> bytes:
    """Store an archive's files uncompressed: brotli compresses these better than deflated ones."""
    return zip_files(unzip_files(archive), zipfile.ZIP_STORED)


def unzip_files(archive: bytes) -> Files:
    """Return the files of an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        return {name: old.read(name) for name in old.namelist()}


def compile_archives(archives: Archives) -> Archives | None:
    """Replace .py by .pyc in archives, compiled by Pyodide's Python; None without Node.js.

    Each folder is compiled and cached separately, because most do not change between two builds.
    """
    folders: dict[tuple[str, str], Files] = {}
    for name, archive in archives.items():
        for path, data in unzip_files(archive).items():
            folders.setdefault((name, path.rpartition("/")[0]), {})[path] = data
    parts = {f"{name}:{folder}": zip_files(contents) for (name, folder), contents in folders.items()}
    script = web_folder() / "compile.mjs"
    compiled = node.convert_files(script, str(pyodide.folder()), pyodide.SHA256, parts)
    if compiled is None:
        return None
    merged: dict[str, Files] = {name: {} for name in archives}
    for part, archive in compiled.items():
        merged[part.partition(":")[0]] |= unzip_files(archive)
    return {name: zip_files(contents) for name, contents in merged.items()}


def brotli(files: Files) -> Files | None:
    """Compress files with brotli and return those that get smaller; None without Node.js."""
    compressed = node.convert_files(web_folder() / "compress.mjs", BROTLI, BROTLI, files)
    return compressed and {
        name: data for name, data in compressed.items() if len(data) < WORTH * len(files[name])
    }


def web_folder() -> Path:
    """Return the folder of web/: at the top of a checkout, or inside the package in a wheel."""
    return ROOT / "web" if (ROOT / "web" / "executor.js").is_file() else HERE / "web"
