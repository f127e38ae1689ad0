"""Requested changes: one `fix` item more, that may edit what the done items could touch."""

from dataclasses import replace
from textwrap import indent
from typing import Final

from statemachine.attempts import AttemptKind
from statemachine.plans import Item, ItemKind, Operation, OperationKind, Plan
from statemachine.refusals import Refusal
from statemachine.tasks import TaskEvent
from statemachine.texts import clean, one_line
from store import checks, plans, tasks
from store.engine import Connection
from store.interventions import save_covered
from store.tasks import Change, Task

_MOST_OF_A_TAIL: Final = 2_000


def request_changes(db: Connection, task: Task, *, actor: str, guidance: str) -> Task:
    """Append a fix item with the reviewer's guidance and queue the task; its gate is closed already.

    Where nothing is done yet there is nothing a fix could edit: the items run with the guidance in their prompts.
    """
    if not guidance.strip():
        raise Refusal(
            "guidance_required", "say what should change", hint="add --guidance TEXT, or --cancel to close it"
        )
    guidance = clean(guidance, tasks.LONGEST_GUIDANCE)
    plan = plans.current(db, task=task.id, number=task.revision).plan
    done = {item.item_id for item in plans.items(db, task.id) if item.outcome}
    finished = len(done) == len(plan.items)
    fix = fix_item(plan, done=done, guidance=guidance)
    if finished and not fix.operations:
        raise _nothing_to_fix(task)
    fixed = replace(plan, items=(*plan.items, fix))
    change = save_covered(db, task, fixed, cause="request_changes", actor=actor) if fix.operations else Change()
    kind = AttemptKind.fix if finished else None
    told = _with_failed_checks(db, task, plan, guidance) if finished else guidance
    return tasks.move(
        db,
        task,
        TaskEvent.request_changes,
        actor=actor,
        reason=one_line(guidance),
        change=replace(change, failures=0, losses=0, retries_set=True, next_kind=kind, guidance=told),
    )


def _with_failed_checks(db: Connection, task: Task, plan: Plan, guidance: str) -> str:
    """Add to a reviewer's words which checks fail on the head, and what those printed last."""
    results = {each.command: each for each in checks.latest(db, task=task.id, head=task.head) if not each.passed}
    failed = [
        f"This check fails on what is there now, with exit status {found.exit_code}:\n\n"
        f"    {one_line(command, 4_000)}\n\nIt printed last:\n\n{indent(found.tail[-_MOST_OF_A_TAIL:], '    ')}"
        for command in plan.checks
        if (found := results.get(command))
    ]
    return clean("\n\n".join((guidance, *failed)), tasks.LONGEST_GUIDANCE)


def fix_item(plan: Plan, *, done: set[str], guidance: str) -> Item:
    """Make the item that carries a reviewer's guidance: it may edit whatever the done items declared."""
    taken = {item.id for item in plan.items}
    number = next(number for number in range(1, len(taken) + 2) if f"F{number}" not in taken)
    paths = dict.fromkeys(
        operation.path
        for item in plan.items
        if item.id in done
        for operation in item.operations
        if operation.kind is not OperationKind.delete
    )
    return Item(
        id=f"F{number}",
        title=one_line(f"Requested changes: {guidance}"),
        intent=guidance,
        kind=ItemKind.fix,
        operations=tuple(Operation(kind=OperationKind.edit, path=path) for path in paths),
    )


def _nothing_to_fix(task: Task) -> Refusal:
    return Refusal(
        "nothing_to_change",
        f"the items of task {task.id} declared no file that is still there, so no change of one can be asked for",
        hint=f"tasks cancel {task.id}, and add a task that declares what should change",
    )
