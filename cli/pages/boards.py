"""The board: a page of tasks with what each waits for."""

from dataclasses import dataclass

from cli.frame.context import Context
from cli.frame.screen import when
from cli.pages.views import is_for_later
from statemachine.refusals import NotFound
from statemachine.tasks import TaskState
from statemachine.texts import one_line, quote
from store import gates, repositories, tasks, workers
from store.engine import Connection
from store.gates import Gate
from store.repositories import Repository
from store.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One task of the board."""

    task: Task
    repository: Repository
    gate: Gate | None
    later: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One page, and whether there may be another."""

    rows: list[Row]
    more: bool


def read(db: Connection, *, state: TaskState | None, repository: str | None, before: int | None, limit: int) -> Board:
    """Read one page, newest first."""
    known = {each.id: each for each in repositories.listing(db)}
    only = named(db, repository).id if repository is not None else None
    found = tasks.board(db, state=state, repository=only, before=before, limit=limit)
    now = workers.clock(db)
    rows = [
        Row(
            task=each,
            repository=known[each.repository_id],
            gate=gates.open_gate(db, each),
            later=f"not before {when(each.available_at)}" if is_for_later(each, now) else "",
        )
        for each in found
    ]
    return Board(rows=rows, more=len(rows) == limit)


def show(context: Context, board: Board) -> None:
    """Print the page."""
    if context.flags.json:
        from cli.pages import nouns  # noqa: PLC0415 - a person who looks at the board needs none of it

        root = context.settings.root
        context.screen.document([nouns.summary(row.task, row.repository, row.gate, root) for row in board.rows])
        return
    if not board.rows:
        context.screen.say("no tasks")
        context.screen.next_step("tasks run PLAN --repo PATH --agent 'COMMAND'", "tasks demo")
        return
    context.screen.table(("task", "state", "waits for", "repository", "title", "added"), map(_cells, board.rows))
    if board.more:
        context.screen.next_step(f"tasks list --before {board.rows[-1].task.id}")


def _cells(row: Row) -> tuple[object, ...]:
    task = row.task
    waits = row.gate.kind.value if row.gate else row.later
    waits += f" ({task.owed_findings} owed)" if task.owed_findings else ""
    return task.id, task.state.value, waits, one_line(row.repository.name), one_line(task.title), when(task.added_at)


def named(db: Connection, word: str) -> Repository:
    """Find a repository by its name or its path."""
    from pathlib import Path  # noqa: PLC0415 - only where a repository is named

    found = repositories.find(db, word) or repositories.find(db, str(Path(word).expanduser().resolve()))
    if found is None:
        raise NotFound("repository_not_found", f"there is no repository {quote(word)}", hint="tasks repo list")
    return found
