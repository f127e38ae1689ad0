"""The laws of the table: what a reader may rely on without reading every row."""

from collections import defaultdict
from itertools import product

import pytest

from statemachine.decisions import Token
from statemachine.gates import GateKind
from statemachine.tasks import (
    ACTIVE,
    BEARS_FINDING,
    BEARS_PAUSE,
    BEGINNING,
    CLOSED,
    MERGEABLE,
    RULES,
    WAITING,
    Rule,
    Source,
    TaskEvent,
    TaskState,
    Who,
    edges,
)

S = TaskState


def choices() -> dict[tuple[TaskEvent, Source], list[Rule]]:
    found = defaultdict(list)
    for rule in RULES:
        for source in rule.sources:
            found[rule.event, source].append(rule)
    return found


@pytest.mark.parametrize("words", [TaskState, TaskEvent, Who, GateKind])
def test_every_name_is_its_value(words: type[TaskState]) -> None:
    assert [word.name for word in words] == [word.value for word in words]


def test_the_classes_share_no_state_and_leave_out_only_the_merge_in_flight() -> None:
    classes = [ACTIVE, WAITING, MERGEABLE, CLOSED]

    together = frozenset[TaskState]().union(*classes)

    assert sum(map(len, classes)) == len(together)
    assert set(S) - together == {S.merging}


def test_every_state_is_reached_from_the_beginning() -> None:
    reached: set[Source] = {BEGINNING}

    for _ in S:
        reached |= {rule.dest for rule in RULES if reached.intersection(rule.sources)}

    assert reached == {BEGINNING, *S}


def test_every_event_has_an_edge() -> None:
    used = {rule.event for rule in RULES}

    assert used == set(TaskEvent)


def test_only_closed_states_are_dead_ends() -> None:
    left = {source for rule in RULES for source in rule.sources}

    assert set(S) - left == CLOSED


def test_from_every_state_some_way_leads_to_an_end() -> None:
    ending: set[Source] = set(CLOSED)

    for _ in S:
        ending |= {source for rule in RULES if rule.dest in ending for source in rule.sources}

    assert ending == {BEGINNING, *S}


def test_no_rule_reopens_a_closed_task() -> None:
    assert not [rule for rule in RULES if CLOSED.intersection(rule.sources)]


def test_every_choice_ends_unconditionally() -> None:
    real = {pair: rules for pair, rules in choices().items() if len(rules) > 1}

    assert set(real) == {(TaskEvent.fail_merge, S.merging)}
    for rules in real.values():
        assert all(rule.when for rule in rules[:-1])
        assert not rules[-1].when
        assert len({rule.dest for rule in rules}) == len(rules)


def test_every_when_is_a_question_the_token_answers() -> None:
    asked = {rule.when for rule in RULES if rule.when}

    answered = {name for name, value in vars(Token).items() if callable(value) and not name.startswith("_")}

    assert asked == answered


def test_a_gate_is_opened_exactly_on_the_way_to_a_waiting_state() -> None:
    for rule in RULES:
        assert (rule.gate is not None) == (rule.dest in WAITING), rule


def test_each_waiting_state_asks_its_own_kind_of_question() -> None:
    kinds = defaultdict(set)

    for rule in RULES:
        kinds[rule.gate].add(rule.dest)

    del kinds[None]
    assert kinds == {
        GateKind.finding: {S.needs_human},
        GateKind.limit: {S.needs_human},
        GateKind.failure: {S.needs_human},
        GateKind.scope: {S.needs_amendment},
        GateKind.approval: {S.needs_approval},
        GateKind.fixed: {S.possibly_fixed},
        GateKind.review: {S.in_review},
    }


def test_every_rule_names_who_may_and_nobody_twice() -> None:
    for rule in RULES:
        assert rule.who
        assert len(set(rule.who)) == len(rule.who)


def test_only_a_person_leads_a_task_out_of_a_waiting_state_towards_work() -> None:
    onward = [rule for rule in RULES if WAITING.intersection(rule.sources) and rule.dest in {S.queued, S.approved}]

    assert onward
    assert all(set(rule.who) <= {Who.author, Who.reviewer} for rule in onward)


def test_what_is_owed_rests_only_where_the_database_lets_it() -> None:
    assert {"needs_human", "merging", "merged", "cancelled"} == BEARS_FINDING
    assert {"needs_amendment", "needs_human", "cancelled"} == BEARS_PAUSE


def test_no_edge_is_written_twice() -> None:
    written = [(rule.event, source, rule.dest) for rule in RULES for source in rule.sources]

    listed = edges()

    assert len(written) == len(set(written)) == len(listed) == 61
    assert {(event, source, dest) for event, source, dest, _ in listed} == set(written)


def test_edges_leave_as_plain_texts() -> None:
    for event, source, dest, who in edges():
        assert {type(text) for text in (event, source, dest, *who)} == {str}
        assert who


def test_work_is_leased_by_a_claim_alone() -> None:
    into_running = {(rule.event, *rule.sources) for rule in RULES if rule.dest is S.running}

    assert into_running == {
        (TaskEvent.claim, S.queued),
        (TaskEvent.take_over, S.running),
        (TaskEvent.settle, S.running),
    }


def test_nothing_but_a_merge_ends_as_merged() -> None:
    ways = {(rule.event, source) for rule in RULES if rule.dest is S.merged for source in rule.sources}

    assert ways == set(product([TaskEvent.confirm_merge], [S.merging, *MERGEABLE]))
