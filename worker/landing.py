"""Landing: bring an approved result to its target by one compare-and-swap, writing down what is known."""

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from statemachine import landings
from statemachine.failpoints import reach
from statemachine.landings import MergeFacts, Strategy
from statemachine.merges import MergeState
from statemachine.refusals import LostRace, Refusal
from statemachine.tasks import TaskEvent
from statemachine.texts import quote
from store import approvals, checks, findings, merges, plans, repositories, tasks
from store.engine import Connection, Database
from store.repositories import Repository
from store.tasks import Task
from workspace.agents.hosts import host_id
from workspace.disk.roots import Root
from workspace.repository import merges as targets
from workspace.repository import repositories as runners
from workspace.repository.repositories import RunnerRepository

# A push ends within PATIENCE or is ended, and is not begun in the lease's last PATIENCE: nobody reconciles one that
# may still run.
LEASE: Final = 4 * targets.PATIENCE
_SHOWN: Final = 7
"""Hex digits of a commit in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What was seen of the target before a transaction was opened."""

    tip: str | None = None
    holds_result: bool = False
    obstacle: str = ""
    follows: bool = False
    descends: bool = False
    error: str | None = None


def merge(
    database: Database,
    root: Root,
    task: int,
    *,
    actor: str,
    strategy: str | None,
    if_version: int | None,
    author_may_approve: bool,
    said: Callable[[str], None] = lambda _: None,
) -> Task:
    """Merge approved work; refused with its code before anything is written, or begun, pushed and confirmed.

    `said` hears that it begins, once nothing stands in its way. A push whose outcome is not known leaves the task
    `merging`: only the target says how it ended.
    """
    row, repository = _read(database, task)
    runner = runners.open_repository(root, repository.runner)
    seen = _look(runner, repository, row)
    reach("target_seen")
    with database.transaction() as db:
        held = tasks.lock(db, task, if_version=if_version)
        if (held.head, held.target) != (row.head, row.target):
            raise LostRace("stale_view", f"task {task} changed while its target was read", hint=f"tasks show {task}")
        facts = _facts(db, held, repository, seen, author_may_approve=author_may_approve)
        _admit(landings.merge, facts, held, repository, seen)
        if facts.holds_result:
            return tasks.move(db, held, TaskEvent.confirm_merge, actor=actor, reason="the target already holds it")
        targets.check_strategy(strategy or Strategy.ff)
        said(f"merging into {row.target} of {repository.target}{_aside(seen)}")
        begun = _begin(db, held, repository, seen, Strategy.ff, actor=actor)
    begun_at = time.monotonic()
    reach("merge_begun")
    _last_look(database, begun, repository, seen, actor=actor, author_may_approve=author_may_approve)
    reach("push_marked")
    return _push(database, runner, begun, actor=actor, until=begun_at + (LEASE - targets.PATIENCE).total_seconds())


def _read(database: Database, task: int) -> tuple[Task, Repository]:
    with database.connection() as db:
        row = tasks.get(db, task)
        return row, repositories.get(db, row.repository_id)


def _look(runner: RunnerRepository, repository: Repository, task: Task) -> _Target:
    try:
        state = targets.target_state(repository.target, task.target)
    except Refusal as unreadable:
        return _Target(error=unreadable.message)
    held = targets.holds(state, task.head)
    known = state.tip is None or runners.contains(runner, state.tip)
    return _Target(
        tip=state.tip,
        holds_result=held,
        obstacle=state.obstacle,
        follows=state.checked_out is not None,
        descends=state.tip is None or (known and runners.is_ancestor(runner, state.tip, task.head)),
    )


def _facts(
    db: Connection,
    task: Task,
    repository: Repository,
    seen: _Target,
    *,
    author_may_approve: bool,
) -> MergeFacts:
    plan = plans.current(db, task=task.id, number=task.revision).plan
    results = {result.command: result.passed for result in checks.latest(db, task=task.id, head=task.head)}
    approval = approvals.latest_review(db, task.id)
    subject = (task.head, task.base, task.target)
    return MergeFacts(
        task=task.id,
        state=task.state,
        owed_findings=tuple(finding.id for finding in findings.owed(db, task.id)),
        owed_pauses=task.owed_pauses,
        submitting=merges.live(db, task.id) is not None,
        unfinished=tuple(item.item_id for item in plans.items(db, task.id) if not item.outcome),
        missing=tuple(command for command in plan.checks if command not in results),
        failed=tuple(command for command in plan.checks if results.get(command) is False),
        approval_covers=approval is not None and (approval.head, approval.base, approval.target) == subject,
        approver=approval.actor if approval else "",
        author=task.author,
        author_may_approve=bool(repository.policy.get("author_may_approve", author_may_approve)),
        target_error=seen.error,
        holds_result=seen.holds_result,
        dirty=bool(seen.obstacle),
        descends=seen.descends,
        strategy=Strategy.ff,
    )


def _aside(seen: _Target) -> str:
    if seen.tip is None:
        return ", which is a new branch"
    return ", whose work tree follows" if seen.follows else ""


def _admit(
    ask: Callable[[MergeFacts], None], facts: MergeFacts, task: Task, repository: Repository, seen: _Target
) -> None:
    """Ask whether it may go on; what stands in the way of the target is told as it was seen there."""
    try:
        ask(facts)
    except Refusal as refused:
        raise _told(refused, task, repository, seen) from None


def _told(refused: Refusal, task: Task, repository: Repository, seen: _Target) -> Refusal:
    where = shlex.quote(repository.target)
    match refused.code:
        case "target_checked_out":
            message = f"task {task.id} merges into {quote(task.target)}, which is checked out: {seen.obstacle}"
            return Refusal(refused.code, message, hint=f"git -C {where} status", **refused.facts)
        case "not_fast_forward":
            message = (
                f"{task.target} has moved: it is at {(seen.tip or '')[:_SHOWN]}, and this result began at "
                f"{task.base[:_SHOWN]}; only fast-forward merges exist yet"
            )
            hint = (
                f"tasks export {task.id} --format patch | git -C {where} am --keep-cr\n"
                f"tasks cancel {task.id} --reason 'applied by hand'"
            )
            return Refusal(refused.code, message, hint=hint, tip=seen.tip, base=task.base, **refused.facts)
        case _:
            return refused


def _begin(
    db: Connection, task: Task, repository: Repository, seen: _Target, strategy: Strategy, *, actor: str
) -> merges.Merge:
    plan = merges.Plan(
        strategy=strategy,
        target=repository.target,
        branch=task.target,
        old_tip=seen.tip,
        head=task.head,
        commit=task.head,
    )
    tasks.move(db, task, TaskEvent.begin_merge, actor=actor)
    return merges.begin(db, merge=uuid4(), task=task.id, plan=plan, actor=actor, host=host_id(), lease=LEASE)


def _last_look(
    database: Database,
    begun: merges.Merge,
    repository: Repository,
    seen: _Target,
    *,
    actor: str,
    author_may_approve: bool,
) -> None:
    """Read owed rows and approval once more under the lock, and say durably that the push is about to start."""
    try:
        with database.transaction() as db:
            held = tasks.lock(db, begun.task_id)
            facts = _facts(db, held, repository, seen, author_may_approve=author_may_approve)
            _admit(landings.last_look, facts, held, repository, seen)
            merges.mark_pushing(db, begun.id)
    except Refusal as refused:
        _fail(database, begun, actor=actor, reason=refused.message)
        raise


def _push(database: Database, runner: RunnerRepository, begun: merges.Merge, *, actor: str, until: float) -> Task:
    if time.monotonic() > until:
        # A process that slept past this would push while recovery believes that nobody can.
        raise Refusal(
            "merge_overdue",
            "the merge took too long to begin its push; recovery reads the target",
            hint="tasks recover",
        )
    try:
        targets.push_fast_forward(runner, begun.commit, target=begun.target, branch=begun.branch, old=begun.old_tip)
    except Refusal as refused:
        if refused.code == "push_unconfirmed":
            # Only the target knows; it is asked again once this merge's lease is over.
            raise
        if refused.code != "already_merged":
            _fail(database, begun, actor=actor, reason=refused.message)
            raise
    reach("pushed")
    return confirm(database, begun, actor=actor)


def confirm(database: Database, begun: merges.Merge, *, actor: str) -> Task:
    """Write down that the target holds the result."""
    with database.transaction() as db:
        held = tasks.lock(db, begun.task_id)
        moved = tasks.move(db, held, TaskEvent.confirm_merge, actor=actor)
        merges.end(db, begun.id, MergeState.merged, reason="")
        reach("confirming")
    reach("confirmed")
    return moved


def _fail(database: Database, begun: merges.Merge, *, actor: str, reason: str) -> None:
    """Write down that nothing was applied and no push can still be running."""
    with database.transaction() as db:
        held = tasks.lock(db, begun.task_id)
        tasks.move(db, held, TaskEvent.fail_merge, actor=actor, reason=reason)
        merges.end(db, begun.id, MergeState.failed, reason=reason)
        reach("failing")
    reach("failed")
