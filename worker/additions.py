"""Additions: a repository and a task, made so that a failure on the way leaves nothing half-made."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

from statemachine.plans import Plan, ProjectedTree, validate
from statemachine.refusals import NotFound, Refusal
from statemachine.texts import counted, quote
from store import repositories, tasks
from store.engine import Connection, Database
from store.repositories import Repository
from store.tasks import Task
from worker import commands
from workspace import executors
from workspace.agents.confinement import Confinement
from workspace.disk.roots import Root, refuse_overlap
from workspace.repository import refs, sources, targets
from workspace.repository import repositories as runners
from workspace.repository.repositories import RunnerRepository
from workspace.repository.sources import Source

_SHOWN = 5
# What somebody who added the same repository a moment before leaves to hear.
_BEATEN = {"already_added", "name_taken"}


def add_repository(
    database: Database,
    root: Root,
    *,
    path: str,
    name: str | None,
    target: str | None,
    raw_attributes: bool,
    actor: str,
) -> Repository:
    """Add a person's repository: its runner repository first, then its row; the source is only read.

    The merge target is the source itself unless another is named.
    """
    source = sources.inspect_source(path)
    refuse_overlap(source.path, [root.path])
    runner = uuid4()
    made = runners.create(root, runner, source.object_format)
    if not raw_attributes:
        _refuse_conversions(made, source)
    with database.connection() as db:
        return repositories.add(
            db,
            runner=runner,
            name=name or _free_name(source.path.name, runner, {row.name for row in repositories.listing(db)}),
            source=str(source.path),
            target=str(Path(target).resolve()) if target else str(source.path),
            object_format=source.object_format,
            raw_attributes=raw_attributes,
            actor=actor,
        )


def find_or_add_repository(database: Database, root: Root, word: str, *, actor: str) -> Repository:
    """Find a repository by name or path; a path that is not known yet is added.

    A word that is the name of one repository and, from where the person stands, the path of another is
    `repository_ambiguous`: nobody's repository is taken for another. Two who add the same path at once get one.
    """
    with database.connection() as db:
        known = _known(db, word)
    if known:
        return known
    if os.sep not in word and not Path(word).exists():
        raise NotFound("repository_not_found", f"there is no repository {quote(word)}", hint="tasks repo list")
    try:
        return add_repository(database, root, path=word, name=None, target=None, raw_attributes=False, actor=actor)
    except Refusal as refused:
        with database.connection() as db:
            known = _known(db, word) if refused.code in _BEATEN else None
        if known is None:
            raise
        return known


def _known(db: Connection, word: str) -> Repository | None:
    named, placed = repositories.find(db, word), repositories.find(db, str(Path(word).resolve()))
    if named and named != placed and named.source != word and Path(word).is_dir():
        raise NotFound(
            "repository_ambiguous",
            f"{quote(word)} is the name of the repository of {quote(named.source)}, and a folder here",
            hint=f"write ./{word} for the folder, or {named.source} for the other",
            name=word,
            source=named.source,
        )
    return named or placed


def check_plan(plan: Plan, *, source: str, agents: Mapping[str, str], folder: Path) -> tuple[str, ProjectedTree]:
    """Validate a plan on a person's repository, which is only read; gives the base and the projected tree.

    Its agent is looked at where it names one; the command line may name another later.
    """
    place = sources.inspect_source(source)
    base = sources.resolve(place, plan.base)
    modes = _modes(RunnerRepository(place.git_dir, place.object_format), base)
    tree = validate(plan, modes)
    if plan.agent:
        settled = commands.settled(plan, agents, folder=folder)
        commands.find_in(modes, settled.agent or "", folder=folder)
    else:
        commands.check_lines(plan)
    return base, tree


def missing_branch(target: str, branch: str | None) -> str:
    """Say that a merge will make the branch it goes to; nothing where it is there, or nobody can tell."""
    try:
        there = branch is None or targets.target_state(target, branch).tip is not None
    except Refusal:
        there = True
    return "" if there else f"{target} has no branch {quote(branch or '')}; a merge will create it"


def add_task(
    database: Database,
    root: Root,
    *,
    plan: Plan,
    repository: str,
    executor: str,
    actor: str,
    agents: Mapping[str, str],
    confinement: Confinement | None = None,
    folder: Path | None = None,
    not_before: datetime | None = None,
    priority: int = 0,
) -> Task:
    """Add a task: everything is looked at first, then objects are fetched, then the rows, then the base's ref.

    A relative path of the agent is meant from `folder`, without one from the current folder.
    """
    executors.find(executor, confinement).probe()
    here = folder or Path.cwd()
    settled = commands.settled(plan, agents, folder=here)
    known = find_or_add_repository(database, root, repository, actor=actor)
    source = sources.inspect_source(known.source)
    base = sources.resolve(source, plan.base)
    runner = runners.open_repository(root, known.runner)
    runners.fetch(runner, source, base)
    modes = _modes(runner, base)
    commands.find_in(modes, settled.agent or "", folder=here)
    validate(settled, modes)
    with database.connection() as db:
        task = tasks.add(
            db,
            repository=known.id,
            plan=settled,
            base=base,
            target=plan.target or source.head_branch or "main",
            executor=executor,
            actor=actor,
            priority=priority,
            not_before=not_before,
        )
    refs.hold(runner, refs.base_ref(task.id), base)
    refs.hold(runner, refs.task_ref(task.id), base)
    return task


def _refuse_conversions(runner: RunnerRepository, source: Source) -> None:
    if source.head_branch is None:
        return
    tip = sources.resolve(source, source.head_branch)
    runners.fetch(runner, source, tip)
    found = sources.converting_paths(runner, tip)
    if found:
        shown = ", ".join(f"{each.path} ({each.attribute}={each.value})" for each in found[:_SHOWN])
        raise Refusal(
            "attributes_convert",
            f"{counted(len(found), 'path')} of {source.path}, whose attributes change bytes on checkout: {shown!a}",
            hint="--raw-attributes: agents see and commit the raw bytes, LFS pointers stay pointers",
            paths=[each.path for each in found[:_SHOWN]],
        )


def _modes(repo: RunnerRepository, commit: str) -> dict[str, str]:
    return {os.fsdecode(path): entry.mode for path, entry in runners.listing(repo, commit).items()}


def _free_name(wanted: str, runner: UUID, taken: set[str]) -> str:
    """Name a repository after its folder; where that is taken, with a few letters no other has."""
    name = wanted.removesuffix(".git") or "repository"
    return f"{name}-{runner.hex[:6]}" if name in taken else name
