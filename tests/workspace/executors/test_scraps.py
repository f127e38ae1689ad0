from pathlib import Path

from workspace.executors import scraps


def an_attempts_folder(place: Path) -> Path:
    for name in ("tmp", "spool", "recovered-1"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text("x")
    (place / "output.log").write_text("said")
    return place


def test_scraps_are_removed_and_what_people_read_stays(tmp_path: Path) -> None:
    folder = an_attempts_folder(tmp_path / "attempt")

    scraps.clear(folder)

    assert [each.name for each in folder.iterdir()] == ["output.log"]
    assert scraps.scraps(folder) == []


def test_a_link_an_agent_put_in_place_of_its_folder_leads_nowhere(tmp_path: Path) -> None:
    elsewhere = an_attempts_folder(tmp_path / "elsewhere")
    (tmp_path / "attempt").symlink_to(elsewhere)

    scraps.clear(tmp_path / "attempt")

    assert (elsewhere / "tmp" / "file").exists()
