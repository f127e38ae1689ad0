"""Both tables of settlement against real rows: how an attempt ends, and the one move its task makes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from statemachine.attempts import AttemptState, StopReason
from statemachine.gates import GateKind
from statemachine.settlement import Isolation, Outcome
from statemachine.tasks import TaskEvent, TaskState
from store import attempts, ledger, pauses, tasks
from store.attempts import Attempt
from store.engine import Database
from store.tasks import Task
from tests.factories import a_plan, a_running_task, a_settled, an_attempt, an_item
from tests.store.scenes import (
    DONE,
    EXTRA,
    LOST,
    UNSAFE,
    cancel,
    change_policy,
    isolation_failed,
    moves,
    noticed,
    owed,
    revised,
    seen,
    stop,
    the_gate,
)

A, E, S, G = AttemptState, TaskEvent, TaskState, GateKind

Happening = Callable[[Database, Task, Attempt], object]


def stopped(why: StopReason, actor: str = "worker") -> Happening:
    return lambda database, task, _: stop(database, task, why, actor)


def cancelled(database: Database, task: Task, _: Attempt) -> object:
    return cancel(database, task)


def isolated(database: Database, _: Task, attempt: Attempt) -> None:
    isolation_failed(database, attempt)


def replanned(database: Database, task: Task, _: Attempt) -> object:
    return revised(database, task, a_plan(an_item(intent="Something else.")))


def governed(database: Database, task: Task, _: Attempt) -> None:
    change_policy(database, task)


def reported(database: Database, task: Task, _: Attempt) -> object:
    return noticed(database, task)


USER, SHUTDOWN = stopped(StopReason.user, "rev"), stopped(StopReason.shutdown)
STALE, LIMIT = stopped(StopReason.stale), stopped(StopReason.time_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What happened during a run and what was reported; then how the attempt ends and where the task goes."""

    given: tuple[Happening, ...] = ()
    report: dict[str, Any] = field(default_factory=dict)
    retries: int = 1
    launched: bool = True
    end: AttemptState
    word: str
    event: TaskEvent
    to: TaskState
    gate: GateKind | None = None
    pause: bool = False
    findings: int = 0


def row(name: str, **values: Any) -> Any:
    return pytest.param(Row(**values), id=name)


HALTED = {"event": E.halt, "to": S.needs_human, "gate": G.failure}
LIMITED = {"event": E.hit_limit, "to": S.needs_human, "gate": G.limit}
OWING = {"event": E.raise_finding, "to": S.needs_human, "gate": G.finding, "findings": 1}
GIVEN_UP = {"event": E.give_up, "to": S.needs_human, "gate": G.failure}
PAUSED = {"event": E.pause, "to": S.needs_amendment, "gate": G.scope, "pause": True}
CLOSED = {"event": E.cancel, "to": S.cancelled}
ON = {"event": E.settle, "to": S.running}
RELEASED = {"event": E.release, "to": S.queued}
REQUEUED = {"event": E.requeue, "to": S.queued}

# fmt: off
ENDS = [
    row("a person's stop cancels", given=(USER,), end=A.cancelled, word="user", **HALTED),
    row("a stop keeps the exit code", given=(USER,), report={"exit_code": 3}, end=A.cancelled, word="user", **HALTED),
    row("a person's stop comes before a shutdown", given=(USER, SHUTDOWN), report={"draining": True},
        end=A.cancelled, word="user", **HALTED),
    row("a person's stop comes before a new revision", given=(USER, replanned), end=A.cancelled, word="user", **HALTED),
    row("a shutdown stops", given=(SHUTDOWN,), report={"draining": True, "exit_code": 143},
        end=A.stopped, word="shutdown", **RELEASED),
    row("a shutdown comes before a person's stop", given=(SHUTDOWN, USER), report={"draining": True},
        end=A.stopped, word="shutdown", **RELEASED),
    row("a failure of isolation before a shutdown fails", given=(isolated, SHUTDOWN), report={"draining": True},
        end=A.failed, word="timeout", **RELEASED),
    row("a failure of isolation after a shutdown does not count", given=(SHUTDOWN, isolated),
        report={"draining": True, "isolation": Isolation.timeout}, end=A.stopped, word="shutdown", **RELEASED),
    row("a stop as stale is stale", given=(STALE,), end=A.stale, word="stale", **ON),
    row("a spent budget cancels", given=(LIMIT,), report={"exit_code": 143},
        end=A.cancelled, word="time_limit", **LIMITED),
    row("a spent budget comes before a new revision", given=(LIMIT, replanned),
        end=A.cancelled, word="time_limit", **LIMITED),
    row("a new revision makes stale", given=(replanned,), report=DONE, end=A.stale, word="context_moved", **ON),
    row("a new policy makes stale", given=(governed,), report=DONE, end=A.stale, word="policy_moved", **ON),
    row("a new revision comes before a timeout", given=(replanned, isolated), report={"isolation": Isolation.timeout},
        end=A.stale, word="context_moved", **ON),
    row("a timeout fails", report={"isolation": Isolation.timeout}, end=A.failed, word="timeout", **ON),
    row("too much output fails", report={"isolation": Isolation.output_limit},
        end=A.failed, word="output_limit", **ON),
    row("a lost capture fails", report={"isolation": Isolation.capture_failed},
        end=A.failed, word="capture_failed", **ON),
    row("a timeout comes before a commit", report={**DONE, "isolation": Isolation.timeout},
        end=A.failed, word="timeout", **ON),
    row("a commit completes", report=DONE, end=A.completed, word="committed", **ON),
    row("no change completes", report={"outcome": Outcome.unchanged}, end=A.completed, word="unchanged", **ON),
    row("another exit fails", report={"exit_code": 3}, end=A.failed, word="exit", **ON),
    row("another exit comes before a commit", report={**DONE, "exit_code": 3}, end=A.failed, word="exit", **ON),
    row("an exit without a judgement fails", report={"exit_code": 0}, end=A.failed, word="not_recorded", **ON),
    row("a result over 1 MiB fails", report={**DONE, "oversized": True}, end=A.failed, word="result_too_large", **ON),
    row("a failure with a name keeps it", report={"failure_code": "executor_unavailable"},
        end=A.failed, word="executor_unavailable", **ON),
    row("a workspace that is gone is not tried again", report={"failure_code": "workspace_missing"},
        end=A.failed, word="workspace_missing", **GIVEN_UP),
    row("a lost worker interrupts", report=LOST, end=A.interrupted, word="worker_lost", **REQUEUED),
    row("a lost worker's result never counts", report={**DONE, **LOST},
        end=A.interrupted, word="worker_lost", **REQUEUED),
    row("a failure of isolation stays one when its worker is lost", given=(isolated,), report=LOST,
        end=A.failed, word="timeout", **REQUEUED),
    row("a stop counts although its worker is lost", given=(USER,), report=LOST,
        end=A.cancelled, word="user", **HALTED),
    row("a pending attempt that is stopped is cancelled", given=(USER,), launched=False, report={"exit_code": None},
        end=A.cancelled, word="user", **HALTED),
    row("a pending attempt whose plan moved is stale", given=(replanned,), launched=False, report={"exit_code": None},
        end=A.stale, word="context_moved", **ON),
    row("a pending attempt that fails was not started", launched=False, report={"exit_code": None},
        end=A.failed, word="not_started", **ON),
    row("a pending attempt of a lost worker is interrupted", launched=False, report=LOST,
        end=A.interrupted, word="worker_lost", **REQUEUED),
]

MOVES = [
    row("a cancellation closes", given=(cancelled,), end=A.cancelled, word="user", **CLOSED),
    row("a cancellation comes before a finding, which is kept", given=(cancelled,), report=UNSAFE,
        end=A.cancelled, word="user", findings=1, **CLOSED),
    row("a cancellation comes before a person's finding", given=(reported, cancelled), end=A.cancelled, word="user",
        findings=1, **CLOSED),
    row("a cancellation stores no pause", given=(cancelled,), report={**DONE, "out_of_scope": EXTRA},
        end=A.cancelled, word="user", **CLOSED),
    row("a cancellation comes before the limit", given=(LIMIT, cancelled),
        end=A.cancelled, word="time_limit", **CLOSED),
    row("a cancellation comes before a shutdown", given=(SHUTDOWN, cancelled), report={"draining": True},
        end=A.stopped, word="shutdown", **CLOSED),
    row("a finding comes before a clean exit", report={"exit_code": 0, **UNSAFE},
        end=A.failed, word="not_recorded", **OWING),
    row("a finding comes before a stop", given=(USER,), report=UNSAFE, end=A.cancelled, word="user", **OWING),
    row("a finding comes before the limit", given=(LIMIT,), report=UNSAFE, end=A.cancelled, word="time_limit", **OWING),
    row("a finding comes before staleness", given=(replanned,), report=UNSAFE,
        end=A.stale, word="context_moved", **OWING),
    row("a finding comes before a shutdown", given=(SHUTDOWN,), report={"draining": True, **UNSAFE},
        end=A.stopped, word="shutdown", **OWING),
    row("a finding comes before giving up", retries=0, report={"exit_code": 3, **UNSAFE},
        end=A.failed, word="exit", **OWING),
    row("a finding of recovery comes before a requeue", report={**LOST, **UNSAFE},
        end=A.interrupted, word="worker_lost", **OWING),
    row("a finding a person recorded during the run counts", given=(reported,), end=A.cancelled, word="user", **OWING),
    row("a finding about a commit outside the scope stores the pause too",
        report={**DONE, "out_of_scope": EXTRA, **UNSAFE}, end=A.completed, word="committed", pause=True, **OWING),
    row("a commit outside the scope pauses", report={**DONE, "out_of_scope": EXTRA},
        end=A.completed, word="committed", **PAUSED),
    row("a pause comes before a release", report={**DONE, "out_of_scope": EXTRA, "draining": True},
        end=A.completed, word="committed", **PAUSED),
    row("a failed run outside the scope does not pause", report={"exit_code": 3, "out_of_scope": EXTRA},
        end=A.failed, word="exit", **ON),
    row("the limit comes before giving up", given=(LIMIT,), retries=0,
        end=A.cancelled, word="time_limit", **LIMITED),
    row("a failure past its retries gives up", retries=0, report={"exit_code": 3},
        end=A.failed, word="exit", **GIVEN_UP),
    row("giving up comes before a release", retries=0, report={"exit_code": 3, "draining": True},
        end=A.failed, word="exit", **GIVEN_UP),
    row("giving up comes before a requeue", given=(isolated,), retries=0, report=LOST,
        end=A.failed, word="timeout", **GIVEN_UP),
    row("a timeout before a shutdown gives up without a retry", given=(isolated, SHUTDOWN), retries=0,
        report={"draining": True}, end=A.failed, word="timeout", **GIVEN_UP),
    row("a draining worker releases what completed", report={**DONE, "draining": True},
        end=A.completed, word="committed", **RELEASED),
    row("a draining worker releases what failed", report={"exit_code": 3, "draining": True},
        end=A.failed, word="exit", **RELEASED),
    row("a draining worker releases what is stale", given=(replanned,), report={"draining": True},
        end=A.stale, word="context_moved", **RELEASED),
    row("recovery requeues a completed end", report={**DONE, "recovering": True},
        end=A.completed, word="committed", **REQUEUED),
]
# fmt: on


@pytest.mark.case("S18")
@pytest.mark.parametrize("case", [*ENDS, *MOVES])
def test_an_end_and_a_move_follow_both_tables(database: Database, case: Row) -> None:
    task = a_running_task(database, plan=a_plan(an_item(retries=case.retries)))
    attempt = an_attempt(database, task, launched=case.launched)
    for happen in case.given:
        happen(database, task, attempt)
    before = seen(database, task)

    settled = a_settled(database, task, attempt, **case.report)

    with database.connection() as db:
        ended, after = attempts.get_attempt(db, attempt.id), tasks.get(db, task.id)
        pause, done = pauses.latest(db, task.id), ledger.live(db, task.id)
    assert (settled.attempt_state, settled.word, settled.event) == (case.end, case.word, case.event)
    assert settled.task == after
    assert (ended.state, ended.exit_code) == (case.end, case.report.get("exit_code", 0))
    assert (after.state, after.version) == (case.to, before.version + 1)
    assert (after.gate_id is not None) == (case.gate is not None)
    assert case.gate is None or the_gate(database, task).kind is case.gate
    assert (pause is not None and pause.state == "open") == case.pause
    assert len(owed(database, task)) == case.findings
    assert (after.stop_reason, after.stop_by) == (None, None)
    assert (after.lease_expires is not None) == (case.to is S.running)
    committed = case.end is A.completed and case.report.get("outcome") is Outcome.committed
    assert [entry.outcome for entry in done] == ["commit" if committed else "unchanged"] * (case.end is A.completed)
    assert (after.head, after.context) == (
        (ended.commit, before.context + 1) if committed else (before.head, before.context)
    )
    assert (after.failures, after.losses) == (int(case.end is A.failed), int(case.end is A.interrupted))
    line = moves(database, task)[-1]
    assert (line.event, line.source, line.dest, line.attempt_id) == (case.event, "running", case.to, attempt.id)
