"""Where the database is: a URL read, completed with our own settings, and told without its password."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from statemachine.refusals import Refusal

LOCK_TIMEOUT: Final = timedelta(seconds=2)
IDLE_TIMEOUT: Final = timedelta(seconds=15)

# A peer that vanished without a word is noticed within a minute, also in the middle of a statement.
_NETWORK: Final = {
    "connect_timeout": "5",
    "keepalives": "1",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "40000",
}
_NAME_LIMIT: Final = 63  # PostgreSQL cuts application_name there


@dataclass(frozen=True, slots=True)
class Address:
    """Name a database as libpq reads it; neither `str()` nor `repr()` shows the password."""

    conninfo: str = field(repr=False)

    def __str__(self) -> str:
        """Say host, port and database."""
        known = conninfo_to_dict(self.conninfo)
        host = known.get("host") or known.get("hostaddr") or known.get("service") or "localhost"
        return f"{host}:{known.get('port') or 5432}/{known.get('dbname') or known.get('user') or ''}"


def parse(url: str) -> Address:
    """Read a URL or a libpq string; a SQLAlchemy driver suffix is allowed and dropped."""
    plain = url.replace("postgresql+psycopg://", "postgresql://", 1)
    try:
        known = conninfo_to_dict(plain)
    except ProgrammingError:
        known = {}
    if not known or _misread(known):
        # Never in libpq's own words: they quote the part it stumbled on, which may be the password.
        raise Refusal(
            "bad_database_url",
            "the database URL cannot be read",
            hint="write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX",
        )
    return Address(make_conninfo("", **known))


def _misread(known: Mapping[str, object]) -> bool:
    # An unescaped @ or : of a password moves the rest of it into the host or the port.
    hosts, ports = str(known.get("host", "")).split(","), str(known.get("port", "")).split(",")
    return any("@" in host[1:] and not host.startswith("/") for host in hosts) or not all(
        port.isdecimal() or not port for port in ports
    )


def complete(address: Address, *, name: str, statement_timeout: timedelta) -> Address:
    """Add what every connection of ours has; what the URL says about itself wins."""
    given = conninfo_to_dict(address.conninfo)
    settings = {
        "TimeZone": "UTC",
        "statement_timeout": _milliseconds(statement_timeout),
        "lock_timeout": _milliseconds(LOCK_TIMEOUT),
        "idle_in_transaction_session_timeout": _milliseconds(IDLE_TIMEOUT),
        "default_transaction_isolation": "read\\ committed",
    }
    ours = " ".join(f"-c {key}={value}" for key, value in settings.items())
    options = f"{ours} {given.pop('options', '')}".rstrip()
    label = f"weighlock/{name}"[:_NAME_LIMIT]
    theirs = {**_NETWORK, **given}
    return Address(
        make_conninfo("", **{**theirs, "options": options, "application_name": label, "client_encoding": "UTF8"})
    )


def _milliseconds(duration: timedelta) -> str:
    return str(round(duration / timedelta(milliseconds=1)))
