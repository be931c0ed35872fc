"""A slow link between two network namespaces of this host: real sockets over a rate and a delay. Needs root.

    python bench/slow_link.py [--megabits 100] [--delay 80]

Prints the round trip and the rate that a TCP connection over the link has. `tc netem` is not in every kernel,
so a process forwards the packets of two TUN devices, each when it is due.
"""

import argparse
import contextlib
import fcntl
import heapq
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

ADDRESSES = ("10.77.0.1", "10.77.0.2")
MTU = 9000  # bytes of a packet: few enough packets for Python
QUEUE = 8 << 20  # bytes that wait for the link at most, more are dropped as a router does
TUNSETIFF, TUN, NO_INFO = 0x400454CA, 0x0001, 0x1000


class Direction:
    """Forwards the packets of one TUN device to the other one, at a rate (bytes/s) and after a delay (s)."""

    def __init__(self, source: int, target: int, rate: float, delay: float):
        self.source, self.target, self.rate, self.delay = source, target, rate, delay
        self.due: list[tuple[float, int, bytes]] = []
        self.changed, self.waiting, self.free = threading.Condition(), 0, 0.0
        for work in (self._take, self._give):
            threading.Thread(target=work, daemon=True).start()

    def _take(self) -> None:
        number = 0
        while True:
            try:
                packet = os.read(self.source, 1 << 16)
            except OSError:  # the device has ended
                return
            with self.changed:
                if self.waiting + len(packet) > QUEUE:
                    continue
                self.waiting += len(packet)
                self.free = max(self.free, time.monotonic()) + len(packet) / self.rate
                number += 1
                heapq.heappush(self.due, (self.free + self.delay, number, packet))
                self.changed.notify()

    def _give(self) -> None:
        while True:
            with self.changed:
                while not self.due:
                    self.changed.wait()
                wait = self.due[0][0] - time.monotonic()
                packet = heapq.heappop(self.due)[2] if wait <= 0 else b""
                self.waiting -= len(packet)
            if packet:
                with contextlib.suppress(OSError):  # the device is down at the end
                    os.write(self.target, packet)
            else:
                time.sleep(wait)


def open_tun(namespace: str, address: str) -> int:
    """Make a TUN device in a namespace; returns its file."""
    tun = os.open("/dev/net/tun", os.O_RDWR)
    name = f"slow{os.getpid() % 100000}"
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", name.encode(), TUN | NO_INFO))
    inside = ["ip", "-n", namespace]
    for command in (
        ["ip", "link", "set", name, "netns", namespace],
        [*inside, "link", "set", "lo", "up"],
        [*inside, "address", "add", f"{address}/24", "dev", name],
        [*inside, "link", "set", name, "mtu", str(MTU), "up"],
    ):
        subprocess.run(command, check=True)
    return tun


@contextlib.contextmanager
def slow_link(megabits: float, delay: float) -> Iterator[tuple[list[str], list[str]]]:
    """Make two hosts with a link between them; yields how a command begins on each.

    delay: milliseconds, there and back. The hosts have ADDRESSES, and can't see each other's processes.
    """
    names = [f"flambeau-{os.getpid()}-{host}" for host in (0, 1)]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        first, second = (open_tun(*row) for row in zip(names, ADDRESSES, strict=True))
        rate, there = megabits * 1e6 / 8, delay / 2e3
        Direction(first, second, rate, there)
        Direction(second, first, rate, there)
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        yield tuple(["ip", "netns", "exec", name, *apart] for name in names)  # type: ignore[misc]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


SERVER = f"""
import socket
server = socket.create_server(({ADDRESSES[0]!r}, 5000))
print("ready", flush=True)
connection = server.accept()[0]
connection.sendall(connection.recv(1))
while connection.recv(1 << 20):
    pass
connection.sendall(b"e")
"""
CLIENT = f"""
import socket, time
connection = socket.create_connection(({ADDRESSES[0]!r}, 5000))
began = time.perf_counter()
connection.sendall(b"x"); connection.recv(1)
there = time.perf_counter()
connection.sendall(bytes(40_000_000)); connection.shutdown(socket.SHUT_WR); connection.recv(1)
seconds = time.perf_counter() - there
print(f"round trip {{1e3 * (there - began):.1f}} ms, 40 MB at {{320 / seconds:.1f}} Mbit/s")
"""


def main() -> None:
    """Measure a link."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabits", type=float, default=100.0)
    parser.add_argument("--delay", type=float, default=80.0, help="milliseconds, there and back")
    options = parser.parse_args()
    with slow_link(options.megabits, options.delay) as (here, there):
        python = [sys.executable, "-c"]
        server = subprocess.Popen([*here, *python, SERVER], stdout=subprocess.PIPE)
        assert server.stdout is not None
        server.stdout.readline()
        subprocess.run([*there, *python, CLIENT], check=True)
        server.wait()


if __name__ == "__main__":
    main()
