"""The agent's parent inside a sandbox: starts it in a session of its own, and says outside what it left behind.

Run by its path as `python -I -S inside.py REPORT [SOCKET PORT] -- COMMAND`; standard library only. With SOCKET it
carries connections from PORT on the sandbox's own loopback to that socket, behind which a proxy is. It writes JSON
lines to the descriptor REPORT: `{"up": true}`, then `{"error"}` or `{"left"}`. That is advice: whoever is outside ends
the whole namespace whatever is said here.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

_SETTLE = 0.25  # the other end of a pipeline needs a moment to notice that the agent is gone
_LOOK = 0.02
_LISTED, _WORDS = 20, 300  # all of it fits into a pipe, which nobody empties before the end
_SIGNALLED = 128
_BACKLOG, _CHUNK = 64, 65536
_SET_DUMPABLE = 4


def main(report: int, way: list[str], argv: list[str]) -> int:
    """Run the agent to its end and count what is left; return its exit code as a shell would."""
    # The agent is of the same user: it must neither look in here nor make reports of its own.
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    os.set_inheritable(report, False)  # noqa: FBT003 - it takes no name
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    _say(report, {"up": True})
    listener = socket.create_server(("127.0.0.1", int(way[1])), backlog=_BACKLOG) if way else None
    pid, error = _start(argv)
    if listener:
        threading.Thread(target=_forward, args=(listener, way[0]), daemon=True).start()
    status = _SIGNALLED - 1 if error else _ended(pid)
    _say(report, {"error": error} if error else {"left": _left()})
    return status


def _say(report: int, words: dict[str, object]) -> None:
    os.write(report, json.dumps(words).encode("ascii") + b"\n")


def _start(argv: list[str]) -> tuple[int, str]:
    """Start the agent; return why it could not be executed, or nothing."""
    verdict, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, write)
    os.close(write)
    with os.fdopen(verdict, encoding="utf-8", errors="replace") as answer:
        return pid, answer.read()


def _become(argv: list[str], verdict: int) -> NoReturn:
    try:
        os.setsid()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is the point
    except OSError as error:
        os.write(verdict, f"{error.strerror}: {argv[0]}".encode("utf-8", "replace"))
    os._exit(_SIGNALLED - 1)


def _forward(listener: socket.socket, place: str) -> NoReturn:
    while True:
        client, _ = listener.accept()
        proxy = socket.socket(socket.AF_UNIX)
        try:
            proxy.connect(place)
        except OSError:
            client.close()
            proxy.close()
            continue
        for ends in ((client, proxy), (proxy, client)):
            threading.Thread(target=_carry, args=ends, daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _ended(agent: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == agent:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNALLED - code


def _left() -> list[tuple[int, str]]:
    """List what is alive beside ourselves and the namespace's first process, once all had a moment to leave."""
    deadline = time.monotonic() + _SETTLE
    while (left := _living()) and time.monotonic() < deadline:
        time.sleep(_LOOK)
    return left[:_LISTED]


def _living() -> list[tuple[int, str]]:
    others = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    found = [(pid, _words(pid)) for pid in others if pid not in {1, os.getpid()}]
    return [(pid, words) for pid, words in found if words]


def _words(pid: int) -> str:
    """Say what a process is; nothing of one that is gone."""
    try:
        if (Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split() or [b"X"])[0] in {b"Z", b"X"}:
            return ""
        return os.fsdecode(Path("/proc", str(pid), "cmdline").read_bytes()[:_WORDS].replace(b"\0", b" ").strip()) or "?"
    except OSError:
        return ""


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(main(int(sys.argv[1]), sys.argv[2:split], sys.argv[split + 1 :]))
