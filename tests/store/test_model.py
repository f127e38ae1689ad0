"""Whatever workers, people, recovery and zombies do in whatever order, the rows are what a small model says."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from psycopg.rows import dict_row

from statemachine.attempts import AttemptKind
from statemachine.decisions import Facts
from statemachine.merges import MergeState
from statemachine.refusals import Refusal
from statemachine.settlement import Outcome
from statemachine.tasks import TaskEvent
from store import attempts, claims, findings, interventions, merges, tasks
from store.attempts import Attempt
from store.engine import Database
from store.tasks import Question, Task
from store.words import Word
from store.workers import Worker
from tests.crash.laws import ALWAYS
from tests.factories import LEASE, a_finding, a_merging, a_plan, a_settled, a_task, a_worker, an_attempt, an_item
from tests.store.model import CLOSED, ITEMS, Model, Work
from tests.store.scenes import EXTRA, approved, decided, owed, rejected, seen

SEEN: dict[Work, dict[str, Any]] = {
    "done": {"outcome": Outcome.committed},
    "unchanged": {"outcome": Outcome.unchanged},
    "outside": {"outcome": Outcome.committed, "out_of_scope": EXTRA},
    "failed": {"exit_code": 3},
    "unsafe": {},
    "lost": {"exit_code": None, "recovered": True},
}
WORKS: list[Work] = ["done", "done", "unchanged", "outside", "failed", "unsafe"]
# Going on comes often, or no story would come far.
WHAT = [*["go on"] * 10, "recover", "wake", "notice", "notice", "stop", "cancel", "say no", "decide", "go astray"]
# Ways that chance seldom takes: what happens, or how work that went on ended.
STORIES = (
    "go on, go on, outside, notice, go on, say no, go on, go on, recover, wake, cancel",
    "go on, go on, failed, go on, failed, go on, go on, go on, done, go on, go on, done, go on, go on, done, go on",
    "go on, go on, done, go on, done, go on, done, go on, go on, go on, notice, the push fails, go on, go on, go on",
    "go on, go on, done, go on, done, go on, done, go on, go on, go on, the push fails, go on, go on, go astray",
    "go on, go on, outside, go on, go on, stop, notice, unsafe, decide, go astray, go on, go on, stop, go on",
)
EXPIRED = "UPDATE task SET lease_expires = lease_expires - interval '1 day' WHERE id = %s"
ROWS = """
    SELECT state, owed_findings, owed_pauses, stop_reason IS NOT NULL AS stop, cancel_requested,
           lease_worker IS NOT NULL AS held, lease_epoch, failures, losses,
           (SELECT kind FROM gate WHERE gate.id = gate_id) AS gate,
           ARRAY(SELECT attempt.state FROM attempt WHERE task_id = task.id AND ended_at IS NOT NULL
                 ORDER BY number) AS ends,
           ARRAY(SELECT item_id FROM commit_ledger AS ledger WHERE task_id = task.id AND ledger.state = 'live'
                 ORDER BY id) AS done,
           ARRAY(SELECT event FROM task_event WHERE task_id = task.id ORDER BY seq) AS events
    FROM task WHERE id = %s
"""
LAWS = " UNION ALL ".join(f"SELECT '{law}' AS law WHERE EXISTS ({query})" for law, query in ALWAYS.items()).encode()
# What a plan without questions of its own, a budget or a second revision never meets.
ELSEWHERE = {
    TaskEvent.release,
    TaskEvent.await_approval,
    TaskEvent.suspect_fixed,
    TaskEvent.hit_limit,
    TaskEvent.approve_start,
    TaskEvent.continue_anyway,
    TaskEvent.accept_result,
    TaskEvent.request_changes,
    TaskEvent.amend,
    TaskEvent.recheck,
    TaskEvent.lapse_approval,
}
BOUNDED = settings(
    max_examples=15,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


class Story(RuleBasedStateMachine):
    """Everything that can happen to a task, legal or not; when one is closed, the next one begins."""

    database: Database
    admin: "psycopg.Connection[Any]"
    worker: Worker
    walked: set[str]

    def __init__(self) -> None:
        super().__init__()
        self.counted = 0
        self.add()

    def add(self) -> None:
        plan = a_plan(*(an_item(item, f"src/{item}.py") for item in ITEMS))
        self.row = a_task(self.database, plan=plan)
        self.model = Model(task=self.row.id)
        self.fenced: list[tuple[Task, Attempt | None]] = []

    def follow(self, story: str) -> None:
        """Let happen what a story says, word by word."""
        for word in story.split(", "):
            work = word if word in SEEN else "done"
            self.happen(word if word in WHAT else "go on", work, Random(0), launched=word != "the push fails")
            self.the_rows_are_what_the_model_says()
            self.no_law_is_broken()
        self.teardown()

    def teardown(self) -> None:
        self.walked.update(self.model.history)

    # ------------------------------------------------------------ what a worker and a person do when all is well

    @rule(
        what=st.sampled_from(WHAT),
        work=st.sampled_from(WORKS),
        launched=st.sampled_from([True, True, True, False]),
        pick=st.randoms(use_true_random=False),
    )
    def something_happens(self, what: str, work: Work, pick: Random, *, launched: bool) -> None:
        """Let one thing happen; one rule for all, since of several some would be left out of whole stories."""
        self.happen(what, work, pick, launched=launched)

    def happen(self, what: str, work: Work, pick: Random, *, launched: bool) -> None:
        model = self.model
        match what:
            case "recover" if model.state == "running":
                self.recover()
            case "wake" if self.fenced:
                self.wake_up_too_late(pick)
            case "notice":
                self.notice()
            case "stop" | "cancel":
                self.intervene(what)
            case "say no" if model.gate:
                self.say_no()
            case "decide" if model.findings:
                self.decide_one()
            case "go astray":
                self.go_where_nothing_leads()
            case _:
                self.step(work, launched=launched)

    def step(self, work: Work, *, launched: bool) -> None:
        match self.model.state:
            case "queued":
                self.claim()
            case "running":
                self.run(work, launched=launched)
            case "approved" | "merge_blocked":
                a_merging(self.database, self.row)
                self.model.move("begin_merge", "merging")
            case "merging":
                self.end_merge(held=launched)
            case "merged" | "cancelled":
                self.walked.update(self.model.history)
                self.add()
            case _:
                self.say_yes()

    def claim(self) -> None:
        held = self.claimed()
        assert held is not None
        self.model.claim()

    def run(self, work: Work, *, launched: bool) -> None:
        model = self.model
        if model.active and model.launched:
            self.settle(work, recovering=False)
        elif model.active:
            # What was admitted and never launched is settled by who finds it.
            self.recover()
        elif model.stop:
            self.end_a_stop()
        elif model.next_item:
            an_attempt(self.database, self.now, item=model.next_item, launched=launched)
            model.admit(launched=launched)
        else:
            self.move(TaskEvent.submit, items_done=True, checks_passed=True)
            model.move("submit", "in_review", "review")

    def end_a_stop(self) -> None:
        if self.model.cancel:
            self.move(TaskEvent.cancel)
            self.model.close()
        else:
            self.move(TaskEvent.halt)
            self.model.move("halt", "needs_human", "failure")

    def say_yes(self) -> None:
        kind = self.model.gate
        approved(self.database, self.row, dismiss_all=kind == "finding", amend=kind == "scope", reason="seen")
        match kind:
            case "review":
                self.model.move("approve", "approved")
            case "scope":
                self.model.pause = False
                self.model.start_afresh("approve_continuation")
            case _:
                self.model.findings = 0
                self.model.go_on()

    def end_merge(self, *, held: bool) -> None:
        with self.database.transaction() as db:
            live = merges.live(db, self.row.id)
            assert live is not None
            event = TaskEvent.confirm_merge if held else TaskEvent.fail_merge
            tasks.move(db, tasks.lock(db, self.row.id), event, actor="rev")
            merges.end(db, live.id, MergeState.merged if held else MergeState.failed, reason="")
        self.model.end_merge(held=held)

    # ------------------------------------------------------------ recovery, and who wakes up too late

    def recover(self) -> None:
        self.fenced.append((self.now, self.active()))
        self.admin.execute(EXPIRED, [self.row.id])
        assert self.taken_over() is not None
        self.model.take_over()
        if self.model.active:
            self.settle("lost", recovering=True)
        elif self.model.stop:
            self.end_a_stop()
        else:
            self.move(TaskEvent.requeue)
            self.model.move("requeue", "queued")

    def wake_up_too_late(self, pick: Random) -> None:
        held, attempt = pick.choice(self.fenced)
        acts: list[Callable[[], object]] = [
            lambda: self.admitted(held),
            lambda: self.move(TaskEvent.submit, held, items_done=True, checks_passed=True),
            lambda: self.move(TaskEvent.release, held),
        ]
        if attempt is not None:
            acts.append(lambda: a_settled(self.database, held, attempt, outcome=Outcome.committed))
        self.refused(pick.choice(acts))
        with self.database.connection() as db:
            assert claims.beat(db, worker=self.worker.id, held=[(held.id, held.lease_epoch)], lease=LEASE) == []

    # ------------------------------------------------------------ people who come in between

    def intervene(self, what: str) -> None:
        model = self.model
        cancels = what == "cancel"
        more = {"reason": "enough"} if cancels else {}
        act = partial(self.say, interventions.cancel if cancels else interventions.stop, actor="rev", **more)
        if model.state == "running":
            act()
            model.stop, model.cancel = True, model.cancel or cancels
        elif cancels and model.state not in {"merging", *CLOSED}:
            act()
            model.close()
        else:
            self.refused(act)

    def notice(self) -> None:
        with self.database.transaction() as db:
            findings.record(db, self.row.id, [self.finding()], actor="rev")
        self.model.notice()

    def say_no(self) -> None:
        if self.model.gate == "scope":
            self.discard()
            return
        rejected(self.database, self.row, cancel=True, reason="no")
        self.model.close()

    def discard(self) -> None:
        rejected(self.database, self.row, reason="no")
        self.model.pause, self.model.done = False, self.model.done - 1
        self.model.start_afresh("discard_item")

    def decide_one(self) -> None:
        decided(self.database, owed(self.database, self.row)[0])
        self.model.findings -= 1

    # ------------------------------------------------------------ what is refused

    def go_where_nothing_leads(self) -> None:
        """Try what this state, or what the task owes, forbids."""
        model = self.model
        if model.state != "queued":
            assert self.claimed() is None
        if model.state == "running":
            assert self.taken_over() is None
        if model.idle and (model.stop or model.findings):
            self.refused(lambda: self.admitted(self.now))
        if model.idle and (model.next_item or model.findings):
            done = model.next_item is None
            self.refused(lambda: self.move(TaskEvent.submit, items_done=done, checks_passed=done))
        if model.state not in {"approved", "merge_blocked"}:
            self.refused(lambda: a_merging(self.database, self.row))
        if model.gate == "finding" and model.findings:
            self.refused(lambda: approved(self.database, self.row))
        if model.state != "needs_human" or model.findings or model.pause:
            self.refused(lambda: self.say(interventions.retry, Word(actor="rev")))

    # ------------------------------------------------------------ what must hold

    @invariant()
    def the_rows_are_what_the_model_says(self) -> None:
        model = self.model
        row = self.admin.execute(ROWS, [self.row.id]).fetchone()
        assert row == {
            "state": model.state,
            "owed_findings": model.findings,
            "owed_pauses": int(model.pause),
            "stop": model.stop,
            "cancel_requested": model.cancel,
            "held": model.state == "running",
            "lease_epoch": model.epoch,
            "failures": model.failures,
            "losses": model.losses,
            "gate": model.gate,
            "ends": model.ends,
            "done": list(ITEMS[: model.done]),
            "events": model.history,
        }

    @invariant()
    def no_law_is_broken(self) -> None:
        assert self.admin.execute(LAWS).fetchall() == []

    # ------------------------------------------------------------ short words

    @property
    def now(self) -> Task:
        return seen(self.database, self.row)

    def finding(self) -> findings.NewFinding:
        self.counted += 1
        return a_finding(paths=[f"link-{self.counted}"])

    def refused(self, act: Callable[[], object]) -> None:
        """Do what must be refused, and see that it changed nothing."""
        before = self.now
        with pytest.raises(Refusal):
            act()
        assert self.now == before

    def say(self, verb: Callable[..., object], *words: Any, **word: Any) -> None:
        with self.database.transaction() as db:
            verb(db, self.row.id, *words, **word)

    def active(self) -> Attempt | None:
        with self.database.connection() as db:
            return attempts.active(db, self.row.id)

    def admitted(self, held: Task) -> Attempt:
        with self.database.connection() as db:
            return attempts.admit(db, held, attempt=uuid4(), kind=AttemptKind.execute, item="P1")

    def move(self, event: TaskEvent, held: Task | None = None, **facts: Any) -> Task:
        row = held or self.now
        known = Facts(task=row.id, owed_findings=row.owed_findings, owed_pauses=row.owed_pauses, **facts)
        with self.database.transaction() as db:
            return tasks.move(
                db, row, event, actor="worker", facts=known, question=Question(reason="so"), epoch=row.lease_epoch
            )

    def settle(self, work: Work, *, recovering: bool) -> None:
        attempt = self.active()
        assert attempt is not None
        found = {"findings": (self.finding(),)} if work == "unsafe" else {}
        a_settled(self.database, self.now, attempt, recovering=recovering, **SEEN[work], **found)
        self.model.settle(work, recovering=recovering)

    def claimed(self) -> Task | None:
        kinds = list(AttemptKind)
        with self.database.connection() as db:
            return claims.claim(
                db,
                worker=self.worker.id,
                actor="worker",
                kinds=kinds,
                executors=["local"],
                lease=LEASE,
                task=self.row.id,
            )

    def taken_over(self) -> Task | None:
        with self.database.connection() as db:
            return claims.take_over(
                db,
                task=self.row.id,
                epoch=self.now.lease_epoch,
                worker=self.worker.id,
                actor="recovery",
                lease=LEASE,
                proven_dead=False,
                reason="its lease expired",
            )


@pytest.mark.case("A14", "A16")
def test_whatever_happens_in_whatever_order_the_rows_are_what_the_model_says(
    database: Database, superuser_url: str
) -> None:
    with psycopg.connect(superuser_url, autocommit=True, row_factory=dict_row) as admin:
        # Leases pass by moving their rows, past every trigger.
        admin.execute("SET session_replication_role = replica")
        given = {"database": database, "admin": admin, "worker": a_worker(database), "walked": set()}
        told = type("Told", (Story,), given)

        for story in STORIES:
            told().follow(story)
        run_state_machine_as_test(told, settings=BOUNDED)

    assert told.walked == {event for event in TaskEvent if event not in ELSEWHERE}
