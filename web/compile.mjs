// @ts-check
/**
 * node compile.mjs PYODIDE_FOLDER [IN.zip OUT.zip]...: turns archives of .py files into archives of .pyc files,
 * by the very Python that will run them. Its bytecode is never checked against a source that is not there.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...paths] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: folder });
const compile = python.runPython(`
import ast, importlib.util, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OURS = "flambeau/"

def strip(node, hidden, ours):
    """Remove what only help() reads, where nobody asks it: docstrings of other packages, and those of private
    functions and classes with all inside. Of our private functions also the annotations, except __init__'s
    and the like, which help() shows for their class; functools.singledispatch reads them in other packages."""
    for child in ast.iter_child_nodes(node):
        inner = hidden
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            private = child.name.startswith("_")
            inner = hidden or (private and not child.name.endswith("__"))
            if (inner or private or not ours) and ast.get_docstring(child, clean=False) is not None:
                child.body = child.body[1:] or [ast.copy_location(ast.Pass(), child.body[0])]
        if isinstance(child, FUNCTIONS) and inner and ours:
            given = child.args
            child.returns = None
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if one is not None:
                    one.annotation = None
        strip(child, inner, ours)

def parsed(data, name):
    tree = ast.parse(data, name)
    strip(tree, False, name.startswith(OURS))
    return tree

def compiled(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for entry in old.infolist():
            name, data = entry.filename, old.read(entry)
            if name.endswith(".py"):
                code = compile(parsed(data, name), name, "exec", dont_inherit=True, optimize=0)
                data, name = _code_to_hash_pyc(code, importlib.util.source_hash(data), False), name + "c"
            new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), bytes(data), zipfile.ZIP_DEFLATED)

compiled
`);
for (let i = 0; i < paths.length; i += 2) {
  python.FS.writeFile("/in.zip", readFileSync(paths[i]));
  compile("/in.zip", "/out.zip");
  writeFileSync(paths[i + 1], python.FS.readFile("/out.zip"));
}
process.exit(0);
