import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli import database as commands
from cli.acts.databases import Place, psql
from cli.pages.report_schemas import DriftDocument, SchemaDocument
from store.versions import known_versions
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal

NEWEST = known_versions()[-1]


@pytest.fixture
def tasks(empty_database: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=empty_database, root=tmp_path / "root")


def alone(command: object, *arguments: str, url: str) -> Result:
    """Run one command of the family by itself."""
    return CliRunner().invoke(command, ["--database-url", url, *arguments])  # type: ignore[arg-type]


@pytest.mark.case("C01")
@pytest.mark.case("C06")
def test_an_empty_database_is_upgraded_once(tasks: Terminal) -> None:
    before = tasks("db", "current", "--json").json
    upgraded = tasks("db", "upgrade", "--json").json
    again = tasks("db", "upgrade")

    for document in (before, upgraded):
        conforms(document, SchemaDocument)
    assert (before["schema"], upgraded["before"], upgraded["schema"]) == (None, None, NEWEST)
    assert f"was up to date: it is {NEWEST}" in again.out
    assert tasks("db", "current").out.startswith(f"{NEWEST} (")
    assert tasks("list", "--json").code == 0


@pytest.mark.case("C02")
def test_a_database_without_a_schema_says_what_to_do(tasks: Terminal) -> None:
    done = tasks("list", "--json")

    assert (done.code, done.error["code"], done.error["hint"]) == (6, "schema_missing", "run: tasks db upgrade")
    assert "next: tasks db upgrade" in tasks("db", "current").out


@pytest.mark.case("C02")
def test_a_server_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    tasks = Terminal(database_url="postgresql://me:secret@127.0.0.1:1/none", root=tmp_path / "root")

    done = tasks("db", "current", "--json")

    assert (done.code, done.error["code"]) == (6, "database_unreachable")
    assert "127.0.0.1:1/none" in done.error["message"]
    assert "secret" not in done.err


def test_check_compares_the_schema_with_what_it_should_be(owner_url: str, tmp_path: Path) -> None:
    tasks = Terminal(database_url=owner_url, root=tmp_path / "root")
    fine = tasks("db", "check", "--json")
    ran = CliRunner().invoke(
        commands.shell, ["--database-url", owner_url, "--", "-qc", "ALTER TABLE task DROP CONSTRAINT task_counters"]
    )

    drifted = tasks("db", "check", "--json")

    assert ran.exit_code == 0
    conforms(fine.json, DriftDocument)
    assert (fine.code, fine.json["differences"]) == (0, [])
    assert drifted.code == 6
    assert any("task_counters" in each for each in drifted.json["differences"])
    assert "task_counters" in tasks("db", "check").out


def test_the_sql_of_an_upgrade_can_be_read_first(tasks: Terminal) -> None:
    script = tasks("db", "upgrade", "--sql")

    assert "CREATE TABLE task " in script.out
    assert tasks("db", "upgrade", "--sql", "--json").json["sql"] == script.out
    assert tasks("db", "current", "--json").json["schema"] is None


def test_a_downgrade_wants_a_yes(tasks: Terminal) -> None:
    tasks("db", "upgrade")

    unsaid = alone(commands.downgrade, "--to", "base", url=tasks.database_url)
    wrong = alone(commands.downgrade, "--to", "nowhere", "--yes", url=tasks.database_url)
    assert tasks("db", "current", "--json").json["schema"] == NEWEST
    done = alone(commands.downgrade, "--to", "base", "--yes", url=tasks.database_url)

    assert unsaid.exit_code == 2
    assert getattr(wrong.exception, "code", "") == "no_such_revision"
    assert f"went from {NEWEST} to base" in done.output
    assert tasks("db", "current", "--json").json["schema"] is None


def test_the_url_is_the_one_that_was_given(tasks: Terminal) -> None:
    assert alone(commands.url, url=tasks.database_url).output == f"{tasks.database_url}\n"


def test_the_shell_is_psql_on_the_same_database(tasks: Terminal, capfd: pytest.CaptureFixture[str]) -> None:
    tasks("db", "upgrade")

    done = alone(commands.shell, "--", "-Atc", "SELECT count(*) FROM task", url=tasks.database_url)
    failed = alone(commands.shell, "--", "-qc", "SELECT nonsense", url=tasks.database_url)

    assert (done.exit_code, failed.exit_code) == (0, 1)
    out, err = capfd.readouterr()
    assert out == "0\n"
    assert "nonsense" in err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:pa%20ss%27word@db.example/work?application_name=x",
        "host=db.example user=me dbname=work password='pa ss\\'word'",
        "postgresql://me@db.example/work?password=pa%20ss%27word",
    ],
)
def test_the_password_is_in_no_process_list(url: str) -> None:
    program, line, environment = psql(Place(url=url, owner=url, embedded=False), ["-l"])

    assert os.access(program, os.X_OK)
    assert environment == {"PGPASSWORD": "pa ss'word"}
    assert "ss" not in line[1].replace("password", "")
    assert "host=db.example" in line[1]
    assert line[2:] == ["-l"]


def test_without_a_url_it_is_the_embedded_server(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKS_STATE", str(state_folder))

    shown = CliRunner().invoke(commands.url, ["--json"])
    current = CliRunner().invoke(commands.current)

    assert '"embedded": true' in shown.stdout
    assert current.stdout.startswith(f"{NEWEST} (embedded server, ")
