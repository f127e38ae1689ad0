"""What recovery asks of a full database: by index, a page at a time, whatever lies beside what it looks for."""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from store.engine import Database
from store.statements import statement
from tests.factories import a_registered_repository, a_worker
from tests.store.test_claims_cost import every_node

MANY = 20_000
BIG = {"task", "attempt", "allocation", "task_event", "worker"}
TYPES = {"dead": "bigint[]", "workers": "bigint[]", "after": "bigint", "limit": "int", "repository": "bigint"}
GIVEN = {
    "actor": "'recovery'",
    "after": "100",
    "attempts": "ARRAY[gen_random_uuid()]",
    "allocations": "ARRAY[gen_random_uuid()]",
    "dead": "'{7}'",
    "host": "'here'",
    "limit": "500",
    "repository": "1",
    "silence": "'90 s'",
}


@pytest.fixture
def crowded(superuser_url: str, database: Database) -> Iterator[psycopg.Connection]:
    """Fill every table past its triggers: closed tasks, with a few that run and a few that are queued among them."""
    repository, worker = a_registered_repository(database), a_worker(database)
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(
            "INSERT INTO task (repository_id, title, author, state, executor, base, head, target, lease_worker,"
            "                  lease_expires, running_since, budget)"
            " SELECT %s, 'task ' || n, 'ann', state, 'local', repeat('b', 40), repeat('b', 40), 'main',"
            "        CASE WHEN state = 'running' THEN %s::bigint END, CASE WHEN state = 'running' THEN now() END,"
            "        CASE WHEN state = 'running' THEN now() END, '1 h'"
            " FROM (SELECT n, (ARRAY['running', 'queued', 'merged'])[least(1 + n %% 500, 3)] AS state"
            "       FROM generate_series(1, %s) AS n) AS made",
            (repository.id, worker.id, MANY),
        )
        admin.execute(
            "INSERT INTO attempt (task_id, number, epoch, kind, item_id, revision, context, policy_version, base,"
            "                     executor, worker_id, state, ended_at)"
            " SELECT id, 1, 1, 'execute', 'P1', 1, 1, 1, base, 'local', %s,"
            "        CASE WHEN state = 'running' THEN 'pending' ELSE 'interrupted' END,"
            "        CASE WHEN state = 'running' THEN NULL ELSE now() END FROM task",
            (worker.id,),
        )
        admin.execute(
            "INSERT INTO allocation (task_id, epoch, host, executor, state, materialised_by, unjudged)"
            " SELECT task_id, 1, 'here', 'local', CASE state WHEN 'pending' THEN 'reserved' ELSE 'quarantined' END, id,"
            "        task_id % 1000 = 7 FROM attempt"
        )
        admin.execute(
            "INSERT INTO worker (name, host, boot_id, pid, started, kinds, executors, slots, state)"
            " SELECT 'w', 'here', 'b', n, '1', '{}', '{}', 1, 'gone' FROM generate_series(1, %s) AS n",
            (MANY,),
        )
        admin.execute("ANALYZE")
        yield admin


@pytest.mark.case("R19")
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(
    "name",
    [
        "requeue_lost",
        "list_interrupted",
        "list_exhausted",
        "list_leftover_allocations",
        "list_unjudged",
        "list_present_workers",
        "list_merging",
        "list_repository_refs",
        "find_attempt_owners",
        "find_allocations",
    ],
)
def test_no_table_that_grows_is_read_from_end_to_end(crowded: psycopg.Connection, name: str, mode: str) -> None:
    nodes = planned(crowded, name, mode)

    read = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
    assert BIG & set(read) == set()


@pytest.mark.case("R19")
@pytest.mark.parametrize("name", ["list_interrupted", "list_exhausted", "list_unjudged", "list_leftover_allocations"])
def test_pages_come_from_the_index_in_order(crowded: psycopg.Connection, name: str) -> None:
    nodes = planned(crowded, name, "force_generic_plan")

    used = {node.get("Index Name") for node in nodes}
    expected = {
        "list_interrupted": "task_held",
        "list_exhausted": "task_exhausted",
        "list_unjudged": "allocation_unjudged",
        "list_leftover_allocations": "allocation_live",
    }
    assert expected[name] in used


def planned(admin: psycopg.Connection, name: str, mode: str) -> list[dict[str, Any]]:
    """Ask how a statement would be run, its parameters known or not."""
    text = statement(name)
    used = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    types = [_type(each, name) for each in used]
    text = re.sub(r"%\((\w+)\)s", lambda found: f"${used.index(found[1]) + 1}", text)
    given = ", ".join(_given(each, name) for each in used)
    admin.execute(
        f"PREPARE asked ({', '.join(types)}) AS {text}".encode() if used else f"PREPARE asked AS {text}".encode()
    )
    admin.execute(f"SET plan_cache_mode = {mode}".encode())
    call = f"EXECUTE asked ({given})" if used else "EXECUTE asked"
    found = admin.execute(f"EXPLAIN (FORMAT JSON) {call}".encode()).fetchone()
    admin.execute("DEALLOCATE asked")
    assert found is not None
    return list(every_node(found[0][0]["Plan"]))


def _by_uuid(name: str) -> bool:
    return name in {"list_leftover_allocations", "list_unjudged"}


def _type(parameter: str, name: str) -> str:
    if parameter == "after" and _by_uuid(name):
        return "uuid"
    kinds = {"attempts": "uuid[]", "allocations": "uuid[]", "silence": "interval", "host": "text", "actor": "text"}
    return {**TYPES, **kinds}[parameter]


def _given(parameter: str, name: str) -> str:
    return "NULL" if parameter == "after" and _by_uuid(name) else GIVEN[parameter]
