"""Command lines that cannot run are refused before there is a task."""

from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests.factories import a_plan
from worker.commands import anchored, check_lines, find_in, settled


def agent(line: str, folder: Path = Path("/nowhere")) -> str:
    return settled(a_plan(agent=line), {"known": "true --as known"}, folder=folder).agent or ""


def refused(line: str) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        agent(line)
    return refusal.value


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("echo hi > file", ">"),
        ("echo hi >>file", ">>file"),
        ("true 2>&1", "2>&1"),
        ("true && true", "&&"),
        ("true || false", "||"),
        ("true | cat", "|"),
        ("true; true", "true;"),
        ("echo `date`", "`date`"),
        ("echo $(date)", "$(date)"),
        ("true &", "&"),
    ],
)
def test_what_only_a_shell_understands_is_refused_with_the_shell_to_name(line: str, word: str) -> None:
    refusal = refused(line)

    assert (refusal.code, refusal.facts["word"]) == ("agent_invalid", word)
    assert "has no meaning without a shell" in refusal.message
    assert "sh -c" in refusal.hint


@pytest.mark.parametrize(
    "line",
    [
        "sh -c 'echo hi > file && true; echo $(date)'",
        'sh -c "a | b"',
        "echo a>b-is-a-name",
        "echo 'a;' \\>",
        "true --x={prompt_file} '{other}' ${HOME} a&b",
    ],
)
def test_what_is_quoted_or_no_operator_stays_as_it_is(line: str) -> None:
    assert agent(line) == line


def test_a_placeholder_nobody_knows_is_refused() -> None:
    refusal = refused("true {promt_file}")

    assert refusal.code == "agent_invalid"
    assert "{promt_file}" in refusal.message


def test_a_relative_path_is_meant_from_the_folder_it_was_written_in(tmp_path: Path) -> None:
    program = tmp_path / "my agent.sh"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)

    assert agent("'./my agent.sh' {prompt} x", tmp_path) == f"'{program}' '{{prompt}}' x"
    assert anchored("true --flag", tmp_path) == "true --flag"
    assert agent("known") == "true --as known"


def test_a_program_of_the_base_may_be_named_and_another_one_not(tmp_path: Path) -> None:
    find_in({"bin/agent"}, "./bin/agent --flag", folder=tmp_path)

    with pytest.raises(Refusal, match="nor a file of the base") as refusal:
        find_in({"bin/agent"}, "./agent", folder=tmp_path)

    assert refusal.value.code == "agent_not_found"


@pytest.mark.parametrize(
    ("line", "code"),
    [("no-such-check -q", "check_not_found"), ("pytest -q > log", "check_invalid"), ("'", "check_invalid")],
)
def test_a_check_that_cannot_run_is_told_before_any_agent_runs(line: str, code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check_lines(a_plan(checks=("true", line)))

    assert refusal.value.code == code
    assert "the check" in refusal.value.message


def test_a_program_that_may_not_be_executed_is_told_as_that(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n", encoding="utf-8")

    assert refused(str(program)).hint == f"chmod +x {program}"
    assert "is not there" in refused("/no/such/agent").message
