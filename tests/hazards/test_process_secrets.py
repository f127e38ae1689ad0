"""What the worker knows and the agent must not: it is cut before anything is executed, not hidden afterwards."""

from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from tests.agents import ended, stage
from workspace.agents.environments import environment

SECRETS = {
    "TASKS_DATABASE_URL": "postgresql://weighlock:hunter2@db/tasks",
    "PGPASSWORD": "hunter2",
    "DATABASE_URL": "postgres://hunter2@db/x",
    "AWS_SECRET_ACCESS_KEY": "hunter2",
    "SSH_AUTH_SOCK": "/run/hunter2/agent",
    "GIT_DIR": "/hunter2/.git",
    "GIT_INDEX_FILE": "/hunter2/index",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "touch /tmp/hunter2",
    "LD_PRELOAD_HUNTER2": "hunter2",
    "BASH_ENV": "/hunter2",
    "PYTHONPATH": "/hunter2",
}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def given(folder: Path, *allowed: str) -> dict[str, str]:
    prompt = folder / "prompt.md"
    return environment(
        attempt=uuid4(), task=7, item="P1", prompt_file=prompt, temporary=folder, home=folder, allowed=allowed
    )


def seen_by_an_agent(folder: Path, script: str) -> str:
    finished = ended(stage(folder).shell(script, environment=given(folder)).let_go())
    return finished.output.path.read_text()


@pytest.mark.hazard("H109")
@pytest.mark.hazard("H111")
@pytest.mark.usefixtures("secrets")
def test_the_agent_sees_nothing_of_the_workers_environment(tmp_path: Path) -> None:
    seen = seen_by_an_agent(tmp_path, "env")

    names = {line.split("=")[0] for line in seen.splitlines()}
    assert "hunter2" not in seen
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} <= {
        *("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR"),
        *("TASKS_PROMPT_FILE", "TASKS_ITEM", "TASKS_TASK", "TASKS_ATTEMPT"),
    }


@pytest.mark.hazard("H111")
@pytest.mark.usefixtures("secrets")
def test_neither_has_the_process_above_the_agent_anything_to_tell(tmp_path: Path) -> None:
    seen = seen_by_an_agent(tmp_path, "cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'")

    assert "hunter2" not in seen


@pytest.mark.hazard("H109")
@pytest.mark.usefixtures("secrets")
def test_git_run_by_the_agent_is_not_led_astray(tmp_path: Path) -> None:
    seen = seen_by_an_agent(tmp_path, "git init -q . && git rev-parse --git-dir && git config --list --show-origin")

    assert seen.splitlines()[0] == ".git"
    assert "hunter2" not in seen


@pytest.mark.hazard("H111")
@pytest.mark.parametrize("name", [*list(SECRETS)[:3], "SSH_AUTH_SOCK", "GIT_DIR", "GIT_CONFIG_COUNT"])
@pytest.mark.usefixtures("secrets")
def test_no_policy_can_give_away_what_leads_to_the_database_git_or_keys(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        given(tmp_path, name)

    assert refused.value.code == "environment_forbidden"
    assert refused.value.hint
    assert "hunter2" not in str(refused.value)
