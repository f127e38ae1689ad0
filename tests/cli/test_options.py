import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import click
import pytest

from cli.frame.context import Context, Flags
from cli.frame.durations import DURATION
from cli.frame.exits import Exit
from cli.frame.options import command
from cli.main import main

Probe = Callable[[click.Command], None]


def recording(seen: list[Context], **more: bool) -> click.Command:
    @command(example=["tasks probe", "tasks probe --json"], **more)
    @click.option("--state", help="Only tasks in this state.")
    def probe(context: Context, *, state: str | None = None, if_version: int | None = None) -> Exit:
        """Probe the board."""
        seen.append(context)
        return Exit.waits if state == "needs_human" else Exit(if_version or 0)

    return probe


def test_the_shared_options_come_in_the_context_and_the_others_as_arguments(probe: Probe) -> None:
    seen: list[Context] = []
    probe(recording(seen))

    code = main(["probe", "--state", "needs_human", "--json", "--as", "ada", "--database-url", "postgresql:///x", "-v"])

    assert code == 10
    assert seen[0].flags == Flags(json=True, verbose=True, actor="ada", database_url="postgresql:///x")
    assert seen[0].actor == "ada"
    assert seen[0].settings.database_url == "postgresql:///x"
    assert seen[0].screen.json


def test_a_relative_root_is_meant_from_here(probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Context] = []
    probe(recording(seen))
    monkeypatch.chdir(tmp_path)

    main(["probe", "--root", "here"])

    assert seen[0].settings.root == tmp_path / "here"
    assert os.listdir(tmp_path) == []


def test_quiet_and_verbose_exclude_each_other(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    probe(recording([]))

    assert main(["probe", "-q", "-v"]) == 2
    assert "--quiet and --verbose exclude each other [usage]" in capsys.readouterr().err


def test_a_changing_command_takes_the_version_it_believes_in(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    probe(recording([], changing=True))

    assert main(["probe", "--if-version", "4"]) == 4
    assert main(["probe", "--if-version", "-4"]) == 2
    capsys.readouterr()
    probe(recording([]))
    assert main(["probe", "--if-version", "4"]) == 2
    assert "No such option" in capsys.readouterr().err


def test_help_shows_the_sentence_an_example_and_the_shared_options_last(
    probe: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    probe(recording([], changing=True))

    assert main(["probe", "--help"]) == 0

    shown = capsys.readouterr().out
    assert "  Probe the board.\n" in shown
    assert shown.index("--if-version") < shown.index("Shared options:") < shown.index("--database-url")
    assert shown.endswith("  Example:\n    tasks probe\n    tasks probe --json\n")


def test_what_was_opened_is_closed_the_last_first_also_after_an_error() -> None:
    closed: list[str] = []

    def fail(context: Context) -> None:
        context.endings.callback(closed.append, "first")
        context.endings.callback(closed.append, "second")
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"), Context(command="tasks probe") as context:
        fail(context)

    assert closed == ["second", "first"]


@pytest.mark.parametrize(("text", "meant"), [("90s", timedelta(seconds=90)), ("1h30m", timedelta(minutes=90))])
def test_a_duration_is_read_as_it_is_written(text: str, meant: timedelta) -> None:
    assert DURATION.convert(text, None, None) == meant
    assert DURATION.convert(meant, None, None) == meant


@pytest.mark.parametrize("text", ["", "0s", "soon", "-5m", "5", "1m1h", "\u0665m"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter, match="wanted a duration such as 90s"):
        DURATION.convert(text, None, None)
