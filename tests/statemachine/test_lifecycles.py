"""The laws of the smaller lifecycles."""

import pytest

from statemachine.attempts import ACTIVE, ENDED, WRITING, AttemptKind, AttemptState
from statemachine.lifecycles import NOUNS, Lifecycle

lives = pytest.mark.parametrize("life", NOUNS, ids=lambda life: life.noun)


@lives
def test_every_name_is_its_value(life: Lifecycle) -> None:
    assert [state.name for state in life.states] == [state.value for state in life.states]


@lives
def test_every_state_is_reached_from_one_beginning(life: Lifecycle) -> None:
    reached = {""}

    for _ in life.states:
        reached |= {dest for source, dest in life.edges if source in reached}

    assert reached == {"", *life.states}
    assert [source for source, _ in life.edges].count("") == 1


@lives
def test_an_end_has_no_way_back_and_every_state_leads_to_one(life: Lifecycle) -> None:
    ends = set(life.states) - {source for source, _ in life.edges}
    ending: set[str] = set(ends)

    for _ in life.states:
        ending |= {source for source, dest in life.edges if dest in ending}

    assert ends
    assert ending == {"", *life.states}


@lives
def test_no_edge_is_written_twice_and_none_stays_where_it_is(life: Lifecycle) -> None:
    assert len(set(life.edges)) == len(life.edges)
    assert all(source != dest for source, dest in life.edges)


def test_nouns_are_named_once() -> None:
    names = [life.noun for life in NOUNS]

    assert len(set(names)) == len(names)


def test_an_attempt_completes_only_after_its_agent_was_started() -> None:
    attempt = next(life for life in NOUNS if life.noun == "attempt")

    before = {source for source, dest in attempt.edges if dest == AttemptState.completed}

    assert before == {AttemptState.running}


def test_an_active_attempt_may_end_in_every_other_way() -> None:
    attempt = next(life for life in NOUNS if life.noun == "attempt")

    for source in ACTIVE:
        ends = {dest for start, dest in attempt.edges if start == source} & ENDED
        assert ends >= ENDED - {AttemptState.completed}


def test_checks_and_reviews_do_not_write() -> None:
    assert set(AttemptKind) - WRITING == {AttemptKind.check, AttemptKind.review}
