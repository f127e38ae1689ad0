"""Every table of the store as a model: what migrations are compared with. Import it late, it costs 300 ms."""

from store.schema.allocations import Allocation
from store.schema.approvals import Approval
from store.schema.attempts import Attempt
from store.schema.checks import CheckResult
from store.schema.columns import Table
from store.schema.edges import NounEdge, TaskEdge
from store.schema.events import TaskEvent
from store.schema.findings import Finding
from store.schema.gates import Gate
from store.schema.ledger import CommitLedger
from store.schema.merges import MergeAttempt
from store.schema.outputs import Output
from store.schema.pauses import Pause
from store.schema.plans import PlanItem, PlanRevision
from store.schema.repositories import Repository
from store.schema.tasks import Task
from store.schema.workers import Worker

metadata = Table.metadata

__all__ = [
    "Allocation",
    "Approval",
    "Attempt",
    "CheckResult",
    "CommitLedger",
    "Finding",
    "Gate",
    "MergeAttempt",
    "NounEdge",
    "Output",
    "Pause",
    "PlanItem",
    "PlanRevision",
    "Repository",
    "Table",
    "Task",
    "TaskEdge",
    "TaskEvent",
    "Worker",
    "metadata",
]
