"""Devices of other machines: a server, and devices that send their work to it."""
