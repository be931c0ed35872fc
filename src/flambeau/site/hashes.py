"""Names and checks bytes by their hashes."""

import hashlib


def sha256(data: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def digest(data: bytes) -> str:
    """Return the short hash that goes into the names of files that browsers may cache for ever."""
    return sha256(data)[:12]
