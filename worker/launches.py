"""Launches: the second boundary, the agent held and let go, and the wait for its end."""

import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from statemachine.attempts import StopReason
from statemachine.failpoints import reach
from statemachine.settlement import Isolation
from store import attempts
from store.attempts import Launched
from store.outputs import NewOutput
from worker.patience import surely
from worker.runs import Run
from worker.spaces import Space
from workspace.agents.processes import Exit, Held, Running
from workspace.executors import Order

TIME_LIMIT: Final = timedelta(hours=1)
_SIGNALLED: Final = 128
_TICK: Final = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the agent ended, and what the layer around it saw go wrong."""

    exit: Exit
    isolation: Isolation | None
    stopped: StopReason | None


def mark_launched(run: Run, space: Space, *, links_digest: str | None) -> Launched:
    """Look at everything once more and mark the attempt running, in one statement; refused where it is to stop."""
    if why := run.stop_wanted():
        run.request_stop(why)
    with run.station.database.connection() as db:
        launched = attempts.launch(
            db,
            run.attempt,
            allocation=space.allocation.id,
            generation=space.allocation.generation,
            links_digest=links_digest,
        )
    reach("marked_running")
    return launched


def deadline(launched: Launched) -> float | None:
    """Say when the task's budget ends, on the monotonic clock."""
    return None if launched.budget_left is None else time.monotonic() + launched.budget_left.total_seconds()


def start_held(run: Run, space: Space, order: Order) -> Held:
    """Start the agent before its first instruction, and record which process it is."""
    held = run.executor.launch(space.place, order)
    try:
        reach("agent_held")
        with run.station.database.connection() as db:
            attempts.note_handle(db, run.attempt, asdict(held.handle))
    except BaseException:
        held.abandon()
        raise
    reach("handle_noted")
    return held


def watch(run: Run, held: Held, *, deadline: float | None) -> Ended:
    """Let the agent go and wait for its end; a stop, a lost lease or a spent budget ends its whole process tree.

    From here there is a tree to be judged: a database that is away only delays what is written about it.
    """
    running = held.let_go()
    try:
        reach("agent_let_go")
        ended, stopped = _await(run, running, deadline)
    except BaseException:
        run.executor.stop(running)
        raise
    reach("agent_ended")
    return _note(run, ended, stopped)


def _await(run: Run, running: Running, deadline: float | None) -> tuple[Exit, StopReason | None]:
    while (ended := running.wait(_TICK)) is None:
        run.lease.check()
        why = _why(run, deadline)
        if why:
            # The tree first: a database that is away must not keep an agent running.
            ended = run.executor.stop(running)
            surely(run.lease, partial(run.request_stop, why))
            return ended, why
    return ended, None


def _why(run: Run, deadline: float | None) -> StopReason | None:
    wanted = run.stop_wanted()
    if wanted is None and deadline is not None and time.monotonic() >= deadline:
        return StopReason.time_limit
    return wanted


def _note(run: Run, ended: Exit, stopped: StopReason | None) -> Ended:
    """Record a failure of the isolation layer at once, so that a later stop cannot hide it."""
    isolation = _isolation(ended)
    if isolation:
        surely(run.lease, lambda: _write_isolation(run, isolation))
    run.lease.check()
    return Ended(exit=ended, isolation=isolation, stopped=stopped)


def _write_isolation(run: Run, isolation: Isolation) -> None:
    with run.station.database.connection() as db:
        attempts.note_isolation_failure(db, run.attempt, isolation)


def _isolation(ended: Exit) -> Isolation | None:
    if ended.timed_out:
        return Isolation.timeout
    if ended.broken:
        return Isolation(ended.broken)
    return Isolation.capture_failed if ended.output.error or ended.supervisor_lost else None


def exit_code(ended: Ended) -> int | None:
    """Tell the exit code as a shell does: a signal is 128 and its number."""
    return ended.exit.code if ended.exit.signal is None else _SIGNALLED + ended.exit.signal


def log_of(ended: Ended) -> NewOutput:
    """Describe the file that holds what an agent or a check printed."""
    said = ended.exit.output
    return NewOutput(
        kind="log",
        path=str(said.path),
        size=said.size,
        sha256=said.sha256,
        truncated=said.truncated,
        tail=said.tail,
    )
