"""Push an approved commit: one compare-and-swap of one branch, fast-forward only.

Our side runs hardened as everywhere. The receiving side is the person's: their config and their hooks decide there,
and a hook of theirs that says no is heard. Nothing is written to their config; what a clean work tree needs to follow
its branch is said to that one receiving git alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NoReturn

from statemachine.refusals import LostRace, Refusal
from statemachine.texts import quote
from workspace.disk import durability, names
from workspace.repository import git, hardening, repositories, targets
from workspace.repository.targets import TargetState, holds, target_state

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.repository.repositories import RunnerRepository

__all__ = ["PATIENCE", "Pushed", "TargetState", "check_strategy", "holds", "push_fast_forward", "target_state"]

PATIENCE: Final = timedelta(minutes=5)

_RECEIVING: Final = (
    "receive.denyCurrentBranch=updateInstead",
    "receive.autoGC=false",
    "receive.unpackLimit=1",  # what arrives is one pack, which can be flushed by name
    "core.fsync=all",
    "core.fsyncMethod=fsync",
)
_WORK_TREE: Final = re.compile(
    r"work(ing)? ?(tree|directory)|currently checked out|unstaged|up-to-date check", re.IGNORECASE
)
_LOCKED: Final = re.compile(r"failed to update ref|cannot lock ref|stale info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """Say what was pushed; `work_tree` is the checked-out one that followed, if one did."""

    tip: str
    work_tree: Path | None


def check_strategy(strategy: str) -> None:
    """Refuse what cannot be done yet.

    Raises:
        Refusal: `strategy_unsupported`.
    """
    if strategy != "ff":
        raise Refusal(
            "strategy_unsupported",
            f"the merge strategy {quote(strategy)} is not supported yet, only ff",
            hint="use --strategy ff, or `tasks export` and merge by hand",
            strategy=strategy,
        )


def push_fast_forward(
    repo: RunnerRepository,
    commit: str,
    *,
    target: str | Path,
    branch: str,
    old: str | None,
    timeout: timedelta = PATIENCE,
) -> Pushed:
    """Move a target's branch from `old` (None: from nothing) to a commit that descends from it.

    Once this returned or raised, no push of it can still be running: its processes have ended.

    Raises:
        Refusal: `already_merged`, `target_moved`, `not_fast_forward`, `target_checked_out`, `target_refused` (a hook
            or setting of the target, with its words), `target_unreadable`: branch and work tree are as they were.
            `push_unconfirmed`: the target cannot be read any more, so nobody knows.
        LostRace: `lock_timeout` where another git holds the branch.
    """
    state = target_state(target, branch)
    _check(repo, state, commit, old)
    call = _push(repo, state, commit, old, timeout)
    try:
        outcome = git.perform(call)
    except git.GitFailed:
        if _after(state).tip != commit:
            raise
    else:
        now = _after(state) if outcome.status else None
        if now and now.tip != commit:
            _refused(now, outcome, old)
    with contextlib.suppress(OSError):  # what is merged is merged, flushed or not
        _flush(state)
    return Pushed(tip=commit, work_tree=state.checked_out)


def _check(repo: RunnerRepository, state: TargetState, commit: str, old: str | None) -> None:
    if holds(state, commit):
        raise Refusal("already_merged", f"{state.branch} of {state.place.path} already holds {commit}", tip=state.tip)
    if state.tip != old:
        _moved(state, old)
    if state.tip and not (repositories.contains(repo, state.tip) and repositories.is_ancestor(repo, state.tip, commit)):
        raise Refusal(
            "not_fast_forward",
            f"{commit} does not descend from {state.branch}, which is at {state.tip}",
            hint="take it out with `tasks export ID --format patch` and merge by hand",
            tip=state.tip,
        )
    if state.obstacle:
        _checked_out(state, state.obstacle)
    if found := targets.in_the_way(repo, state, commit):
        shown = ", ".join(quote(names.text(path)) for path in found[:5])
        _checked_out(state, f"files that are in no commit would be overwritten: {shown}")


def _push(repo: RunnerRepository, state: TargetState, commit: str, old: str | None, timeout: timedelta) -> git.Call:
    return git.Call(
        arguments=(
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            f"--force-with-lease={state.ref}:{old or ''}",
            f"--receive-pack={_receiver()}",
            str(state.place.common),
            f"{repositories.check_id(repo, commit)}:{state.ref}",
        ),
        git_dir=repo.path,
        allow_file=True,
        timeout=timeout,
        umask=git.INHERITED,
    )


def _receiver() -> str:
    """Spell the receiving side's command: an environment as the person has it, and one push's worth of settings."""
    env = shutil.which("env", path=os.defpath) or "/usr/bin/env"
    theirs = [f"{key}={value}" for key, value in hardening.theirs().items()]
    settings = [part for setting in _RECEIVING for part in ("-c", setting)]
    return shlex.join([env, "-i", *theirs, git.binary(), *settings, "receive-pack"])


def _after(state: TargetState) -> TargetState:
    """Look at the target again; what a push did is read there, never guessed from how it ended."""
    try:
        return target_state(state.place.path, state.branch)
    except Refusal as refusal:
        raise Refusal(
            "push_unconfirmed",
            f"whether the push arrived cannot be read: {refusal.message}",
            hint="when the target can be read again, run `tasks recover`",
            target=str(state.place.path),
        ) from refusal


def _refused(now: TargetState, outcome: git.Outcome, old: str | None) -> NoReturn:
    said = f"{outcome.output.decode('utf-8', 'replace')}\n{outcome.errors}".strip()
    found = re.search(r"^!\t.*\t\[[^\]]*rejected\] \((.*)\)$", said, re.MULTILINE)
    if not found:
        raise targets.unreadable(now.place.path, quote(said))
    if now.tip != old:
        _moved(now, old)
    words = "\n".join(re.findall(r"^remote: (.*?)\s*$", outcome.errors, re.MULTILINE))
    if now.checked_out and _WORK_TREE.search(found[1]):
        _checked_out(now, found[1] + (f": {quote(words)}" if words else ""))
    if _LOCKED.search(found[1]):
        raise LostRace("lock_timeout", f"{now.ref} of {now.place.path} is locked by another git", reason=found[1])
    raise Refusal(
        "target_refused",
        f"{now.place.path} refused the push ({quote(found[1])}): {quote(words)}",
        hint="settle it with who keeps the target, then merge again; the approval stands",
        reason=found[1],
        said=words,
    )


def _moved(state: TargetState, old: str | None) -> NoReturn:
    raise Refusal(
        "target_moved",
        f"{state.branch} of {state.place.path} is no longer at {old or 'nothing'}",
        hint="look at the target again, then merge again",
        found=state.tip,
        expected=old,
    )


def _checked_out(state: TargetState, why: str) -> NoReturn:
    raise Refusal(
        "target_checked_out",
        f"{state.checked_out} has {state.branch} checked out and cannot follow it: {why}",
        hint=f"git -C {shlex.quote(str(state.checked_out))} status",
        work_tree=str(state.checked_out),
    )


def _flush(state: TargetState) -> None:
    pack = state.place.common / "objects" / "pack"
    durability.flush_chain(pack, state.place.common)
    if (state.place.common / state.ref).exists():
        durability.flush_chain(state.place.common / state.ref, state.place.common)
