"""What a repository's policy says about its agents, and what it must not say."""

import pytest

from statemachine.refusals import Refusal
from workspace.agents.confinement import History, Network, Terms


def test_a_policy_that_says_nothing_leaves_the_network_to_the_settings() -> None:
    assert Terms.of({}) == Terms(network=None, hosts=(), history=History.full, share_objects=False)


def test_a_policy_is_read_word_by_word() -> None:
    policy = {"network": "hosts", "hosts": ["A.example.com"], "history": "none", "share_objects": "repository"}

    assert Terms.of(policy) == Terms(
        network=Network.hosts, hosts=("a.example.com:443",), history=History.none, share_objects=True
    )


def test_checks_get_no_network_whatever_it_says() -> None:
    found = Terms.of_checks({"network": "on", "hosts": ["a.example.com"], "history": "shallow"})

    assert (found.network, found.hosts, found.history) == (Network.off, (), History.shallow)


@pytest.mark.parametrize(
    "policy",
    [
        {"network": "all"},
        {"network": None},
        {"hosts": "a.example.com"},
        {"hosts": ["127.0.0.1"]},
        {"hosts": 7},
        {"history": "some"},
        {"share_objects": True},
    ],
)
def test_what_makes_no_sense_is_refused_with_the_words_that_do(policy: dict[str, object]) -> None:
    with pytest.raises(Refusal) as refused:
        Terms.of(policy)

    assert refused.value.code == "policy_invalid"
    assert next(iter(policy)) in refused.value.message
