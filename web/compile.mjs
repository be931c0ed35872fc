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

def parsed(data, name):
    """The module without the docstrings of private functions and classes, which nobody asks help() for."""
    tree = ast.parse(data, name)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name.startswith("_"):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
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
