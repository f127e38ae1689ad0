import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cli.frame.documents import as_json, moment, plain
from cli.frame.screen import Screen, cell, printable
from cli.pages.progress import Progress

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TABLE = """
@command(example="tasks probe")
def probe(context):
    "Probe."
    screen = context.screen
    screen.table(["id", "title"], [[1, "caf\\u00e9 " + "long " * 40], [22, "\\x1b[31mred\\n\\u202eback"], [3, None]])
    screen.say("d\\u00e9j\\u00e0 vu")
    screen.next_step("tasks show 1", "tasks log 1")
    screen.document({"rows": 3, "title": "caf\\u00e9"})
"""

FLOOD = """
@command(example="tasks probe")
def probe(context):
    "Probe."
    from pathlib import Path
    for number in range(200_000):
        context.screen.text(f"line {number}")
    Path("done").touch()
"""


def on_terminal(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """Run a command with a terminal for stdout and return what it drew."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, env={**os.environ, **environment}, cwd=folder)
    os.close(theirs)
    drawn = b""
    try:
        while data := os.read(ours, 65536):
            drawn += data
    except OSError:  # how Linux says that the other end was closed
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=60) == 0
    return drawn.decode()


@pytest.mark.case("C07")
@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"PYTHONIOENCODING": "latin-1:strict"},
        {"NO_COLOR": "1"},
        {"COLUMNS": "10"},
        {"TERM": "dumb"},
    ],
)
def test_no_locale_and_no_terminal_makes_it_crash(fresh: Run, environment: dict[str, str]) -> None:
    done = fresh(TABLE, environment=environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].split() == ["id", "title"]
    assert "\\x1b[31mred\\n\\u202eback" in done.stdout
    assert done.stdout.endswith("next: tasks show 1\n      tasks log 1\n")


@pytest.mark.case("C07")
@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"COLUMNS": "12"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_table_fits_the_terminal(fresh: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    fresh(TABLE)  # writes the script
    settings = {"TERM": "xterm-256color", "COLUMNS": "40", "LC_ALL": "C.UTF-8", **environment}

    drawn = on_terminal([sys.executable, str(tmp_path / "probe.py"), "probe"], settings, tmp_path)

    table = drawn.split("d\u00e9j" if "PYTHONIOENCODING" not in environment else "d\\xe9j")[0]
    plain_lines = [strip_style(line) for line in table.splitlines()]
    assert max(map(len, plain_lines)) <= int(settings["COLUMNS"])
    assert "\x1b[31m" not in drawn
    assert "\u202e" not in drawn
    assert "".join("".join(plain_lines).split()).count("long") == 40


def strip_style(line: str) -> str:
    while "\x1b[" in line:
        before, _, after = line.partition("\x1b[")
        line = before + after.partition("m")[2]
    return line


@pytest.mark.case("C07")
def test_a_reader_that_goes_away_stops_the_printing_and_not_the_command(fresh: Run, tmp_path: Path) -> None:
    done = fresh(FLOOD, shell=f'set -o pipefail; cd {tmp_path}; "$@" | head -n 1')

    assert (done.returncode, done.stdout, done.stderr) == (0, "line 0\n", "")
    assert (tmp_path / "done").exists()


@pytest.mark.case("C07")
def test_the_help_into_a_closed_pipe_says_nothing(fresh: Run) -> None:
    done = fresh(TABLE, "--help", shell='"$@" | true')

    assert done.stderr == ""


@pytest.mark.case("C07")
def test_streams_that_were_closed_are_no_error(fresh: Run) -> None:
    assert fresh(TABLE, shell='"$@" >&-').returncode == 0
    assert fresh(TABLE, "--nonsense", shell='"$@" >&- 2>&-').returncode == 2


def test_a_full_disk_is_told(fresh: Run) -> None:
    done = fresh(TABLE, shell='"$@" >/dev/full')

    assert done.returncode == 1
    assert "No space left on device" in done.stderr


def test_json_is_one_document_and_nothing_else(fresh: Run) -> None:
    done = fresh(TABLE, "--json")

    assert json.loads(done.stdout) == {"rows": 3, "title": "caf\u00e9"}
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_quiet_leaves_what_was_asked_for(fresh: Run) -> None:
    done = fresh(TABLE, "--quiet")

    assert "title" in done.stdout
    assert "next:" not in done.stdout
    assert "d\u00e9j" not in done.stdout


@pytest.mark.case("C03")
@pytest.mark.parametrize(
    "letter", ["\x00", "\x1b", "\x07", "\r", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff"]
)
def test_a_letter_that_moves_a_terminal_is_written_out(letter: str) -> None:
    shown = printable(f"a{letter}b")

    assert letter not in shown
    assert shown == f"a{letter.encode('unicode_escape').decode()}b"


def test_letters_lines_and_tabs_stay() -> None:
    text = "caf\u00e9 \u4e2d\u6587\n\tx"

    assert printable(text) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("", "-"),
        (0, "0"),
        ("a\nb\tc", "a\\nb\\tc"),
        (datetime(2026, 7, 1, 12, 0, 3, 999, tzinfo=timezone(timedelta(hours=2))), "2026-07-01 10:00:03Z"),
    ],
)
def test_a_cell_is_one_line(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_a_time_is_written_in_utc() -> None:
    summer = datetime(2026, 7, 1, 2, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))

    assert moment(summer) == "2026-07-01T00:00:00.000005Z"


def test_a_time_without_a_zone_is_a_defect() -> None:
    with pytest.raises(ValueError, match="a time without a zone"):
        moment(datetime(2026, 7, 1))  # noqa: DTZ001 - the defect under test


@pytest.mark.parametrize(
    ("value", "document"),
    [
        ({"id": UUID(int=7)}, {"id": "00000000-0000-0000-0000-000000000007"}),
        ({1: {"b", "a"}}, {"1": ["a", "b"]}),
        (("x", [None, True, 1.5]), ["x", [None, True, 1.5]]),
        (b"caf\xff", "caf\\udcff"),
        ("\ud800", "\\ud800"),
        (datetime(2026, 7, 1, tzinfo=UTC), "2026-07-01T00:00:00.000000Z"),
    ],
)
def test_every_value_becomes_json(value: object, document: object) -> None:
    assert plain(value) == document
    assert json.loads(as_json(value)) == document


def test_a_number_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"x": float("nan")})


def test_a_diff_goes_into_a_pipe_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Screen().raw(b"+caf\xff\x1b[0m\n")

    assert capfdbinary.readouterr().out == b"+caf\xff\x1b[0m\n"


@pytest.mark.case("C03")
def test_a_diff_on_a_terminal_is_escaped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)

    Screen().raw(b"+caf\xff\x1b[0m\n")

    assert capsys.readouterr().out == "+caf\\xff\\x1b[0m\n"


def test_details_are_for_the_curious(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(verbose=True).detail("because")
    Screen().detail("never")
    Screen(verbose=True, json=True).detail("never")

    assert capsys.readouterr().out == "because\n"


def test_a_warning_is_part_of_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(json=True).warn("old git")

    out, err = capsys.readouterr()
    assert (out, err) == ("", "warning: old git\n")


def test_progress_is_plain_lines_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(Screen()) as progress:
        progress.tell("item P1")
        progress.tell("item P1")
        progress.tell("item P2\n\x1b[2J")

    out, err = capsys.readouterr()
    assert (out, err) == ("", "item P1\nitem P2 \\x1b[2J\n")


def test_progress_on_a_terminal_keeps_what_has_ended_and_rewrites_what_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "10")

    with Progress(Screen()) as progress:
        progress.tell("item P1 begins")
        progress.tell("item P1 completed")
        progress.tell("checks begin")

    assert capsys.readouterr().err == ("\r\x1b[Kitem P1 b\r\x1b[Kitem P1 completed\n\r\x1b[Kchecks be\r\x1b[K")


def test_progress_is_silent_beside_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    options: list[dict[str, Any]] = [{"json": True}, {"quiet": True}]

    for flags in options:
        with Progress(Screen(**flags)) as progress:
            progress.tell("item P1")

    assert capsys.readouterr().err == ""


def test_a_long_sentence_is_broken_between_words_on_a_terminal_and_a_command_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")

    Screen().say("  one two three four five-six")
    Screen().next_step("tasks gate approve 12 --amend")

    assert capsys.readouterr().out == ("  one two three four\n    five-six\nnext: tasks gate approve 12 --amend\n")


def test_a_long_sentence_is_one_line_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    Screen().say("one two three four five six seven")

    assert capsys.readouterr().out == "one two three four five six seven\n"
