from collections.abc import Callable
from uuid import UUID, uuid4

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.frame.context import Context
from cli.frame.identifiers import Id, Noun, Number, Prefix, full, parse, short
from cli.frame.options import command
from cli.main import main

Probe = Callable[[click.Command], None]


def test_all_digits_name_a_task() -> None:
    assert parse("12") == Number(Noun.task, 12)


def test_all_digits_name_a_finding_where_the_command_is_about_findings() -> None:
    assert parse("12", digits=Noun.finding) == Number(Noun.finding, 12)


@pytest.mark.parametrize(
    ("text", "noun"),
    [("a-1f09c2", Noun.attempt), ("g-1f09c2", Noun.gate), ("w-1f09c2", Noun.allocation), ("M-1F09C2", Noun.merge)],
)
def test_a_letter_and_six_hex_digits_name_a_row(text: str, noun: Noun) -> None:
    assert parse(text) == Prefix(noun, "1f09c2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "+1",
        "1.0",
        " 1",
        "1\n",
        "\u0661",
        "9223372036854775808",
        "99999999999999999999",
        "a-12345",
        "a-",
        "a-------",
        "x-123456",
        "a-12345g",
        "a123456",
        "1f09c2",
        "a-" + "0" * 33,
        "a-1f09c2\n",
        "1; drop table task",
    ],
)
def test_anything_else_names_nothing(text: str) -> None:
    with pytest.raises(ValueError, match="an id is a number"):
        parse(text)


@given(st.uuids(), st.sampled_from([Noun.attempt, Noun.gate, Noun.allocation, Noun.merge]), st.integers(6, 32))
def test_what_is_printed_is_read_back_and_finds_its_row(uuid: UUID, noun: Noun, length: int) -> None:
    printed = full(noun, uuid)[: 2 + length]

    name = parse(printed)

    assert isinstance(name, Prefix)
    assert str(name) == printed
    assert name.bounds[0] <= uuid <= name.bounds[1]
    assert parse(short(noun, uuid)) == Prefix(noun, uuid.hex[:8])


def test_a_uuid_may_be_typed_with_its_dashes() -> None:
    uuid = uuid4()

    assert parse(f"g-{uuid}") == Prefix(Noun.gate, uuid.hex)


def test_bounds_hold_exactly_the_uuids_that_start_so() -> None:
    low, high = Prefix(Noun.gate, "1f09c2").bounds

    assert (low.hex, high.hex) == ("1f09c2" + "0" * 26, "1f09c2" + "f" * 26)


@pytest.mark.parametrize(
    ("text", "said"),
    [("g-1f09c2", "names a gate; wanted: task or attempt"), ("x", "an id is a number, or one of a- g- w- m-")],
)
def test_the_command_line_says_which_ids_it_takes(
    text: str, said: str, probe: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    @command(example="tasks probe 12")
    @click.argument("name", type=Id(Noun.task, Noun.attempt))
    def show(context: Context, *, name: Number | Prefix) -> None:
        """Show."""

    probe(show)

    assert main(["probe", text]) == 2
    assert said in capsys.readouterr().err
    assert main(["probe", "a-1f09c2"]) == 0
