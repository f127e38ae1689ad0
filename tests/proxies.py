"""A line to the server that a test can cut: on the way there, on the way back, for everybody, or for ever so long.

It reads the protocol as far as it must: where a message ends, which statement it carries, and when an answer is whole.
"""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_NO_PROTOCOL = b"\x04\xd2"  # 1234: a first message that only asks for encryption, or cancels


@dataclass(slots=True, kw_only=True)
class Cut:
    """A line to be cut once, at a statement that holds all these words; `done` tells when it was.

    With `answered` the server does what was asked and nobody hears of it; without, it never arrives. One that is
    held waits at the statement, which `reached` tells, until `go` is set.
    """

    words: tuple[bytes, ...]
    answered: bool
    go: threading.Event
    reached: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """Stand between clients and the server of a URL; `url` is what clients use instead."""

    def __init__(self, url: str) -> None:
        known = conninfo_to_dict(url)
        self._server = (str(known["host"]), int(known.get("port") or 5432))
        self._door = socket.create_server(("127.0.0.1", 0))
        ours = {"host": "127.0.0.1", "hostaddr": "", "port": self._door.getsockname()[1]}
        self.url = make_conninfo("", **{**known, **ours, "sslmode": "disable", "gssencmode": "disable"})
        self._lines: set[socket.socket] = set()
        self._cuts: list[Cut] = []
        self._left: int | None = None
        self._said: list[bytes] = []
        self._passing = threading.Event()
        self._passing.set()
        self._serving = threading.Thread(target=self._serve)
        self._serving.start()

    @property
    def statements(self) -> int:
        """How many statements clients sent so far."""
        return len(self._said)

    def count(self, words: str) -> int:
        """How many of them hold these words."""
        return sum(words.encode() in each for each in self._said)

    def cut_at(self, *words: str, answered: bool = False, held: bool = False) -> Cut:
        """Cut the line at the next statement whose text and values hold all these words."""
        go = threading.Event() if held else _open()
        self._cuts.append(Cut(words=tuple(word.encode() for word in words), answered=answered, go=go))
        return self._cuts[-1]

    def cut_after(self, messages: int) -> None:
        """Let so many more messages of clients through, and cut the line of whoever sends the next one."""
        self._left = messages

    def cut(self) -> None:
        """Cut every line; who comes again is let through."""
        for line in list(self._lines):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def partition(self) -> Iterator[None]:
        """Let nothing pass either way, and keep every line: nobody hears that anything is wrong."""
        self._passing.clear()
        try:
            yield
        finally:
            self._passing.set()

    def close(self) -> None:
        """End: the old lines are cut, and there are no new ones."""
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._serving.join()
        self._door.close()
        self._passing.set()
        self.cut()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                threading.Thread(target=self._line, args=(client,), daemon=True).start()

    def _line(self, client: socket.socket) -> None:
        with client, suppress(OSError), self._connect() as server:
            self._lines |= {client, server}
            try:
                self._pass_on(client, server)
            finally:
                self._lines -= {client, server}

    def _connect(self) -> socket.socket:
        host, port = self._server
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        asked, told = _Messages(greeting=True), _Messages()
        prepared: dict[bytes, bytes] = {}
        cut: Cut | None = None
        while not (cut and cut.done.is_set()):
            ready, _, _ = select.select([client, server], [], [])
            for end in ready:
                if not (data := end.recv(65536)):
                    return
                if end is client:
                    cut = self._ask(server, asked.of(data), prepared) or cut
                elif cut is None:
                    self._passing.wait()
                    client.sendall(data)
                elif any(message.startswith(b"Z") for message in told.of(data)):
                    cut.done.set()  # and the answer is lost

    def _ask(self, server: socket.socket, messages: Iterator[bytes], prepared: dict[bytes, bytes]) -> Cut | None:
        """Pass on what a client says, up to a cut if there is one."""
        found = None
        for message in messages:
            if statement := _statement(message, prepared):
                self._said.append(statement)
            self._passing.wait()
            if cut := self._cut_for(statement):
                cut.reached.set()
                cut.go.wait()
                if not cut.answered:
                    cut.done.set()
                    return cut
            found = cut or found
            server.sendall(message)
        return found

    def _cut_for(self, statement: bytes) -> Cut | None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self._left = None
                return Cut(words=(), answered=False, go=_open())
        for cut in self._cuts:
            if statement and all(word in statement for word in cut.words):
                self._cuts.remove(cut)
                return cut
        return None


def _open() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def _statement(message: bytes, prepared: dict[bytes, bytes]) -> bytes:
    """Give the text and the values of what a message has done; nothing where it has nothing done."""
    body = message[5:]
    match message[:1]:
        case b"Q":
            return body
        case b"P":
            name, _, text = body.partition(b"\0")
            prepared[name] = text
        case b"B":
            _, name, values = body.split(b"\0", 2)
            return prepared[name] + values
    return b""


class _Messages:
    """Take a stream apart; the first messages of a client have no type before their length."""

    def __init__(self, *, greeting: bool = False) -> None:
        self._greeting = greeting
        self._rest = b""

    def of(self, data: bytes) -> Iterator[bytes]:
        self._rest += data
        while True:
            head = 0 if self._greeting else 1
            size = head + int.from_bytes(self._rest[head : head + 4])
            if len(self._rest) < max(size, head + 4):
                return
            message, self._rest = self._rest[:size], self._rest[size:]
            self._greeting = self._greeting and message[4:6] == _NO_PROTOCOL
            yield message
