"""Serves an inspection's page and runs its edits, only on this machine and for requests with the token."""

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from ..core.tree import is_dict
from ..errors import FlambeauError
from .again import Session
from .emitted import of_kernel
from .model import Inspection
from .page import html
from .send import KINDS, patch

HOST = "127.0.0.1"
MOST = 1 << 20  # the most bytes of a request
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class InspectionServer(ThreadingHTTPServer):
    """Serves an inspection's page and runs the kernels of its requests, one at a time."""

    daemon_threads = True

    def __init__(self, inspection: Inspection, port: int = 0):
        super().__init__((HOST, port), _Requests)
        self.inspection, self.token = inspection, secrets.token_urlsafe(24)
        self.one_at_a_time = threading.Lock()
        self.page = html(inspection, {"token": self.token}).encode()
        # Against DNS rebinding: a page of another host name that resolves to this machine is refused.
        self.hosts = {f"{name}:{self.server_address[1]}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        """The page's address, with the token that permits running kernels."""
        return f"http://{HOST}:{self.server_address[1]}/?token={self.token}"

    def answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request; FlambeauError if that fails."""
        with self.one_at_a_time:
            return REQUESTS[path](self.inspection, edit_of(request))


class EditRequest(NamedTuple):
    """A request: a kernel with an edited text or edited templates."""

    kernel: int
    wgsl: str = ""
    templates: dict[str, str] = {}
    what: str = ""


PARTS = {
    "kernel": (int, "a number"),
    "wgsl": (str, "a text"),
    "templates": (dict, "texts by name"),
    "what": (str, "a text"),
}


def edit_of(request: dict[str, Any]) -> EditRequest:
    """Parse a request; FlambeauError if a part is missing or has another type."""
    for name, (kind, expected) in PARTS.items():
        value: Any = request.get(name, None if name == "kernel" else kind())
        is_valid = type(value) is kind
        if kind is dict and is_valid:
            is_valid = all(isinstance(text, str) for text in value.values())
        if not is_valid:
            raise FlambeauError(f"inspect: a request's {name} must be {expected}: got {value!r}")
    return EditRequest(**{name: request[name] for name in PARTS if name in request})


def _session(inspection: Inspection) -> Session:
    if inspection.session is None:
        raise FlambeauError("inspect: it was read from a file: inspect the program to run its kernels")
    return inspection.session


def _run(inspection: Inspection, edit: EditRequest) -> dict[str, Any]:
    session = _session(inspection)
    if edit.templates:
        return session.run_templates(edit.kernel, edit.templates).to_dict()
    return session.run(edit.kernel, edit.wgsl).to_dict()


def _templates(inspection: Inspection, edit: EditRequest) -> dict[str, Any]:
    return {"templates": _session(inspection).templates(edit.kernel)}


def _export(inspection: Inspection, edit: EditRequest) -> dict[str, Any]:
    if edit.what == "patch":
        return {"text": patch(edit.templates)}
    if edit.what not in KINDS:
        raise FlambeauError(f"inspect: export as one of {', '.join([*KINDS, 'patch'])}")
    wgsl = edit.wgsl
    if edit.templates:
        wgsl = "".join(
            f"{line.text}\n" for line in _session(inspection).render_lines(edit.kernel, edit.templates)
        )
    return {"text": KINDS[edit.what](inspection, edit.kernel, wgsl)}


def _emit(inspection: Inspection, edit: EditRequest) -> dict[str, Any]:
    return of_kernel(inspection, edit.kernel, edit.what, edit.wgsl or None)._asdict()


REQUESTS = {"/run": _run, "/templates": _templates, "/export": _export, "/emit": _emit}


class _Requests(BaseHTTPRequestHandler):
    # InspectionServer is the only server with this handler.
    server: InspectionServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        token = parse_qs(address.query).get("token", [""])[0]
        if not self._is_for_this_host():
            self._refuse(403, "the request is for another host")
        elif address.path != "/":
            self._refuse(404, "the only page is /")
        elif not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(403, "the token is missing: use the complete address that was printed")
        else:
            self._send(200, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        token = self.headers.get("X-Flambeau-Token", "")
        origin = self.headers.get("Origin")
        length = self.headers.get("Content-Length", "")
        if not self._is_for_this_host() or (origin and urlsplit(origin).netloc not in self.server.hosts):
            return self._refuse(403, "the request comes from another host")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            return self._refuse(403, "the token is missing or wrong")
        if self.path not in REQUESTS:
            return self._refuse(404, f"known paths are {', '.join(REQUESTS)}")
        if not length.isdecimal() or int(length) > MOST:
            return self._refuse(413, f"a request has at most {MOST:,} bytes")
        try:
            request: Any = json.loads(self.rfile.read(int(length)))
            if not is_dict(request):
                raise ValueError("it is not an object")
        except (ValueError, RecursionError) as e:
            return self._refuse(400, f"the request is not JSON: {e}")
        try:
            self._send(200, json.dumps(self.server.answer(self.path, request)).encode(), "application/json")
        except FlambeauError as e:
            self._refuse(400, str(e))
        except Exception as e:  # such as a driver's error: the editor shows it
            self._refuse(500, f"{type(e).__name__}: {e}")

    def _is_for_this_host(self) -> bool:
        """Whether the request's Host is this machine. That of a page whose host resolves to this address is
        not."""
        return self.headers.get("Host", "") in self.server.hosts

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True  # the body is not read
        self._send(status, json.dumps({"error": why}).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in (HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve(inspection: Inspection, port: int = 0) -> InspectionServer:
    """Create a server of an inspection's page. It is bound to its port, but not running. Port 0 selects
    one."""
    try:
        return InspectionServer(inspection, port)
    except (OSError, OverflowError) as e:
        raise FlambeauError(f"inspect: port {port}: {e}: choose another, or 0 for a free one") from None
