"""Repositories and tasks, added by name and by path."""

import threading
from pathlib import Path

import pytest

from statemachine.refusals import NotFound
from store import repositories
from tests.factories import a_repository
from tests.workshop import Workshop
from worker.additions import find_or_add_repository


def add(workshop: Workshop, word: str | Path) -> repositories.Repository:
    return find_or_add_repository(workshop.database, workshop.root, str(word), actor="ann")


@pytest.mark.case("C04")
def test_a_word_that_is_a_name_and_a_folder_here_is_never_guessed(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(workshop, a_repository(workshop.folder / "A", "shop"))
    a_repository(workshop.folder / "B", "shop")
    monkeypatch.chdir(workshop.folder / "B")

    with pytest.raises(NotFound) as refusal:
        add(workshop, "shop")

    assert refusal.value.code == "repository_ambiguous"
    assert add(workshop, "./shop").source == str(workshop.folder / "B" / "shop")


def test_a_name_finds_its_repository_from_anywhere_else(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    known = add(workshop, a_repository(workshop.folder / "A", "shop"))
    monkeypatch.chdir(workshop.folder)

    assert add(workshop, "shop") == known


def test_two_folders_of_one_name_get_names_of_their_own(workshop: Workshop) -> None:
    first = add(workshop, a_repository(workshop.folder / "A", "shop"))
    second = add(workshop, a_repository(workshop.folder / "B", "shop"))

    assert first.name == "shop"
    assert second.name.startswith("shop-")


def test_four_who_add_one_path_at_once_get_one_repository(workshop: Workshop) -> None:
    place = a_repository(workshop.folder / "A", "shop")
    start, found = threading.Barrier(4), []

    def run() -> None:
        start.wait()
        found.append(add(workshop, place))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    assert len({repository.id for repository in found}) == 1
