"""Checks: the plan's commands, run one after the other in a fresh tree of exactly the head."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from statemachine.attempts import AttemptKind, AttemptState
from statemachine.refusals import Refusal
from statemachine.settlement import Outcome
from statemachine.tasks import TaskState
from store import checks, outputs
from store.engine import Connection
from store.settlements import Report, Settled
from store.tasks import Task
from worker import runs, spaces
from worker.launches import TIME_LIMIT, Ended, deadline, exit_code, log_of, mark_launched, start_held, watch
from worker.leases import Lease
from worker.publishing import publish_refs
from worker.runs import Run
from worker.settling import settle_surely
from worker.spaces import Space
from worker.station import Station
from workspace.agents.environments import command, environment
from workspace.executors import Order, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """One command and how it ended."""

    command: str
    ended: Ended

    @property
    def passed(self) -> bool:
        return self.ended.exit.code == 0 and self.ended.isolation is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What ran, in order, and what kept the rest from running."""

    ran: tuple[_Checked, ...] = ()
    code: str = ""
    failure: str = ""


def run_checks(station: Station, task: Task, lease: Lease, *, commands: tuple[str, ...]) -> Task:
    """Run the checks that did not pass on this head yet and settle; a failed one keeps no other from running."""
    run = runs.admit(station, task, lease, kind=AttemptKind.check, item=None)
    station.say(f"task {task.id}: checks begin")
    space, outcome = _attempt(run, commands)
    settled = settle_surely(run, _report(run, outcome), beside=lambda db: _write(db, run, outcome))
    station.say(f"task {task.id}: {_told(settled)}")
    with contextlib.suppress(Refusal, OSError):
        publish_refs(station.database, station.root, task.id, lease=run.lease)
    with contextlib.suppress(Refusal, OSError):
        if space is not None:
            spaces.put_away(run, space)
        spaces.clear(run)
    return settled.task


def _told(settled: Settled) -> str:
    """Say how the checks ended, and where the task rests if they did not let it go on."""
    if settled.attempt_state is AttemptState.completed:
        return "checks passed"
    rests = "" if settled.task.state is TaskState.running else f"; the task is {settled.task.state}"
    return f"checks {settled.attempt_state} ({settled.word}){rests}"


def _attempt(run: Run, commands: tuple[str, ...]) -> tuple[Space | None, _Outcome]:
    space: Space | None = None
    try:
        space = spaces.prepare(run)
        until = deadline(mark_launched(run, space, links_digest=None))
        ran = []
        for number, each in enumerate(commands, start=1):
            ended = watch(run, start_held(run, space, _order(run, each, number)), deadline=until)
            ran.append(_Checked(command=each, ended=ended))
            if ended.stopped:
                break
    except runs.INFRASTRUCTURE:
        raise
    except (Refusal, OSError) as error:
        refused = runs.told(error)
        code = "" if refused.code == "not_launched" else refused.code
        return space, _Outcome(code=code, failure=refused.message)
    return space, _Outcome(ran=tuple(ran), code="" if all(each.passed for each in ran) else "checks_failed")


def _order(run: Run, text: str, number: int) -> Order:
    given = environment(
        attempt=run.attempt.id,
        task=run.task.id,
        item="",
        prompt_file=Path("/dev/null"),
        temporary=spaces.temporary(run),
        home=Path.home(),
    )
    return Order(
        argv=command(text, prompt_file=Path("/dev/null"), prompt="", path=given["PATH"], what="check"),
        environment=given,
        output=run.folder / f"check-{number}.log",
        room=run.folder,
        terms=Terms.of_checks(run.repository.policy),
        time_limit=TIME_LIMIT,
    )


def _report(run: Run, outcome: _Outcome) -> Report:
    worst = next((each for each in outcome.ran if not each.passed), None)
    last = worst or (outcome.ran[-1] if outcome.ran else None)
    return Report(
        task=run.task.id,
        epoch=run.attempt.epoch,
        attempt=run.attempt.id,
        exit_code=exit_code(last.ended) if last else None,
        isolation=last.ended.isolation if last else None,
        failure_code=outcome.code,
        failure=outcome.failure or (f"this check failed: {worst.command}" if worst else ""),
        outcome=None if outcome.code or not outcome.ran else Outcome.unchanged,
        next_kind=AttemptKind.execute,
        draining=run.station.draining.is_set(),
    )


def _write(db: Connection, run: Run, outcome: _Outcome) -> None:
    for each in outcome.ran:
        if each.ended.stopped is None:
            checks.add(
                db,
                task=run.task.id,
                attempt=run.attempt.id,
                head=run.attempt.base,
                command=each.command,
                exit_code=exit_code(each.ended),
                passed=each.passed,
                tail=each.ended.exit.output.tail,
            )
    logged = next((each for each in outcome.ran if not each.passed), outcome.ran[-1] if outcome.ran else None)
    if logged:
        outputs.add(db, attempt=run.attempt.id, host=run.station.host.id, file=log_of(logged.ended))
