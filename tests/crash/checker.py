"""The one checker of everything that was killed: reads rows, refs, objects and files, and lists what is wrong.

What an agent did is read from a journal it kept itself, `attempt item` a line: it is the only witness that is not ours.
"""

import hashlib
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from tests.crash.laws import ALWAYS, AT_REST
from workspace.disk.roots import Root
from workspace.executors.scraps import scraps
from workspace.repository import git, refs, repositories
from workspace.repository.repositories import RunnerRepository

Rows = list[dict[str, Any]]
_DISCARDED = (
    "SELECT attempt_id, commit FROM commit_ledger WHERE task_id = %s AND commit IS NOT NULL AND state <> 'live'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Look at one database, as its administrator, and the root beside it."""

    url: str
    root: Root
    journal: Path | None = None

    def wrongs(self) -> list[str]:
        """List what is not as designed once nobody works any more and recovery had its turn; best: nothing."""
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as db:
            found = [*_lawless(db, {**ALWAYS, **AT_REST})]
            for row in _rows(db, "SELECT * FROM repository"):
                runner = repositories.open_repository(self.root, row["runner"])
                found += _refs(db, runner, row["id"])
                found += _commits(db, runner, row["id"])
                found += _locks(runner)
            found += [*_workspaces(db, self.root), *_outputs(db), *_folders(db, self.root)]
            return found + ([*_journal(db, self.journal)] if self.journal else [])


def _rows(db: "psycopg.Connection[Any]", query: str, *values: object) -> Rows:
    return db.execute(query.encode(), values).fetchall()


def _lawless(db: "psycopg.Connection[Any]", laws: Mapping[str, str]) -> Iterator[str]:
    for law, query in laws.items():
        for row in _rows(db, query):
            yield f"not so: {law}: {row}"


def _refs(db: "psycopg.Connection[Any]", runner: RunnerRepository, repository: int) -> Iterator[str]:
    """Refs are copies of the rows: what is open has its own, what is discarded is kept, nothing else is there."""
    there = refs.listing(runner, refs.PREFIX)
    tasks = _rows(db, "SELECT id, state, base, head FROM task WHERE repository_id = %s", repository)
    wanted, allowed = dict[str, str](), set[str]()
    for task in tasks:
        own = {refs.base_ref(task["id"]): task["base"], refs.task_ref(task["id"]): task["head"]}
        own |= {refs.discarded_ref(row["attempt_id"]): row["commit"] for row in _rows(db, _DISCARDED, task["id"])}
        partial = _rows(db, "SELECT id FROM attempt WHERE task_id = %s", task["id"])
        allowed |= own.keys() | {refs.partial_ref(row["id"]) for row in partial}
        wanted |= own if task["state"] not in {"merged", "cancelled"} else {}
    yield from (f"{ref} is at {there.get(ref)}, not {wanted[ref]}" for ref in wanted if there.get(ref) != wanted[ref])
    yield from (f"{ref} is nobody's" for ref in there.keys() - allowed)


def _commits(db: "psycopg.Connection[Any]", runner: RunnerRepository, repository: int) -> Iterator[str]:
    """What the ledger says is done is there, whole, with the parent it names and signed by its attempt."""
    query = (
        "SELECT ledger.* FROM commit_ledger AS ledger JOIN task ON task.id = task_id"
        " WHERE repository_id = %s AND commit IS NOT NULL"
    )
    for row in _rows(db, query, repository):
        try:
            said = git.run("cat-file", "commit", row["commit"], git_dir=runner.path).decode("utf-8", "replace")
        except git.GitFailed:
            yield f"{row['commit']} of task {row['task_id']} is not there"
            continue
        parents = [line.removeprefix("parent ") for line in said.split("\n\n")[0].splitlines() if line[:7] == "parent "]
        if parents != [row["parent"]] or str(row["attempt_id"]) not in said:
            yield f"{row['commit']} of task {row['task_id']} is not what the ledger says: {said!r}"
    checked = subprocess.run(
        ["git", f"--git-dir={runner.path}", "fsck", "--connectivity-only", "--no-dangling", "--no-progress"],
        capture_output=True,
        text=True,
        check=False,
    )
    if checked.returncode:
        yield f"{runner.path}: {checked.stdout}{checked.stderr}"


def _locks(runner: RunnerRepository) -> Iterator[str]:
    left = [*runner.path.rglob("*.lock"), *runner.path.glob("quarantine-*")]
    yield from (f"{each} was left" for each in left)


def _workspaces(db: "psycopg.Connection[Any]", root: Root) -> Iterator[str]:
    """What lies on the disk has a row that says why it may."""
    rows = {row["id"]: row for row in _rows(db, "SELECT id, state, path FROM allocation")}
    for folder in (root.workspaces, root.trash):
        for entry in folder.iterdir():
            row = rows.get(UUID(entry.name.removesuffix(".owner").rpartition("-")[2]))
            if row is None or row["state"] not in {"quarantined", "failed"}:
                yield f"{entry} lies there, and its row is {row}"


def _outputs(db: "psycopg.Connection[Any]") -> Iterator[str]:
    for row in _rows(db, "SELECT * FROM output"):
        path = Path(row["path"])
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != row["sha256"]:
            yield f"{path} is not the {row['kind']} that was recorded"


def _folders(db: "psycopg.Connection[Any]", root: Root) -> Iterator[str]:
    attempts = {str(row["id"]) for row in _rows(db, "SELECT id FROM attempt")}
    yield from (f"{folder} is no attempt's" for folder in root.attempts.iterdir() if folder.name not in attempts)
    yield from (f"{each} was left" for folder in root.attempts.iterdir() for each in scraps(folder))


def _journal(db: "psycopg.Connection[Any]", journal: Path) -> Iterator[str]:
    """An agent runs once for an attempt, after its row says so; what was unsafe is a finding, decided or owed."""
    lines = [line.split() for line in journal.read_text(encoding="ascii").splitlines()] if journal.exists() else []
    runs = Counter(UUID(attempt) for attempt, word in lines if word != "unsafe")
    rows = {row["id"]: row for row in _rows(db, "SELECT id, state, started_at, item_id FROM attempt")}
    found = {row["attempt_id"] for row in _rows(db, "SELECT attempt_id FROM finding")}
    for attempt, times in runs.items():
        row = rows.get(attempt)
        if times != 1 or row is None or row["started_at"] is None:
            yield f"the agent of {attempt} ran {times} times, and its row is {row}"
    for attempt, row in rows.items():
        if row["state"] == "completed" and row["item_id"] and attempt not in runs:
            yield f"{attempt} completed without an agent"
    for attempt, word in lines:
        if word == "unsafe" and UUID(attempt) not in found:
            yield f"what the agent of {attempt} did was unsafe, and there is no finding"
