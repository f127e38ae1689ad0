"""A refusal is a sentence, its facts and a code that never changes."""

import pytest

from statemachine.refusals import LeaseLost, LostRace, NotFound, Refusal, Unavailable


@pytest.mark.parametrize("kind", [Refusal, LostRace, NotFound, Unavailable])
def test_a_refusal_carries_what_a_person_and_a_program_need(kind: type[Refusal]) -> None:
    refusal = kind("finding_owed", "task 12 owes a finding", hint="tasks gate show 12", task=12)

    assert str(refusal) == refusal.message == "task 12 owes a finding"
    assert (refusal.code, refusal.hint, refusal.facts) == ("finding_owed", "tasks gate show 12", {"task": 12})


def test_a_lost_lease_has_one_code() -> None:
    lost = LeaseLost(task=12, epoch=3)

    assert lost.code == "lease_lost"
    assert lost.facts == {"task": 12, "epoch": 3}
    assert str(lost)


def test_every_kind_is_caught_as_a_refusal() -> None:
    for kind in (LostRace, NotFound, Unavailable, LeaseLost):
        assert issubclass(kind, Refusal)
