"""How a client and a server begin: versions, and a proof that both know the token, which is never sent."""

import hashlib
import hmac
import os
from collections.abc import Generator
from typing import Any, NamedTuple

from ..core.tree import is_dict
from ..core.version import __version__
from ..errors import DeviceError
from .messages import (
    CHALLENGE,
    ERROR,
    HELLO,
    PROOF,
    PROTOCOL,
    WELCOME,
    Received,
    Rejected,
    encode_json,
    error_of,
    read_json,
)

NONCE = 32  # bytes of a random number that makes each proof unlike all others
TOKEN = "FLAMBEAU_TOKEN"  # the variable that holds it
Steps = Generator[bytes, Received, Any]


class Welcome(NamedTuple):
    """The answer of a server: its device and its limits."""

    described: dict[str, Any]
    memory: int | None  # bytes of buffers that it gives a client


def token_of_environment() -> str | None:
    """The token of FLAMBEAU_TOKEN; None without one."""
    return os.environ.get(TOKEN) or None


def proof(token: str, side: str, first: str, second: str) -> str:
    """The proof that a side knows the token, from both random numbers."""
    return hmac.new(token.encode(), f"{side} {first} {second}".encode(), hashlib.sha256).hexdigest()


def greet(token: str | None, device: str) -> Generator[bytes, Received, Welcome]:
    """The client's side: yields messages to send, receives the answers, and returns the server's offer."""
    nonce = os.urandom(NONCE).hex()
    hello = {"version": __version__, "protocol": PROTOCOL, "nonce": nonce, "device": device}
    challenge = _expect(CHALLENGE, (yield encode_json(HELLO, 0, hello)))
    if difference := _difference(challenge, "the server"):
        raise DeviceError(difference)
    server_nonce, needs_token = str(challenge.get("nonce")), challenge.get("token") is True
    if needs_token and not token:
        raise DeviceError(f"remote: the server needs a token: set {TOKEN}, or pass connect(token=...)")
    answer = proof(token or "", "client", nonce, server_nonce)
    welcome = _expect(WELCOME, (yield encode_json(PROOF, 0, {"proof": answer})))
    if needs_token:
        own_proof = proof(token or "", "server", nonce, server_nonce)
        if not _equal(own_proof, welcome.get("proof")):
            raise DeviceError("remote: the server does not know the token: this may be the wrong server")
    described, memory = welcome.get("device"), welcome.get("memory")
    if not is_dict(described) or not isinstance(memory, int | None):
        raise Rejected("remote: the server's answer is incomplete")
    return Welcome(described, memory)


def admit(token: str | None) -> Generator[bytes, Received, tuple[str, str]]:
    """The server's side: returns the device that the client asks for, and the proof to welcome it with."""
    hello = _expect(HELLO, (yield b""))
    if difference := _difference(hello, "the client"):
        raise Rejected(difference)
    client_nonce, nonce = str(hello.get("nonce")), os.urandom(NONCE).hex()
    sent = {"version": __version__, "protocol": PROTOCOL, "nonce": nonce, "token": token is not None}
    answer = _expect(PROOF, (yield encode_json(CHALLENGE, 0, sent)))
    if token is not None:
        right = proof(token, "client", client_nonce, nonce)
        if not _equal(right, answer.get("proof")):
            raise Rejected(f"remote: the token is wrong: set {TOKEN} to the server's")
    return str(hello.get("device", "")), proof(token or "", "server", client_nonce, nonce)


def _equal(mine: str, theirs: Any) -> bool:
    """Compare proofs in a time that does not depend on where they differ."""
    return hmac.compare_digest(mine.encode(), str(theirs).encode())


def _expect(kind: int, message: Received) -> dict[str, Any]:
    if message.kind == ERROR:
        raise error_of(message.payload)
    if message.kind != kind:
        raise Rejected(f"remote: expected a message of kind {kind}, got kind {message.kind}")
    return read_json(message.payload)


def _difference(sent: dict[str, Any], who: str) -> str | None:
    """Describe how the versions of both sides differ."""
    versions = sent.get("version"), sent.get("protocol")
    if versions == (__version__, PROTOCOL):
        return None
    sender = f"{who} has Flambeau {str(versions[0])[:40]} (protocol {str(versions[1])[:10]})"
    receiver = f"the other side {__version__} (protocol {PROTOCOL})"
    return f"remote: the versions differ: {sender}, {receiver}: install the same version on both"
