"""The one way out of a sandbox that may reach listed hosts only: a proxy for CONNECT, on a socket nobody else reaches.

It runs beside the worker and reads nothing of what goes through. Names are resolved here, never inside; a name that
leads to this very host is refused whatever the list says. Own code, for what is left of a proxy here is one verb on a
Unix socket; docs/decisions has what the libraries would have brought along.
"""

from __future__ import annotations

import os
import socketserver
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from statemachine.texts import one_line, quote
from workspace.agents.hostnames import is_address, spelled
from workspace.agents.tunnels import ASKING, UnlistedError, answer, connect, pump, request

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection
    from pathlib import Path

_MOST: Final = 64
_TOLD, _REMEMBERED = 20, 1000
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


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
            answer(client, "503 Service Unavailable", f"more than {_MOST} connections at a time")
            return
        try:
            self._bridge(client)
        finally:
            self._room.release()

    def _bridge(self, client: socket.socket) -> None:
        client.settimeout(ASKING)
        asked, early = request(client)
        try:
            name, port = self._admitted(asked)
            with self._connect(name, port) as server:
                client.sendall(_ESTABLISHED)
                server.sendall(early)
                pump(client, server)
        except UnlistedError as error:
            self._refuse(client, asked, str(error))
        except OSError as error:
            answer(client, "502 Bad Gateway", f"{asked}: {error.strerror or error}")

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
            if what in self._refused or len(self._refused) < _REMEMBERED:
                self._refused[what] += 1
        answer(client, "403 Forbidden", f"{what}; the hosts an agent may reach are listed by whoever runs it")


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
        """Say nothing of a connection that ends badly, which is the agent's; a defect of ours is told."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _name(asked: str) -> str:
    return asked if asked.count(":") > 1 and not asked.startswith("[") else asked.rpartition(":")[0].strip("[]")
