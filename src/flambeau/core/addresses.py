"""Which network addresses reach a machine from outside."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether an address reaches a server only from its own machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
