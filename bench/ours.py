"""Ours: the verbs a worker calls, in its order and on its pool, without an agent or git between them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import uuid4

from statemachine.allocations import AllocationState
from statemachine.attempts import AttemptKind
from statemachine.decisions import Facts
from statemachine.settlement import Outcome
from statemachine.tasks import TaskEvent
from store import allocations, attempts, claims, settlements, tasks
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Database
from store.outputs import NewOutput
from store.settlements import Report
from store.tasks import Question, Task

LEASE: Final = timedelta(seconds=90)
KINDS: Final = tuple(AttemptKind)
EXECUTORS: Final = ("local",)
_LOG: Final = NewOutput(kind="log", path="/nowhere/output.log", size=12, sha256="0" * 64, tail="it is done")
_COMPLETE: Final = Facts(items_done=True, checks_passed=True)
_SUBMITTED: Final = Question(reason="every item is done")


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker that takes one task after the other from queued to review."""

    database: Database
    id: int
    actor: str = "bench"

    def cycle(self) -> None:
        """Take one task all the way: eight verbs, each one statement and one commit."""
        task = self._claim()
        attempt = self._admit(task)
        ready = self._workspace(attempt)
        settled = self._settle(task, attempt, ready)
        self._submit(settled)
        with self.database.connection() as db:
            allocations.end(db, ready, AllocationState.released, reason="settled")

    def _claim(self) -> Task:
        with self.database.connection() as db:
            task = claims.claim(
                db, worker=self.id, actor=self.actor, kinds=KINDS, executors=EXECUTORS, lease=LEASE, task=None
            )
        if task is None:
            raise SystemExit("the queue ran dry before the round was over")
        return task

    def _admit(self, task: Task) -> Attempt:
        with self.database.connection() as db:
            return attempts.admit(db, task, attempt=uuid4(), kind=AttemptKind.execute, item="P1")

    def _workspace(self, attempt: Attempt) -> Allocation:
        with self.database.connection() as db:
            reserved = allocations.reserve(db, attempt, allocation=uuid4(), host="bench")
        with self.database.connection() as db:
            return allocations.ready(
                db, reserved, epoch=attempt.epoch, path="/nowhere", base=attempt.base, baseline="{}"
            )

    def _settle(self, task: Task, attempt: Attempt, ready: Allocation) -> Task:
        with self.database.connection() as db:
            launched = attempts.launch(db, attempt, allocation=ready.id, generation=ready.generation, links_digest=None)
        report = Report(
            task=task.id,
            epoch=attempt.epoch,
            attempt=attempt.id,
            exit_code=0,
            outcome=Outcome.committed,
            commit=f"{attempt.id.hex}00000000",
            host="bench",
            files=(_LOG,),
            next_kind=AttemptKind.execute,
        )
        believed = settlements.believe(task, attempt, launched, retries=1)
        with self.database.connection() as db:
            return settlements.settle(db, report, actor=self.actor, believed=believed).task

    def _submit(self, task: Task) -> None:
        with self.database.connection() as db:
            tasks.move(
                db,
                task,
                TaskEvent.submit,
                actor=self.actor,
                facts=_COMPLETE,
                reason=_SUBMITTED.reason,
                question=_SUBMITTED,
                epoch=task.lease_epoch,
            )
