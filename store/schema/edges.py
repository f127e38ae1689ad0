"""The vocabulary: which moves exist, seeded by the migrations."""

from sqlalchemy import PrimaryKeyConstraint

from store.schema.columns import Table, names, words


class TaskEdge(Table, table=True):
    """Allow one event to move a task from a state to a state."""

    __tablename__ = "task_edge"
    __table_args__ = (PrimaryKeyConstraint("event", "source", "dest", name="task_edge_pkey"),)

    event: str = words(key=True)
    source: str = words(key=True)
    dest: str = words(key=True)
    who: list[str] = names()


class NounEdge(Table, table=True):
    """Allow a row of another noun to go from a state to a state."""

    __tablename__ = "noun_edge"
    __table_args__ = (PrimaryKeyConstraint("noun", "source", "dest", name="noun_edge_pkey"),)

    noun: str = words(key=True)
    source: str = words(key=True)
    dest: str = words(key=True)
