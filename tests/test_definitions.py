"""Where an editor goes: the definition of each public name is the line that implements it."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau as fb

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "flambeau"
# PyTorch's second names, which are imported under them: the first
ALIAS = {
    "concat": "cat", "concatenate": "cat", "row_stack": "vstack", "trapz": "trapezoid", "det": "linalg_det",
    "inverse": "linalg_inv", "slogdet": "linalg_slogdet", "fold": "col2im", "unfold": "im2col",
}  # fmt: skip


class LanguageServer:
    """Pyright's language server: one script is open, and asked of."""

    def __init__(self, text: str):
        call = [sys.executable, "-m", "pyright.langserver", "--stdio"]
        self.process = subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.last = 0
        root = ROOT.as_uri()
        self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root,
                "capabilities": {},
                "workspaceFolders": [{"uri": root, "name": "flambeau"}],
            },
        )
        self.send({"method": "initialized", "params": {}})
        self.uri = (ROOT / "tests" / "asked.py").as_uri()  # of no file: the text is in the message
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def send(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> dict:
        length = 0
        assert self.process.stdout
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def ask(self, method: str, params: dict):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.last and "method" not in message:
                return message.get("result")
            if "id" in message:  # the server asks for settings
                count = len((message.get("params") or {}).get("items", ()))
                self.send({"id": message["id"], "result": [None] * count})

    def definition(self, line: int, column: int) -> tuple[str, int] | None:
        """(file, line from 0) of the definition of the name at a place of the script."""
        places = self.ask(
            "textDocument/definition",
            {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": column}},
        )
        if not places:
            return None
        first = places[-1] if isinstance(places, list) else places
        return first["uri"], first["range"]["start"]["line"]

    def hover(self, line: int, column: int) -> str:
        """What a hover over a place of the script shows."""
        place = {"line": line, "character": column}
        shown = self.ask("textDocument/hover", {"textDocument": {"uri": self.uri}, "position": place})
        return (shown or {}).get("contents", {}).get("value", "")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()


def asked() -> dict[str, str]:
    """Expression: the name that its definition has in the source."""
    names = {f"fb.{n}": ALIAS.get(n, n) if n != "unfold" else n for n in fb.functions.__all__}
    methods = [n for n in vars(fb.ops.table.Table) if n[0] != "_"]
    names |= {f"fb.Tensor.{n}": ALIAS.get(n, n) if n != "unfold" else n for n in methods}
    names |= {f"fb.nn.functional.{n}": ALIAS.get(n, n) for n in fb.nn.functional.__all__}
    names |= {f"fb.nn.{n}": n for n in fb.nn.__all__ if isinstance(getattr(fb.nn, n), type)}
    names |= {f"fb.linalg.{n}": f"linalg_{n}" for n in fb.linalg.__all__}
    return names | {f"fb.fft.{n}": f"fft_{n}" for n in fb.fft.__all__}


@pytest.mark.share(3)
def test_definitions_are_the_lines_that_implement():
    names = asked()
    assert len(names) > 1000
    script = "import flambeau as fb\n" + "".join(f"{expression}\n" for expression in names)
    server = LanguageServer(script)
    wrong = {}
    try:
        for number, (expression, name) in enumerate(names.items(), 1):
            place = server.definition(number, len(expression) - 1)
            if place is None:
                wrong[expression] = "no definition"
                continue
            path = Path(place[0].removeprefix("file://"))
            text = path.read_text(encoding="utf-8").splitlines()[place[1]]
            is_own = re.search(rf"\b(?:def|class) {name}\b", text)
            if not (is_own or re.match(rf"^\s*(?:[\w, ]*\b)?{name}\b[\w, ]*(?::.*)? = ", text)):
                wrong[expression] = f"{path.name}:{place[1] + 1}: {text.strip()}"
    finally:
        server.close()
    assert not wrong, dict(list(wrong.items())[:20])


@pytest.mark.parametrize(
    "get", [lambda: fb.relu, lambda: fb.Tensor.relu, lambda: fb.nn.GELU, lambda: fb.nn.functional.mse_loss]
)
def test_source_is_the_definition(get):
    name = getattr(get(), "__name__", "")
    assert re.search(rf"\b(?:def|class) {name}\b", inspect.getsource(get()))


# a call: options that its hover shows
HOVERS = {
    "fb.optim.Adam([])": "amsgrad: bool = False; foreach: bool | None = None; cautious: bool = False",
    "fb.optim.lr_scheduler.OneCycleLR(o, 1)": "div_factor: float = 25; three_phase: bool = False",
    "fb.data.DataLoader([])": "prefetch_factor: int | None = None; drop_last: bool = False",
    "fb.Learner(m, o, f)": "checkpoint_every: int | None = None; clip: float | None = None",
    "fb.nn.LSTMCell(1, 1)": "input_forget: bool = False; dtype: DTypeLike | None = None",
    "fb.metrics.MulticlassRecall(3)": "zero_division: float = 0; validate_args: bool = True",
}


@pytest.mark.share(3)
def test_a_hover_shows_each_option():
    server = LanguageServer("import flambeau as fb\n" + "".join(f"{call}\n" for call in HOVERS))
    try:
        for line, (call, options) in enumerate(HOVERS.items(), 1):
            shown = server.hover(line, call.index("(") - 1)
            for option in options.split("; "):
                assert option in shown, (call, option, shown)
    finally:
        server.close()
