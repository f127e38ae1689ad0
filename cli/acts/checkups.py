"""What the doctor looks at; each look ends well or says what to do, and none stops the others."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from cli.frame.context import Context
from statemachine.allocations import AllocationState
from statemachine.refusals import Refusal
from statemachine.tasks import CLOSED
from statemachine.texts import counted, listing, quote
from store import allocations, homes, tasks
from store.allocations import Allocation
from store.versions import known_versions
from workspace import executors
from workspace.agents import environments
from workspace.agents.hosts import host_id
from workspace.repository import git

OLDEST_SERVER: Final = 15
_NAMED: Final = 5
_KEPT: Final = {AllocationState.quarantined, AllocationState.failed, AllocationState.retired}


class Verdict(StrEnum):
    """Say whether a look ended well."""

    ok = "ok"
    warn = "warn"
    fail = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What one look found, and what to do about it."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


Look = Callable[[Context], Iterator[Checkup]]


def everything(context: Context) -> list[Checkup]:
    """Look at everything."""
    looks: dict[str, Look] = {
        "git": _git,
        "root": _root,
        "database": _database,
        "executor": _executor,
        "agent": _agents,
        "leftovers": _leftovers,
    }
    return [found for name, look in looks.items() for found in _told(name, look, context)]


def _told(name: str, look: Look, context: Context) -> Iterator[Checkup]:
    """Turn the refusal a look meets into what it found."""
    try:
        yield from look(context)
    except Refusal as refusal:
        yield Checkup(name=name, verdict=Verdict.fail, found=f"{refusal.message} [{refusal.code}]", advice=refusal.hint)


def _git(_: Context) -> Iterator[Checkup]:
    version = git.run("version", git_dir=None).decode("ascii", "replace").strip()
    yield Checkup(name="git", verdict=Verdict.ok, found=f"{version} at {git.binary()}")


def _root(context: Context) -> Iterator[Checkup]:
    yield Checkup(name="root", verdict=Verdict.ok, found=str(context.root.path))


def _database(context: Context) -> Iterator[Checkup]:
    with context.database.connection() as db:
        server = db.info.server_version // 10_000
    theirs = context.settings.database_url is not None
    where = str(context.database.address) if theirs else f"embedded in {homes.home_of(context.settings.state)}"
    found = f"{where}, PostgreSQL {server}, schema {known_versions()[-1]}"
    old = server < OLDEST_SERVER
    advice = f"use PostgreSQL {OLDEST_SERVER} or newer" if old else ""
    yield Checkup(name="database", verdict=Verdict.warn if old else Verdict.ok, found=found, advice=advice)


def _executor(context: Context) -> Iterator[Checkup]:
    name = context.settings.executor
    executor = executors.find(name, context.settings.sandbox)
    executor.probe()
    lacks = executor.unprotected
    yield Checkup(
        name="executor",
        verdict=Verdict.warn if lacks else Verdict.ok,
        found=lacks or f"{name} works; {executor.about}",
        advice="run only agents you trust, or all of this inside a machine of its own" if lacks else "",
    )


def _agents(context: Context) -> Iterator[Checkup]:
    for name, line in context.settings.agents.items():
        try:
            environments.command(line, prompt_file=Path("prompt.md"), prompt="")
        except Refusal as refusal:
            yield Checkup(name=f"agent {name}", verdict=Verdict.warn, found=refusal.message, advice=refusal.hint)
        else:
            yield Checkup(name=f"agent {name}", verdict=Verdict.ok, found=line)


def _leftovers(context: Context) -> Iterator[Checkup]:
    with context.database.connection() as db:
        held = allocations.leftovers(db, host=host_id(), silence=context.settings.lease)
        rows = [each for each in allocations.listing(db, host=host_id()) if each.state in _KEPT]
        closed = {task for task in {each.task_id for each in rows} if tasks.get(db, task).state in CLOSED}
    if held:
        found = f"{counted(len(held), 'workspace')} that no attempt holds"
        yield Checkup(name="leftovers", verdict=Verdict.warn, found=found, advice="tasks recover")
    waiting = [each for each in rows if each.task_id not in closed]
    ended = [each for each in rows if each.task_id in closed and each.path and Path(each.path).exists()]
    if waiting:
        found = f"{counted(len(waiting), 'workspace')} kept for open tasks: {_paths(waiting)}"
        advice = "\n".join(f"tasks show {task}" for task in sorted({each.task_id for each in waiting})[:_NAMED])
        yield Checkup(name="leftovers", verdict=Verdict.warn, found=found, advice=advice)
    if ended:
        found = f"{counted(len(ended), 'workspace')} of closed tasks, which nothing needs any more: {_paths(ended)}"
        advice = "\n".join(f"rm -rf {shlex.quote(str(each.path))}" for each in ended[:_NAMED])
        yield Checkup(name="leftovers", verdict=Verdict.warn, found=found, advice=advice)
    if not (held or waiting or ended):
        yield Checkup(name="leftovers", verdict=Verdict.ok, found=f"none on host {quote(host_id(), 60)}")


def _paths(rows: list[Allocation]) -> str:
    return listing([each.path for each in rows if each.path])
