"""A person of the soak: decides what waits, and now and then stops, cancels, doubts or merges something."""

from collections.abc import Callable

from statemachine.gates import GateKind
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store import answers, findings, gates, interventions, tasks
from store.tasks import Task
from store.words import Word
from tests.factories import a_finding
from tests.soak.stage import Stage
from worker import landing
from worker.publishing import publish_refs

WAITING = frozenset({TaskState.in_review, TaskState.needs_human, TaskState.needs_amendment, TaskState.needs_approval})
CLOSED = frozenset({TaskState.merged, TaskState.cancelled})


def standing(stage: Stage) -> list[Task]:
    """Read every task as it is."""
    with stage.database.connection() as db:
        return [tasks.get(db, row["id"]) for row in db.execute("SELECT id FROM task ORDER BY id").fetchall()]


def meddle(stage: Stage) -> None:
    """Do one thing to one task; that it is refused is no wonder, and no harm."""
    open_tasks = [task for task in standing(stage) if task.state not in CLOSED]
    if not open_tasks:
        return
    task = stage.random.choice(open_tasks)
    if task.state in WAITING:
        answer(stage, task, yes=stage.random.random() < 0.8)
    elif task.state in {TaskState.approved, TaskState.merge_blocked}:
        fail_at = stage.random.choice(["", "", "merge_begun", "push_marked", "pushed", "confirming"])
        stage.merging.append(stage.start("merge", task.id, fail_at=fail_at))
        stage.did["merges tried"] += 1
    else:
        _interfere(stage, task)


def answer(stage: Stage, task: Task, *, yes: bool) -> None:
    """Answer the gate a task waits at."""
    with stage.database.connection() as db:
        gate = gates.open_gate(db, tasks.get(db, task.id))
    if gate is None:
        return
    word = Word(
        actor="rev", reason="seen", dismiss_all=gate.kind is GateKind.finding, amend=gate.kind is GateKind.scope
    )
    if not yes and gate.kind is not GateKind.scope:
        word = Word(actor="rev", reason="no", cancel=True)
    with stage.database.transaction() as db:
        (answers.approve if yes else answers.reject)(db, gate.id, word)
    stage.did["answers"] += 1
    publish_refs(stage.database, stage.root, task.id)


def merge(stage: Stage, task: Task) -> None:
    """Merge an approved task here and now."""
    landing.merge(
        stage.database,
        stage.root,
        task.id,
        actor="rev",
        strategy=None,
        if_version=None,
        author_may_approve=True,
    )


def _interfere(stage: Stage, task: Task) -> None:
    what = stage.random.choices(["nothing", "stop", "finding", "cancel"], [70, 15, 10, 5])[0]
    with stage.database.transaction() as db:
        match what:
            case "stop":
                interventions.stop(db, task.id, actor="rev")
            case "cancel":
                interventions.cancel(db, task.id, actor="rev", reason="enough")
            case "finding":
                findings.record(db, task.id, [a_finding(paths=[str(stage.random.random())])], actor="rev")
    stage.did[f"times a person did {what}"] += 1


def patiently(act: Callable[[], object]) -> None:
    """Do something that may be refused, or cut off by a server that is going down."""
    try:
        act()
    except Refusal:
        return
