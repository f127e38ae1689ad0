"""The one place that starts git: built-in plumbing, settings of our own, nothing inherited.

The second wall, not the first: no call ever names an agent's `.git`, an agent's folder or an agent's tree.
"""

import contextlib
import functools
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Final, NoReturn

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.repository import children, hardening
from workspace.repository.children import Input, Pipe

PATIENCE: Final = timedelta(minutes=5)
OUTPUT: Final = 256 << 20
OLDEST: Final = (2, 30)

_BUILTINS: Final = """
    apply cat-file check-attr check-ignore commit-tree config diff-files diff-index diff-tree for-each-ref
    format-patch fsck hash-object index-pack init ls-files ls-tree merge-base pack-objects push read-tree rev-list
    rev-parse symbolic-ref update-index update-ref verify-pack version worktree write-tree
"""
BUILTINS: Final = frozenset(_BUILTINS.split())

PRIVATE: Final = 0o077
INHERITED: Final = -1
_ERRORS: Final = 1 << 16


class GitFailed(Refusal):
    """Tell that git could not do what it was asked; `status` is its exit status, `errors` what it said."""

    def __init__(self, code: str, message: str, *, hint: str = "", status: int = 0, errors: str = "") -> None:
        super().__init__(code, message, hint=hint, status=status, errors=errors)
        self.status = status
        self.errors = errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Describe one run of git; it starts nothing.

    `durable` asks git to flush what it writes. `cut` takes output past `limit` for cut, not for a failure.
    `theirs` reads a person's repository as it is to them; `umask` is what git and its children write with; `folder` is
    the person's own work tree that they asked to have changed.
    """

    arguments: tuple[str, ...]
    git_dir: Path | None
    stdin: Input = b""
    env: Mapping[str, str] = field(default_factory=dict)
    allow_file: bool = False
    durable: bool = True
    cut: bool = False
    timeout: timedelta = PATIENCE
    limit: int = OUTPUT
    theirs: bool = False
    umask: int = PRIVATE
    folder: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Hold what one run of git said. An exit status is a fact here, never a verdict."""

    status: int
    output: bytes
    errors: str
    cut: bool = False


def run(
    *arguments: str,
    git_dir: Path | None,
    stdin: Input = b"",
    env: Mapping[str, str] | None = None,
    allow_file: bool = False,
    durable: bool = True,
    timeout: timedelta = PATIENCE,
    limit: int = OUTPUT,
) -> bytes:
    """Run one built-in of git and return what it printed; any other exit than 0 raises `GitFailed`."""
    call = Call(
        arguments=arguments,
        git_dir=git_dir,
        stdin=stdin,
        env=env or {},
        allow_file=allow_file,
        durable=durable,
        timeout=timeout,
        limit=limit,
    )
    return must(call)


def must(call: Call) -> bytes:
    """Run one call and return what it printed; any other exit than 0 raises `GitFailed`."""
    outcome = perform(call)
    if outcome.status:
        fail(call, outcome.status, outcome.errors)
    return outcome.output


def perform(call: Call) -> Outcome:
    """Run one call and return its exit status too; raises only where a bound was broken."""
    with children.opened(call.stdin) as stdin, children.tended(_start(call, stdin)) as process:
        output = Pipe(stream=_pipe(process.stdout), room=call.limit, strict=True)
        errors = Pipe(stream=_pipe(process.stderr), room=_ERRORS)
        broken = children.gather([process], [output, errors], call.timeout)
    cut = broken == "output" and call.cut
    if broken and not cut:
        _overrun(call, broken)
    return Outcome(
        status=0 if cut else process.returncode, output=bytes(output.kept), errors=_text(errors.kept), cut=cut
    )


def pipe(producer: Call, consumer: Call) -> bytes:
    """Feed what one call prints into another and return what that one prints; both must exit 0."""
    with (
        children.opened(producer.stdin) as stdin,
        children.tended(_start(producer, stdin)) as first,
        children.tended(_start(consumer, _pipe(first.stdout))) as second,
    ):
        _pipe(first.stdout).close()
        output = Pipe(stream=_pipe(second.stdout), room=consumer.limit, strict=True)
        complaints = [Pipe(stream=_pipe(process.stderr), room=_ERRORS) for process in (first, second)]
        broken = children.gather([first, second], [output, *complaints], consumer.timeout)
    if broken:
        _overrun(consumer, broken)
    # The consumer's complaint first: a producer whose reader went away only says that the pipe broke.
    for call, process, said in ((consumer, second, complaints[1]), (producer, first, complaints[0])):
        if process.returncode:
            fail(call, process.returncode, _text(said.kept))
    return bytes(output.kept)


@contextlib.contextmanager
def stream(
    *arguments: str,
    git_dir: Path,
    stdin: Input = b"",
    env: Mapping[str, str] | None = None,
    timeout: timedelta = PATIENCE,
) -> Iterator[IO[bytes]]:
    """Yield what git prints as a file, for output too long to hold; leaving early ends git without a complaint."""
    call = Call(arguments=arguments, git_dir=git_dir, stdin=stdin, env=env or {}, timeout=timeout)
    with (
        children.scratch() as errors,
        children.opened(call.stdin) as given,
        children.tended(_start(call, given, stderr=errors)) as process,
    ):
        with children.alarm(process, timeout) as rung:
            output = _pipe(process.stdout)
            yield output
            if output.read(1):
                children.kill(process)
                return
            process.wait()
        errors.seek(0)
        if rung.is_set():
            _overrun(call, "time")
        if process.returncode:
            fail(call, process.returncode, _text(errors.read(_ERRORS)))


def fail(call: Call, status: int, errors: str) -> NoReturn:
    """Raise what git complained about."""
    raise GitFailed(
        "git_failed",
        f"git {call.arguments[0]} ended with {status}: {quote(errors.strip())}",
        status=status,
        errors=errors,
    )


@functools.cache
def binary() -> str:
    """Find git once, by absolute path, and refuse one too old to be told what it must be told."""
    path = next(filter(_executable, (f"{folder}/git" for folder in _search_path())), "")
    if not path:
        raise GitFailed("git_missing", "git is not installed", hint="install git 2.30 or newer")
    printed = subprocess.run(
        [path, "version"], env=hardening.environment(path, allow_file=False), capture_output=True, check=False
    ).stdout
    check_version(printed.decode("ascii", "replace"))
    return path


def check_version(printed: str) -> None:
    """Refuse a git that is older than the settings this module relies on, or of no version at all."""
    found = re.search(r"(\d+)\.(\d+)", printed)
    if not found or tuple(map(int, found.groups())) < OLDEST:
        raise GitFailed(
            "git_too_old",
            f"git is too old: {quote(printed.strip(), 80)}",
            hint=f"install git {'.'.join(map(str, OLDEST))} or newer",
        )


def command(call: Call) -> list[str]:
    """Build the argument list of a call."""
    if call.arguments[0] not in BUILTINS:
        raise ValueError(f"git {call.arguments[0]} is not on the list of what the product runs")
    where = [f"--git-dir={call.git_dir}"] if call.git_dir else []
    settings = hardening.settings(allow_file=call.allow_file, durable=call.durable)
    return [binary(), "--no-pager", *where, *settings, *call.arguments]


def environment(call: Call) -> dict[str, str]:
    """Build the whole environment of a call."""
    base = hardening.theirs() if call.theirs else hardening.environment(binary(), allow_file=call.allow_file)
    return base | dict(call.env)


def _start(call: Call, stdin: IO[bytes], stderr: IO[bytes] | int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return children.spawn(
        command(call), env=environment(call), stdin=stdin, stderr=stderr, umask=call.umask, folder=call.folder
    )


def _search_path() -> list[str]:
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *os.defpath.split(os.pathsep)]
    return [folder for folder in folders if folder.startswith("/")]


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - a string for a string


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("the child was started without this pipe")
    return stream


def _text(errors: bytes | bytearray) -> str:
    return errors.decode("utf-8", "replace")


def _overrun(call: Call, broken: str) -> NoReturn:
    if broken == "time":
        seconds = call.timeout.total_seconds()
        raise GitFailed("git_timeout", f"git {call.arguments[0]} did not end within {seconds:g} s and was ended")
    raise GitFailed("git_output_limit", f"git {call.arguments[0]} printed more than {call.limit} bytes and was ended")
