"""What an agent is given, and how its command is read."""

import os
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from statemachine.refusals import Refusal
from workspace.agents.environments import command, environment, search_path

ATTEMPT = UUID("00000000-0000-4000-8000-000000000001")
PROMPT = Path("/attempts/one/prompt.md")


def made(source: Mapping[str, str], *allowed: str) -> dict[str, str]:
    return environment(
        attempt=ATTEMPT,
        task=7,
        item="P1",
        prompt_file=PROMPT,
        temporary=Path("/attempts/one/tmp"),
        home=Path("/home/ann"),
        allowed=allowed,
        source=source,
    )


def refused(agent: str, **changes: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        command(
            agent, prompt_file=PROMPT, prompt=changes.get("prompt", "do it"), path=changes.get("path", "/usr/bin:/bin")
        )
    assert caught.value.hint
    return caught.value


def test_it_is_made_from_nothing() -> None:
    found = made({"PATH": "/usr/bin", "LANG": "de_DE.UTF-8", "HOME": "/elsewhere", "SECRET": "x", "TERM": "xterm"})

    assert found == {
        "PATH": "/usr/bin",
        "HOME": "/home/ann",
        "LANG": "de_DE.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/attempts/one/tmp",
        "TASKS_PROMPT_FILE": "/attempts/one/prompt.md",
        "TASKS_ITEM": "P1",
        "TASKS_TASK": "7",
        "TASKS_ATTEMPT": "00000000-0000-4000-8000-000000000001",
    }


def test_without_a_language_text_is_still_utf_8() -> None:
    assert made({})["LANG"] == "C.UTF-8"
    assert "LANG" not in made({"LC_ALL": "C"})


def test_names_of_the_policy_are_given_where_they_exist() -> None:
    found = made({"VENDOR_KEY": "k", "OTHER": "o"}, "VENDOR_KEY", "ABSENT")

    assert found["VENDOR_KEY"] == "k"
    assert {"OTHER", "ABSENT"}.isdisjoint(found)


def test_a_policy_cannot_replace_what_is_fixed() -> None:
    found = made({"HOME": "/elsewhere", "PATH": "/usr/bin:relative", "TERM": "xterm"}, "HOME", "PATH", "TERM")

    assert (found["HOME"], found["PATH"], found["TERM"]) == ("/home/ann", "/usr/bin", "dumb")


@pytest.mark.parametrize(
    "name",
    [
        "TASKS_DATABASE_URL",
        "TASKS_ROOT",
        "DATABASE_URL",
        "MY_DATABASE_URL_RO",
        "PGPASSWORD",
        "GIT_DIR",
        "git_dir",
        "SSH_AUTH_SOCK",
        "GIT_CONFIG_KEY_0",
    ],
)
def test_some_names_are_never_given(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        made({name: "hidden"}, name)

    assert caught.value.code == "environment_forbidden"
    assert name in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_forbidden_name_is_refused_even_where_it_is_not_set() -> None:
    with pytest.raises(Refusal) as caught:
        made({}, "GIT_DIR")

    assert caught.value.code == "environment_forbidden"


@pytest.mark.parametrize("value", ["postgres://a:b@c/d", "postgresql+psycopg://a:b@c/d", "url=POSTGRESQL://x"])
def test_a_database_is_not_given_under_another_name(value: str) -> None:
    with pytest.raises(Refusal) as caught:
        made({"INNOCENT": value}, "INNOCENT")

    assert caught.value.code == "environment_forbidden"
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a:/b", "/a:/b"), (":/a::.:bin:/b:", "/a:/b"), ("", os.defpath), (".:bin", os.defpath)],
)
def test_the_search_path_never_leads_into_the_work_tree(path: str, expected: str) -> None:
    assert search_path({"PATH": path}) == expected


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("sh", ("sh",)),
        ("sh -c 'a b' \"c d\" e\\ f", ("sh", "-c", "a b", "c d", "e f")),
        ("sh {prompt_file}", ("sh", "/attempts/one/prompt.md")),
        ("sh --file={prompt_file} -p {prompt}", ("sh", "--file=/attempts/one/prompt.md", "-p", "do $(it) 'now'")),
        ("sh {prompt}{prompt}", ("sh", "do $(it) 'now'do $(it) 'now'")),
        ("sh {other} {} {{prompt_file}}", ("sh", "{other}", "{}", "{/attempts/one/prompt.md}")),
        ("sh # ; | $HOME `id` *", ("sh", "#", ";", "|", "$HOME", "`id`", "*")),
        ("/bin/sh", ("/bin/sh",)),
        ("./tools/agent", ("./tools/agent",)),
    ],
)
def test_the_command_is_split_and_filled_without_a_shell(agent: str, expected: tuple[str, ...]) -> None:
    assert command(agent, prompt_file=PROMPT, prompt="do $(it) 'now'", path="/usr/bin:/bin") == expected


def test_a_prompt_that_names_a_placeholder_stays_as_it_is() -> None:
    found = command("sh {prompt} {prompt_file}", prompt_file=PROMPT, prompt="read {prompt_file}", path="/bin")

    assert found == ("sh", "read {prompt_file}", "/attempts/one/prompt.md")


def test_a_blank_in_the_prompt_file_does_not_split() -> None:
    found = command("sh {prompt_file}", prompt_file=Path("/a b/'c'.md"), prompt="", path="/bin")

    assert found == ("sh", "/a b/'c'.md")


@pytest.mark.case("X06")
def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\n")

    found = refused("agent --fast", path=str(tmp_path))

    assert (found.code, found.facts["program"]) == ("agent_not_found", "agent")


def test_a_program_is_looked_for_on_the_agents_path(tmp_path: Path) -> None:
    name = f"agent-{uuid4()}"
    (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / name).chmod(0o755)

    assert command(name, prompt_file=PROMPT, prompt="", path=str(tmp_path)) == (name,)
    assert refused(name).code == "agent_not_found"
    assert refused("/no/such/agent").code == "agent_not_found"


@pytest.mark.parametrize(
    "agent", ["", "   ", "''", "sh 'open", 'sh "open', "sh \\", "{prompt}", "{prompt_file} x", "s\0h"]
)
def test_a_command_that_cannot_be_read_is_refused(agent: str) -> None:
    assert refused(agent).code == "agent_invalid"


@pytest.mark.parametrize("prompt", ["a\0b", "x" * 131_072, "\u20ac" * 50_000])
def test_a_prompt_that_no_argument_can_hold_is_refused_before_the_launch(prompt: str) -> None:
    found = refused("sh {prompt}", prompt=prompt)

    assert found.code == "agent_invalid"
    assert "{prompt_file}" in found.hint


def test_the_longest_argument_is_accepted() -> None:
    assert command("sh {prompt}", prompt_file=PROMPT, prompt="x" * 131_071, path="/bin")[1] == "x" * 131_071
