"""Which database the `tasks db` commands work on, whatever its schema: its URLs for us, for its owner, for a person."""

import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cli.frame.context import EMBEDDED, Context
from statemachine.refusals import NotFound, Refusal
from store.addresses import parse

_PASSWORD: Final = re.compile(r"\s*\bpassword=('(?:[^'\\]|\\.)*'|\S*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The product's own URL, and the one of whoever may change the schema."""

    url: str
    owner: str
    embedded: bool

    @property
    def where(self) -> str:
        """Say where it is, without its password."""
        return f"embedded server, {parse(self.url)}" if self.embedded else str(parse(self.url))


def place(context: Context) -> Place:
    """Find the database; an embedded server is started, and let go of when the command ends."""
    settings = context.settings
    if settings.database_url is not None:
        return Place(
            url=settings.database_url, owner=settings.direct_database_url or settings.database_url, embedded=False
        )
    from store import embedded  # noqa: PLC0415 - only who has no server of its own pays for it

    server = embedded.attach(settings.state, patience=EMBEDDED)
    context.endings.callback(server.leave)
    return Place(url=server.url, owner=server.admin_url, embedded=True)


def psql(at: Place, arguments: Sequence[str]) -> tuple[str, list[str], dict[str, str]]:
    """Build the call of psql: program, arguments, and the password where no process list shows it."""
    conninfo = parse(at.url).conninfo
    found = _PASSWORD.search(conninfo)
    secret = {"PGPASSWORD": _unquoted(found[1])} if found else {}
    return _program(), ["psql", _PASSWORD.sub("", conninfo).strip(), *arguments], secret


def talk(program: str, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Hand the terminal to a program until it ends; Ctrl-C is its own meanwhile.

    Replacing this process instead would let go of the embedded server's lock, and its next user would stop it.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return os.spawnve(os.P_WAIT, program, list(arguments), {**os.environ, **environment})  # noqa: S606 - no shell
    finally:
        signal.signal(signal.SIGINT, before)


def _program() -> str:
    found = shutil.which("psql") or _of_the_wheel()
    if found is None:
        raise NotFound("psql_missing", "there is no psql to be found", hint="install it, or use: tasks db url")
    return found


def _of_the_wheel() -> str | None:
    from store.programs import folder_of_programs  # noqa: PLC0415 - only where none is installed

    try:
        return shutil.which("psql", path=str(folder_of_programs(None)))
    except Refusal:
        return None


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1] if value.startswith("'") else value)
