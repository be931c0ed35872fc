"""Names and checks bytes by their hashes."""

import hashlib


def sha256(data: bytes) -> str:
    """The SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def digest(data: bytes) -> str:
    """What names of files that may be cached for ever hold."""
    return sha256(data)[:12]
