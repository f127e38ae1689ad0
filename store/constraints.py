"""Constraint names are vocabulary: what each one refuses, in a sentence a person can act on.

A test compares this table with the constraints, unique indexes and trigger refusals of a migrated database.
"""

from typing import Final

from statemachine.refusals import LeaseLost, LostRace
from store.meanings import Meaning

_LOOK: Final = "look again (tasks show ID) and try again"
_TELL: Final = "this is a fault of the program that wrote the row; tasks doctor helps to report it"


def _race(sentence: str, code: str = "conflict") -> Meaning:
    return Meaning(code, sentence, _LOOK, LostRace)


def _fault(sentence: str, code: str = "bad_row") -> Meaning:
    return Meaning(code, sentence, _TELL)


def _twice(what: str) -> Meaning:
    return Meaning("duplicate", f"{what} exists already", _LOOK, LostRace)


def _unknown(what: str) -> Meaning:
    return Meaning("unknown_reference", f"the row names {what} that does not exist", _LOOK)


_VOCABULARY: Final = {
    "task_edge_pkey": _twice("this edge of the task's lifecycle"),
    "noun_edge_pkey": _twice("this edge of a lifecycle"),
    "noun_edge": _fault("this change of state is not in the lifecycle", "no_such_edge"),
    "noun_identity": _fault("what a row is about never changes", "identity_frozen"),
    "append_only": _fault("history is never changed or removed", "append_only"),
}

_REPOSITORIES: Final = {
    "repository_pkey": _twice("this repository"),
    "repository_runner_key": _twice("this runner repository"),
    "repository_name_key": Meaning(
        "name_taken", "a repository of this name exists already", "choose another with --name"
    ),
    "repository_source_key": Meaning("already_added", "this repository was added before", "tasks repo list"),
    "repository_name_length": Meaning(
        "bad_name", "a repository's name has 1 to 200 characters", "choose one with --name"
    ),
    "repository_object_format": _fault("a repository's objects are sha1 or sha256"),
}

_WORKERS: Final = {
    "worker_pkey": _twice("this worker"),
    "worker_slots": Meaning("bad_slots", "a worker has at least one slot", "give --slots 1 or more"),
}

_TASKS: Final = {
    "task_pkey": _twice("this task"),
    "task_repository_fkey": _unknown("a repository"),
    "task_lease_worker_fkey": _unknown("a worker"),
    "task_revision_fkey": _unknown("a plan revision"),
    "task_gate_key": _twice("this gate of the task"),
    "task_running_key": _twice("this run of the task"),
    "task_owed_findings_nonneg": _fault("a task cannot owe fewer than no findings", "owed_by_trigger"),
    "task_owed_pauses_nonneg": _fault("a task cannot owe fewer than no pauses", "owed_by_trigger"),
    "task_owed_by_trigger": _fault("what a task owes is counted by the database alone", "owed_by_trigger"),
    "task_next_kind": _fault("the next attempt is execute, fix, check or review"),
    "task_stop_reason": _fault("a stop's reason is user, shutdown, stale or time_limit"),
    "task_counters": _fault("failures, losses and retries are never negative"),
    "task_lease": _fault("a running task has a lease and no other task has one", "lease_without_run"),
    "task_stop_is_of_a_run": _fault("only a running task has a stop requested", "stop_without_run"),
    "task_finding_owed": Meaning(
        "finding_owed", "a finding of this task is owed a decision", "see: tasks finding list, tasks gate list"
    ),
    "task_pause_owed": Meaning("pause_owed", "a scope pause of this task is owed a decision", "see: tasks gate list"),
    "task_gate": _fault("a waiting task has one open gate and no other task has one", "gate_without_state"),
    "task_gate_is_open": _fault("a waiting task's gate is open and its own", "gate_without_state"),
    "task_is_its_last_line": _race("the task's state is the end of its last line of history", "move_without_line"),
    "task_seq": _race("a task moves by one line of history, or not at all"),
    "task_epoch": _fault("the epoch rises when a task is claimed or taken over, never otherwise", "epoch_frozen"),
}

_EVENTS: Final = {
    "task_event_pkey": _race("somebody else moved this task first"),
    "task_event_end": _race("somebody else moved this task first"),
    "task_event_task_fkey": _unknown("a task"),
    "task_event_begin": _fault("a history begins once, at its first line", "broken_history"),
    "task_event_edge": _fault("this move is not in the task's lifecycle", "no_such_edge"),
    "task_event_chain": _race("a line of history starts where the line before it ended"),
    "task_event_moves": _fault("a line of history moves its task", "line_without_move"),
    "task_event_who": Meaning(
        "not_permitted", "the database role in use may not make this move", "connect as a role that may"
    ),
}

_PLANS: Final = {
    "plan_revision_pkey": _race("somebody else saved this revision first"),
    "plan_revision_task_fkey": _unknown("a task"),
    "plan_revision_number": _fault("plan revisions are numbered from 1"),
    "plan_revision_cause": _fault("a revision is caused by add, amend, scope or request_changes"),
    "plan_item_pkey": _fault("an item's id is used once in a revision"),
    "plan_item_position_key": _fault("a position is used once in a revision"),
    "plan_item_revision_fkey": _unknown("a plan revision"),
    "plan_item_kind": _fault("an item is execute or fix"),
    "plan_item_approval": _fault("an item's approval is none or before"),
}

_GATES: Final = {
    "gate_pkey": _twice("this gate"),
    "gate_task_fkey": _unknown("a task"),
    "gate_one_open": _race("the task has an open gate already"),
    "gate_open_key": _twice("this open gate"),
    "gate_kind": _fault("there is no such kind of gate"),
    "gate_decided": _fault("a gate is open, or decided by somebody at some time"),
    "gate_is_its_tasks": _fault("an open gate is the one its task waits at", "gate_without_state"),
}

_ALLOCATIONS: Final = {
    "allocation_pkey": _twice("this workspace"),
    "allocation_task_fkey": _unknown("a task"),
    "allocation_executor": _fault("an executor is local, sandbox, docker or ssh"),
    "allocation_judged": Meaning(
        "tree_unjudged", "nobody judged yet what an agent left in this workspace", "tasks recover, on its host"
    ),
    "allocation_ready": _fault("a ready workspace has its base, path and baseline", "allocation_incomplete"),
    "allocation_one_live": _race("the task has a workspace in this state already"),
}

_ATTEMPTS: Final = {
    "attempt_pkey": _twice("this attempt"),
    "attempt_task_fkey": _unknown("a task"),
    "attempt_worker_fkey": _unknown("a worker"),
    "attempt_allocation_fkey": _unknown("a workspace"),
    "attempt_item_fkey": _unknown("an item of the plan"),
    "attempt_number_key": _race("another attempt of this task was admitted first"),
    "attempt_one_active": _race("the task has an active attempt already", "attempt_active"),
    "attempt_active_needs_lease": Meaning(
        "lease_lost", "an active attempt needs the lease it was admitted with", _LOOK, LeaseLost
    ),
    "attempt_kind": _fault("an attempt is execute, fix, check or review"),
    "attempt_item": _fault("an attempt that writes has an item and no other has one"),
    "attempt_first_reason": _fault("a stop's reason is user, shutdown, stale or time_limit"),
    "attempt_outcome": _fault("an attempt's outcome is a commit, or unchanged without one"),
    "attempt_ended": _fault("an attempt is active, or it ended at some time"),
    "attempt_completed": _fault("a completed attempt was started and has an outcome", "not_judged"),
}

_LEDGER: Final = {
    "commit_ledger_pkey": _twice("this ledger row"),
    "commit_ledger_task_fkey": _unknown("a task"),
    "commit_ledger_attempt_fkey": _unknown("an attempt"),
    "commit_ledger_outcome": _fault("a ledger row is a commit, or unchanged without one"),
    "commit_ledger_commit": _fault("a recorded commit is a full id and not its own parent"),
    "commit_ledger_discarded": _fault("a discarded ledger row says by whom"),
    "commit_ledger_one_live": _race("this item is done already"),
}

_FINDINGS: Final = {
    "finding_pkey": _twice("this finding"),
    "finding_task_fkey": _unknown("a task"),
    "finding_attempt_fkey": _unknown("an attempt"),
    "finding_summary": _fault("a finding's summary has 1 to 4000 characters"),
    "finding_fingerprint": _fault("a finding's fingerprint is a SHA-256"),
    "finding_decided": _fault("a finding is open, or decided by somebody for a reason"),
    "finding_permit": Meaning(
        "not_permittable", "only a dismissed finding can be permitted", "use --dismiss with --permit"
    ),
    "finding_reason": Meaning("reason_required", "a decision about a finding needs a reason", "give one with --reason"),
    "finding_one_open": _race("the same finding is open already"),
}

_PAUSES: Final = {
    "pause_pkey": _twice("this pause"),
    "pause_task_fkey": _unknown("a task"),
    "pause_attempt_fkey": _unknown("an attempt"),
    "pause_decided": _fault("a pause is open, or decided by somebody"),
    "pause_out_of_scope": _fault("a pause names at least one path"),
    "pause_one_open": _race("the task has an open pause already"),
}

_APPROVALS: Final = {
    "approval_pkey": _twice("this approval"),
    "approval_task_fkey": _unknown("a task"),
    "approval_gate_fkey": _unknown("a gate"),
    "approval_subject": _fault("an approval names what it approves"),
}

_RESULTS: Final = {
    "check_result_pkey": _twice("this check result"),
    "check_result_task_fkey": _unknown("a task"),
    "check_result_attempt_fkey": _unknown("an attempt"),
    "output_pkey": _twice("this output"),
    "output_attempt_fkey": _unknown("an attempt"),
    "output_kind": _fault("an output is a log, a diff or a manifest"),
    "output_once": _race("this output of the attempt was saved already"),
}

_MERGES: Final = {
    "merge_attempt_pkey": _twice("this merge"),
    "merge_attempt_task_fkey": _unknown("a task"),
    "merge_attempt_strategy": _fault("a merge is ff, merge or squash"),
    "merge_attempt_ended": _fault("a merge is in flight, or it ended at some time"),
    "merge_attempt_one": _race("a merge of this task is in flight", "merge_in_flight"),
}

MEANINGS: Final[dict[str, Meaning]] = {
    name: meaning
    for table in (
        *(_VOCABULARY, _REPOSITORIES, _WORKERS, _TASKS, _EVENTS, _PLANS, _GATES, _ALLOCATIONS),
        *(_ATTEMPTS, _LEDGER, _FINDINGS, _PAUSES, _APPROVALS, _RESULTS, _MERGES),
    )
    for name, meaning in table.items()
}
