"""What an attempt left that was not committed: found, read, and refused where it was unsafe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.frame.context import Context
from cli.frame.identifiers import Noun, Number, Prefix, short
from cli.frame.lookup import attempt_at
from statemachine.findings import FindingState
from statemachine.refusals import NotFound, Refusal
from statemachine.texts import quote
from store import findings, outputs, repositories, tasks
from store.attempts import Attempt
from store.outputs import Output
from store.repositories import Repository
from workspace.disk.files import read_plainly
from workspace.repository.repositories import open_repository
from workspace.results import partials

_LONGEST: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """An attempt with the repository that keeps its leavings and the file that shows them, if there is one."""

    attempt: Attempt
    repository: Repository
    saved: Output | None


def find(context: Context, named: Number | Prefix) -> Left:
    """Find what an attempt left."""
    with context.database.connection() as db:
        attempt = attempt_at(db, named)
        saved = next((each for each in outputs.listing(db, attempt.task_id) if _is_diff(each, attempt)), None)
        repository = repositories.get(db, tasks.get(db, attempt.task_id).repository_id)
    return Left(attempt=attempt, repository=repository, saved=saved)


def readable(left: Left) -> bytes:
    """Read the diff that was saved, notices first; it is of at most a mebibyte."""
    if left.saved is None:
        raise NotFound(
            "output_not_found",
            f"attempt {short(Noun.attempt, left.attempt.id)} is {left.attempt.state} and left nothing uncommitted",
            hint=f"tasks show {left.attempt.task_id}",
        )
    try:
        return read_plainly(Path(left.saved.path), _LONGEST)
    except OSError as error:
        raise NotFound(
            "output_not_found",
            f"it is not on this host: {quote(left.saved.path)} on host {quote(left.saved.host)}",
            hint="ask there; its commit, if git could keep one, goes with the runner repository: --patch",
        ) from error


def patch(context: Context, left: Left) -> bytes:
    """Write the exact patch from the runner repository of this host."""
    return partials.patch(open_repository(context.root, left.repository.runner), left.attempt.id)


def refuse_unsafe(context: Context, left: Left) -> None:
    """Refuse to carry on what is owed, or was found to be unsafe."""
    with context.database.connection() as db:
        every = findings.listing(db, task=left.attempt.task_id, limit=None)
    about = (row for row in every if row.attempt_id == left.attempt.id)
    unsafe = [row for row in about if row.state is not FindingState.dismissed]
    if unsafe:
        raise Refusal(
            "output_unsafe",
            f"finding {unsafe[0].id} about this attempt is {unsafe[0].state}: {unsafe[0].summary}",
            hint=f"tasks finding show {unsafe[0].id}; `tasks output show` shows the content",
            findings=[row.id for row in unsafe],
        )


def _is_diff(output: Output, attempt: Attempt) -> bool:
    return output.attempt_id == attempt.id and output.kind == "diff"
