"""The one way out of a sandbox that may reach listed hosts only: a proxy for CONNECT, on a socket nobody else reaches.

It runs beside the worker and reads nothing of what goes through. Names are resolved here, never inside; a name that
leads to this very host is refused whatever the list says. Own code, for what is left of a proxy here is one verb on a
Unix socket; docs/decisions has what the libraries would have brought along.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import selectors
import socket
import socketserver
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from statemachine.texts import one_line, quote
from workspace.agents.hostnames import is_address, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

_HEAD: Final = 8192
_CHUNK: Final = 65536
_MOST: Final = 64
_ASKING: Final = 30.0
_IDLE: Final = 600.0
_TOLD: Final = 20
_WORDS: Final = 3  # CONNECT name:port HTTP/1.1
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


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


class Proxy:
    """Serve one agent: a guard that breaks nothing, and closes with the agent's end."""

    def __init__(
        self, folder: Path, name: str, hosts: Collection[str], connect: Callable[[str, int], socket.socket] = connect
    ) -> None:
        self.place = folder / name
        self._hosts = frozenset(hosts)
        self._connect = connect
        self._refused: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(_MOST)
        self._server = _Server(folder, name, self._serve)
        self._thread = threading.Thread(target=self._server.serve_forever, name="proxy", daemon=True)
        self._thread.start()

    def admit(self, pid: int) -> None:
        """Do nothing: whoever reaches the socket is the agent."""

    def broken(self) -> str:
        """Break nothing."""
        return ""

    def remark(self) -> str:
        """Say what was refused."""
        with self._lock:
            told = [f"{what} ({times})" for what, times in self._refused.most_common(_TOLD)]
            rest = len(self._refused) - len(told)
        return f"connections refused: {', '.join(told)}{f', and {rest} more' * (rest > 0)}" if told else ""

    def leave(self) -> None:
        """Close the socket; connections under way end with the agent, who holds their other ends."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.place.unlink(missing_ok=True)

    def _serve(self, client: socket.socket) -> None:
        if not self._room.acquire(blocking=False):
            _answer(client, "503 Service Unavailable", f"more than {_MOST} connections at a time")
            return
        try:
            self._bridge(client)
        finally:
            self._room.release()

    def _bridge(self, client: socket.socket) -> None:
        client.settimeout(_ASKING)
        asked, early = _request(client)
        try:
            name, port = self._admitted(asked)
            with self._connect(name, port) as server:
                client.sendall(_ESTABLISHED)
                server.sendall(early)
                _pump(client, server)
        except UnlistedError as error:
            self._refuse(client, asked, str(error))
        except OSError as error:
            _answer(client, "502 Bad Gateway", f"{asked}: {error.strerror or error}")

    def _admitted(self, asked: str) -> tuple[str, int]:
        try:
            place = spelled(asked)
        except ValueError:
            raise UnlistedError("an address, not a name" if is_address(_name(asked)) else "not a name") from None
        if place not in self._hosts:
            raise UnlistedError("not listed")
        name, _, port = place.rpartition(":")
        return name, int(port)

    def _refuse(self, client: socket.socket, asked: str, why: str) -> None:
        what = f"{quote(one_line(asked, 200))} {why}"
        with self._lock:
            if what in self._refused or len(self._refused) < _HEAD:
                self._refused[what] += 1
        _answer(client, "403 Forbidden", f"{what}; the hosts an agent may reach are listed by whoever runs it")


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = _MOST

    def __init__(self, folder: Path, name: str, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        # A socket's name has 107 bytes at most, and folders have more: it is made by way of a descriptor.
        opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            super().__init__(f"/proc/self/fd/{opened}/{name}", socketserver.BaseRequestHandler)
        finally:
            os.close(opened)

    def finish_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - as the library has it
        self._serve(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the library has it
        """Say nothing: a connection that ends badly is the agent's."""


def _request(client: socket.socket) -> tuple[str, bytes]:
    """Read what is asked for, `name:port` or whatever stands there instead, and what came after it already."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD and (data := client.recv(_CHUNK)):
        head += data
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    asked = words[1] if len(words) == _WORDS and words[0] == "CONNECT" else " ".join(words[:2])
    return asked, head.partition(b"\r\n\r\n")[2]


def _name(asked: str) -> str:
    return asked if asked.count(":") > 1 and not asked.startswith("[") else asked.rpartition(":")[0].strip("[]")


def _ours(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast or found.is_reserved


def _connected(server: socket.socket, address: Any) -> socket.socket:  # noqa: ANN401 - each family has its own
    try:
        server.settimeout(_ASKING)
        server.connect(address)
    except OSError:
        server.close()
        raise
    return server


def _answer(client: socket.socket, status: str, why: str) -> None:
    text = f"weighlock: {why}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError):
        client.sendall(head.encode("ascii") + text)


def _pump(client: socket.socket, server: socket.socket) -> None:
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
