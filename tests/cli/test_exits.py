import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import click
import pytest

from cli.frame.context import Context
from cli.frame.exits import MEANINGS, RESTS, Exit, failure_of, wants_json
from cli.frame.options import command
from cli.main import main
from statemachine.refusals import LeaseLost, LostRace, NotFound, Refusal, Unavailable
from statemachine.tasks import CLOSED, MERGEABLE, WAITING, TaskState

Probe = Callable[[click.Command], None]


def raising(error: BaseException) -> click.Command:
    @command(example="tasks probe")
    def probe(context: Context) -> None:
        """Probe."""
        raise error

    return probe


@pytest.mark.case("C02")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refusal("finding_owed", "task 7 owes 2 findings"), 3),
        (LeaseLost(), 3),
        (LostRace("stale_view", "task 7 has moved"), 4),
        (NotFound("no_task", "there is no task 7"), 5),
        (Unavailable("database_unreachable", "nobody answers"), 6),
        (click.UsageError("no such option"), 2),
        (click.BadParameter("not a number"), 2),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (RuntimeError("boom"), 1),
        (OSError(28, "No space left on device"), 1),
        (MemoryError(), 1),
    ],
)
def test_every_error_has_its_exit_code_and_is_told_once(
    error: BaseException, code: int, probe: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    probe(raising(error))

    assert main(["probe"]) == code

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert f"[{failure_of(error).code}]" in err
    assert "Traceback" not in err
    assert err.count("error: ") == 1


def test_a_refusal_is_a_sentence_a_code_and_a_next_step(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    probe(raising(Refusal("finding_owed", "task 7 owes 2 findings", hint="tasks gate show 7")))

    main(["probe"])

    assert capsys.readouterr().err == "error: task 7 owes 2 findings [finding_owed]\nnext: tasks gate show 7\n"


def test_a_refusal_is_one_json_document_on_stderr(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {
        "task": 7,
        "id": UUID(int=1),
        "path": Path("/x"),
        "since": datetime(2026, 7, 1, tzinfo=UTC),
        "left": timedelta(minutes=2),
        "state": TaskState.needs_human,
        "names": ("a\udcff", b"b\xff"),
        "odd": object,
    }
    probe(raising(Refusal("finding_owed", "no", hint="do", **facts)))

    main(["probe", "--json"])

    out, err = capsys.readouterr()
    told = json.loads(err)["error"]
    assert out == ""
    assert (told["code"], told["message"], told["hint"]) == ("finding_owed", "no", "do")
    assert told["facts"] == {
        "task": 7,
        "id": "00000000-0000-0000-0000-000000000001",
        "path": "/x",
        "since": "2026-07-01T00:00:00.000000Z",
        "left": 120.0,
        "state": "needs_human",
        "names": ["a\\udcff", "b\\udcff"],
        "odd": "<class 'object'>",
    }


def test_a_defect_shows_where_it_happened_only_to_who_asks(
    probe: Probe, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    probe(raising(RuntimeError("boom")))
    monkeypatch.setenv("TASKS_DEBUG", "1")

    assert main(["probe"]) == 1

    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith(
        "error: RuntimeError: boom [unexpected]\n"
        "hint: set TASKS_DEBUG=1 and run the command again to see where this happened\n"
    )


@pytest.mark.case("C03")
def test_no_control_character_of_an_error_reaches_the_terminal(
    probe: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    probe(raising(Refusal("bad_path", "the file \x1b[2J\u202etxt.exe\x9b\r is odd", hint="\x07look")))

    main(["probe"])

    assert capsys.readouterr().err == (
        "error: the file \\x1b[2J\\u202etxt.exe\\x9b\\r is odd [bad_path]\nhint: \\x07look\n"
    )


@pytest.mark.parametrize("line", [["list", "--json"], ["list", "--json", "--"]])
def test_json_is_read_off_the_line_before_it_is_parsed(line: list[str]) -> None:
    assert wants_json(line)


@pytest.mark.parametrize("line", [["list"], ["run", "--", "--json"], []])
def test_json_that_is_no_option_is_not_asked_for(line: list[str]) -> None:
    assert not wants_json(line)


def test_every_exit_has_one_meaning() -> None:
    assert list(MEANINGS) == list(Exit)
    assert len(set(MEANINGS.values())) == len(Exit)


def test_every_state_a_task_can_rest_in_has_an_exit() -> None:
    assert set(RESTS) == {str(state) for state in WAITING | MERGEABLE | CLOSED}
    assert {RESTS[state] for state in WAITING - {TaskState.in_review}} == {Exit.waits}


def test_a_broken_pipe_that_is_not_the_readers_is_an_error_like_any_other(
    probe: Probe, capfd: pytest.CaptureFixture[str]
) -> None:
    probe(raising(BrokenPipeError(32, "Broken pipe")))

    assert main(["probe"]) == 1

    assert "BrokenPipeError" in capfd.readouterr().err
