import threading
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from cli.pages.schemas import DecidedDocument
from statemachine.attempts import AttemptKind
from statemachine.gates import GateKind
from statemachine.plans import Plan
from statemachine.settlement import Isolation, Outcome
from store import checks, gates, plans, repositories
from store import tasks as rows
from store.engine import Database
from store.tasks import Task
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Done, Terminal
from workspace.disk.roots import open_root
from workspace.repository import refs
from workspace.repository.repositories import open_repository


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


def gate_of(database: Database, task: Task) -> UUID:
    assert task.gate_id is not None
    with database.connection() as db:
        return gates.get(db, task.gate_id).id


def state_of(database: Database, task: Task) -> str:
    with database.connection() as db:
        return rows.get(db, task.id).state


def a_task_out_of_scope(database: Database, tasks: Terminal, tmp_path: Path, plan: Plan | None = None) -> Task:
    """Walk a task of a real repository to its scope gate, with the commit there."""
    root = open_root(tasks.root)
    repository = factories.a_fetched_repository(database, root, factories.a_repository(tmp_path))
    commit = factories.a_result(root, repository, {"src/upload.py": "pass\n", "extra.txt": "surprise \x1b[2J\n"})
    task = factories.a_task_of(database, root, repository, plan)
    return factories.a_task_at_gate(database, GateKind.scope, task, commit=commit)


@pytest.mark.case("C01")
def test_the_list_shows_what_waits_oldest_first(database: Database, tasks: Terminal) -> None:
    first = factories.a_task_at_gate(database, GateKind.failure)
    second = factories.a_task_at_gate(database, GateKind.finding)
    factories.a_task(database)

    every = tasks("gate", "list", "--json").json
    findings = tasks("gate", "list", "--kind", "finding", "--json").json
    table = tasks("gate", "list").out

    assert [each["task"] for each in every] == [first.id, second.id]
    assert [each["task"] for each in findings] == [second.id]
    assert every[0]["id"] == f"g-{gate_of(database, first).hex}"
    assert f"next: tasks gate show {first.id}" in table


def test_an_empty_list_says_that_nothing_waits(tasks: Terminal) -> None:
    assert tasks("gate", "list").out == "nothing waits for a person\n"
    assert tasks("gate", "list", "--kind", "limit").out == "no gate of kind limit is open\n"
    assert tasks("gate", "list", "--json").json == []


@pytest.mark.parametrize(
    ("kind", "approving", "rejecting"),
    [
        (GateKind.finding, "--accept 1 --reason TEXT --guidance TEXT", ""),
        (GateKind.limit, "--budget 1h", ""),
        (GateKind.failure, "", ""),
        (GateKind.scope, "--amend", " --guidance TEXT"),
        (GateKind.approval, "", ""),
        (GateKind.fixed, "", ""),
        (GateKind.review, "", " --guidance TEXT"),
    ],
)
def test_the_page_says_what_each_answer_does_and_what_to_type(
    database: Database, tasks: Terminal, kind: GateKind, approving: str, rejecting: str
) -> None:
    task = factories.a_task_at_gate(database, kind)

    page = tasks("gate", "show", task.id).out
    document = tasks("gate", "show", task.id, "--json").json

    assert f"({kind}) of task {task.id} is open" in page
    assert "\napproving: " in page
    assert "\nrejecting: " in page
    assert f"    {f'tasks gate approve {task.id} {approving}'.strip()}\n" in page
    assert f"    tasks gate reject {task.id}{rejecting}\n" in page
    assert document["kind"] == kind
    assert document["approve"][0]["command"] == f"tasks gate approve {task.id} {approving}".strip()
    assert document["task_document"]["id"] == task.id


def test_the_page_of_a_finding_gate_offers_every_answer_that_is_possible(database: Database, tasks: Terminal) -> None:
    finished = factories.a_task_at_gate(database, GateKind.review)
    tasks("finding", "add", finished.id, "--summary", "odd")
    begun = factories.a_task_at_gate(database, GateKind.finding)

    of_finished = tasks("gate", "show", finished.id, "--json").json["approve"]
    of_begun = tasks("gate", "show", begun.id, "--json").json["approve"]

    assert [each["event"] for each in of_finished] == ["request_changes", "retry", "accept_result", "request_changes"]
    assert [each["event"] for each in of_begun] == ["retry", "retry", "request_changes"]
    assert of_begun[1]["command"] == f"tasks gate approve {begun.id} --dismiss 2 --reason TEXT --permit"
    for each in (*of_finished, *of_begun):
        command = each["command"].replace("TEXT", "text").split()[1:]
        assert tasks(*command, "--if-version", "1", "--json").error["code"] == "stale_view"


def test_an_answer_about_many_findings_counts_for_those_that_were_shown(database: Database, tasks: Terminal) -> None:
    many = tuple(factories.a_finding(f"P1 made {number}", paths=[f"link{number}"]) for number in range(6))
    task = factories.a_task_at_gate(database, GateKind.finding, findings=many)
    command = tasks("gate", "show", task.id, "--json").json["approve"][1]["command"].replace("TEXT", "seen").split()[1:]
    tasks("finding", "add", task.id, "--summary", "one more")

    refused = tasks(*command, "--json")

    assert refused.error["code"] == "stale_view"
    assert len(tasks("finding", "list", "--json").json) == len(many) + 1


@pytest.mark.case("C03")
def test_the_page_shows_findings_with_their_evidence_quoted(database: Database, tasks: Terminal) -> None:
    evil = "link\x1b[2J\u202e\nname"
    finding = factories.a_finding(f"P1 made {evil}", evidence={"paths": [evil]})
    task = factories.a_task_at_gate(database, GateKind.finding, findings=(finding,))

    page = tasks("gate", "show", task.id, "--verbose")
    screen = tasks.on_a_screen("gate", "show", task.id, "--verbose")

    assert "its evidence: tasks finding show 1" in tasks("gate", "show", task.id).out
    assert '"link\\u001b[2J\\u202e\\nname"' in page.out
    for text in (page.out, screen):
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
        assert "\nname" not in text


@pytest.mark.case("C03")
def test_the_page_of_a_scope_gate_shows_paths_and_the_commit_escaped(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)

    page = tasks("gate", "show", task.id).out
    document = tasks("gate", "show", task.id, "--json").json

    assert '\noutside the declared files:\n  add "extra.txt"\n' in page
    assert "\n+surprise \\x1b[2J\n" in page
    assert document["out_of_scope"] == [{"operation": "add", "path": "extra.txt"}]
    assert "+surprise" in document["diff"]


def test_the_page_says_where_a_diff_is_that_cannot_be_shown(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.review)

    done = tasks("gate", "show", task.id)

    assert done.code == 0
    assert "note: the diff cannot be shown: there is no runner repository" in done.out


@pytest.mark.parametrize(
    ("kind", "options", "state"),
    [
        (GateKind.finding, ["--dismiss-all", "--reason", "seen"], "queued"),
        (GateKind.limit, ["--budget", "2h"], "queued"),
        (GateKind.failure, ["--retries", "3", "--guidance", "Try again."], "queued"),
        (GateKind.approval, [], "queued"),
        (GateKind.fixed, ["--reason", "it does not"], "queued"),
        (GateKind.review, [], "approved"),
    ],
)
def test_approving_moves_the_task_on(
    database: Database, tasks: Terminal, kind: GateKind, options: list[str], state: str
) -> None:
    task = factories.a_task_at_gate(database, kind)

    done = tasks("gate", "approve", task.id, *options, "--json")

    assert done.code == 0
    conforms(done.json, DecidedDocument)
    assert done.json["state"] == state
    assert done.json["decided"]["state"] == "approved"
    assert done.json["decided"]["decided_by"] == "ann"


@pytest.mark.parametrize(
    ("kind", "options", "state"),
    [
        (GateKind.finding, ["--reason", "no"], "cancelled"),
        (GateKind.limit, [], "cancelled"),
        (GateKind.failure, ["--cancel"], "cancelled"),
        (GateKind.scope, ["--cancel"], "cancelled"),
        (GateKind.approval, [], "cancelled"),
        (GateKind.fixed, ["--close"], "cancelled"),
        (GateKind.review, ["--cancel"], "cancelled"),
        (GateKind.review, ["--guidance", "Keep the old name."], "queued"),
    ],
)
def test_rejecting_turns_the_task_back_or_closes_it(
    database: Database, tasks: Terminal, kind: GateKind, options: list[str], state: str
) -> None:
    task = factories.a_task_at_gate(database, kind)

    done = tasks("gate", "reject", task.id, *options, "--json")

    assert done.code == 0
    assert (done.json["state"], done.json["decided"]["state"]) == (state, "rejected")


def test_rejecting_a_result_without_a_word_is_refused(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.review)

    done = tasks("gate", "reject", task.id, "--json")

    assert (done.code, done.error["code"]) == (3, "guidance_required")
    assert state_of(database, task) == "in_review"


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (GateKind.review, ["--dismiss-all"], "--dismiss-all"),
        (GateKind.review, ["--retries", "0"], "--retries"),
        (GateKind.approval, ["--amend"], "--amend"),
        (GateKind.failure, ["--then", "review"], "--then"),
        (GateKind.scope, ["--budget", "1h"], "--budget"),
        (GateKind.finding, ["--amend"], "--amend"),
        (GateKind.finding, ["--permit"], "--permit"),
        (GateKind.finding, ["--accept", "1", "--dismiss", "1"], "finding 1"),
        (GateKind.finding, ["--then", "changes"], "--guidance"),
    ],
)
def test_a_flag_that_does_not_belong_to_the_gate_is_refused_by_name(
    database: Database, tasks: Terminal, kind: GateKind, options: list[str], named: str
) -> None:
    task = factories.a_task_at_gate(database, kind)

    done = tasks("gate", "approve", task.id, *options, "--json")

    assert (done.code, done.out, done.error["code"]) == (2, "", "usage")
    assert named in done.error["message"]
    with database.connection() as db:
        assert rows.get(db, task.id) == task


@pytest.mark.parametrize(
    ("kind", "options"), [(GateKind.finding, ["--guidance", "no"]), (GateKind.review, ["--cancel", "--guidance", "no"])]
)
def test_rejecting_with_a_flag_that_has_no_effect_is_refused(
    database: Database, tasks: Terminal, kind: GateKind, options: list[str]
) -> None:
    task = factories.a_task_at_gate(database, kind)

    assert tasks("gate", "reject", task.id, *options, "--json").error["code"] == "usage"
    assert state_of(database, task) == kind_state(kind)


def kind_state(kind: GateKind) -> str:
    return {GateKind.review: "in_review"}.get(kind, "needs_human")


@pytest.mark.case("F11")
def test_a_finding_left_undecided_keeps_the_gate_closed_and_is_listed(database: Database, tasks: Terminal) -> None:
    found = (factories.a_finding(), factories.a_finding("P1 made another", paths=["other"]))
    task = factories.a_task_at_gate(database, GateKind.finding, findings=found)
    first, second = (each["id"] for each in tasks("show", task.id, "--json").json["findings"])

    done = tasks("gate", "approve", task.id, "--dismiss", first, "--reason", "seen", "--json")

    assert (done.code, done.error["code"]) == (3, "finding_owed")
    assert done.error["facts"]["findings"] == [second]
    assert [each["state"] for each in tasks("finding", "list", "--json").json] == ["open", "open"]


@pytest.mark.case("F11")
def test_decisions_about_findings_need_a_reason(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)

    done = tasks("gate", "approve", task.id, "--dismiss-all", "--json")

    assert (done.code, done.error["code"]) == (3, "reason_required")


@pytest.mark.case("F12")
def test_a_result_with_items_left_does_not_go_to_review(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)

    done = tasks("gate", "approve", task.id, "--dismiss-all", "--reason", "seen", "--then", "review", "--json")

    assert done.code == 3
    assert state_of(database, task) == "needs_human"
    assert [each["state"] for each in tasks("finding", "list", "--json").json] == ["open"]


@pytest.mark.case("F13")
def test_a_decision_keeps_who_why_and_when_and_is_made_once(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.finding)
    gate = f"g-{gate_of(database, task).hex}"
    tasks("gate", "approve", task.id, "--dismiss-all", "--permit", "--reason", "a link to the docs", "--as", "rev")

    again = tasks("gate", "approve", gate, "--dismiss-all", "--reason", "me too", "--json")
    page = tasks("gate", "show", gate)
    (finding,) = tasks("finding", "list", "--json").json

    assert (again.code, again.error["code"]) == (4, "stale_view")
    assert (finding["state"], finding["permit"]) == ("dismissed", True)
    assert (finding["decided_by"], finding["reason"]) == ("rev", "a link to the docs")
    assert finding["decided_at"].endswith("Z")
    assert 'approved by "rev", ' in page.out
    assert "approving:" not in page.out


@pytest.mark.case("C08")
def test_two_people_at_one_gate_make_one_decision(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.review)
    done: list[Done] = []
    lines = (["approve", task.id, "--as", "one"], ["reject", task.id, "--cancel", "--as", "two"])
    people = [
        threading.Thread(target=lambda line=line: done.append(tasks.process("gate", *line, "--json"))) for line in lines
    ]

    for person in people:
        person.start()
    for person in people:
        person.join()

    assert sorted(each.code for each in done) in ([0, 3], [0, 4])
    (loser,) = [each for each in done if each.code]
    assert loser.error["code"] in {"stale_view", "no_open_gate"}
    decisions = [line for line in tasks("log", task.id, "--json").json if line["event"].startswith("gate_")]
    assert len(decisions) == 1


def test_a_task_that_waits_at_no_gate_says_so(database: Database, tasks: Terminal) -> None:
    task = factories.a_task(database)

    done = tasks("gate", "show", task.id, "--json")

    assert (done.code, done.error["code"]) == (3, "no_open_gate")
    assert done.error["hint"] == f"tasks show {task.id}"


@pytest.mark.case("C04")
def test_a_gate_is_found_by_the_first_digits_of_its_id(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.review)
    gate = gate_of(database, task).hex

    assert tasks("gate", "show", f"g-{gate[:6]}", "--json").json["task"] == task.id
    assert tasks("gate", "show", f"G-{gate.upper()}", "--json").json["task"] == task.id
    nothing = tasks("gate", "show", f"g-{'0' * 31}1", "--json")
    assert (nothing.code, nothing.error["code"]) == (5, "gate_not_found")


@pytest.mark.case("C04")
def test_an_ambiguous_id_lists_what_it_could_mean_and_does_nothing(
    database: Database, tasks: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = [UUID(hex=f"abcdef{number:026x}") for number in (1, 2)]
    supply = iter(twins)
    monkeypatch.setattr(rows, "uuid4", lambda: next(supply))
    waiting = [factories.a_submitted_task(database, a_finished_task(database)) for _ in twins]

    done = tasks("gate", "approve", "g-abcdef", "--json")

    assert (done.code, done.error["code"]) == (5, "ambiguous_id")
    assert done.error["facts"]["candidates"] == [f"g-{twin.hex}" for twin in twins]
    assert {state_of(database, task) for task in waiting} == {"in_review"}
    assert tasks("gate", "show", f"g-{twins[1].hex}", "--json").json["task"] == waiting[1].id


def a_finished_task(database: Database) -> Task:
    return factories.a_settled(database, factories.a_running_task(database), outcome=Outcome.unchanged).task


@pytest.mark.case("P04")
def test_looking_at_a_paused_task_changes_nothing_that_its_approval_needs(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)
    for line in (
        ["show", task.id],
        ["list"],
        ["gate", "show", task.id],
        ["gate", "list"],
        ["log", task.id],
        ["diff", task.id],
    ):
        assert tasks(*line).code == 0
    factories.a_commit(tmp_path / "project", {"README.md": "moved on\n"})
    with database.connection() as db:
        assert rows.get(db, task.id) == task

    done = tasks("gate", "approve", task.id, "--amend", "--if-version", task.version, "--json")

    assert (done.code, done.json["state"]) == (0, "queued")


@pytest.mark.case("P06")
def test_amending_declares_exactly_what_was_outside_the_scope(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)

    done = tasks("gate", "approve", task.id, "--amend", "--json")

    assert [item["state"] for item in done.json["items"]] == ["done"]
    with database.connection() as db:
        plan = plans.current(db, task=task.id, number=done.json["revision"]).plan
    assert [(each.kind, each.path) for each in plan.items[0].operations] == [
        ("edit", "src/upload.py"),
        ("add", "extra.txt"),
    ]


@pytest.mark.case("P05")
def test_a_continuation_without_the_paths_is_refused(database: Database, tasks: Terminal, tmp_path: Path) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)

    done = tasks("gate", "approve", task.id, "--json")

    assert (done.code, done.error["code"]) == (3, "scope_not_amended")
    assert "--amend" in done.error["hint"]


def test_a_continuation_is_judged_on_the_tree_that_is_there(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    later = factories.an_item("P2", path="is/not/there.py")
    task = a_task_out_of_scope(database, tasks, tmp_path, factories.a_plan(factories.an_item(), later))

    done = tasks("gate", "approve", task.id, "--amend", "--json")

    assert (done.code, done.error["code"]) == (3, "plan_invalid")
    assert state_of(database, task) == "needs_amendment"


@pytest.mark.case("P08")
def test_rejecting_out_of_scope_work_keeps_its_commit_under_a_ref_and_moves_the_head_back(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)
    with database.connection() as db:
        runner = open_repository(open_root(tasks.root), repositories.get(db, task.repository_id).runner)
    refs.update(runner, refs.task_ref(task.id), new=task.head, old=task.base)

    done = tasks("gate", "reject", task.id, "--reason", "not asked for", "--json")

    assert (done.code, done.err) == (0, "")
    assert (done.json["state"], done.json["head"]) == ("queued", task.base)
    assert refs.read(runner, refs.task_ref(task.id)) == task.base
    discarded = refs.listing(runner, f"{refs.PREFIX}/discarded")
    assert list(discarded.values()) == [task.head]
    assert [item["state"] for item in done.json["items"]] == ["waiting"]


def test_a_decision_stands_where_the_refs_cannot_follow(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.scope)

    done = tasks("gate", "reject", task.id, "--json")

    assert (done.code, done.json["state"]) == (0, "queued")
    assert f"the decision stands, but the refs of task {task.id} did not follow yet" in done.err
    assert "tasks recover" in done.err


@pytest.mark.case("F18")
def test_accepting_a_finding_about_committed_work_takes_the_work_back(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)
    attempt = tasks("show", task.id, "--json").json["attempts"][0]["id"]
    finding = tasks("finding", "add", task.id, "--summary", "it phones home", "--attempt", attempt, "--json").json["id"]

    page = tasks("gate", "show", task.id)
    done = tasks("gate", "approve", task.id, "--accept", finding, "--reason", "it does", "--json")

    assert f"    tasks gate approve {task.id} --accept {finding} --reason TEXT\n" in page.out
    assert (done.json["state"], done.json["head"], done.json["owed_pauses"]) == ("queued", task.base, 0)


@pytest.mark.case("P09")
def test_a_finding_decided_on_a_paused_task_leads_back_to_its_scope_gate(
    database: Database, tasks: Terminal, tmp_path: Path
) -> None:
    task = a_task_out_of_scope(database, tasks, tmp_path)
    tasks("finding", "add", task.id, "--summary", "look at this")

    refused = tasks("gate", "approve", task.id, "--dismiss-all", "--reason", "fine", "--budget", "1h", "--json")
    done = tasks("gate", "approve", task.id, "--dismiss-all", "--reason", "fine", "--json")

    assert (refused.code, refused.error["code"]) == (2, "usage")
    assert "--budget has no effect here" in refused.error["message"]
    assert (done.json["state"], done.json["gate"]["kind"]) == ("needs_amendment", "scope")


def a_task_whose_check_fails(database: Database) -> Task:
    """Walk a task to its failure gate: its item is done, and one of its checks does not pass."""
    task = factories.a_running_task(database, plan=factories.a_plan(checks=("lint", "pytest -q")))
    done = factories.a_done_item(database, task)
    attempt = factories.an_attempt(database, done, item=None, kind=AttemptKind.check)
    with database.connection() as db:
        for command, code in (("pytest -q", 1), ("lint", 0)):
            told = {"exit_code": code, "passed": not code, "tail": f"{command}: 2 of 3\n"}
            checks.add(db, task=task.id, attempt=attempt.id, head=done.head, command=command, **told)
    failed = {"exit_code": 1, "failure_code": "checks_failed", "failure": "this check failed: pytest -q"}
    return factories.a_settled(database, done, attempt, **failed).task


def test_a_check_that_fails_is_answered_by_changes_first(database: Database, tasks: Terminal) -> None:
    task = a_task_whose_check_fails(database)

    document = tasks("gate", "show", task.id, "--json").json
    done = tasks("gate", "approve", task.id, "--then", "changes", "--guidance", "Round up.", "--json")

    command = f"tasks gate approve {task.id}"
    answers = [(each["event"], each["command"]) for each in document["approve"]]
    assert answers == [
        ("request_changes", f"{command} --then changes --guidance TEXT"),
        ("retry", command),
    ]
    assert "no agent runs" in document["approve"][1]["effect"]
    assert (done.json["state"], done.json["decided"]["state"]) == ("queued", "approved")
    assert [(item["id"], item["kind"], item["title"]) for item in done.json["items"][1:]] == [
        ("F1", "fix", "Requested changes: Round up.")
    ]
    with database.connection() as db:
        guidance = rows.get(db, task.id).guidance
    assert guidance.startswith("Round up.\n\nThis check fails")
    assert "    pytest -q\n\nIt printed last:\n\n    pytest -q: 2 of 3\n" in guidance
    assert "lint" not in guidance


@pytest.mark.parametrize("command", [("gate", "approve"), ("retry",)])
def test_guidance_that_no_agent_would_hear_is_refused_with_the_way_to_be_heard(
    database: Database, tasks: Terminal, command: tuple[str, ...]
) -> None:
    task = a_task_whose_check_fails(database)

    done = tasks(*command, task.id, "--guidance", "Round up.", "--json")

    assert (done.code, done.error["code"]) == (3, "guidance_unheard")
    assert done.error["hint"] == f"tasks gate approve {task.id} --then changes --guidance TEXT"
    assert state_of(database, task) == "needs_human"


def test_changes_are_not_asked_of_items_that_never_came_to_an_end(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.failure)

    done = tasks("gate", "approve", task.id, "--then", "changes", "--guidance", "Round up.", "--json")

    assert (done.code, done.error["code"]) == (3, "items_unfinished")
    assert done.error["hint"] == f"tasks gate approve {task.id} --guidance TEXT"


def test_an_agent_that_left_its_scope_is_told_what_it_did_and_the_reviewer_s_words(
    database: Database, tasks: Terminal
) -> None:
    task = factories.a_task_at_gate(database, GateKind.scope)

    done = tasks("gate", "reject", task.id, "--guidance", "Only the one file.", "--json")
    shown = tasks("show", task.id).out

    with database.connection() as db:
        guidance = rows.get(db, task.id).guidance
    assert done.code == 0
    assert '- add "extra.txt"\n\nOnly the one file.' in guidance
    assert "P1  waiting, taken back" in shown
    assert "Only the one file." in shown


def test_checks_are_shown_in_the_order_of_the_plan_with_the_way_to_all_they_printed(
    database: Database, tasks: Terminal
) -> None:
    task = a_task_whose_check_fails(database)

    page = tasks("gate", "show", task.id).out

    assert page.index('check "lint" passed') < page.index('check "pytest -q" failed (it exited with 1)')
    assert "all that was kept: tasks attempt log a-" in page
    assert "this check failed: pytest -q (it exited with 1)" in page


def test_an_agent_that_ran_out_of_time_is_offered_more(database: Database, tasks: Terminal) -> None:
    task = factories.a_task_at_gate(database, GateKind.failure, isolation=Isolation.timeout, exit_code=None)

    document = tasks("gate", "show", task.id, "--json").json

    assert "--time-limit" in document["approve"][0]["command"]
    assert document["reason"] == "the agent of P1 ran past its time limit and was ended"


def test_a_budget_that_is_spent_is_doubled_by_what_may_be_typed(database: Database, tasks: Terminal) -> None:
    plan = factories.a_plan(budget=timedelta(hours=2))
    task = factories.a_task_at_gate(database, GateKind.limit, factories.a_task(database, plan=plan))

    assert f"tasks gate approve {task.id} --budget 4h" in tasks("show", task.id).out
