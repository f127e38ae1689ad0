"""Repositories: where tasks come from, where merges go, and the policy in force."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from statemachine.refusals import NotFound
from store.engine import Connection
from store.rows import document, many, one


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One configured repository; `runner` names its repository on the runner's disk."""

    id: int
    runner: UUID
    name: str
    source: str
    target: str
    object_format: str
    raw_attributes: bool
    policy: dict[str, Any]
    policy_version: int
    added_by: str
    added_at: datetime


def add(
    db: Connection,
    *,
    runner: UUID,
    name: str,
    source: str,
    target: str,
    object_format: str,
    raw_attributes: bool,
    actor: str,
    policy: dict[str, Any] | None = None,
) -> Repository:
    """Add a repository; its name and its source are each unique (`name_taken`, `already_added`)."""
    added = one(
        db,
        Repository,
        "add_repository",
        runner=runner,
        name=name,
        source=source,
        target=target,
        object_format=object_format,
        raw_attributes=raw_attributes,
        policy=document(policy or {}),
        actor=actor,
    )
    assert added is not None  # noqa: S101 - an INSERT ... RETURNING gives its row or raises
    return added


def find(db: Connection, word: str) -> Repository | None:
    """Find a repository by its name or by the path or URL it was added from."""
    return one(db, Repository, "find_repository", word=word)


def get(db: Connection, repository: int) -> Repository:
    """Read one repository."""
    found = one(db, Repository, "get_repository", repository=repository)
    if found is None:
        raise NotFound("repository_not_found", f"there is no repository {repository}", hint="tasks repo list")
    return found


def listing(db: Connection) -> list[Repository]:
    """List every repository by name."""
    return many(db, Repository, "list_repositories")
