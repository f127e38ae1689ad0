"""Constraints by their exact names: `store/constraints.py` gives each a meaning."""

from sqlalchemy import ForeignKeyConstraint


def refers(name: str, columns: str, to: str, *, late: bool = False, circular: bool = False) -> ForeignKeyConstraint:
    """Refer with `columns` to `table(columns)`; `late` is heard at the end of the transaction.

    `circular` adds it after both tables are there.
    """
    table, _, keys = to.rstrip(")").partition("(")
    return ForeignKeyConstraint(
        columns.split(","),
        [f"{table}.{key}" for key in keys.split(",")],
        name=name,
        deferrable=True if late else None,
        initially="DEFERRED" if late else None,
        use_alter=circular,
    )
