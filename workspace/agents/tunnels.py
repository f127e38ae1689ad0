"""Connections through a proxy: what is asked for, whom it leads to, and the bytes both ways."""

from __future__ import annotations

import contextlib
import ipaddress
import selectors
import socket
from typing import Any, Final

HEAD: Final = 8192
ASKING: Final = 30.0
"""Seconds within which somebody must say what they want, and be connected."""
_CHUNK: Final = 65536
_IDLE: Final = 600.0
_WORDS: Final = 3  # CONNECT name:port HTTP/1.1


class UnlistedError(Exception):
    """Say why a connection is not made."""


def connect(name: str, port: int) -> socket.socket:
    """Connect to a host by its name, but never to this host itself."""
    last: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM):
        if _ours(str(address[0])):
            raise UnlistedError("it leads to this host")
        try:
            return _connected(socket.socket(family, kind, protocol), address)
        except OSError as error:
            last = error
    raise last or OSError("it has no address")


def request(client: socket.socket) -> tuple[str, bytes]:
    """Read what is asked for, `name:port` or whatever stands there instead, and what came after it already."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < HEAD and (data := client.recv(_CHUNK)):
        head += data
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    asked = words[1] if len(words) == _WORDS and words[0] == "CONNECT" else " ".join(words[:2])
    return asked, head.partition(b"\r\n\r\n")[2]


def _ours(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast or found.is_reserved


def _connected(server: socket.socket, address: Any) -> socket.socket:  # noqa: ANN401 - each family has its own
    try:
        server.settimeout(ASKING)
        server.connect(address)
    except OSError:
        server.close()
        raise
    return server


def answer(client: socket.socket, status: str, why: str) -> None:
    """Refuse what was asked, with a sentence."""
    text = f"weighlock: {why}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError):
        client.sendall(head.encode("ascii") + text)


def pump(client: socket.socket, server: socket.socket) -> None:
    """Carry bytes both ways until both sides have said all they will, or nobody says anything for long."""
    ways = {client: server, server: client}
    with selectors.DefaultSelector() as selector:
        for end, other in ways.items():
            end.settimeout(_IDLE)
            selector.register(end, selectors.EVENT_READ, other)
        while selector.get_map() and (ready := selector.select(_IDLE)):
            for key, _ in ready:
                _carry(client if key.data is server else server, key.data, selector)


def _carry(end: socket.socket, other: socket.socket, selector: selectors.BaseSelector) -> None:
    data = end.recv(_CHUNK)
    if data:
        other.sendall(data)
        return
    selector.unregister(end)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)
