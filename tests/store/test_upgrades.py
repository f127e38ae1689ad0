"""Migrations, run by the program from anywhere, one process at a time."""

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from alembic.script import ScriptDirectory

from statemachine.refusals import LostRace, Refusal, Unavailable
from store import roles, upgrades
from store.migrating import configured
from store.versions import known_versions, migrations

ROOT = Path(__file__).parents[2]
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
FUNCTIONS = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
ADD_ROWS = """
INSERT INTO worker (name, host, boot_id, pid, started, kinds, executors, slots)
VALUES ('w', 'h', 'b', 1, 's', '{execute}', '{local}', 1);
INSERT INTO repository (runner, name, source, target, object_format, added_by)
VALUES (gen_random_uuid(), 'r', '/r', '/r', 'sha1', 'me');
WITH task AS (
  INSERT INTO task (repository_id, title, author, state, executor, base, head, target)
  SELECT id, 't', 'me', 'queued', 'local', 'b', 'b', 'main' FROM repository RETURNING id
), line AS (
  INSERT INTO task_event (task_id, seq, event, source, dest, epoch, actor)
  SELECT id, 1, 'add', '', 'queued', 0, 'me' FROM task
)
INSERT INTO plan_revision (task_id, number, document, cause, made_by, made_in)
SELECT id, 1, '{}', 'add', 'me', 'queued' FROM task;
"""


def count(url: str, query: str) -> object:
    with psycopg.connect(url) as db:
        row = db.execute(query).fetchone()
    return row and row[0]


def test_this_program_knows_the_revisions_it_ships() -> None:
    scripts = ScriptDirectory.from_config(configured())

    assert [script.revision for script in scripts.walk_revisions()][::-1] == list(known_versions())
    assert scripts.get_current_head() == upgrades.newest()


def test_an_empty_database_is_brought_to_the_newest_schema_and_left_there(empty_database: str) -> None:
    before = upgrades.current(empty_database)

    upgrades.upgrade(empty_database)
    upgrades.upgrade(empty_database)

    assert (before, upgrades.current(empty_database)) == (None, upgrades.newest())
    assert upgrades.check(empty_database) == []


def test_each_step_goes_up_and_down_with_rows_in_place(empty_database: str) -> None:
    steps = ["base", *known_versions()]
    upgrades.upgrade(empty_database, to=steps[1])
    with psycopg.connect(empty_database) as db:
        db.execute(ADD_ROWS)

    for up, down in zip(steps[1:], steps, strict=False):
        upgrades.upgrade(empty_database, to=up)
        upgrades.downgrade(empty_database, to=down)
        assert upgrades.current(empty_database) == (None if down == "base" else down)
        upgrades.upgrade(empty_database, to=up)

    assert upgrades.check(empty_database) == []


def test_going_down_to_nothing_leaves_nothing(empty_database: str) -> None:
    upgrades.upgrade(empty_database)
    with psycopg.connect(empty_database) as db:
        db.execute(ADD_ROWS)

    upgrades.downgrade(empty_database, to="base")

    assert (count(empty_database, TABLES), count(empty_database, FUNCTIONS)) == (0, 0)


def test_two_upgrades_at_once_take_turns(empty_database: str) -> None:
    failed: list[Exception] = []

    def upgrade() -> None:
        try:
            upgrades.upgrade(empty_database)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test wants to see it
            failed.append(error)

    threads = [Thread(target=upgrade) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert upgrades.check(empty_database) == []


def test_who_holds_the_lock_is_named_and_a_dead_holder_holds_nothing(empty_database: str) -> None:
    with psycopg.connect(empty_database, application_name="weighlock/other", autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(%s)", (upgrades.KEY,))

        with pytest.raises(LostRace) as refused:
            upgrades.upgrade(empty_database, patience=timedelta(0))

        assert refused.value.code == "upgrade_in_progress"
        assert refused.value.facts["pid"] == holder.info.backend_pid
        assert "weighlock/other" in str(refused.value)
        assert str(holder.info.backend_pid) in refused.value.hint
    upgrades.upgrade(empty_database)
    assert upgrades.current(empty_database) == upgrades.newest()


def test_a_step_that_fails_leaves_nothing_half_made(apps_url: str, empty_database: str) -> None:
    with pytest.raises(Refusal) as refused:
        upgrades.upgrade(apps_url)

    assert refused.value.code == "not_permitted"
    assert (count(empty_database, TABLES), upgrades.current(empty_database)) == (0, None)


@pytest.fixture
def apps_url(empty_database: str) -> str:
    """Reach the empty database as the product, who may not make tables."""
    return psycopg.conninfo.make_conninfo(empty_database, user=roles.APP, options="")


def test_a_schema_of_a_newer_program_is_left_alone(owner_url: str) -> None:
    with psycopg.connect(owner_url) as owner:
        owner.execute("UPDATE alembic_version SET version_num = '9999'")

    for change in (upgrades.upgrade, lambda url: upgrades.downgrade(url, to="base"), upgrades.check):
        with pytest.raises(Unavailable) as refused:
            change(owner_url)
        assert refused.value.code == "schema_too_new"
    assert count(owner_url, TABLES) == 18


def test_a_revision_nobody_knows_is_refused_with_a_next_step(owner_url: str) -> None:
    with pytest.raises(Refusal) as refused:
        upgrades.downgrade(owner_url, to="0042")

    assert (refused.value.code, refused.value.hint) == ("no_such_revision", "tasks db current")


def test_the_same_schema_comes_from_sql_run_by_hand(empty_database: str) -> None:
    script = upgrades.upgrade_sql()
    with psycopg.connect(empty_database, autocommit=True) as db:
        db.execute(script)

    assert upgrades.current(empty_database) == upgrades.newest()
    assert upgrades.check(empty_database) == []


def test_an_installed_copy_upgrades_from_any_directory(empty_database: str, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere 100%"
    elsewhere.mkdir()
    for floor in ("store", "statemachine"):
        shutil.copytree(ROOT / floor, site / floor)
    shutil.copytree(migrations(), site / "store/migrations")
    code = "import store, sys; from store import upgrades; upgrades.upgrade(sys.argv[1]); print(store.__file__)"

    said = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(site)!r}); {code}", empty_database],
        cwd=elsewhere,
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout.startswith(str(site))
    assert upgrades.check(empty_database) == []


def test_the_product_may_read_and_write_what_an_upgrade_made_but_not_own_it(database_url: str) -> None:
    rights = "SELECT has_table_privilege('{}', '{}')"
    wanted = {
        ("task", "SELECT, INSERT, UPDATE"): True,
        ("output", "DELETE"): True,
        ("task", "DELETE"): False,
        ("task_event", "TRUNCATE"): False,
        ("task_edge", "INSERT"): False,
        ("alembic_version", "SELECT"): True,
        ("alembic_version", "UPDATE"): False,
    }

    seen = {(table, right): count(database_url, rights.format(table, right)) for table, right in wanted}

    assert seen == wanted
    assert count(database_url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
