"""Tokens, TLS, versions, limits, and servers and clients that die: one clear error, and no hang."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from click.testing import CliRunner
from helpers.paths import ROOT
from helpers.raw_client import RawClient

import flambeau as fb
from flambeau.cli.main import main
from flambeau.cli.remote import parse_bytes
from flambeau.errors import DeviceError
from flambeau.remote import connect, handshake
from flambeau.remote import messages as m
from flambeau.remote.opening import Address, parse
from flambeau.remote.server import Server
from flambeau.remote.streams import Closed, Incoming, TlsSocket


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("host:80", ("host", 80, "", False)),
        ("remote:host", ("host", m.PORT, "", False)),
        ("remotes:10.0.0.1:7000/1", ("10.0.0.1", 7000, "1", True)),
        ("remote:[::1]:80/gpu:1", ("::1", 80, "gpu:1", False)),
        ("[::1]", ("::1", m.PORT, "", False)),
    ],
)
def test_addresses(text, want):
    assert parse(text) == Address(*want)
    assert parse(parse(text).name) == Address(*want)


@pytest.mark.parametrize("text", ["remote:", "host:", "host:0", "host:99999", "host:x", ":80", "remotes:/1"])
def test_what_is_no_address(text):
    with pytest.raises(
        DeviceError, match=r"a remote device has a host and a port: use 'remote:127.0.0.1:7373'"
    ):
        parse(text)


def test_no_server_answers():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(DeviceError, match=f"remote.127.0.0.1:{port}.: no server answers .*: start one there"):
        fb.device(f"remote:127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"host": "0.0.0.0"}, "beyond the loopback a token is needed: pass --token, or set FLAMBEAU_TOKEN"),
        ({"host": "127.0.0.1", "port": 1 << 17}, "use another --port or --host"),
        ({"host": "192.0.2.1", "token": "a"}, "use another --port or --host"),
        ({"devices": ("cpu",)}, "only GPUs are served: use 'gpu'"),
        ({"devices": ("gpu:nosuch",)}, "no such adapter"),
        ({"cert": "/no/such.pem"}, "these are not a certificate and its key"),
    ],
)
def test_what_a_server_refuses(options, error, gpu):
    with pytest.raises(DeviceError, match=error):
        Server(**{"port": 0, **options})


def test_a_port_in_use(server):
    with pytest.raises(
        DeviceError, match=f"port={server.port}.: .*[Aa]ddress already in use.*: use another --port"
    ):
        Server(port=server.port)


@pytest.fixture(scope="module")
def guarded():
    """A server with a token and limits."""
    with Server(port=0, token="secret", memory=1 << 20, seconds=0.2) as server:
        yield server


def test_tokens(guarded, monkeypatch):
    for token, error in (
        (None, "the server needs a token: set FLAMBEAU_TOKEN"),
        ("wrong", "the token is wrong"),
    ):
        with pytest.raises(DeviceError, match=error):
            connect(guarded.address, token=token)
    monkeypatch.setenv("FLAMBEAU_TOKEN", "secret")
    device = fb.device(guarded.address)
    assert fb.ones(2, device=device).sum().item() == 2
    device.close()
    with pytest.raises(DeviceError, match="the token is wrong"):
        RawClient(guarded, token="Secret")


def test_a_server_that_does_not_know_the_token():
    """It may accept any proof: it has none itself."""
    steps = handshake.greet("secret", "")
    next(steps)
    challenge = {"version": handshake.__version__, "protocol": m.PROTOCOL, "nonce": "0", "token": True}
    steps.send(m.Received(m.CHALLENGE, 0, m.encode_json(0, 0, challenge)[m.HEADER.size :]))
    with pytest.raises(DeviceError, match="the server does not know the token"):
        steps.send(m.Received(m.WELCOME, 0, b'{"proof": "", "device": {}, "memory": null}'))


def test_versions_are_compared(server, monkeypatch):
    monkeypatch.setattr(handshake, "__version__", "0.0.7")
    steps = handshake.greet(None, "")
    hello = next(steps)
    monkeypatch.undo()
    sock = socket.create_connection((server.host, server.port), 10)
    sock.sendall(m.PREFACE + hello)
    answer = sock.recv(1000)[m.HEADER.size :]
    assert (
        "the versions differ: the client has Flambeau 0.0.7 (protocol 1), the other side" in answer.decode()
    )
    sock.close()
    challenge = {"version": "0.0.8", "protocol": 2, "nonce": "0", "token": False}
    steps = handshake.greet(None, "")
    next(steps)
    with pytest.raises(
        DeviceError, match="the server has Flambeau 0.0.8 .protocol 2.*install the same version"
    ):
        steps.send(m.Received(m.CHALLENGE, 0, m.encode_json(0, 0, challenge)[m.HEADER.size :]))


def test_which_device(server):
    device = connect(f"{server.address}/0")
    assert device.name == f"{server.address}/0" and device.adapter_name in str(
        next(iter(server.devices.values()))
    )
    device.close()
    with pytest.raises(DeviceError, match="no device '7' here: gpu are served"):
        connect(f"{server.address}/7")


def test_limits_of_memory_and_time(guarded):
    device = connect(guarded.address, token="secret")
    with pytest.raises(
        fb.OutOfMemory, match=r"2,097,152 bytes are needed .*the server gives a client 1,048,576"
    ):
        fb.zeros(1 << 19, device=device).realize()
    x = fb.ones(1 << 12, device=device)
    assert x.sum().item() == 1 << 12
    client = RawClient(guarded, "secret")
    client.send(m.ALLOC, 1, m.ALLOCATED.pack(1 << 21, 0))
    assert "the server's limit for a client is 1,048,576" in client.refusal()
    client.close()
    until = time.monotonic() + 120
    with pytest.raises(DeviceError, match=r"was lost .remote: this server lets a client compute for 0.2 s"):
        while time.monotonic() < until:
            x = (x * 1.0001).cumsum(0).realize()
            device.wait()
    with pytest.raises(DeviceError, match="was lost"):  # and it stays so: it connects again only if asked to
        fb.ones(2, device=device).numpy()
    again = connect(guarded.address, token="secret")
    assert fb.ones(2, device=again).sum().item() == 2
    again.close()


def test_a_server_whose_device_was_lost_opens_it_again():
    with Server(port=0) as server:
        device = connect(server.address)
        fb.ones(2, device=device).sum().item()
        lost = server.device_of("")
        lost.lost = "the test says so"
        with pytest.raises(DeviceError, match="was lost .gpu:.* was lost .the test says so"):
            device.wait()
            fb.ones(2, device=device).sum().item()
        again = connect(server.address)
        assert fb.ones(2, device=again).sum().item() == 2 and server.device_of("") is not lost
        again.close()


class Silent:
    """A server that admits a client and then does what a test says."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self.listener.getsockname()
        self.answer = answer
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        sock, _ = self.listener.accept()
        incoming = Incoming(sock)
        incoming.exactly(len(m.PREFACE))
        steps = handshake.admit(None)
        next(steps)
        try:
            while True:
                n, kind, id = m.HEADER.unpack(incoming.exactly(m.HEADER.size))
                sock.sendall(steps.send(m.Received(kind, id, incoming.exactly(n))))
        except StopIteration as end:
            described = {
                "limits": {"pace": [1e12, 1e12], "matrix": []}, "machine": [1, 1, 1], "tuned": [],
                "max_binding": 1 << 27, "compilers": 1, "name": "none",
            }  # fmt: skip
            welcome = {"proof": end.value[1], "device": described, "memory": None}
            sock.sendall(m.encode_json(m.WELCOME, 0, welcome))
        self.answer(sock)
        self.release = threading.Event()
        self.release.wait(20)
        sock.close()
        self.listener.close()


DEATHS = {
    "is silent": (lambda sock: None, "no sign of life from the server for 0.5 s"),
    "ends": (lambda sock: sock.shutdown(socket.SHUT_RDWR), "the server closed the connection"),
    "ends in a header": (
        lambda sock: (sock.sendall(b"12345"), sock.shutdown(socket.SHUT_RDWR)),
        "the server closed the connection",
    ),
    "answers what nobody asked": (
        lambda sock: sock.sendall(m.encode(m.DATA, 99, b"1234")),
        "the server sent 4 bytes of kind 34 that nobody asked for",
    ),
    "claims a length of 2^60": (
        lambda sock: sock.sendall(m.HEADER.pack(1 << 60, m.ERROR, 0)),
        "of kind 36 that nobody asked for",
    ),
    "sends no JSON": (lambda sock: sock.sendall(m.encode(m.ERROR, 0, b"{")), "a message is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("how", DEATHS)
def test_a_server_that(how):
    answer, error = DEATHS[how]
    silent = Silent(answer)
    device = connect(f"{silent.host}:{silent.port}", timeout=0.5)
    began = time.monotonic()
    with pytest.raises(DeviceError, match=error):
        for _ in range(3):
            device.wait()
    assert time.monotonic() - began < 60
    with pytest.raises(
        DeviceError, match=re.escape(f"flambeau.remote.connect('{silent.host}:{silent.port}')")
    ):
        device.read([(1, 4)])


def started(*options):
    """The command `flambeau remote` in a process, and the address that it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    call = [sys.executable, "-u", "-m", "flambeau", "remote", "--port", "0", *options]
    process = subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    return process, re.search(r"serving .+ at (remotes?:\S+)$", line)[1]


def test_the_command(server):
    """Its options are understood or refused in one line."""
    assert [parse_bytes(text) for text in (None, "512", "1.5k", "4G")] == [None, 512, 1536, 4 << 30]
    refused = {
        ("--memory", "much"): "flambeau: remote(--memory much): not a number of bytes: use 512M or 4G",
        ("--host", "0.0.0.0"): "beyond the loopback a token is needed: pass --token",
        ("--port", str(server.port)): "address already in use",
        ("--device", "cpu"): "only GPUs are served",
    }
    for options, error in refused.items():
        result = CliRunner().invoke(main, ["remote", *options], env={"FLAMBEAU_TOKEN": None})
        assert result.exit_code == 1 and error.lower() in result.output.lower(), result.output
        assert len(result.output.splitlines()) == 1


CLIENT = """
import sys, flambeau as fb
device = fb.remote.connect(sys.argv[1])
x = fb.zeros(1 << 18, device=device)
print("ready", flush=True)
while True:
    x = (x + 1).realize()
    device.write(x.node.buffer.handle, bytes(1 << 20))
"""


@pytest.mark.share(2)
def test_kill_9_of_either_side(gpu):
    """Inside messages: the client sends a mebibyte again and again."""
    process, address = started()
    try:
        device = connect(address, timeout=60)
        x = fb.ones(8, device=device).realize()
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        call = [sys.executable, "-c", CLIENT, address]
        client = subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, text=True)
        assert client.stdout.readline() == "ready\n"
        time.sleep(0.1)
        client.kill()
        client.wait()
        assert x.sum().item() == 8  # the server and its other client go on
        pending = device.fetch([(x.node.buffer.handle, 4)])
        process.send_signal(signal.SIGKILL)
        process.wait()
        began = time.monotonic()
        with pytest.raises(DeviceError, match=r"was lost .*: its values are lost"):
            while True:
                pending.wait()
                (x + 1).numpy()
        assert time.monotonic() - began < 30  # sooner than its timeout
    finally:
        process.kill()
        process.stdout.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    call = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = [
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-out",
        str(cert),
        "-keyout",
        str(key),
    ]
    try:
        subprocess.run([*call.split(), *names], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        pytest.skip(f"openssl makes no certificate: {e}")
    return cert, key


def test_tls(certificate, gpu):
    cert, key = certificate
    with Server(port=0, cert=cert, key=key) as server:
        assert server.address.startswith("remotes:127.0.0.1:")
        device = connect(server.address, ca=str(cert))
        x = fb.rand(1 << 17, device=device)
        assert ((x + 1).numpy() - x.numpy()).min() > 0.999
        device.close()
        with pytest.raises(DeviceError, match="no TLS .*certificate.*: pass ca= of the server's certificate"):
            connect(server.address)
        with pytest.raises(DeviceError, match="ended the handshake .*: is it a Flambeau server, and of TLS"):
            connect(server.address.replace("remotes:", ""), timeout=5)
    with Server(port=0) as server, pytest.raises(DeviceError, match="no TLS"):
        connect(server.address.replace("remote:", ""), tls=True, timeout=5)
    with pytest.raises(DeviceError, match="no certificates .*: use a file in PEM"):
        connect("127.0.0.1:1", ca=str(key))


def test_two_threads_use_one_tls_connection(certificate):
    """One receives while others send, in records of all sizes."""
    import ssl

    cert, key = certificate
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(cert, key)
    client_context = ssl.create_default_context(cafile=str(cert))
    raw = socket.socketpair()
    ends = []
    thread = threading.Thread(target=lambda: ends.append(TlsSocket(raw[0], server_context)))
    thread.start()
    client = TlsSocket(raw[1], client_context, "127.0.0.1")
    thread.join()
    server = ends[0]

    def echo():
        incoming = Incoming(server)
        try:
            while True:
                n = int.from_bytes(incoming.exactly(4), "little")
                server.sendall(incoming.exactly(n))
        except Closed:
            pass

    sizes = [0, 1, 100, 1 << 14, 300_000, 5]
    thread = threading.Thread(target=echo)
    thread.start()
    sender = threading.Thread(
        target=lambda: [client.sendall(n.to_bytes(4, "little") + bytes([n % 251]) * n) for n in sizes]
    )
    sender.start()
    incoming = Incoming(client)
    for n in sizes:
        assert incoming.exactly(n) == bytes([n % 251]) * n
    sender.join()
    client.shutdown(socket.SHUT_RDWR)
    thread.join()
    client.close(), server.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_refuses(own):
    x = fb.ones(3, device=own).realize()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            own.wait()
            os.write(write, b"no error")
        except DeviceError as e:
            os.write(write, str(e).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as text:
        assert "was lost (it was opened before a fork)" in text.read()
    assert x.numpy().tolist() == [1, 1, 1]  # the parent's goes on
