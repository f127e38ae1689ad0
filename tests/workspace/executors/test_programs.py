"""What a command needs of this host: found from its words, and never more than that."""

import sys
from pathlib import Path

import pytest

from workspace.executors.programs import in_system, interpreter_tree, needed


def a_program(place: Path, text: str = "#!/bin/sh\n") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


def test_a_program_of_the_system_needs_nothing_more() -> None:
    assert needed(["sh", "-c", "true"], path="/usr/bin") == []


def test_a_program_and_the_files_it_is_given_by_their_full_path_are_shown(tmp_path: Path) -> None:
    program, settings = a_program(tmp_path / "tool"), tmp_path / "settings"
    settings.touch()

    found = needed(["tool", str(settings), "settings", "/no/such/file", str(tmp_path), "-x"], path=str(tmp_path))

    assert found == [program, settings]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this is no virtual environment")
def test_a_virtual_environment_is_shown_whole_with_what_it_was_made_from() -> None:
    found = needed([sys.executable], path="")

    assert Path(sys.prefix) in found
    assert set(interpreter_tree(Path(sys.base_prefix))) <= set(found)


def test_an_interpreters_own_tree_is_its_programs_and_libraries_only(tmp_path: Path) -> None:
    program = a_program(tmp_path / "node/bin/node", "")
    (tmp_path / "node/lib/node_modules").mkdir(parents=True)
    (tmp_path / "node/share/keyrings").mkdir(parents=True)

    found = needed([str(program)], path="")

    assert found == [program, tmp_path / "node/bin", tmp_path / "node/lib"]


def test_a_program_in_a_folder_of_programs_shows_none_of_the_others(tmp_path: Path) -> None:
    program = a_program(tmp_path / "bin/tool", "")
    (tmp_path / "lib").mkdir()

    assert needed([str(program)], path="") == [program]


@pytest.mark.parametrize("line", ["#!{}/lang\n", "#!/usr/bin/env lang\n", "#!/usr/bin/env -S lang\n"])
def test_a_script_shows_its_interpreter(tmp_path: Path, line: str) -> None:
    interpreter = a_program(tmp_path / "lang", "")
    script = a_program(tmp_path / "script", line.format(tmp_path))

    assert needed(["script"], path=f"{tmp_path}:/usr/bin") == [script, interpreter]


def test_scripts_that_interpret_each_other_come_to_an_end(tmp_path: Path) -> None:
    script = a_program(tmp_path / "a", f"#!{tmp_path}/b\n")
    other = a_program(tmp_path / "b", f"#!{tmp_path}/a\n")

    assert needed([str(script)], path="") == [script, other]


def test_a_link_shows_the_tree_its_target_lies_in(tmp_path: Path) -> None:
    real = a_program(tmp_path / "versions/1/bin/tool", "")
    (tmp_path / "versions/1/lib/node_modules").mkdir(parents=True)
    link = tmp_path / "bin/tool"
    link.parent.mkdir()
    link.symlink_to(real)

    found = needed([str(link)], path="")

    assert found == [link, tmp_path / "versions/1/bin", tmp_path / "versions/1/lib"]


@pytest.mark.parametrize(
    ("place", "system"), [("/usr/bin/x", True), ("/usr", True), ("/opt/x", False), ("/usrx", False)]
)
def test_the_systems_folders_are_told_by_their_parts(place: str, system: bool) -> None:  # noqa: FBT001 - a column
    assert in_system(Path(place)) is system
