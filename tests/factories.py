"""Walk a task to where a test needs it by the verbs the product uses; there is no back door.

What needs no git gets made-up commit ids; `a_repository`, `a_commit` and `a_task_of` make the real thing.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from statemachine.allocations import AllocationState
from statemachine.attempts import AttemptKind, StopReason
from statemachine.decisions import Facts
from statemachine.findings import FindingKind
from statemachine.gates import GateKind
from statemachine.plans import ApprovalMode, Item, Operation, OperationKind, Plan
from statemachine.settlement import Outcome
from statemachine.tasks import TaskEvent
from store import allocations, answers, attempts, claims, merges, repositories, settlements, tasks, workers
from store.attempts import Attempt
from store.engine import Connection, Database
from store.findings import NewFinding
from store.repositories import Repository
from store.settlements import Report, Settled
from store.tasks import Question, Task
from store.words import Word
from store.workers import Worker
from workspace.disk.roots import Root
from workspace.repository import refs, sources
from workspace.repository import repositories as runners

BASE: Final = "b" * 40
LEASE: Final = timedelta(minutes=5)
HOST: Final = "host-of-a-test"

_WHO: Final = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


# ---------------------------------------------------------------- a person's repository, with real git


def git(folder: Path, *arguments: str) -> str:
    """Run git as the person who owns `folder` would."""
    ran = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **_WHO}, check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


def a_repository(parent: Path, name: str = "project", files: Mapping[str, str] | None = None) -> Path:
    """Make a repository with one commit on `main`."""
    folder = parent / name
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    a_commit(folder, files or {"README.md": "hello\n", "src/upload.py": "def upload(): ...\n"})
    return folder


def a_commit(folder: Path, files: Mapping[str, str | None], message: str = "Change") -> str:
    """Write (or with None remove) files, commit them and give the commit's id."""
    for path, text in files.items():
        place = folder / path
        if text is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={message}")
    return git(folder, "rev-parse", "HEAD")


def a_result(root: Root, repository: Repository, files: Mapping[str, str | None], message: str = "Change") -> str:
    """Make a commit on top of a person's head and bring it, and only it, to the runner repository."""
    folder = Path(repository.source)
    before = git(folder, "rev-parse", "HEAD")
    commit = a_commit(folder, files, message)
    runners.fetch(runners.open_repository(root, repository.runner), sources.inspect_source(folder), commit)
    git(folder, "reset", "--quiet", "--hard", before)
    return commit


def a_fetched_repository(database: Database, root: Root, folder: Path, **more: Any) -> Repository:
    """Register a person's repository, with a runner repository that holds its head."""
    source = sources.inspect_source(folder)
    row = a_registered_repository(database, source=str(folder), object_format=source.object_format, **more)
    runner = runners.create(root, row.runner, source.object_format)
    runners.fetch(runner, source, sources.resolve(source, "HEAD"))
    return row


def a_task_of(database: Database, root: Root, repository: Repository, plan: Plan | None = None, **more: Any) -> Task:
    """Add a task on the head of a fetched repository, with its refs."""
    base = git(Path(repository.source), "rev-parse", "HEAD")
    task = a_task(database, repository=repository, plan=plan, base=base, **more)
    runner = runners.open_repository(root, repository.runner)
    refs.hold(runner, refs.base_ref(task.id), base)
    refs.hold(runner, refs.task_ref(task.id), base)
    return task


# ---------------------------------------------------------------- plans


def an_item(item_id: str = "P1", path: str = "src/upload.py", **changes: Any) -> Item:
    """Make an item that may edit one file."""
    operations = (Operation(kind=OperationKind.edit, path=path),)
    item = Item(id=item_id, title=f"Do {item_id}", intent=f"Please do {item_id}.", operations=operations)
    return replace(item, **changes)


def a_plan(*items: Item, **changes: Any) -> Plan:
    """Make a plan of one item, or of the items given."""
    plan = Plan(title="Retry uploads", base="main", target="main", agent="true", items=items or (an_item(),))
    return replace(plan, **changes)


# ---------------------------------------------------------------- rows


def a_registered_repository(database: Database, *, source: str | None = None, **more: Any) -> Repository:
    """Register a repository; without a source it is one nobody ever looks at."""
    name = f"project-{uuid4().hex[:8]}"
    where = source or f"/nowhere/{name}"
    given = {"runner": uuid4(), "name": name, "target": where, "object_format": "sha1", "raw_attributes": False}
    with database.connection() as db:
        return repositories.add(db, source=where, actor="ann", **{**given, **more})


def a_worker(database: Database, **more: Any) -> Worker:
    """Register a worker that serves everything."""
    given: dict[str, Any] = {"name": "worker", "host": HOST, "boot_id": "boot", "pid": os.getpid(), "started": "1"}
    kinds = [kind.value for kind in AttemptKind]
    with database.connection() as db:
        return workers.register(db, **{**given, "kinds": kinds, "executors": ["local"], "slots": 1, **more})


def a_task(
    database: Database,
    *,
    plan: Plan | None = None,
    repository: Repository | None = None,
    base: str = BASE,
    actor: str = "ann",
    **more: Any,
) -> Task:
    """Add a task: queued."""
    repository = repository or a_registered_repository(database)
    given: dict[str, Any] = {"target": "main", "executor": "local", **more}
    with database.connection() as db:
        return tasks.add(db, repository=repository.id, plan=plan or a_plan(), base=base, actor=actor, **given)


def a_running_task(
    database: Database, task: Task | None = None, *, worker: Worker | None = None, lease: timedelta = LEASE, **more: Any
) -> Task:
    """Claim a task, or a new one: running, between items."""
    task = task or a_task(database, **more)
    worker = worker or a_worker(database)
    with database.connection() as db:
        held = claims.claim(
            db,
            worker=worker.id,
            actor=worker.name,
            kinds=list(AttemptKind),
            executors=["local"],
            lease=lease,
            task=task.id,
        )
    assert held is not None, f"task {task.id} cannot be claimed"
    return held


def an_attempt(
    database: Database,
    task: Task,
    *,
    item: str | None = "P1",
    kind: AttemptKind = AttemptKind.execute,
    launched: bool = True,
) -> Attempt:
    """Admit an attempt of a running task and, unless told otherwise, launch it in a ready workspace."""
    with database.transaction() as db:
        now = tasks.get(db, task.id)
        attempt = attempts.admit(db, now, attempt=uuid4(), kind=kind, item=item)
        if not launched:
            return attempt
        reserved = next(iter(allocations.live(db, task.id)), None) or allocations.reserve(
            db, attempt, allocation=uuid4(), host=HOST
        )
        path = f"/nowhere/{reserved.id}"
        ready = allocations.ready(db, reserved, epoch=attempt.epoch, path=path, base=attempt.base, baseline="{}")
        attempts.launch(db, attempt, allocation=ready.id, generation=ready.generation, links_digest=None)
        return attempts.get_attempt(db, attempt.id)


def a_settled(database: Database, task: Task, attempt: Attempt | None = None, **report: Any) -> Settled:
    """Settle an attempt, or a new one, as a worker would; what is not said is an agent that exited 0."""
    attempt = attempt or an_attempt(database, task)
    seen: dict[str, Any] = {"exit_code": 0, **report}
    if seen.get("outcome") is Outcome.committed:
        seen = {"commit": uuid4().hex + "0" * 8, "tree": "t" * 64, **seen}
    with database.transaction() as db:
        settled = settlements.settle(
            db, Report(task=task.id, epoch=attempt.epoch, attempt=attempt.id, **seen), actor="worker"
        )
        if attempt.allocation_id:
            _let_go(db, task.id)
    return settled


def _let_go(db: Connection, task: int) -> None:
    for held in allocations.live(db, task):
        allocations.end(db, held, AllocationState.released, reason="settled")


def a_done_item(database: Database, task: Task, item: str = "P1", **report: Any) -> Task:
    """Run one item of a running task to its commit."""
    attempt = an_attempt(database, task, item=item)
    return a_settled(database, task, attempt, **{"outcome": Outcome.committed, **report}).task


# ---------------------------------------------------------------- gates


def a_task_at_gate(database: Database, kind: GateKind, task: Task | None = None, **more: Any) -> Task:
    """Walk a queued task, or a new one, to an open gate of this kind; `more` goes to the settlement's report."""
    reached = _at_gate(database, kind, task, **more)
    with database.connection() as db:
        return tasks.get(db, reached.id)


def _at_gate(database: Database, kind: GateKind, task: Task | None, **more: Any) -> Task:  # noqa: PLR0911 - one return for each kind
    match kind:
        case GateKind.finding:
            held = a_running_task(database, task)
            return a_settled(database, held, **{"findings": (a_finding(),), **more}).task
        case GateKind.limit:
            held = a_running_task(database, task)
            attempt = an_attempt(database, held)
            with database.connection() as db:
                claims.request_stop(db, task=held.id, why=StopReason.time_limit, actor="worker")
            return a_settled(database, held, attempt, **more).task
        case GateKind.failure:
            held = a_running_task(database, task or a_task(database, plan=a_plan(an_item(retries=0))))
            return a_settled(database, held, **{"exit_code": 3, **more}).task
        case GateKind.scope:
            held = a_running_task(database, task)
            paths = ({"operation": "add", "path": "extra.txt"},)
            return a_settled(database, held, **{"outcome": Outcome.committed, "out_of_scope": paths, **more}).task
        case GateKind.approval:
            plan = a_plan(approval=ApprovalMode.before)
            held = a_running_task(database, task or a_task(database, plan=plan))
            return _moved(database, held, TaskEvent.await_approval, subjects=("plan",), reason="the plan asks first")
        case GateKind.fixed:
            held = a_running_task(database, task)
            return _moved(database, held, TaskEvent.suspect_fixed, reason="the base passes already")
        case GateKind.review:
            held = a_running_task(database, task)
            return a_submitted_task(database, a_done_item(database, held, **more))


def a_finding(summary: str = 'P1 made the new symlink "link"', **more: Any) -> NewFinding:
    """Make a finding that is not stored yet."""
    given: dict[str, Any] = {"item": "P1", "paths": ["link"], "evidence": {"paths": ["link"]}, **more}
    return NewFinding.seen(FindingKind.new_symlink, summary, **given)


def a_submitted_task(database: Database, task: Task) -> Task:
    """Submit a running task whose items are done: in review."""
    return _moved(database, task, TaskEvent.submit, reason="every item is done and every check passed")


def an_approved_task(database: Database, task: Task | None = None, *, actor: str = "rev", **more: Any) -> Task:
    """Walk a queued task, or a new one, through its review."""
    waiting = a_task_at_gate(database, GateKind.review, task, **more)
    assert waiting.gate_id is not None
    with database.transaction() as db:
        return answers.approve(db, waiting.gate_id, Word(actor=actor)).task


def a_merging_task(database: Database, **more: Any) -> Task:
    """Walk a new task to where its merge is written down and not pushed yet."""
    return a_merging(database, an_approved_task(database, **more))


def a_merging(database: Database, task: Task) -> Task:
    """Begin the merge of an approved task, as it is now."""
    with database.transaction() as db:
        task = tasks.get(db, task.id)
        merging = tasks.move(db, task, TaskEvent.begin_merge, actor="rev")
        plan = merges.Plan(
            strategy="ff", target="/nowhere", branch=task.target, old_tip=None, head=task.head, commit=task.head
        )
        merges.begin(db, merge=uuid4(), task=task.id, plan=plan, actor="rev", host=HOST, lease=LEASE)
    return merging


def _moved(database: Database, task: Task, event: TaskEvent, *, reason: str, subjects: tuple[str, ...] = ()) -> Task:
    facts = Facts(task=task.id, items_done=True, checks_passed=True)
    question = Question(reason=reason, subjects=subjects)
    with database.transaction() as db:
        now = tasks.get(db, task.id)
        return tasks.move(
            db, now, event, actor="worker", facts=facts, question=question, epoch=now.running_epoch, reason=reason
        )
