"""Turns calls into commands to Firefox, in the protocol that it speaks by itself (--marionette)."""

import base64
import json
import socket
import subprocess
import time
from pathlib import Path

QUIET = {  # nothing leaves the host
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "marionette.port": 0,  # any that is free
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "http://localhost:9/",
    "toolkit.telemetry.enabled": False,
}

LOOK = """async (name, pattern, longest) => {
    for (const begin = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 30))) {
        const text = document.querySelector(name)?.textContent ?? "", found = new RegExp(pattern).test(text);
        if (found || performance.now() - begin > longest) return [found, text];
    }
}"""


class MarionetteError(Exception):
    """What Firefox refuses, or why it does not answer."""


class Firefox:
    """A Firefox with a profile of its own in `folder`; its one page."""

    def __init__(self, program: str, folder: Path, prefs: dict, start: float = 60.0):
        folder.mkdir()
        lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in (QUIET | prefs).items())
        (folder / "user.js").write_text("".join(lines))
        call = [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder), "about:blank"]
        self.log = (folder / "log.txt").open("wb")
        self.process = subprocess.Popen(call, stdout=self.log, stderr=self.log)
        self.count = 0
        try:
            self.socket = self._connect(folder / "MarionetteActivePort", time.monotonic() + start)
            self.stream = self.socket.makefile("rb")
            self._receive()  # who it is
            self.send("WebDriver:NewSession", {"capabilities": {}})
        except Exception:
            self.close()
            raise

    def _connect(self, port: Path, end: float) -> socket.socket:
        while time.monotonic() < end and self.process.poll() is None:
            if port.is_file() and (text := port.read_text().strip()):
                return socket.create_connection(("127.0.0.1", int(text)), timeout=120)
            time.sleep(0.05)
        raise MarionetteError(
            f"it ended with {self.process.poll()}" if self.process.poll() else "it is silent"
        )

    def _receive(self):
        """A message: its length in digits, a colon, JSON."""
        length = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise MarionetteError("it closed the connection")
            length += byte
        return json.loads(self.stream.read(int(length)))

    def send(self, name: str, arguments: dict):
        """The result of a command of WebDriver."""
        self.count += 1
        text = json.dumps([0, self.count, name, arguments]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self._receive()
        assert number == self.count
        if error:
            raise MarionetteError(f"{error['error']}: {error['message']}")
        return result.get("value", result) if isinstance(result, dict) else result

    def goto(self, url: str) -> None:
        self.send("WebDriver:Navigate", {"url": url})

    def run(self, source: str, *args, seconds: float = 100):
        """What an async function of JavaScript with these arguments returns."""
        script = f"""const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);
            ({source})(...given).then((value) => done([value]), (error) => done([null, String(error)]));"""
        self.send("WebDriver:SetTimeouts", {"script": int(1000 * seconds)})
        told = self.send("WebDriver:ExecuteAsyncScript", {"script": script, "args": list(args)})
        assert len(told) == 1, told[1]
        return told[0]

    def wait_for(self, selector: str, pattern: str, seconds: float = 60) -> str:
        """The text of an element once it matches; AssertionError with the last one otherwise."""
        found, text = self.run(LOOK, selector, pattern, 1000 * seconds, seconds=seconds + 20)
        assert found, f"{selector} says {text!r} and never {pattern!r}"
        return text

    def press(self, points: list, kind: str = "mouse") -> None:
        """A stroke of the mouse or of a finger ("touch") through points of the window; it knows no pen."""
        (x, y), *rest = [(round(x), round(y)) for x, y in points]
        moves = [{"type": "pointerMove", "duration": 5, "x": a, "y": b} for a, b in rest]
        steps = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, *moves]
        pointer = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}}
        pointer["actions"] = [*steps, {"type": "pointerUp", "button": 0}]
        self.send("WebDriver:PerformActions", {"actions": [pointer]})

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.send("WebDriver:TakeScreenshot", {"full": False})))

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
