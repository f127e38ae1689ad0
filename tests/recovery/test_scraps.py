"""What a killed process needed only while it ran is removed by whoever recovers, and nothing that is in use."""

from pathlib import Path

from tests.workshop import Workshop
from workspace.repository import intake

EDIT = "open('a.txt', 'a').write('x\\n')\n"


def rooms(workshop: Workshop) -> list[Path]:
    return list(workshop.runner().path.glob("quarantine-*"))


def a_room_of_the_dead(workshop: Workshop) -> Path:
    room = workshop.runner().path / "quarantine-0123"
    (room / "objects").mkdir(parents=True)
    return room


def scraps(workshop: Workshop) -> Path:
    """Leave in an ended attempt's folder what its worker would have removed next."""
    (attempt,) = workshop.attempts(workshop.run(EDIT))
    spool = workshop.root.attempts / str(attempt.id) / "spool"
    spool.mkdir()
    (spool / "pack").write_bytes(b"x")
    return spool


def test_a_quarantine_of_a_dead_process_is_removed_and_that_of_a_living_one_is_not(workshop: Workshop) -> None:
    workshop.run(EDIT)
    dead = a_room_of_the_dead(workshop)

    with intake.aside(workshop.runner()) as objects:
        report = workshop.recover()

        assert rooms(workshop) == [objects.parent]
    assert [line.what for line in report.lines] == ["scraps_removed"]
    assert str(dead) in report.lines[0].detail
    assert rooms(workshop) == []


def test_the_scraps_of_an_ended_attempt_are_removed_and_what_people_read_stays(workshop: Workshop) -> None:
    spool = scraps(workshop)

    workshop.recover()

    assert not spool.exists()
    assert (spool.parent / "output.log").exists()
    assert workshop.recover().lines == ()


def test_a_dry_run_names_scraps_and_leaves_them(workshop: Workshop) -> None:
    spool = scraps(workshop)
    room = a_room_of_the_dead(workshop)

    report = workshop.recover(dry_run=True)

    assert [line.what for line in report.lines] == ["scraps_removed"] * 2
    assert spool.exists()
    assert room.exists()


def test_a_link_in_place_of_an_attempts_folder_leads_recovery_nowhere(workshop: Workshop) -> None:
    spool = scraps(workshop)
    elsewhere = workshop.folder / "elsewhere"
    spool.parent.rename(elsewhere)
    spool.parent.symlink_to(elsewhere)

    workshop.recover()

    assert (elsewhere / "spool" / "pack").exists()
