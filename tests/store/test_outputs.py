"""Outputs and check results: what an attempt left, named by its row, and the latest word counting."""

from statemachine.attempts import AttemptKind
from store import checks, outputs
from store.engine import Database
from store.outputs import NewOutput
from tests.factories import a_done_item, a_plan, a_running_task, an_attempt
from tests.store.scenes import DIRTY, a_check_ended


def test_a_file_is_named_with_its_size_and_hash_and_naming_it_again_replaces_it(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    first = NewOutput(kind="log", path="/a/log", size=3_000_000_000, sha256="1" * 64, truncated=True, tail="end")

    with database.connection() as db:
        outputs.add(db, attempt=attempt.id, host="h1", file=first)
        outputs.add(db, attempt=attempt.id, host="h2", file=NewOutput(kind="log", path="/b", size=2, sha256="2" * 64))
        outputs.add(db, attempt=attempt.id, host="h1", file=NewOutput(kind="diff", path="/d", size=1, sha256="3" * 64))
        listed = outputs.listing(db, task.id)

    assert [(file.kind, file.host, file.path, file.size, file.truncated) for file in listed] == [
        ("log", "h2", "/b", 2, False),
        ("diff", "h1", "/d", 1, False),
    ]


def test_a_tail_of_any_bytes_is_kept_within_its_limit(database: Database) -> None:
    task = a_running_task(database)
    attempt = an_attempt(database, task)
    tail = DIRTY + "x" * 20_000

    with database.connection() as db:
        outputs.add(
            db, attempt=attempt.id, host="h", file=NewOutput(kind="log", path="/l", size=1, sha256="0" * 64, tail=tail)
        )
        kept = outputs.listing(db, task.id)[0].tail

    assert len(kept) == outputs.TAIL_LIMIT
    assert kept.startswith("a\ufffdb\ufffdc")


def test_the_latest_result_of_a_check_on_a_head_is_the_one_that_counts(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(checks=("lint", "test")))
    done = a_done_item(database, task)
    attempt = an_attempt(database, task, item=None, kind=AttemptKind.check)

    for command, code, head in (("lint", 1, ""), ("lint", 0, ""), ("test", 0, task.base), ("test", None, "")):
        a_check_ended(database, attempt, command, code, head)

    with database.connection() as db:
        latest = checks.latest(db, task=task.id, head=done.head)

    assert [(result.command, result.exit_code, result.passed) for result in latest] == [
        ("lint", 0, True),
        ("test", None, False),
    ]
    assert latest[0].tail == "a\ufffdb\ufffdc [5 characters, 2 replaced]"
