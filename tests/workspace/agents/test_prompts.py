"""What an agent is told."""

import os
import stat
from pathlib import Path

import pytest

from workspace.agents.prompts import prompt, write_prompt

OPERATIONS = [
    ("edit", "src/upload.py", None),
    ("add", "tests/test_upload_retry.py", None),
    ("rename", "new.py", "old.py"),
    ("delete", "lib/", None),
]


def test_it_says_what_is_wanted_where_and_how_it_is_checked() -> None:
    text = prompt(
        title="Retry failed uploads",
        intent="Wrap upload()\nwith back-off.\n",
        operations=OPERATIONS,
        checks=["pytest -q"],
        guidance="Keep the old name.",
    )

    assert text.startswith("# Retry failed uploads\n")
    assert "## What is wanted\n\nWrap upload()\nwith back-off.\n" in text
    assert (
        "- edit `src/upload.py`\n- add `tests/test_upload_retry.py`\n- rename `old.py` to `new.py`\n- delete `lib/`"
        in text
    )
    assert "## Guidance from a reviewer\n\nKeep the old name.\n" in text
    assert "\n    pytest -q\n" in text
    assert "Only the files count" in text
    assert "\n\n\n" not in text


def test_what_is_not_there_has_no_heading() -> None:
    text = prompt(title="T", intent="I", operations=OPERATIONS)

    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## What is wanted",
        "## Files you may touch",
        "## Rules",
    ]


def test_where_metadata_is_compared_it_asks_not_to_commit() -> None:
    watched = prompt(title="T", intent="I", operations=OPERATIONS)
    free = prompt(title="T", intent="I", operations=OPERATIONS, commits_watched=False)

    assert "do not commit" in watched
    assert "do not commit" not in free
    assert "Committing is not needed" in free


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a`b", "`` a`b ``"),
        ("``x", "``` ``x ```"),
        ("a\nb", r'`"a\nb"`'),
        ("a\u202eb", r'`"a\u202eb"`'),
        ("a b\u00e9", "`a b\u00e9`"),
    ],
)
def test_an_odd_path_cannot_leave_its_place(path: str, shown: str) -> None:
    text = prompt(title="T", intent="I", operations=[("edit", path, None)])

    assert f"- edit {shown}\n" in text


def test_a_title_is_one_line() -> None:
    text = prompt(title="One\n## Rules\n\x1b[2J", intent="I", operations=OPERATIONS)

    assert text.splitlines()[0] == r"# One ## Rules \u001b[2J"


def test_the_text_can_be_written_whatever_is_in_it(tmp_path: Path) -> None:
    text = prompt(title="T", intent="nul \0 surrogate \ud800 \u20ac", operations=OPERATIONS)

    path = write_prompt(tmp_path, text)

    assert "nul \ufffd surrogate \ufffd \u20ac" in path.read_text(encoding="utf-8")


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = write_prompt(tmp_path, "text")
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FileExistsError):
        write_prompt(tmp_path, "text")

    assert not (tmp_path / "elsewhere").exists()
