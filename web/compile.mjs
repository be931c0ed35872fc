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
import importlib.util, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

def compiled(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for entry in old.infolist():
            name, data = entry.filename, old.read(entry)
            if name.endswith(".py"):
                code = compile(data, name, "exec", dont_inherit=True, optimize=0)
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
