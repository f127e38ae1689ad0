"""One writing attempt after the other, with real agents, real git and the real database."""

import pytest

from statemachine.tasks import TaskState
from tests.workshop import EVERYWHERE, Workshop, edit, item

APPEND = "open({'P1': 'a.txt', 'P2': 'src/x.py'}[item], 'a').write(f'# {item}\\n')\n"


@pytest.mark.case("X01")
@EVERYWHERE
def test_the_second_item_starts_from_the_commit_of_the_first(workshop: Workshop) -> None:
    task = workshop.run(APPEND, item("P1", edit("a.txt")), item("P2", edit("src/x.py")))

    first, second = workshop.ledger(task)
    assert task.state is TaskState.in_review
    assert (first.parent, second.parent, task.head) == (task.base, first.commit, second.commit)
    assert workshop.events(task) == ["add", "claim", "settle", "settle", "submit"]


@pytest.mark.case("X02")
@EVERYWHERE
def test_a_commit_holds_the_change_and_its_trailers_and_moves_only_the_head(workshop: Workshop) -> None:
    task = workshop.run(APPEND)

    commit = workshop.ledger(task)[0].commit or ""
    attempt = workshop.attempts(task)[0]
    message = workshop.show(commit, "").splitlines()
    assert workshop.changed(commit) == ["M\ta.txt"]
    assert workshop.show(commit, "a.txt") == "a\n# P1"
    assert task.base != task.head == commit == attempt.commit
    assert workshop.refs() == {f"refs/weighlock/base/{task.id}": task.base, f"refs/weighlock/tasks/{task.id}": commit}
    assert message


@pytest.mark.case("X03")
@EVERYWHERE
def test_no_change_makes_no_commit_and_the_next_item_runs(workshop: Workshop) -> None:
    task = workshop.run(
        "item == 'P2' and open('a.txt', 'a').write('x')", item("P1", edit("a.txt")), item("P2", edit("a.txt"))
    )

    first, second = workshop.ledger(task)
    assert (first.outcome, first.commit, second.outcome, second.parent) == ("unchanged", None, "commit", task.base)
    assert task.state is TaskState.in_review
