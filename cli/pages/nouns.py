"""What `--json` says of each noun: the one place where those documents are made from rows."""

import os
from datetime import datetime, timedelta
from pathlib import Path

from cli.frame.documents import moment
from cli.frame.identifiers import Noun, full
from cli.pages.advice import Choice
from cli.pages.schemas import (
    AllocationDocument,
    AttemptDocument,
    CheckDocument,
    ChoiceDocument,
    DecidedDocument,
    FindingDocument,
    GateDocument,
    ItemDocument,
    LineDocument,
    RepositoryDocument,
    SummaryDocument,
    TaskDocument,
    WaitingDocument,
)
from cli.pages.views import View, runner_path
from statemachine.findings import PERMITTABLE
from store.allocations import Allocation
from store.attempts import Attempt
from store.checks import Result
from store.findings import Finding
from store.gates import Gate, Waiting
from store.plans import ItemRow
from store.repositories import Repository
from store.tasks import Line, Task


def task(view: View, root: Path) -> TaskDocument:
    """Describe one task in full."""
    return {
        **summary(view.task, view.repository, view.gate, root),
        "items": [item(each) for each in view.items],
        "attempts": [attempt(each) for each in view.attempts],
        "allocation": allocation(view.allocation) if view.allocation else None,
        "findings": [finding(each) for each in view.findings],
    }


def decided(view: View, answered: Gate, root: Path) -> DecidedDocument:
    """Describe one task as a decision left it, and the decision."""
    return {**task(view, root), "decided": gate(answered)}


def summary(row: Task, of: Repository, waits_at: Gate | None, root: Path) -> SummaryDocument:
    """Describe one task as a list shows it."""
    from workspace.repository.refs import task_ref  # noqa: PLC0415 - a person who lists tasks needs no git

    return {
        "id": row.id,
        "state": row.state.value,
        "version": row.version,
        "title": row.title,
        "author": row.author,
        "added_at": moment(row.added_at),
        "executor": row.executor,
        "priority": row.priority,
        "repository": repository(of, root),
        "base": row.base,
        "head": row.head,
        "ref": task_ref(row.id),
        "target": row.target,
        "revision": row.revision,
        "budget": _seconds(row.budget),
        "spent": row.spent.total_seconds(),
        "owed_findings": row.owed_findings,
        "owed_pauses": row.owed_pauses,
        "gate": gate(waits_at) if waits_at else None,
    }


def repository(row: Repository, root: Path) -> RepositoryDocument:
    """Describe a repository."""
    return {
        "name": row.name,
        "runner_path": os.fspath(runner_path(root, row)),
        "source": row.source,
        "target": row.target,
        "object_format": row.object_format,
        "raw_attributes": row.raw_attributes,
        "policy": row.policy,
        "policy_version": row.policy_version,
        "added_by": row.added_by,
        "added_at": moment(row.added_at),
    }


def gate(row: Gate) -> GateDocument:
    """Describe a gate."""
    return {
        "id": full(Noun.gate, row.id),
        "task": row.task_id,
        "kind": row.kind.value,
        "state": row.state.value,
        "reason": row.reason,
        "subjects": list(row.subjects),
        "head": row.head,
        "opened_at": moment(row.opened_at),
        "decided_at": _moment(row.decided_at),
        "decided_by": row.decided_by,
        "comment": row.comment,
    }


def finding(row: Finding) -> FindingDocument:
    """Describe a finding."""
    return {
        "id": row.id,
        "task": row.task_id,
        "attempt": full(Noun.attempt, row.attempt_id) if row.attempt_id else None,
        "item": row.item_id,
        "kind": row.kind.value,
        "state": row.state.value,
        "summary": row.summary,
        "evidence": row.evidence,
        "late": row.late,
        "permit": row.permit,
        "permittable": row.kind in PERMITTABLE,
        "recorded_by": row.recorded_by,
        "recorded_at": moment(row.recorded_at),
        "decided_by": row.decided_by,
        "decided_at": _moment(row.decided_at),
        "reason": row.reason,
    }


def item(row: ItemRow) -> ItemDocument:
    """Describe an item."""
    return {"id": row.item_id, "title": row.title, "kind": row.kind, "state": row.state, "commit": row.commit}


def attempt(row: Attempt) -> AttemptDocument:
    """Describe an attempt."""
    return {
        "id": full(Noun.attempt, row.id),
        "number": row.number,
        "item": row.item_id,
        "kind": row.kind.value,
        "state": row.state.value,
        "reason": why(row),
        "failure": row.failure,
        "exit_code": row.exit_code,
        "allocation": full(Noun.allocation, row.allocation_id) if row.allocation_id else None,
        "outcome": row.outcome,
        "commit": row.commit,
        "started_at": _moment(row.started_at),
        "ended_at": _moment(row.ended_at),
    }


def why(row: Attempt) -> str:
    """Say in one word why an attempt ended as it did; nothing where it just ended well or goes on."""
    return row.first_reason or row.isolation_failure or row.failure_code or ""


def check(row: Result) -> CheckDocument:
    """Describe the result of a check."""
    return {
        "command": row.command,
        "passed": row.passed,
        "exit_code": row.exit_code,
        "tail": row.tail,
        "at": moment(row.at),
        "attempt": full(Noun.attempt, row.attempt_id),
    }


def choice(answer: Choice) -> ChoiceDocument:
    """Describe one answer at a gate."""
    return {"event": answer.event.value, "effect": answer.effect, "command": answer.command}


def waiting(row: Waiting) -> WaitingDocument:
    """Describe an open gate as a list shows it."""
    return {**gate(row), "title": row.title, "version": row.task_version}


def allocation(row: Allocation) -> AllocationDocument:
    """Describe a workspace."""
    return {
        "id": full(Noun.allocation, row.id),
        "executor": row.executor,
        "host": row.host,
        "state": row.state.value,
        "path": row.path,
    }


def line(row: Line) -> LineDocument:
    """Describe one line of a task's history."""
    return {
        "at": moment(row.at),
        "event": row.event,
        "source": row.source,
        "dest": row.dest,
        "actor": row.actor,
        "role": row.role,
        "epoch": row.epoch,
        "attempt": full(Noun.attempt, row.attempt_id) if row.attempt_id else None,
        "reason": row.reason,
    }


def _moment(value: datetime | None) -> str | None:
    return moment(value) if value else None


def _seconds(value: timedelta | None) -> float | None:
    return value.total_seconds() if value is not None else None
