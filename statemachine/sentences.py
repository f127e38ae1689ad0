"""What each condition says when it does not hold, and which command to type next."""

from dataclasses import dataclass
from typing import Final

_SHOW: Final = "tasks show {task}"
_GATE: Final = "tasks gate show {task}"
_EXPORT: Final = "tasks export {task} --format patch"


@dataclass(frozen=True, slots=True)
class Words:
    """Hold a sentence that begins with the task's name, and the next step; {name} stands for a fact."""

    why: str
    hint: str = _SHOW


WORDS: Final[dict[str, Words]] = {
    # To claim, to go on, to launch.
    "not_queued": Words("is {state}, not queued"),
    "not_yet_available": Words("may not start yet"),
    "kind_not_served": Words("needs a worker that serves {kind}", "tasks work --kinds {kind}"),
    "executor_not_served": Words("needs a worker that serves {executor}", "tasks work --executors {executor}"),
    "not_running": Words("is {state}, not running, so nothing more is started"),
    "revision_moved": Words("has a newer plan: revision {revision} instead of {revision_expected}"),
    "context_moved": Words("changed since this work was admitted: its plan, head, base or target"),
    "policy_moved": Words("is under a newer policy of its repository than this work was admitted with"),
    "attempt_not_pending": Words("has an attempt that is {attempt}, not pending"),
    "stop_requested": Words("was asked to stop: {reason}"),
    "finding_owed": Words("owes findings that a person decides first: {owed_findings}", _GATE),
    "pause_owed": Words("waits for a decision about work outside its declared files", _GATE),
    "budget_spent": Words("has spent its budget", "tasks retry {task} --budget 1h"),
    # To try again.
    "not_at_gate": Words("is {state}; a retry starts from needs_human"),
    "stale_view": Words("moved on: it is at version {version}, you saw {version_seen}"),
    "not_retryable": Words("has nothing to repeat in an attempt that is {attempt}"),
    # To merge.
    "not_mergeable": Words("is {state}; only approved work is merged"),
    "merge_in_flight": Words(
        "is being merged already", "tasks recover (once its process is gone; the target says how it ended)"
    ),
    "items_unfinished": Words("has items that are not done: {unfinished}"),
    "checks_missing": Words("has checks that did not run on this head: {missing}", "tasks show {task}"),
    "checks_failed": Words("has checks that failed on this head: {failed}", "tasks show {task}"),
    "approval_lapsed": Words("has no approval of this head, base and target", _GATE),
    "approver_is_author": Words(
        "was approved by its own author, {approver}",
        "tasks finding add {task} --summary TEXT (then `--then review` at its gate, and somebody else approves)",
    ),
    "target_unreadable": Words("has a target that cannot be read: {target_error}", "tasks repo list"),
    "target_checked_out": Words(
        "merges into a branch that is checked out with changes of its own",
        "tasks merge {task} (once they are committed or put away; or now: " + _EXPORT + ")",
    ),
    "merge_conflict": Words(
        "conflicts with its target in {conflicts}",
        _EXPORT,
    ),
    "not_fast_forward": Words("does not descend from its target's tip", _EXPORT),
    "not_merging": Words("is {state} and has no merge in flight, so nothing is pushed"),
}
