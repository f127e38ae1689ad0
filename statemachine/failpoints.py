"""Fail points: named places between two steps, where a test may kill, stop or hold the process that gets there.

`TASKS_FAIL_AT=settled` kills the process that gets there first, `settled:stop` stops it (SIGSTOP), and
`settled:pause:FOLDER` opens the named pipe `reached` in that folder for writing, so that a test hears of it, and
then waits for the other end of the pipe `go`. Each point acts once; several are separated by commas. Without the
variable, which is read once at import, a point is a call of a function that does nothing.
"""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Final

from statemachine.refusals import Refusal

VARIABLE: Final = "TASKS_FAIL_AT"

POINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # An attempt, from the claim to the day its workspace is put away.
        "claimed": "worker.turns.drive",
        "admitted": "worker.runs.admit",
        "reserved": "worker.spaces.prepare",
        "proof_written": "workspace.places.allocations.prepare",
        "materialised": "worker.spaces.prepare",
        "space_ready": "worker.spaces.prepare",
        "attached": "worker.items._attach",
        "marked_running": "worker.launches.mark_launched",
        "agent_held": "worker.launches.start_held",
        "handle_noted": "worker.launches.start_held",
        "agent_let_go": "worker.launches.watch",
        "agent_ended": "worker.launches.watch",
        "inspected": "worker.inspecting._inspect",
        "result_kept": "worker.inspecting._inspect",
        "screened": "worker.judging.judge",
        "looked_again": "worker.judging.judge",
        "objects_built": "workspace.results.commits.commit",
        "objects_stored": "workspace.results.commits.commit",
        "committed": "worker.judging.judge",
        "exported": "worker.judging.judge",
        "settling": "worker.settling._settle",
        "settled": "worker.settling._settle",
        "head_published": "workspace.repository.publications.publish",
        "refs_published": "worker.publishing.publish_refs",
        "space_thrown": "workspace.places.allocations.release",
        "space_removed": "worker.spaces.put_away",
        "space_released": "worker.spaces.put_away",
        "moved_on": "worker.turns._move",
        # A shutdown.
        "drain_written": "worker.service._Loop._rest",
        "tasks_rested": "worker.service._Loop._leave",
        "tasks_put_back": "worker.service._Loop._leave",
        "recovery_joined": "worker.service._Loop._leave",
        "heartbeat_ended": "worker.presence.registered",
        "worker_gone": "worker.presence.registered",
        # A recovery pass.
        "workers_buried": "recovery.processes.bury_workers",
        "wreck_found": "recovery.interrupted._resume",
        "taken_over": "recovery.leases._take_over",
        "survivors_ended": "recovery.interrupted._settle",
        "wreck_inspected": "recovery.trees.examine",
        "wreck_examined": "recovery.interrupted._settle",
        "wreck_settling": "recovery.interrupted._settle",
        "wreck_settled": "recovery.interrupted._settle",
        "wreck_cleared": "recovery.interrupted._settle",
        "resting": "recovery.interrupted._between_items",
        "rested": "recovery.interrupted._between_items",
        "requeueing": "recovery.masses._requeue",
        "requeued": "recovery.masses._requeue",
        "spent_out": "recovery.limits.spend_out",
        "target_read": "recovery.merges._reconcile",
        "merge_ended": "recovery.merges._reconcile",
        "space_put_right": "recovery.storage._put_right",
        "judging_late": "recovery.unjudged._judge",
        "judged_late": "recovery.unjudged._judge",
        "refs_repaired": "recovery.references._publish",
        "scraps_found": "recovery.scraps._of_attempts",
        # A merge.
        "target_seen": "worker.landing.merge",
        "merge_begun": "worker.landing.merge",
        "push_marked": "worker.landing.merge",
        "pushed": "worker.landing._push",
        "confirming": "worker.landing.confirm",
        "confirmed": "worker.landing.confirm",
        "failing": "worker.landing._fail",
        "failed": "worker.landing._fail",
    }
)
"""Each name with the function in which, and nowhere else, it is reached."""


def armed(text: str) -> dict[str, Callable[[], None]]:
    """Read which points do what; a name nobody knows must not be a point nobody gets to.

    Raises:
        Refusal: `fail_point_unknown`.
    """
    return dict(_order(word) for word in text.split(",") if word)


def _order(word: str) -> tuple[str, Callable[[], None]]:
    name, _, rest = word.partition(":")
    action, _, folder = rest.partition(":")
    match action:
        case "kill" | "":
            act = _kill
        case "stop":
            act = _stop
        case "pause" if folder:
            act = _pausing(Path(folder))
        case _:
            name = ""
    if name not in POINTS:
        raise Refusal(
            "fail_point_unknown",
            f"{VARIABLE} names {word!r}: a point of statemachine/failpoints.py, then kill, stop or pause:FOLDER",
            hint=f"unset {VARIABLE}: it is for tests only",
        )
    return name, act


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _pausing(folder: Path) -> Callable[[], None]:
    def pause() -> None:
        with (folder / "reached").open("wb"):
            pass
        with (folder / "go").open("rb"):
            pass

    return pause


_armed: Final = armed(os.environ.get(VARIABLE, ""))
_lock: Final = Lock()


def _nothing(_: str) -> None:
    """Go on."""


def _act(name: str) -> None:
    with _lock:
        act = _armed.pop(name, None)
    if act:
        act()


reach: Final[Callable[[str], None]] = _act if _armed else _nothing
