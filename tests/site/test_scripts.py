"""Scripts of pages are JavaScript: a comment that runs into a line of its own is not."""

import json
import subprocess

import pytest

from flambeau.inspector.page import joined_script
from flambeau.site import node
from flambeau.site.archives import web_folder

PARSE = """
import { readFileSync } from "node:fs";
import { Script, SourceTextModule } from "node:vm";
const wrong = {};
for (const [name, source] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  try {
    name === "inspector" ? new Script(source) : new SourceTextModule(source);
  } catch (error) {
    wrong[name] = error.message;
  }
}
console.log(JSON.stringify(wrong));
"""


def test_all_scripts_parse(tmp_path):
    if not (program := node.program("node")):
        pytest.skip("no script is parsed: Node.js is not installed")
    folder = web_folder()
    scripts = {p.relative_to(folder).as_posix(): p.read_text("utf-8") for p in folder.rglob("*.*js")}
    assert len(scripts) > 40
    given = scripts | {"inspector": joined_script(), "broken": "const a = 1; // one\nand more\n"}
    (tmp_path / "parse.mjs").write_text(PARSE)
    call = [program, "--no-warnings", "--experimental-vm-modules", tmp_path / "parse.mjs"]
    done = subprocess.run(call, input=json.dumps(given), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"broken": "Unexpected identifier 'more'"}
