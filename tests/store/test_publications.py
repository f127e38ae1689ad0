"""Publications: what the refs of a task ought to be, read from its rows."""

from store import publications, repositories
from store.engine import Database
from tests.factories import a_done_item, a_plan, a_running_task, a_settled, an_attempt, an_item
from tests.store.scenes import DONE, EXTRA, rejected


def test_a_task_asks_for_its_base_its_live_head_and_the_attempts_that_are_settled(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(an_item("P1"), an_item("P2")))
    done = a_done_item(database, task)
    active = an_attempt(database, task, item="P2")

    with database.connection() as db:
        asked = publications.of_task(db, task.id)
        repository = repositories.get(db, task.repository_id)

    assert (asked.task, asked.runner, asked.base, asked.head) == (task.id, repository.runner, task.base, done.head)
    assert len(asked.settled) == 1
    assert active.id not in asked.settled
    assert asked.discarded == {}


def test_a_discarded_commit_is_asked_for_under_its_attempt(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    paused = a_settled(database, task, attempt, **DONE, out_of_scope=EXTRA).task

    rejected(database, paused, reason="no")

    with database.connection() as db:
        asked = publications.of_task(db, task.id)
    assert (asked.head, asked.discarded, asked.settled) == (
        task.base,
        {str(attempt.id): paused.head},
        [attempt.id],
    )
