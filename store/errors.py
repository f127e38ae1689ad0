"""What the database refuses, said as a domain error: the one place where constraint names get a meaning."""

from typing import Final

import psycopg

from statemachine.refusals import Refusal, Unavailable
from store.constraints import MEANINGS
from store.meanings import STATES, Meaning

_FIRST_LINE_LIMIT: Final = 300
_LOGIN: Final = ("authentication", "password", "pg_hba.conf", "role ")


class Ambiguous(Unavailable):
    """Say that the connection went away while the database was asked to keep something: look before trying again."""

    def __init__(self) -> None:
        super().__init__(
            "commit_ambiguous",
            "the connection to the database was lost before it answered; what was asked may or may not have been done",
            hint="look at the task again (tasks show ID) before trying again",
        )


def refusal_for(error: psycopg.Error | UnicodeEncodeError, *, closed: bool) -> Refusal | None:
    """Find the refusal behind an error of a statement; None where it is a fault of this program."""
    if isinstance(error, UnicodeEncodeError):
        return _bad_text()
    name = error.diag.constraint_name
    if name is not None and name in MEANINGS:
        return MEANINGS[name].refusal(constraint=name)
    if error.sqlstate is not None:
        return _by_state(error)
    if isinstance(error, psycopg.DataError):
        return _bad_text()
    if closed or isinstance(error, psycopg.OperationalError):
        return STATES["08"].refusal()
    return None


def unreachable(error: psycopg.Error, where: str) -> Unavailable:
    """Say why no connection could be opened, in the server's or the system's words, never with the password."""
    reason = _first_line(error)
    # Before a session exists the driver keeps no SQLSTATE; only the words tell.
    if any(word in reason for word in _LOGIN):
        hint = "check the user and password of TASKS_DATABASE_URL"
        return Unavailable("database_login_refused", f"{where}: {reason}", hint=hint, address=where)
    if reason.startswith("database ") and reason.endswith("does not exist"):
        hint = "create the database, then run: tasks db upgrade"
        return Unavailable("database_missing", f"{where}: {reason}", hint=hint, address=where)
    hint = "start the server, or check TASKS_DATABASE_URL; tasks doctor says which one is used"
    return Unavailable("database_unreachable", f"{where} does not answer: {reason}", hint=hint, address=where)


def _by_state(error: psycopg.Error) -> Refusal | None:
    state = error.sqlstate or ""
    for known in (state, state[:3], state[:2]):
        if known in STATES:
            return STATES[known].refusal(sqlstate=state)
    if state.startswith("23"):
        return _unnamed(error).refusal(sqlstate=state, constraint=error.diag.constraint_name)
    return None


def _unnamed(error: psycopg.Error) -> Meaning:
    # A constraint somebody added by hand, or a column left empty: named as the database names it.
    what = error.diag.constraint_name or f"{error.diag.table_name}.{error.diag.column_name}"
    return Meaning("constraint_violated", f"the database refused a row because of {what}")


def _bad_text() -> Refusal:
    return Refusal(
        "bad_text",
        "a text holds a character the database cannot store (NUL or half of a surrogate pair)",
        hint="take it out and try again",
    )


def _first_line(error: psycopg.Error) -> str:
    text = (error.diag.message_primary or str(error)).strip()
    # "connection failed: connection to server at "h" (1.2.3.4), port 5 failed: Connection refused\n\tIs the ..."
    line = text.splitlines()[0] if text else type(error).__name__
    return line.rsplit(" failed: ", 1)[-1].removeprefix("FATAL:").strip()[:_FIRST_LINE_LIMIT]
