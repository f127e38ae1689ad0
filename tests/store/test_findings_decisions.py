"""Findings: decided once, all of them, and what follows from it."""

import pytest

from statemachine.findings import FindingState
from statemachine.gates import GateKind
from statemachine.refusals import LostRace, NotFound, Refusal
from statemachine.tasks import TaskState
from store import attempts, findings, ledger, pauses
from store.engine import Database
from tests.factories import (
    a_finding,
    a_plan,
    a_running_task,
    a_settled,
    a_task_at_gate,
    an_attempt,
    an_item,
)
from tests.store.scenes import (
    DONE,
    approved,
    decided,
    events,
    gates_of,
    noticed,
    owed,
    rejected,
    seen,
    the_gate,
    what_is_next,
)

S, G, F = TaskState, GateKind, FindingState
RESTING = [G.review, G.approval, G.fixed, G.scope, G.limit, G.failure]


@pytest.mark.case("F13")
def test_a_decision_keeps_who_when_and_why_and_is_a_new_version(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    row = decided(database, owed(database, task)[0], reason="a link to the docs")

    after = seen(database, task)
    assert (row.state, row.decided_by, row.reason) == (F.dismissed, "rev", "a link to the docs")
    assert row.decided_at is not None
    assert (after.state, after.owed_findings, after.version) == (S.needs_human, 0, task.version + 1)


@pytest.mark.case("F13")
def test_a_finding_is_decided_once(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)
    finding = owed(database, task)[0]
    decided(database, finding)
    before = seen(database, task)

    with pytest.raises(LostRace) as refused:
        decided(database, finding, state=F.accepted)

    assert refused.value.code == "stale_view"
    assert seen(database, task) == before


def test_a_decision_without_a_reason_is_refused(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    with pytest.raises(Refusal) as refused:
        decided(database, owed(database, task)[0], reason="  ")

    assert refused.value.code == "reason_required"
    assert len(owed(database, task)) == 1


def test_a_finding_nobody_recorded_is_not_found(database: Database) -> None:
    with database.connection() as db, pytest.raises(NotFound) as refused:
        findings.decide(db, 404, state=F.dismissed, actor="rev", reason="r")

    assert refused.value.code == "finding_not_found"


@pytest.mark.case("F11")
def test_an_answer_that_leaves_a_finding_out_is_refused_and_lists_it(database: Database) -> None:
    task = a_task_at_gate(database, G.finding, findings=(a_finding(), a_finding("other", paths=["o"])))
    first, second = owed(database, task)

    with pytest.raises(Refusal) as refused:
        approved(database, task, dismiss=(first.id,), reason="harmless")

    assert (refused.value.code, refused.value.facts) == ("finding_owed", {"findings": [second.id]})
    assert seen(database, task) == task


def test_an_answer_about_a_finding_of_another_task_is_refused(database: Database) -> None:
    task, other = (a_task_at_gate(database, G.finding) for _ in range(2))

    with pytest.raises(Refusal) as refused:
        approved(database, task, dismiss=(owed(database, other)[0].id,), reason="harmless")

    assert refused.value.code == "finding_not_owed"


@pytest.mark.case("F11")
def test_an_answer_without_a_reason_or_with_an_unknown_next_is_refused(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    for word, code in (({}, "reason_required"), ({"reason": "r", "then": "merge"}, "unknown_next")):
        with pytest.raises(Refusal) as refused:
            approved(database, task, dismiss_all=True, **word)
        assert refused.value.code == code

    assert seen(database, task) == task


@pytest.mark.case("F11")
def test_a_gate_with_more_findings_than_a_list_shows_still_passes_once_all_are_decided(database: Database) -> None:
    many = tuple(a_finding(f"link {n}", paths=[f"link-{n}"]) for n in range(501))
    task = a_task_at_gate(database, G.finding, findings=many)

    with pytest.raises(Refusal) as refused:
        approved(database, task, dismiss=tuple(finding.id for finding in owed(database, task)[:500]), reason="r")
    queued = approved(database, task, dismiss_all=True, reason="harmless")

    assert len(refused.value.facts["findings"]) == 1  # type: ignore[arg-type]  # a fact
    assert (task.owed_findings, queued.state, queued.owed_findings) == (501, S.queued, 0)


@pytest.mark.case("F12")
def test_all_decided_a_task_is_queued_with_counts_that_start_afresh(database: Database) -> None:
    task = a_task_at_gate(database, G.finding, exit_code=3)

    queued = approved(database, task, dismiss_all=True, reason="harmless", guidance="Mind the link.", retries=4)

    assert (queued.state, queued.gate_id, queued.owed_findings) == (S.queued, None, 0)
    assert (task.failures, queued.failures, queued.retries, queued.guidance) == (1, 0, 4, "Mind the link.")


@pytest.mark.case("F12")
def test_review_is_refused_while_an_item_is_left(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    with pytest.raises(Refusal) as refused:
        approved(database, task, dismiss_all=True, reason="harmless", then="review")

    assert refused.value.code == "items_unfinished"
    assert seen(database, task) == task
    assert len(owed(database, task)) == 1


@pytest.mark.case("F12")
def test_review_is_refused_while_a_check_did_not_pass_on_this_head(database: Database) -> None:
    task = a_running_task(database, plan=a_plan(checks=("true",)))
    a_settled(database, task, **DONE)
    noticed(database, task)

    with pytest.raises(Refusal) as refused:
        approved(database, task, dismiss_all=True, reason="harmless", then="review")

    assert refused.value.code == "checks_missing"


@pytest.mark.case("F12")
def test_a_finished_result_goes_to_review_once_its_findings_are_decided(database: Database) -> None:
    task = a_task_at_gate(database, G.review)
    noticed(database, task)

    waiting = approved(database, task, dismiss_all=True, reason="harmless", then="review")

    assert (waiting.state, the_gate(database, waiting).kind) == (S.in_review, G.review)
    assert (the_gate(database, waiting).head, events(database, task)[-1]) == (waiting.head, "accept_result")


def test_a_finding_gate_whose_findings_were_decided_one_by_one_still_asks_what_next(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)
    decided(database, owed(database, task)[0])

    queued = approved(database, task)

    assert queued.state is S.queued


def test_rejecting_a_finding_gate_closes_the_task_and_its_findings_can_still_be_decided(
    database: Database, superuser_url: str
) -> None:
    task = a_task_at_gate(database, G.finding)

    closed = rejected(database, task, reason="no")
    row = decided(database, owed(database, task)[0], state=F.accepted)

    assert (closed.state, closed.owed_findings) == (S.cancelled, 1)
    assert (row.state, row.late) == (F.accepted, False)
    assert gates_of(superuser_url, task) == [(G.finding, "rejected")]


def test_a_persons_own_finding_is_accepted_only_together_with_changes(database: Database) -> None:
    task = a_task_at_gate(database, G.review)
    noticed(database, task)
    finding = owed(database, task)[0].id

    with pytest.raises(Refusal) as refused:
        approved(database, task, accept=(finding,), reason="it is wrong")
    queued = approved(database, task, accept=(finding,), reason="it is wrong", then="changes", guidance="Fix it.")

    assert refused.value.code == "accept_needs_changes"
    assert (queued.state, queued.next_kind, queued.revision) == (S.queued, "fix", task.revision + 1)
    assert events(database, task)[-1] == "request_changes"


def test_two_people_decide_one_finding_and_one_of_them_hears_a_stale_view(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)
    version = task.version
    decided(database, owed(database, task)[0])

    with pytest.raises(LostRace) as refused:
        approved(database, task, dismiss_all=True, reason="harmless", if_version=version)

    assert refused.value.code == "stale_view"


# ---------------------------------------------------------------- committed work


@pytest.mark.case("F18")
def test_an_accepted_finding_about_committed_work_takes_it_and_all_later_work_back(database: Database) -> None:
    plan = a_plan(*(an_item(f"P{n}", path=f"{n}.txt") for n in (1, 2, 3)))
    task = a_running_task(database, plan=plan)
    commits = [a_settled(database, task, an_attempt(database, task, item=f"P{n}"), **DONE).task for n in (1, 2, 3)]
    with database.connection() as db:
        second = next(attempt for attempt in attempts.listing(db, task.id) if attempt.item_id == "P2")
    with database.transaction() as db:
        findings.record(db, task.id, [a_finding()], actor="rev", attempt=second.id, item="P2")

    queued = approved(
        database, task, accept=(owed(database, task)[0].id,), reason="it deletes the log", guidance="Keep the log."
    )

    with database.connection() as db:
        rows = ledger.listing(db, task.id)
    assert [(row.item_id, row.state) for row in rows] == [("P1", "live"), ("P2", "discarded"), ("P3", "discarded")]
    assert [(row.discarded_by, row.discarded_reason) for row in rows[1:]] == [("rev", "it deletes the log")] * 2
    assert (queued.head, queued.context) == (commits[0].head, commits[2].context + 1)
    assert (queued.state, events(database, task)[-1], queued.guidance) == (S.queued, "discard_item", "Keep the log.")
    assert getattr(what_is_next(database, a_running_task(database, queued)), "item", None) == "P2"


@pytest.mark.case("F18")
def test_an_accepted_finding_about_the_paused_commit_ends_its_pause_too(database: Database) -> None:
    task = a_task_at_gate(database, G.scope)
    with database.connection() as db:
        pause = pauses.latest(db, task.id)
    assert pause is not None
    with database.transaction() as db:
        findings.record(db, task.id, [a_finding()], actor="rev", attempt=pause.attempt_id, item="P1")

    queued = approved(database, task, accept=(owed(database, task)[0].id,), reason="unsafe")

    with database.connection() as db:
        ended = pauses.latest(db, task.id)
    assert ended is not None
    assert (ended.state, ended.decided_by) == ("discarded", "rev")
    assert (queued.state, queued.head, queued.owed_pauses) == (S.queued, task.base, 0)


def test_an_accepted_finding_about_work_that_was_never_committed_is_followed_by_a_retry(database: Database) -> None:
    task = a_task_at_gate(database, G.finding)

    queued = approved(database, task, accept=(owed(database, task)[0].id,), reason="unsafe")

    assert (queued.state, queued.head, events(database, task)[-1]) == (S.queued, task.base, "retry")
