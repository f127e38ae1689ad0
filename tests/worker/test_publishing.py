"""Refs follow the rows, and a worker that is late moves none of them."""

import math
import time

import pytest

from statemachine.refusals import LeaseLost, LostRace
from store.tasks import Task
from tests.factories import git
from tests.workshop import Workshop, edit, item
from worker.leases import Lease
from worker.publishing import publish_refs
from workspace.repository.publications import publish, seen

APPEND = "open('a.txt', 'a').write(item)\n"
TWO = (item("P1", edit("a.txt")), item("P2", edit("a.txt")))


def lease(task: Task, *, epoch: int | None = None, deadline: float = math.inf) -> Lease:
    return Lease(task=task.id, epoch=epoch or task.lease_epoch, context=task.context, deadline=deadline)


def behind(workshop: Workshop, task: Task) -> str:
    """Put a task's ref back to where it was before the task was worked on."""
    ref = f"refs/weighlock/tasks/{task.id}"
    git(workshop.runner().path, "update-ref", ref, task.base)
    return ref


def test_a_worker_whose_lease_nobody_took_moves_the_refs(workshop: Workshop) -> None:
    task = workshop.run(APPEND)
    ref = behind(workshop, task)

    moved = publish_refs(workshop.database, workshop.root, task.id, lease=lease(task))

    assert moved == [ref]
    assert workshop.refs()[ref] == task.head


@pytest.mark.case("A16")
@pytest.mark.parametrize("late", [{"deadline": -math.inf}, {"epoch": 7}], ids=["overdue", "somebody else's"])
def test_a_worker_that_is_late_moves_no_ref(workshop: Workshop, late: dict[str, float]) -> None:
    task = workshop.run(APPEND)
    ref = behind(workshop, task)

    with pytest.raises(LeaseLost):
        publish_refs(workshop.database, workshop.root, task.id, lease=lease(task, **late))  # type: ignore[arg-type]

    assert workshop.refs()[ref] == task.base


def test_a_lease_that_ended_with_its_task_is_not_late(workshop: Workshop) -> None:
    task = workshop.run(APPEND)
    held = lease(task, deadline=time.monotonic() + 60)
    held.gone = True  # the task rests, so no beat brings it back

    behind(workshop, task)

    assert publish_refs(workshop.database, workshop.root, task.id, lease=held) != []


@pytest.mark.case("A16")
def test_rows_older_than_the_refs_take_nothing_back(workshop: Workshop) -> None:
    task = workshop.run(APPEND, *TWO)
    first, second = workshop.ledger(task)
    ref = behind(workshop, task)
    there = seen(workshop.runner())
    git(workshop.runner().path, "update-ref", ref, second.commit or "")

    with pytest.raises(LostRace):
        publish(
            workshop.runner(),
            task.id,
            base=task.base,
            head=first.commit or "",
            discarded={},
            settled=[],
            there=there,
        )

    assert workshop.refs()[ref] == second.commit
