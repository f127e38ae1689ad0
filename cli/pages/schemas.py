"""The documents of `--json`, one type for each: their schema, checked where they are made and where they are tested.

A key is never renamed or removed. Times are RFC 3339 in UTC, durations seconds, ids what the command line takes.
"""

from typing import Any, TypedDict


class RepositoryDocument(TypedDict):
    """A repository; `runner_path` is where this host keeps its own copy of the objects."""

    name: str
    runner_path: str
    source: str
    target: str
    object_format: str
    raw_attributes: bool
    policy: dict[str, Any]
    policy_version: int
    added_by: str
    added_at: str


class GateDocument(TypedDict):
    """A gate, open or decided."""

    id: str
    task: int
    kind: str
    state: str
    reason: str
    subjects: list[str]
    head: str
    opened_at: str
    decided_at: str | None
    decided_by: str | None
    comment: str


class FindingDocument(TypedDict):
    """A finding, open or decided."""

    id: int
    task: int
    attempt: str | None
    item: str | None
    kind: str
    state: str
    summary: str
    evidence: dict[str, Any]
    late: bool
    permit: bool
    permittable: bool
    recorded_by: str
    recorded_at: str
    decided_by: str | None
    decided_at: str | None
    reason: str | None


class ItemDocument(TypedDict):
    """An item of the current plan; `state` is waiting, done, unchanged, or how its last attempt stands."""

    id: str
    title: str
    kind: str
    state: str
    commit: str | None


class AttemptDocument(TypedDict):
    """One run of an agent or of the checks; `reason` is the stop's or the failure's word."""

    id: str
    number: int
    item: str | None
    kind: str
    state: str
    reason: str
    failure: str
    exit_code: int | None
    allocation: str | None
    outcome: str | None
    commit: str | None
    started_at: str | None
    ended_at: str | None


class AllocationDocument(TypedDict):
    """The workspace a task has, or the last one that is still kept."""

    id: str
    executor: str
    host: str
    state: str
    path: str | None


class CheckDocument(TypedDict):
    """How a check command ended on one head."""

    command: str
    passed: bool
    exit_code: int | None
    tail: str
    at: str
    attempt: str


class SummaryDocument(TypedDict):
    """A task as a list shows it."""

    id: int
    state: str
    version: int
    title: str
    author: str
    added_at: str
    executor: str
    priority: int
    repository: RepositoryDocument
    base: str
    head: str
    ref: str
    target: str
    revision: int
    budget: float | None
    spent: float
    owed_findings: int
    owed_pauses: int
    gate: GateDocument | None


class TaskDocument(SummaryDocument):
    """A task with everything that hangs on it; `findings` are the open ones."""

    items: list[ItemDocument]
    attempts: list[AttemptDocument]
    allocation: AllocationDocument | None
    findings: list[FindingDocument]


class DecidedDocument(TaskDocument):
    """A task as a decision left it, and the gate that was decided."""

    decided: GateDocument


class LineDocument(TypedDict):
    """One line of a task's history."""

    at: str
    event: str
    source: str
    dest: str
    actor: str
    role: str
    epoch: int
    attempt: str | None
    reason: str


class ChoiceDocument(TypedDict):
    """One answer at a gate: the event it makes, what that does, and the command that says it."""

    event: str
    effect: str
    command: str


class PageDocument(GateDocument):
    """A gate with everything a person decides by; diffs are text with what is not UTF-8 escaped."""

    task_document: TaskDocument
    findings: list[FindingDocument]
    out_of_scope: list[dict[str, str]]
    checks: list[CheckDocument]
    diff: str
    partial: str
    notes: list[str]
    approve: list[ChoiceDocument]
    reject: list[ChoiceDocument]


class WaitingDocument(GateDocument):
    """An open gate as a list shows it; `version` is the task's, for --if-version."""

    title: str
    version: int
