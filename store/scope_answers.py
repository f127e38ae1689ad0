"""The answer at a scope gate: keep the commit and declare its paths, or take it back."""

from dataclasses import replace

from statemachine.decisions import Facts
from statemachine.gates import GateState
from statemachine.pauses import PauseState
from statemachine.plans import Plan, amend_with, granted, revision_problems, validate
from statemachine.refusals import LostRace, Refusal
from statemachine.tasks import TaskEvent
from statemachine.texts import clean, one_line, quote
from store import attempts, findings, gates, ledger, pauses, plans, tasks
from store.engine import Connection
from store.gates import Gate
from store.interventions import discard_from, save_covered
from store.pauses import Pause
from store.tasks import Change, Task
from store.words import Word


def continue_in_scope(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    """Keep an out-of-scope commit: with `amend`, by a revision that declares exactly its paths."""
    pause = _standing(db, task)
    plan = plans.current(db, task=task.id, number=task.revision).plan
    wanted = amend_with(plan, pause.item_id, pauses.seen_paths(pause)) if word.amend else plan
    _check(db, task, pause, wanted, word)
    if task.owed_findings:
        raise _owed(db, task)
    change = save_covered(db, task, wanted, cause="scope", actor=word.actor) if word.amend else Change()
    pauses.end(db, task.id, PauseState.continued, actor=word.actor)
    gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
    return tasks.move(
        db,
        tasks.get(db, task.id),
        TaskEvent.approve_continuation,
        actor=word.actor,
        facts=Facts(task=task.id),
        reason=word.reason,
        change=replace(change, failures=0, losses=0, retries_set=True),
    )


def discard_paused(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    """Take the paused item's commit back; it stays under its named ref and the item runs again."""
    pause = _standing(db, task)
    entry = next(entry for entry in ledger.live(db, task.id) if entry.attempt_id == pause.attempt_id)
    gates.close(db, asked, GateState.rejected, actor=word.actor, comment=word.reason)
    reason = word.reason or "out of scope"
    return discard_from(db, task, entry, actor=word.actor, reason=reason, guidance=_told(pause, word))


def _told(pause: Pause, word: Word) -> str:
    """Say to the agent that runs again what was outside, before the reviewer's own words: else it does the same."""
    outside = "\n".join(f"- {each['operation']} {quote(each['path'])}" for each in pause.out_of_scope)
    before = f"An earlier attempt was taken back because it also made changes that are not declared:\n\n{outside}"
    return clean("\n\n".join(filter(None, (before, word.guidance.strip()))), tasks.LONGEST_GUIDANCE)


def _standing(db: Connection, task: Task) -> Pause:
    """Read the pause that is being decided: open, of this head, and nothing ran since."""
    pause = pauses.latest(db, task.id)
    if pause is None or pause.state is not PauseState.open:
        raise Refusal("no_pause", f"task {task.id} has no open scope pause", hint=f"tasks show {task.id}")
    latest = attempts.listing(db, task.id)[-1]
    if pause.head != task.head or latest.id != pause.attempt_id:
        raise LostRace("stale_view", f"task {task.id} went on since it was paused", hint=f"tasks show {task.id}")
    return pause


def _check(db: Connection, task: Task, pause: Pause, plan: Plan, word: Word) -> None:
    """Refuse a revision that still misses a path, alters a done item, or whose rest does not fit the tree."""
    before = plans.current(db, task=task.id, number=pause.revision).plan
    seen = pauses.seen_paths(pause)
    item = plan.item(pause.item_id)
    missing = granted(item, seen) if item else ()
    wrong = revision_problems(before, plan, done_item_ids=pause.done, paused_item=pause.item_id, out_of_scope=seen)
    if missing or wrong:
        problems = [f"{each.kind} {each.path} is not declared" for each in missing] + [each.message for each in wrong]
        told = one_line(", ".join(problems), 1_000)
        raise Refusal(
            "scope_not_amended",
            f"the plan of task {task.id} does not cover what {pause.item_id} did: {told}",
            hint=f"tasks gate approve {task.id} --amend\ntasks gate reject {task.id}",
            problems=problems,
        )
    if word.tree is not None:
        validate(plan, word.tree, done=pause.done)


def _owed(db: Connection, task: Task) -> Refusal:
    ids = [finding.id for finding in findings.owed(db, task.id)]
    return Refusal(
        "finding_owed", f"task {task.id} owes findings {ids}", hint=f"tasks gate show {task.id}", findings=ids
    )
