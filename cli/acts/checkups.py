"""What the doctor looks at; each look ends well or says what to do, and none stops the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from cli.frame.context import Context
from statemachine.allocations import AllocationState
from statemachine.refusals import Refusal
from statemachine.texts import counted, listing, quote
from store import allocations
from store.versions import known_versions
from workspace import executors
from workspace.agents import environments
from workspace.agents.hosts import host_id
from workspace.repository import git

OLDEST_SERVER: Final = 15


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
    where = "embedded" if context.settings.database_url is None else str(context.database.address)
    found = f"{where}, PostgreSQL {server}, schema {known_versions()[-1]}"
    old = server < OLDEST_SERVER
    advice = f"use PostgreSQL {OLDEST_SERVER} or newer" if old else ""
    yield Checkup(name="database", verdict=Verdict.warn if old else Verdict.ok, found=found, advice=advice)


def _executor(context: Context) -> Iterator[Checkup]:
    name = context.settings.executor
    lacks = executors.find(name).unprotected
    yield Checkup(
        name="executor",
        verdict=Verdict.warn if lacks else Verdict.ok,
        found=lacks or f"{name} works",
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
        kept = [
            each
            for each in allocations.listing(db, host=host_id())
            if each.state in {AllocationState.quarantined, AllocationState.failed, AllocationState.retired}
        ]
    if held:
        found = f"{counted(len(held), 'workspace')} that no attempt holds"
        yield Checkup(name="leftovers", verdict=Verdict.warn, found=found, advice="tasks recover")
    if kept:
        paths = listing([each.path for each in kept if each.path])
        found = f"{counted(len(kept), 'workspace')} kept for a person to look at: {paths}"
        advice = "look at them; no task uses them any more"
        yield Checkup(name="leftovers", verdict=Verdict.warn, found=found, advice=advice)
    if not (held or kept):
        yield Checkup(name="leftovers", verdict=Verdict.ok, found=f"none on host {quote(host_id(), 60)}")
