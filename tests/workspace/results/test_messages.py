"""A commit message is words: nothing in it is a command to git, to a forge or to a terminal."""

import unicodedata
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.results.messages import message

ATTEMPT = UUID("00000000-0000-4000-8000-000000000001")
TRAILERS = f"Task: 7\nItem: P1\nPlan-Revision: 2\nAttempt: {ATTEMPT}\n"


def written(title: str = "Title", intent: str = "", item: str = "P1") -> str:
    return message(title=title, intent=intent, task=7, item=item, revision=2, attempt=ATTEMPT)


@pytest.mark.case("X02")
def test_a_message_is_a_subject_the_intent_and_four_trailers() -> None:
    assert written("Retry uploads", "Wrap upload().\n\nTry twice.") == (
        f"Retry uploads\n\nWrap upload().\n\nTry twice.\n\n{TRAILERS}"
    )


def test_without_an_intent_there_is_no_body_and_without_a_title_the_item_is_named() -> None:
    assert written(" \n\t") == f"Item P1\n\n{TRAILERS}"


@pytest.mark.case("X04")
@pytest.mark.hazard("H72")
@pytest.mark.parametrize(
    ("title", "subject"),
    [
        ("two\nlines\r\nhere", "two lines here"),
        ("red \x1b[31mred\x1b[0m \x1b]0;title\x07end", "red red end"),
        ("left \u202e right \u2066 end", "left right end"),
        ("zero\u200bwidth", "zero width"),
        ("fixes #12 and o/r#34", "fixes # 12 and o/r# 34"),
        ("#1 fix", "1 fix"),
        ("closes GH-7 !8 &9", "closes GH 7 ! 8 & 9"),
        ("ask @name, not me@example.invalid", "ask @ name, not me@example.invalid"),
        ("see https://forge.invalid/o/r/issues/12", "see forge.invalid/o/r/issues/12"),
        ("read https://docs.invalid/page", "read https://docs.invalid/page"),
        ("go [skip ci] [ci skip] [no ci] ***NO_CI***", "go (skip ci) (ci skip) (no ci) NO_CI"),
        ("fixup! older", "fixup: older"),
        ("--- a/x", "a/x"),
        ("nul \0 and lone \ud800 end", "nul and lone end"),
        ("Umlaute \u00e4\u00f6\u00fc stay", "Umlaute \u00e4\u00f6\u00fc stay"),
    ],
)
def test_a_subject_is_one_clean_line_without_commands(title: str, subject: str) -> None:
    assert written(title).split("\n")[:2] == [subject, ""]


@pytest.mark.case("X04")
@pytest.mark.parametrize(
    "line",
    [
        "Task: 99",
        "Signed-off-by: x",
        "---",
        "diff --git a/x b/x",
        "Index: x",
        "From abc Mon",
        "# note",
        "skip-checks: true",
    ],
)
def test_a_line_of_the_intent_begins_with_nothing_that_counts(line: str) -> None:
    lines = written(intent=f"Before\n{line}\nafter").split("\n")

    assert f" {line}" in lines
    assert line not in lines


@pytest.mark.case("X04")
def test_a_forged_trailer_is_never_in_the_last_paragraph() -> None:
    forged = written("Title\n\nTask: 99", "words\n\nTask: 98\nAttempt: x", item="P1\n\nTask: 97")

    last = forged.rstrip("\n").split("\n\n")[-1].split("\n")
    assert [line.split(":")[0] for line in last] == ["Task", "Item", "Plan-Revision", "Attempt"]
    assert last[0] == "Task: 7"


def test_a_long_title_and_a_long_intent_are_cut_and_say_so() -> None:
    long = written("t" * 500, "line\n" * 5000)

    assert len(long.split("\n")[0]) == 120
    assert long.split("\n")[0].endswith("...")
    assert "[...]" in long
    assert len(long) < 5000


@given(title=st.text(), intent=st.text(), item=st.text(min_size=1))
def test_whatever_is_said_the_message_keeps_its_shape(title: str, intent: str, item: str) -> None:
    said = written(title, intent, item=item)

    subject, empty, *rest = said.split("\n")
    assert subject
    assert empty == ""
    assert [line.split(":")[0] for line in rest[-5:-1]] == ["Task", "Item", "Plan-Revision", "Attempt"]
    assert not any(unicodedata.category(letter) in {"Cc", "Cf", "Cs"} for letter in said if letter != "\n")
    said.encode()
