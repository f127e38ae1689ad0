"""The two streams of the process: any locale, a closed pipe, a full disk or no stream at all, and never a crash.

A reader that goes away (`tasks log 7 | head`), or a log that cannot grow, silences the stream; the command goes on,
because what it does to a task matters more than who reads about it.
"""

import io
import os
import select
import sys
from typing import TextIO

_lost: list[Exception] = []


def steady() -> None:
    """Let no letter that the locale cannot write raise an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def settle() -> None:
    """Flush both streams, so that the interpreter finds nothing left to fail on at its end."""
    _write(sys.stdout, "")
    _write(sys.stderr, "")


def reader_left() -> bool:
    """Tell whether the reader of stdout went away; a flush that failed once does not fail again and cannot tell."""
    if sys.stdout is None:
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def on_terminal() -> bool:
    """Tell whether a person reads stdout."""
    return sys.stdout is not None and sys.stdout.isatty()


def complains_to_terminal() -> bool:
    """Tell whether a person reads stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


def write(text: str) -> None:
    """Write to stdout, at once."""
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """Write to stderr, at once."""
    _write(sys.stderr, text)


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout as they are."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except (OSError, ValueError) as error:
        _lose(sys.stdout, error)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # the caller closed it: `tasks list >&-`
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except (OSError, ValueError) as error:
        _lose(stream, error)


def _lose(stream: TextIO, error: Exception) -> None:
    """Remember that what was asked for could not be written; the command ends first, and then says so."""
    _silence(stream)
    if stream is sys.stdout:
        _lost.append(error)


def lost() -> Exception | None:
    """Tell why stdout does not hold what was asked for; None where it does, or where its reader left."""
    return _lost[0] if _lost else None


def _silence(stream: TextIO) -> None:
    """Send the rest nowhere: the reader left, or the disk that a log is written to is full."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, stream.fileno())
        stream.flush()
    except (OSError, ValueError):
        return
    finally:
        os.close(nothing)
