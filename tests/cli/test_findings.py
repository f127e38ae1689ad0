from collections.abc import Callable
from pathlib import Path

import pytest

from cli.pages.schemas import FindingDocument
from statemachine.attempts import StopReason
from statemachine.findings import FindingKind
from statemachine.gates import GateKind
from store import claims
from store import tasks as rows
from store.engine import Database
from store.tasks import Task
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal

WALKS: dict[str, Callable[[Database], Task]] = {
    "queued": factories.a_task,
    "running": factories.a_running_task,
    "in_review": lambda database: factories.a_task_at_gate(database, GateKind.review),
    "approved": factories.an_approved_task,
    "needs_human": lambda database: factories.a_task_at_gate(database, GateKind.failure),
}


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


def owed_by(database: Database, task: Task) -> int:
    with database.connection() as db:
        return rows.get(db, task.id).owed_findings


@pytest.mark.case("C01")
@pytest.mark.case("C03")
def test_a_finding_is_shown_with_its_evidence_quoted(database: Database, tasks: Terminal) -> None:
    evil = "link\x1b[2J\u202e"
    found = factories.a_finding(f"P1 made {evil}", evidence={"paths": [evil], "everything": list(range(300))})
    factories.a_task_at_gate(database, GateKind.finding, findings=(found,))
    (listed,) = tasks("finding", "list", "--json").json

    shown = tasks("finding", "show", listed["id"])
    document = tasks("finding", "show", listed["id"], "--json").json

    conforms(document, FindingDocument)
    assert document == listed
    assert document["evidence"]["paths"] == [evil]
    assert '"link\\u001b[2J\\u202e"' in shown.out
    assert "more lines: --json shows all" in shown.out
    assert "\x1b" not in shown.out + tasks("finding", "list").out
    assert "\x1b[2J" not in tasks.on_a_screen("finding", "show", listed["id"])


def test_the_list_is_of_one_task_or_one_state(database: Database, tasks: Terminal) -> None:
    first = factories.a_task_at_gate(database, GateKind.finding)
    second = factories.a_task_at_gate(database, GateKind.finding)
    tasks("gate", "approve", first.id, "--dismiss-all", "--reason", "seen")

    assert {each["task"] for each in tasks("finding", "list", "--json").json} == {first.id, second.id}
    assert [each["task"] for each in tasks("finding", "list", "--state", "open", "--json").json] == [second.id]
    assert [each["state"] for each in tasks("finding", "list", "--task", first.id, "--json").json] == ["dismissed"]
    assert tasks("finding", "list", "--task", 99, "--json").error["code"] == "task_not_found"


def test_without_findings_the_list_says_so(tasks: Terminal) -> None:
    assert tasks("finding", "list").out == "no findings\n"
    assert tasks("finding", "list", "--json").json == []
    assert tasks("finding", "show", 5, "--json").error["code"] == "finding_not_found"


@pytest.mark.case("F14")
@pytest.mark.parametrize("state", WALKS)
def test_a_persons_finding_stops_a_task_wherever_it_rests(database: Database, tasks: Terminal, state: str) -> None:
    task = WALKS[state](database)
    assert task.state == state

    done = tasks("finding", "add", task.id, "--summary", "no authentication", "--json")

    conforms(done.json, FindingDocument)
    assert (done.code, done.json["kind"], done.json["state"]) == (0, "manual", "open")
    assert done.json["recorded_by"] == "ann"
    shown = tasks("show", task.id, "--json").json
    assert (shown["state"], shown["gate"]["kind"], shown["owed_findings"]) == ("needs_human", "finding", 1)


@pytest.mark.case("F14")
def test_a_finding_added_while_an_attempt_runs_stops_the_attempt(database: Database, tasks: Terminal) -> None:
    task = factories.a_running_task(database)
    attempt = factories.an_attempt(database, task)

    done = tasks("finding", "add", task.id, "--summary", "look", "--attempt", f"a-{attempt.id.hex[:8]}", "--json")

    assert (done.json["attempt"], done.json["item"]) == (f"a-{attempt.id.hex}", "P1")
    with database.connection() as db:
        row = rows.get(db, task.id)
    assert (row.state, row.stop_reason, row.owed_findings) == ("running", "user", 1)
    assert factories.a_settled(database, task, attempt).task.state == "needs_human"


@pytest.mark.case("F20")
def test_a_finding_on_a_closed_task_is_late_and_decided_by_itself(database: Database, tasks: Terminal) -> None:
    task = factories.a_task(database)
    tasks("cancel", task.id)

    added = tasks("finding", "add", task.id, "--summary", "it leaked a key", "--json").json
    told = tasks("finding", "show", added["id"])
    done = tasks("finding", "accept", added["id"], "--reason", "it did", "--json")

    assert (added["late"], added["state"]) == (True, "open")
    assert f"next: tasks finding dismiss {added['id']} --reason TEXT" in told.out
    assert (done.code, done.json["state"], done.json["reason"]) == (0, "accepted", "it did")
    assert tasks("show", task.id, "--json").json["state"] == "cancelled"


def test_two_findings_of_one_person_are_two_and_the_same_words_are_one(database: Database, tasks: Terminal) -> None:
    task = factories.a_task(database)

    ids = [tasks("finding", "add", task.id, "--summary", words, "--json").json["id"] for words in ("one", "two", "one")]

    assert ids[0] == ids[2] != ids[1]
    assert owed_by(database, task) == 2


def test_a_finding_needs_words_and_an_attempt_of_its_task(database: Database, tasks: Terminal) -> None:
    task, other = factories.a_task(database), factories.a_running_task(database)
    attempt = factories.an_attempt(database, other)

    empty = tasks("finding", "add", task.id, "--summary", "  ", "--json")
    foreign = tasks("finding", "add", task.id, "--summary", "x", "--attempt", f"a-{attempt.id.hex}", "--json")

    assert (empty.code, empty.error["code"]) == (2, "usage")
    assert (foreign.code, foreign.error["code"]) == (5, "attempt_not_found")
    assert owed_by(database, task) == 0


@pytest.mark.case("F13")
def test_a_decision_is_made_once_and_keeps_who_and_why(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)
    (finding,) = tasks("show", task.id, "--json").json["findings"]

    done = tasks("finding", "dismiss", finding["id"], "--reason", "the docs", "--permit", "--as", "rev", "--json").json
    again = tasks("finding", "accept", finding["id"], "--reason", "no", "--json")

    assert (done["state"], done["permit"], done["decided_by"], done["reason"]) == ("dismissed", True, "rev", "the docs")
    assert (again.code, again.error["code"]) == (4, "stale_view")
    assert 'reason     "the docs"' in tasks("finding", "show", finding["id"]).out
    assert tasks("show", task.id, "--json").json["state"] == "needs_human"
    assert tasks("gate", "approve", task.id, "--json").json["state"] == "queued"


@pytest.mark.case("F19")
def test_what_nobody_may_wave_through_cannot_be_permitted(database: Database, tasks: Terminal) -> None:
    task = factories.a_task(database)
    finding = tasks("finding", "add", task.id, "--summary", "odd", "--json").json["id"]

    done = tasks("finding", "dismiss", finding, "--reason", "fine", "--permit", "--json")

    assert (done.code, done.error["code"]) == (3, "not_permittable")
    assert owed_by(database, task) == 1


@pytest.mark.case("F18")
@pytest.mark.parametrize("about", ["the work", "the task"])
def test_a_finding_whose_acceptance_has_consequences_is_accepted_at_the_gate(
    database: Database, tasks: Terminal, about: str
) -> None:
    task = factories.a_task_at_gate(database, GateKind.review)
    attempt = tasks("show", task.id, "--json").json["attempts"][0]["id"]
    named = ["--attempt", attempt] if about == "the work" else []
    finding = tasks("finding", "add", task.id, "--summary", "odd", *named, "--json").json["id"]

    done = tasks("finding", "accept", finding, "--reason", "it is", "--json")

    assert (done.code, done.error["code"]) == (3, "decide_at_gate")
    assert done.error["hint"].startswith(f"tasks gate approve {task.id} --accept {finding} --reason TEXT")
    assert owed_by(database, task) == 1


def test_a_finding_about_work_that_was_never_kept_is_accepted_by_itself(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)
    (finding,) = tasks("show", task.id, "--json").json["findings"]

    assert tasks("finding", "accept", finding["id"], "--reason", "it was", "--json").json["state"] == "accepted"
    assert tasks("gate", "approve", task.id, "--json").json["state"] == "queued"


@pytest.mark.case("A08")
def test_reading_and_finding_add_work_while_a_task_merges(database: Database, tasks: Terminal) -> None:
    task = factories.a_merging_task(database)

    refused = [tasks(*line, task.id, "--json") for line in (["retry"], ["cancel"], ["gate", "approve"])]
    added = tasks("finding", "add", task.id, "--summary", "wait", "--json")

    assert {each.code for each in refused} == {3}
    assert (added.code, added.json["state"]) == (0, "open")
    assert tasks("show", task.id, "--json").json["state"] == "merging"
    with database.connection() as db:
        assert claims.request_stop(db, task=task.id, why=StopReason.user, actor="x") is None


def test_every_kind_that_can_be_permitted_says_so_in_json(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)
    tasks("finding", "add", task.id, "--summary", "odd")

    permittable = {each["kind"]: each["permittable"] for each in tasks("finding", "list", "--json").json}

    assert permittable == {FindingKind.new_symlink.value: True, FindingKind.manual.value: False}


def test_the_last_decision_of_a_gate_says_what_is_left_to_do(database: Database, tasks: Terminal) -> None:
    found = (factories.a_finding(), factories.a_finding("P1 made another", paths=["other"]))
    task = factories.a_task_at_gate(database, GateKind.finding, findings=found)

    first = tasks("finding", "dismiss", 1, "--reason", "seen")
    last = tasks("finding", "dismiss", 2, "--reason", "seen")

    assert f"next: tasks show {task.id}\n" in first.out
    assert f"every finding of task {task.id} is decided" in last.out
    assert f"next: tasks gate approve {task.id}\n" in last.out


def test_what_a_closed_task_never_decided_comes_behind_what_is_owed(database: Database, tasks: Terminal) -> None:
    closed = factories.a_task_at_gate(database, GateKind.finding)
    tasks("cancel", closed.id)
    waiting = factories.a_task_at_gate(database, GateKind.finding)

    listed = tasks("finding", "list", "--json").json

    assert [each["task"] for each in listed] == [waiting.id, closed.id]
