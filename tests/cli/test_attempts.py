from pathlib import Path

import pytest

from cli.pages.report_schemas import AttemptLogDocument
from store import outputs
from store.engine import Database
from store.outputs import NewOutput
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal
from tests.workshop import Workshop, a_workshop

LOUD = "open('a.txt', 'a').write('x')\nprint('said \\x1b[31m this')\n"


@pytest.fixture
def workshop(database: Database, database_url: str, tmp_path: Path) -> Workshop:
    return a_workshop(database, database_url, tmp_path)


@pytest.fixture
def tasks(workshop: Workshop) -> Terminal:
    return Terminal(database_url=workshop.url, root=workshop.root.path)


def test_the_log_of_an_attempt_is_printed_as_it_was_and_escaped_on_a_screen(
    workshop: Workshop, tasks: Terminal
) -> None:
    task = workshop.run(LOUD)
    attempt = f"a-{workshop.attempts(task)[0].id.hex[:8]}"

    piped = tasks("attempt", "log", attempt)
    screen = tasks.on_a_screen("attempt", "log", task.id)

    assert piped.out == "said \x1b[31m this\n"
    assert "said \\x1b[31m this" in screen
    assert "\x1b[31m" not in screen


def test_the_log_as_json_says_how_much_there_was(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(LOUD)

    document = tasks("attempt", "log", task.id, "--json").json

    conforms(document, AttemptLogDocument)
    assert (document["task"], document["state"], document["truncated"]) == (task.id, "completed", False)
    assert document["size"] == len(document["text"]) == len("said \x1b[31m this\n")


def test_a_log_that_was_cut_says_how_much_there_was(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(LOUD)
    (log,) = (each for each in workshop.outputs(task) if each.kind == "log")
    told = NewOutput(kind="log", path=log.path, size=10_000_000, sha256=log.sha256, truncated=True)
    with workshop.database.connection() as db:
        outputs.add(db, attempt=log.attempt_id, host=log.host, file=told)

    done = tasks("attempt", "log", task.id)

    assert done.err == f"warning: this is cut: attempt a-{log.attempt_id.hex[:8]} printed 10000000 bytes\n"


def test_a_log_can_be_followed_while_the_agent_runs_until_it_has_ended(workshop: Workshop, tasks: Terminal) -> None:
    go = workshop.folder / "go"
    waits = "import pathlib, time\n"
    waits += f"print('first', flush=True)\nring()\nwhile not pathlib.Path({str(go)!r}).exists(): os.sched_yield()\n"
    task = workshop.add(waits + "print('last', flush=True)\n")

    with workshop.working(task) as worker:
        workshop.heard()
        before = tasks("attempt", "log", task.id)
        go.touch()
        followed = tasks("attempt", "log", task.id, "--follow")
        worker.join()

    assert before.out == "first\n"
    assert "is running; --follow goes on with it" in before.err
    assert followed.out == "first\nlast\n"


def test_a_link_in_place_of_a_log_is_not_read(workshop: Workshop, tasks: Terminal) -> None:
    task = workshop.run(LOUD)
    log = next(Path(each.path) for each in workshop.outputs(task) if each.kind == "log")
    secret = workshop.folder / "secret"
    secret.write_text("mine")
    log.unlink()
    log.symlink_to(secret)

    refused = tasks("attempt", "log", task.id, "--json")

    assert (refused.code, refused.error["code"]) == (5, "log_not_found")
    assert refused.out == ""


def test_a_task_that_never_ran_has_no_log(database: Database, tasks: Terminal) -> None:
    task = factories.a_task(database)

    assert tasks("attempt", "log", task.id, "--json").error["code"] == "attempt_not_found"


def test_following_gives_no_document(workshop: Workshop, tasks: Terminal) -> None:
    assert tasks("attempt", "log", 1, "--follow", "--json").code == 2
