"""What a worker asks again and again is planned once, however much lies on the board."""

import psycopg
import pytest

from statemachine.attempts import AttemptKind
from store import claims
from store.engine import Database
from tests.factories import LEASE, a_registered_repository, a_worker

# PostgreSQL makes a plan of its own for the first five calls, and after that where it promises to be cheaper.
OWN = 5


@pytest.fixture
def crowded(superuser_url: str, database: Database) -> None:
    """Fill the board past the triggers, and let the planner know."""
    repository = a_registered_repository(database)
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(
            "INSERT INTO task (repository_id, title, author, state, priority, next_kind, executor, base, head, target)"
            " SELECT %s, 'task ' || n, 'ann', (ARRAY['queued', 'merged'])[1 + n %% 2], n %% 3,"
            "        (ARRAY['execute', 'check'])[1 + n / 2 %% 2], 'local', repeat('b', 40), repeat('b', 40), 'main'"
            " FROM generate_series(1, 8000) AS n",
            (repository.id,),
        )
        admin.execute(
            "INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)"
            " SELECT id, 1, 'add', '', state, 0, 'ann' FROM task"
        )
        admin.execute("ANALYZE")


@pytest.mark.parametrize("kinds", [list(AttemptKind), [AttemptKind.check]])
def test_claims_share_one_plan(crowded: None, database: Database, kinds: list[AttemptKind]) -> None:
    worker = a_worker(database)
    with database.session() as db:
        for _ in range(3 * OWN):
            claims.claim(db, worker=worker.id, actor="w", kinds=kinds, executors=["local"], lease=LEASE)

        planned = db.execute(
            "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement LIKE '%WITH candidate%'"
        ).fetchone()

    assert planned == {"custom_plans": OWN, "generic_plans": 2 * OWN}
