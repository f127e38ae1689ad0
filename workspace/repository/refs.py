"""Name the product's refs and move them, always by compare-and-swap; nothing reads a ref as authority."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from statemachine.refusals import LostRace, Refusal
from statemachine.texts import quote
from workspace.disk import durability
from workspace.repository import git

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from workspace.repository.repositories import RunnerRepository

PREFIX: Final = "refs/weighlock"
_BAD_NAME: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^-|^@$|\.$")
# Who a reflog names; the ledger says who asked for it.
_KEEPER: Final = {"GIT_COMMITTER_NAME": "Weighlock", "GIT_COMMITTER_EMAIL": "noreply@weighlock.invalid"}


def task_ref(task: int) -> str:
    """Name the copy of a task's live head."""
    return f"{PREFIX}/tasks/{task:d}"


def base_ref(task: int) -> str:
    """Name what keeps a task's base."""
    return f"{PREFIX}/base/{task:d}"


def attempt_ref(attempt: UUID) -> str:
    """Name what keeps an attempt's commit until it is settled."""
    return f"{PREFIX}/attempts/{attempt}"


def discarded_ref(attempt: UUID) -> str:
    """Name what keeps a commit that a person discarded."""
    return f"{PREFIX}/discarded/{attempt}"


def partial_ref(attempt: UUID) -> str:
    """Name what keeps the partial output of an attempt; it is never mergeable."""
    return f"{PREFIX}/partial/{attempt}"


def branch_ref(branch: str) -> str:
    """Name a person's branch in full, or refuse what git would not have as a name.

    Raises:
        Refusal: `bad_branch`.
    """
    parts = branch.split("/")
    if _BAD_NAME.search(branch) or any(part.startswith(".") or part.endswith(".lock") or not part for part in parts):
        raise Refusal(
            "bad_branch", f"{quote(branch)} cannot be the name of a branch", hint="name a branch of the target"
        )
    return f"refs/heads/{branch}"


def listing(repo: RunnerRepository, *names: str) -> dict[str, str]:
    """List the refs at or beneath full names, each with its id; of none, none."""
    if not names:
        return {}
    printed = git.run("for-each-ref", "--format=%(objectname) %(refname)", *names, git_dir=repo.path)
    pairs = (line.split(" ", 1) for line in printed.decode("ascii").splitlines())
    return {name: found for found, name in pairs}


def read(repo: RunnerRepository, ref: str) -> str | None:
    """Return the id one ref holds, or None where there is no such ref."""
    return listing(repo, ref).get(ref)


def update(repo: RunnerRepository, ref: str, *, new: str, old: str | None) -> None:
    """Move a ref from `old` (None: from nothing) to `new`, and flush it with its folders.

    Raises:
        LostRace: `conflict` where the ref holds something else; `lock_timeout` where a lock stays in the way.
    """
    _swap(repo, ref, f"update {ref}\0{new}\0{old or repo.nothing}\0", new=new, old=old)
    _flush(repo, ref)


def delete(repo: RunnerRepository, ref: str, *, old: str) -> None:
    """Remove a ref that holds `old`; one that is gone already is gone."""
    _swap(repo, ref, f"delete {ref}\0{old}\0", new=None, old=old)
    _flush(repo, ref)


def hold(repo: RunnerRepository, ref: str, commit: str) -> None:
    """Create a ref, or find it there already holding exactly this; anything else in it is a conflict."""
    update(repo, ref, new=commit, old=None)


def _flush(repo: RunnerRepository, ref: str) -> None:
    """Flush what is there of a ref: the file may be packed away, and git removes folders that it emptied."""
    there = next(path for path in (repo.path / ref, *(repo.path / ref).parents) if path.exists())
    durability.flush_chain(there, repo.path)


def _swap(repo: RunnerRepository, ref: str, order: str, *, new: str | None, old: str | None) -> None:
    call = git.Call(
        arguments=("update-ref", "--stdin", "-z", "--create-reflog", "-m", "weighlock"),
        git_dir=repo.path,
        stdin=order.encode(),
        env=_KEEPER,
    )
    outcome = git.perform(call)
    if outcome.status == 0:
        return
    found = read(repo, ref)
    if found == new:
        return
    if found != old:
        raise LostRace(
            "conflict",
            f"{ref} holds {found or 'nothing'}, not {old or 'nothing'}",
            hint="look at the task again; somebody was faster",
            ref=ref,
            found=found,
            expected=old,
        )
    _refuse_locked(repo, ref)
    git.fail(call, outcome.status, outcome.errors)


def _refuse_locked(repo: RunnerRepository, ref: str) -> None:
    """Name the lock in the way. It is never removed here: whether its owner lives is for a person to say."""
    locks: tuple[Path, ...] = (repo.path / f"{ref}.lock", repo.path / "packed-refs.lock")
    for lock in locks:
        if lock.exists():
            raise LostRace(
                "lock_timeout",
                f"{ref} is locked by {lock}",
                hint=f"if no git runs in {repo.path}, remove the file {lock} and try again",
                ref=ref,
                lock=str(lock),
            )
