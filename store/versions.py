"""Which schema the database has and which one this program knows, read without Alembic."""

from functools import cache
from pathlib import Path
from typing import Final

from statemachine.refusals import Unavailable
from store.connections import Connection

_UPGRADE: Final = "run: tasks db upgrade"


@cache
def migrations() -> Path:
    """Find the migrations: inside the installed package, or beside it in a checkout."""
    inside = Path(__file__).with_name("migrations")
    return inside if inside.is_dir() else Path(__file__).parents[1] / "migrations"


@cache
def known_versions() -> tuple[str, ...]:
    """List the revisions this program ships, oldest first; a file NNNN_noun.py is revision NNNN."""
    return tuple(sorted(path.name.partition("_")[0] for path in (migrations() / "versions").glob("[0-9]*_*.py")))


def installed_version(db: Connection) -> str | None:
    """Read the revision of the database's schema; None where there is no schema."""
    try:
        row = db.execute("SELECT max(version_num) AS version FROM alembic_version").fetchone()
    except Unavailable as missing:
        if missing.code != "schema_mismatch":
            raise
        return None
    return row["version"] if row else None


def check_known(installed: str | None) -> None:
    """Refuse a schema this program has never heard of; one that is missing or older is fine."""
    if installed is not None and installed not in known_versions():
        raise Unavailable(
            "schema_too_new",
            f"the database's schema is {installed}; this program knows up to {known_versions()[-1]}",
            hint="install a newer weighlock, or downgrade with the version that made it",
            installed=installed,
            known=known_versions()[-1],
        )


def check_schema(db: Connection) -> None:
    """Refuse a schema that is missing, older or newer than the one this program knows."""
    installed, newest = installed_version(db), known_versions()[-1]
    if installed is None:
        raise Unavailable("schema_missing", "the database has no tables of Weighlock yet", hint=_UPGRADE)
    check_known(installed)
    if installed != newest:
        raise Unavailable(
            "schema_too_old",
            f"the database's schema is {installed}; this program needs {newest}",
            hint=_UPGRADE,
            installed=installed,
            known=newest,
        )
