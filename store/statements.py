"""SQL lives in files: one sentence on top, one statement below."""

from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).with_name("sql")


@cache
def statement(name: str) -> str:
    """Read `sql/name.sql` once; the same text every time is what lets PostgreSQL keep its plan."""
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
