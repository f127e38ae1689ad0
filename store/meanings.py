"""What a refusal of the database means where no constraint has a name: by SQLSTATE, or its first letters."""

from dataclasses import dataclass
from typing import Final

from statemachine.refusals import LeaseLost, LostRace, Refusal, Unavailable


@dataclass(frozen=True, slots=True)
class Meaning:
    """Hold a stable code, one sentence, the next step, and what kind of refusal it is."""

    code: str
    sentence: str
    hint: str = ""
    kind: type[Refusal] = Refusal

    def refusal(self, **facts: object) -> Refusal:
        """Make the exception, with the facts of this case."""
        if issubclass(self.kind, LeaseLost):
            return self.kind(self.sentence, hint=self.hint, **facts)
        return self.kind(self.code, self.sentence, hint=self.hint, **facts)


_AGAIN: Final = "try again"
_GRANTS: Final = "connect as a database role that may"
_UPGRADE: Final = "run: tasks db upgrade"

STATES: Final[dict[str, Meaning]] = {
    "55P03": Meaning("lock_timeout", "somebody else holds a row that this needs", _AGAIN, LostRace),
    "40P01": Meaning("deadlock", "two transactions waited for each other and this one gave way", _AGAIN, LostRace),
    "40001": Meaning("conflict", "another transaction changed the same row first", _AGAIN, LostRace),
    "57014": Meaning("statement_timeout", "the database did not finish in time", _AGAIN, LostRace),
    "42501": Meaning("not_permitted", "the database role in use may not do that", _GRANTS),
    "23502": Meaning("incomplete_row", "a column that must be filled was left empty"),
    "22": Meaning("bad_value", "the database cannot store one of the values in its column"),
    "25006": Meaning("database_read_only", "the database accepts no changes", "connect to the primary", Unavailable),
    "53100": Meaning("database_full", "the database has no room left on its disk", "make room", Unavailable),
    "53300": Meaning("too_many_connections", "the database has no connection left", _AGAIN, Unavailable),
    "53": Meaning("database_out_of_resources", "the database ran out of memory or files", _AGAIN, Unavailable),
    "42P01": Meaning("schema_mismatch", "a table this program needs is not there", _UPGRADE, Unavailable),
    "42703": Meaning("schema_mismatch", "a column this program needs is not there", _UPGRADE, Unavailable),
    "25P03": Meaning("connection_lost", "a transaction stayed idle too long and was ended", _AGAIN, Unavailable),
    "57P": Meaning("connection_lost", "the database server ended the connection", _AGAIN, Unavailable),
    "08": Meaning("connection_lost", "the connection to the database was lost", _AGAIN, Unavailable),
}
