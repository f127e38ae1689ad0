"""The spine: every table, and everything the database keeps by itself."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, functions, triggers and seeds of 0001_spine.sql."""
    _run("0001_spine.sql")


def downgrade() -> None:
    """Take them away again."""
    _run("0001_spine.down.sql")


def _run(name: str) -> None:
    # exec_driver_sql leaves `:word` and `%` alone; text() would read both as parameters.
    script = Path(__file__).with_name(name).read_text(encoding="utf-8")
    if op.get_context().as_sql:
        op.execute(script)
    else:
        op.get_bind().exec_driver_sql(script)
