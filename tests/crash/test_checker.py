"""The checker itself: every law is broken once on purpose, and it says so."""

from typing import Final

import psycopg
import pytest

from tests.crash.laws import ALWAYS, AT_REST
from tests.crash.scenes import OUTSIDE, STORY, TWO, UNSAFE, Stage
from tests.factories import git
from tests.store.scenes import aged
from workspace.repository import refs

# What breaks each law, in their order. There is a task with two commits (1), one that owes a finding, and one paused.
BREAKS: Final = (
    "UPDATE task_event SET source = 'merged' WHERE task_id = 1 AND seq = 2",
    "UPDATE task_event SET epoch = 7 WHERE task_id = 1 AND seq = 3",
    "UPDATE task_event SET event = 'merge' WHERE task_id = 1 AND seq = 3",
    "UPDATE task SET state = 'approved', gate_id = NULL WHERE id = 1",
    "UPDATE finding SET state = 'dismissed' WHERE task_id = 2",
    "UPDATE task SET owed_pauses = 1 WHERE id = 1",
    "UPDATE gate SET task_id = 2 WHERE task_id = 3",
    "UPDATE task_event SET attempt_id = NULL WHERE attempt_id IS NOT NULL AND task_id = 2",
    "UPDATE attempt SET number = 9 WHERE task_id = 2",
    "UPDATE attempt SET state = 'failed' WHERE task_id = 3",
    "UPDATE commit_ledger SET parent = repeat('1', 40) WHERE task_id = 1 AND item_id = 'P2'",
    "UPDATE task SET head = base WHERE id = 3",
    (
        "INSERT INTO commit_ledger (task_id, item_id, revision, attempt_id, outcome, parent)"
        " SELECT task_id, item_id, revision, attempt_id, 'unchanged', parent FROM commit_ledger WHERE task_id = 3"
    ),
    "UPDATE finding SET task_id = 1",
    (
        "INSERT INTO merge_attempt (task_id, state, strategy, target, branch, head, commit, actor, host, lease_expires)"
        " SELECT id, 'merged', 'ff', 't', 'main', head, head, 'rev', 'h', now() FROM task WHERE id = 1"
    ),
    "UPDATE task SET state = 'merging' WHERE id = 1",
    "UPDATE attempt SET state = 'pending', ended_at = NULL WHERE task_id = 1 AND number = 1",
    "UPDATE allocation SET state = 'ready' WHERE task_id = 2",
    "UPDATE merge_attempt SET state = 'submitting', ended_at = NULL",
)
# The database itself refuses most of this.
UNGUARDED: Final = """
DO $$ DECLARE known record; BEGIN
  FOR known IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
               WHERE contype IN ('c', 'f', 'u') AND connamespace = 'public'::regnamespace LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', known.place, known.conname);
  END LOOP;
  DROP INDEX commit_ledger_one_live;
END $$"""


@pytest.fixture
def told(stage: Stage) -> Stage:
    """Set the stage with a task of each kind, and nothing wrong."""
    for script, items in ((STORY, TWO), (UNSAFE, ()), (OUTSIDE, ())):
        stage.workshop.work(stage.add(script, *items))
    assert stage.wrongs() == []
    return stage


def test_every_broken_law_is_named(told: Stage) -> None:
    with psycopg.connect(told.superuser_url, autocommit=True) as admin:
        admin.execute(UNGUARDED.encode())

    for law, statement in zip((*ALWAYS, *AT_REST), BREAKS, strict=True):
        before = [wrong for wrong in told.wrongs() if law in wrong]
        aged(told.superuser_url, statement)

        assert before != [wrong for wrong in told.wrongs() if law in wrong], law


def test_whatever_is_wrong_outside_the_database_is_named(told: Stage) -> None:
    runner, root = told.workshop.runner(), told.workshop.root
    first = told.journal.read_text().splitlines()[0]
    (output, *_) = sorted(root.attempts.glob("*/output.log"))
    acts = {
        "refs/weighlock/tasks/1 is at None": lambda: git(runner.path, "update-ref", "-d", refs.task_ref(1)),
        "refs/weighlock/odd is nobody's": lambda: git(
            runner.path, "update-ref", f"{refs.PREFIX}/odd", refs.base_ref(1)
        ),
        "x.lock was left": (runner.path / "x.lock").touch,
        "is no attempt's": (root.attempts / "0").mkdir,
        "is not the log that was recorded": lambda: output.write_text("other"),
        "ran 2 times": lambda: told.journal.write_text(told.journal.read_text() + f"{first}\n"),
    }

    for words, act in acts.items():
        assert not any(words in wrong for wrong in told.wrongs())
        act()
        assert any(words in wrong for wrong in told.wrongs()), words
