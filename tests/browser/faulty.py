"""A server of the site that serves some files wrongly: status, type, body, cut off, late, with a policy."""

import threading
from dataclasses import dataclass
from functools import partial

from flambeau.site import serve
from flambeau.site.server import QuietHandler, address


@dataclass
class Fault:
    """What is done to the files whose path holds `part`."""

    part: str
    status: int = 0
    kind: str = ""
    body: bytes | None = None
    cut: bool = False
    policy: str = ""
    held: threading.Event | None = None  # they wait for it


class Faulty(QuietHandler):
    """Serves a folder, with the faults of the class."""

    faults: tuple[Fault, ...] = ()

    def fault(self) -> Fault:
        return next((f for f in self.faults if f.part in self.path), Fault(""))

    def do_GET(self) -> None:
        fault = self.fault()
        if fault.held:
            fault.held.wait(60)
        if not fault.status and fault.body is None:
            return super().do_GET()
        self.encoded, body = False, fault.body or b"no"
        self.send_response(fault.status or 200)
        self.send_header("Content-Type", fault.kind or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def guess_type(self, path) -> str:
        return self.fault().kind or super().guess_type(path)

    def end_headers(self) -> None:
        if policy := self.fault().policy:
            self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def copyfile(self, source, outputfile) -> None:
        if not self.fault().cut:
            return super().copyfile(source, outputfile)
        data = source.read()
        outputfile.write(data[: len(data) // 2])
        self.close_connection = True


class Site:
    """A running server of a folder; `faults` may be set at any time."""

    def __init__(self, folder):
        self.handler = type("Handler", (Faulty,), {})
        self.server = serve(folder, port=0, quiet=True)
        self.server.RequestHandlerClass = partial(self.handler, directory=str(folder))  # type: ignore[assignment]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.folder, self.home = folder, address(self.server)

    def set(self, *faults: Fault) -> None:
        self.handler.faults = faults

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
