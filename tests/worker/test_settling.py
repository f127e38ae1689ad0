import pytest

from statemachine.tasks import TaskState
from store import settlements, tasks
from tests.workshop import Workshop

WRITES = "open('a.txt', 'a').write('x')\n"


def test_an_item_that_went_as_launched_is_settled_without_reading_rows_again(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reading(*_: object) -> None:
        raise AssertionError("the rows were read again")

    monkeypatch.setattr(settlements, "read", reading)

    task = workshop.run(WRITES)

    assert task.state is TaskState.in_review
    assert [entry.outcome for entry in workshop.ledger(task)] == ["commit"]
    assert [output.kind for output in workshop.outputs(task)] == ["log"]


def test_a_task_that_somebody_touched_meanwhile_is_read_again_and_settled_once(workshop: Workshop) -> None:
    go = workshop.folder / "go"
    task = workshop.add(f"{WRITES}ring()\nwhile not os.path.exists({str(go)!r}): os.sched_yield()\n")

    with workshop.working(task) as worker:
        workshop.heard()
        with workshop.database.connection() as db:
            tasks.touch(db, task.id)
        go.touch()
        worker.join()

    assert workshop.look(task).state is TaskState.in_review
    assert [entry.outcome for entry in workshop.ledger(task)] == ["commit"]
