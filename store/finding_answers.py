"""The answer at a finding gate: every owed finding decided, then the one event that follows."""

from statemachine.decisions import Facts
from statemachine.findings import FindingState
from statemachine.gates import GateState
from statemachine.pauses import PauseState
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent
from store import checks, findings, gates, interventions, ledger, pauses, plans, tasks
from store.engine import Connection
from store.findings import Finding
from store.fixes import request_changes
from store.gates import Gate
from store.tasks import Question, Task
from store.words import Word

_NEXT = ("retry", "review", "changes")


def answer_findings(db: Connection, task: Task, asked: Gate, word: Word) -> Task:
    """Decide every open finding of a task and let it go on; refused while one is left out."""
    owed = {finding.id: finding for finding in findings.owed(db, task.id)}
    accepted, dismissed = _sorted_out(task, owed, word)
    _decide(db, accepted, FindingState.accepted, word)
    _decide(db, dismissed, FindingState.dismissed, word)
    gates.close(db, asked, GateState.approved, actor=word.actor, comment=word.reason)
    return go_on_decided(db, tasks.get(db, task.id), word, accepted=accepted)


def go_on_decided(db: Connection, task: Task, word: Word, *, accepted: list[Finding]) -> Task:
    """Move a task whose findings are all decided and whose gate is closed."""
    discarded = _discard_accepted(db, task, accepted, word)
    pause = pauses.latest(db, task.id)
    paused = pause is not None and pause.state is PauseState.open
    if (discarded or paused) and any(finding.attempt_id is None for finding in accepted):
        # Nothing would carry out what accepting it asks for; the caller's transaction takes the decisions back.
        raise _needs_changes(task, accepted)
    if discarded:
        return discarded
    if pause and paused:
        return interventions.resume_pause(db, task, pause, actor=word.actor, reason=word.reason)
    if word.then == "changes":
        return request_changes(db, task, actor=word.actor, guidance=word.guidance or word.reason)
    if word.then == "review":
        return _accept_result(db, task, word)
    return interventions.requeue(db, task, word)


def _sorted_out(task: Task, owed: dict[int, Finding], word: Word) -> tuple[list[Finding], list[Finding]]:
    named = set(word.accept) | set(word.dismiss)
    unknown = sorted(named - set(owed))
    if unknown:
        raise Refusal(
            "finding_not_owed",
            f"task {task.id} does not owe {_listed(unknown)}",
            hint=f"tasks gate show {task.id}",
            findings=unknown,
        )
    left = sorted(set(owed) - named) if not word.dismiss_all else []
    if left:
        raise Refusal(
            "finding_owed",
            f"task {task.id} still owes {_listed(left)}: decide each of them",
            hint=f"tasks gate approve {task.id} --accept ID | --dismiss ID | --dismiss-all --reason TEXT",
            findings=left,
        )
    _require(task, word, owed)
    accepted = [owed[finding] for finding in sorted(set(word.accept))]
    return accepted, [finding for finding in owed.values() if finding not in accepted]


def _require(task: Task, word: Word, owed: dict[int, Finding]) -> None:
    if owed and not word.reason.strip():
        named = [f"--accept {each}" for each in word.accept] + [f"--dismiss {each}" for each in word.dismiss]
        typed = " ".join(["--dismiss-all"] if word.dismiss_all else named)
        hint = f"tasks gate approve {task.id} {typed} --reason TEXT"
        raise Refusal("reason_required", "a decision about findings needs a reason", hint=hint)
    if word.then not in _NEXT:
        raise Refusal("unknown_next", f"--then takes {', '.join(_NEXT)}", hint="--then retry")
    if word.then != "changes" and any(owed[finding].attempt_id is None for finding in word.accept):
        raise _needs_changes(task, [owed[finding] for finding in word.accept])


def _needs_changes(task: Task, accepted: list[Finding]) -> Refusal:
    named = " ".join(f"--accept {finding.id}" for finding in accepted)
    return Refusal(
        "accept_needs_changes",
        "a finding a person added is accepted only together with changes, or by rejecting the gate",
        hint=f"tasks gate approve {task.id} {named} --reason TEXT --then changes --guidance TEXT\n"
        f"tasks gate reject {task.id}",
    )


def _decide(db: Connection, chosen: list[Finding], state: FindingState, word: Word) -> None:
    permit = word.permit and state is FindingState.dismissed
    if chosen:
        findings.decide_all(db, chosen, state=state, actor=word.actor, reason=word.reason, permit=permit)


def _discard_accepted(db: Connection, task: Task, accepted: list[Finding], word: Word) -> Task | None:
    """Accepting a finding about committed work takes that work, and everything after it, out of the ledger."""
    attempts = {finding.attempt_id for finding in accepted}
    unsafe = [entry for entry in ledger.live(db, task.id) if entry.attempt_id in attempts]
    if not unsafe:
        return None
    return interventions.discard_from(
        db, task, unsafe[0], actor=word.actor, reason=word.reason, guidance=word.guidance or None
    )


def _accept_result(db: Connection, task: Task, word: Word) -> Task:
    plan = plans.current(db, task=task.id, number=task.revision).plan
    passed = {result.command for result in checks.latest(db, task=task.id, head=task.head) if result.passed}
    facts = Facts(
        task=task.id,
        owed_findings=task.owed_findings,
        owed_pauses=task.owed_pauses,
        items_done=all(item.outcome for item in plans.items(db, task.id)),
        checks_passed=set(plan.checks) <= passed,
    )
    question = Question(reason="a reviewer accepts the result as it is")
    return tasks.move(
        db, task, TaskEvent.accept_result, actor=word.actor, facts=facts, reason=word.reason, question=question
    )


def _listed(ids: list[int]) -> str:
    return "finding " + ", ".join(str(finding) for finding in ids)
