import os
import pwd
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from cli.frame.configuration import load
from cli.frame.settings import FIELDS, Identity, Settings
from statemachine.refusals import Refusal
from workspace.agents.confinement import Confinement, Network

NOTHING: dict[str, str | None] = {"database_url": None, "root": None, "actor": None}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name a file that is the configuration."""
    path = tmp_path / "config.toml"
    monkeypatch.setenv("TASKS_CONFIG", str(path))
    return path


def refused(flags: dict[str, str | None] | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        load(flags or NOTHING)
    assert caught.value.code == "config_invalid"
    assert caught.value.hint
    return caught.value


def test_without_anything_set_there_is_a_value_for_everything(tmp_path: Path) -> None:
    found = load(NOTHING)

    settings = found.settings
    assert settings.database_url is None
    assert settings.state == tmp_path / "home/.local/state/weighlock"
    assert settings.root == settings.state / "root"
    assert settings.actor == pwd.getpwuid(os.getuid()).pw_name
    assert (settings.executor, settings.slots, settings.lease) == ("sandbox", 1, timedelta(seconds=90))
    assert set(found.origins.values()) == {"default"}
    assert not (tmp_path / "home").exists()


def test_a_flag_beats_the_environment_and_that_beats_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('slots = 2\nactor = "file"\nexecutor = "file"\ndatabase_url = "file"\n')
    monkeypatch.setenv("TASKS_ACTOR", "environment")
    monkeypatch.setenv("TASKS_DATABASE_URL", "environment")

    found = load(NOTHING | {"actor": "flag"})

    assert (found.settings.actor, found.settings.database_url) == ("flag", "environment")
    assert (found.settings.executor, found.settings.slots) == ("file", 2)
    assert found.origins["actor"] == "the flag --as"
    assert found.origins["database_url"] == "the variable TASKS_DATABASE_URL"
    assert found.origins["executor"] == f"{file}:3"
    assert found.origins["lease"] == "default"


def test_the_file_can_say_everything(file: Path) -> None:
    file.write_text(
        """
database_url = "postgresql:///weighlock"
direct_database_url = "postgresql:///weighlock"
state = "/var/lib/weighlock"
root = "/srv/weighlock"
executor = "local"
actor = "ada"
lease = "2m"
grace = 30
slots = 3

[agents]
claude = "claude -p {prompt}"

[identity]
name = "Weigh Lock"
email = "lock@example.com"

[sandbox]
user = 4711
readable = ["/opt/agents", "~/.nvm"]
network = "hosts"
hosts = ["api.example.com", "Mirror.example.com:8443"]
processes = 200
memory = "2G"
cpus = 1.5
min_free = 0
min_free_share = 0.01
"""
    )

    found = load(NOTHING)

    assert {origin.partition(":")[0] for origin in found.origins.values()} == {str(file)}
    assert set(found.origins) == {field.name for field in FIELDS} == set(Settings.__slots__)
    assert (found.settings.lease, found.settings.grace) == (timedelta(minutes=2), timedelta(seconds=30))
    assert found.settings.agents == {"claude": "claude -p {prompt}"}
    assert found.settings.identity == Identity(name="Weigh Lock", email="lock@example.com")
    assert found.settings.sandbox == Confinement(
        user=4711,
        readable=(Path("/opt/agents"), Path("~/.nvm").expanduser()),
        network=Network.hosts,
        hosts=("api.example.com:443", "mirror.example.com:8443"),
        processes=200,
        memory=2 << 30,
        cpus=1.5,
        min_free=0,
        min_free_share=0.01,
    )
    assert "memory = 2147483648" in {row[0]: row[1] for row in found.rows()}["sandbox"]


def test_the_environment_can_say_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "database_url": "postgresql:///a",
        "direct_database_url": "postgresql:///b",
        "state": "~/state",
        "root": "/srv/root",
        "executor": "local",
        "actor": "ada",
        "agents": '{"fake": "fake --now"}',
        "identity": "Weigh Lock <lock@example.com>",
        "lease": "45s",
        "grace": "5m",
        "slots": "4",
        "sandbox": '{"network": "on"}',
    }
    for name, value in values.items():
        monkeypatch.setenv(f"TASKS_{name.upper()}", value)

    found = load(NOTHING)

    assert found.origins == {name: f"the variable TASKS_{name.upper()}" for name in values}
    assert found.settings.agents == {"fake": "fake --now"}
    assert str(found.settings.identity) == "Weigh Lock <lock@example.com>"
    assert found.settings.slots == 4
    assert found.settings.sandbox.network is Network.on


def test_an_empty_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKS_DATABASE_URL", "")
    monkeypatch.setenv("TASKS_CONFIG", "")

    assert load(NOTHING).origins["database_url"] == "default"


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        ("slots = 0", "slots", 1),
        ("slots = 65", "slots", 1),
        ("slots = true", "slots", 1),
        ("slots = 1.5", "slots", 1),
        ("\n\nlease = 'soon'", "lease", 3),
        ("lease = -1", "lease", 1),
        ("lease = 0", "lease", 1),
        ("root = 'relative'", "root", 1),
        ("root = ''", "root", 1),
        ("root = 7", "root", 1),
        ("state = '~nobody-has-this-name/x'", "state", 1),
        ('actor = "two\\nlines"', "actor", 1),
        ('actor = "\\u0000"', "actor", 1),
        ("agents = 'claude'", "agents", 1),
        ("sandbox = 'tight'", "sandbox", 1),
        ("\n[sandbox]\nreadible = []", "sandbox", 2),
        ("sandbox.user = 'nobody-has-this-name'", "sandbox", 1),
        ("sandbox.user = -1", "sandbox", 1),
        ("sandbox.readable = ['opt']", "sandbox", 1),
        ("sandbox.readable = ['/opt/../root']", "sandbox", 1),
        ("sandbox.readable = '/opt'", "sandbox", 1),
        ("sandbox.network = 'some'", "sandbox", 1),
        ("sandbox.hosts = ['127.0.0.1']", "sandbox", 1),
        ("sandbox.hosts = ['*.example.com']", "sandbox", 1),
        ("sandbox.hosts = ['2130706433']", "sandbox", 1),
        ("sandbox.hosts = ['example.com:0']", "sandbox", 1),
        ("sandbox.hosts = ['localhost']", "sandbox", 1),
        ("sandbox.memory = '1G5'", "sandbox", 1),
        ("sandbox.memory = 1024", "sandbox", 1),
        ("sandbox.processes = true", "sandbox", 1),
        ("sandbox.cpus = 0", "sandbox", 1),
        ("sandbox.min_free_share = 1", "sandbox", 1),
        ("# agents\n[agents]\n'Bad Name' = 'x'", "agents", 2),
        ("[agents]\nclaude = 7", "agents", 1),
        ("identity = 'nobody'", "identity", 1),
        ("identity.name = 'x'", "identity", 1),
        ("[identity]\nname = 'x'\nemail = 'x <y>'", "identity", 1),
        ("[identity]\nname = 'x'\nemail = 'y'\nphone = '1'", "identity", 1),
        ("'slot' = 1", "slot", 1),
        ("slots = 1\ndatabase = 'x'", "database", 2),
        ("[agent]\nclaude = 'x'", "agent", 1),
    ],
)
def test_a_value_that_is_wrong_is_named_with_its_file_field_and_line(
    file: Path, text: str, field: str, line: int
) -> None:
    file.write_text(text)

    refusal = refused()

    assert refusal.facts == {"file": file, "field": field, "line": line}
    assert f"{file}:{line}" in refusal.message
    assert field in refusal.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"slots = \n", ":1"),
        (b"slots = 1\nslots = 2\n", ":2"),
        (b"[agents\n", ":1"),
        (b"actor = 'caf\xff'", "cannot be read"),
        (b"actor = 'x", ":1"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_with_its_line(file: Path, data: bytes, said: str) -> None:
    file.write_bytes(data)

    refusal = refused()

    assert str(file) in refusal.message
    assert said in refusal.message
    assert refusal.facts["file"] == file


def test_a_file_that_was_named_must_exist(file: Path) -> None:
    refusal = refused()

    assert refusal.message == f"TASKS_CONFIG names {file}, and there is no such file"


def test_a_folder_is_no_file(file: Path) -> None:
    file.mkdir()

    assert "cannot be read" in refused().message


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TASKS_SLOTS", "many"),
        ("TASKS_AGENTS", "{"),
        ("TASKS_AGENTS", "[1]"),
        ("TASKS_ROOT", "x"),
        ("TASKS_LEASE", "1d"),
    ],
)
def test_a_variable_that_is_wrong_is_named(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)

    refusal = refused()

    assert refusal.message.startswith(f"the variable {variable}: ")
    assert refusal.facts == {"field": variable.removeprefix("TASKS_").lower()}


def test_a_flag_that_is_wrong_is_named() -> None:
    assert refused(NOTHING | {"actor": " "}).message.startswith("the flag --as: actor: ")


def test_the_folders_of_the_user_are_where_the_desktop_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/weighlock").mkdir(parents=True)
    (tmp_path / "config/weighlock/config.toml").write_text("slots = 9\n")

    settings = load(NOTHING).settings

    assert (settings.state, settings.slots) == (tmp_path / "state/weighlock", 9)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "relative")

    refusal = refused()
    monkeypatch.setenv("TASKS_STATE", "/var/lib/weighlock")
    settings = load(NOTHING).settings

    assert refusal.message.startswith("state is not set and has no default: ")
    assert settings.root == Path("/var/lib/weighlock/root")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:s3cr@t/x@db:5432/w", "postgresql://ada:***@t/x@db:5432/w"),
        ("postgresql://ada:secret@db/w", "postgresql://ada:***@db/w"),
        ("postgresql://ada@db/w?password=secret&x=1", "postgresql://ada@db/w?password=***&x=1"),
        ("host=db password='it is secret' user=ada", "host=db password=*** user=ada"),
        ("host=db password=secret user=ada", "host=db password=*** user=ada"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKS_DATABASE_URL", url)

    rows = load(NOTHING).rows()

    assert ("database_url", shown, "the variable TASKS_DATABASE_URL") in rows
    assert "secret" not in str(rows)


def test_every_setting_is_listed_with_its_value_and_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKS_AGENTS", '{"fake": "fake --now", "other": "x"}')

    rows = {name: (value, origin) for name, value, origin in load(NOTHING).rows()}

    assert rows["agents"] == ("fake = fake --now, other = x", "the variable TASKS_AGENTS")
    assert rows["lease"] == ("1m30s", "default")
    assert rows["database_url"] == ("", "default")
    assert rows["identity"] == ("Weighlock <weighlock@localhost>", "default")


def test_reading_settings_imports_no_validation_library() -> None:
    code = "import sys; from cli.frame.configuration import load; load({}); print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {"pydantic", "pydantic_settings", "psycopg"} & set(done.stdout.split()) == set()
