"""A finding is named by what was seen and by nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from statemachine.findings import PERMITTABLE, FindingKind, fingerprint

kinds = st.sampled_from(FindingKind)
names = st.text(st.characters(codec=None), max_size=12)
paths = st.lists(names, max_size=4)


@given(kinds, names, paths, names)
def test_seeing_the_same_again_gives_the_same_name(kind: FindingKind, item: str, seen: list[str], target: str) -> None:
    first = fingerprint(kind, item, seen, target)

    again = fingerprint(kind, item, [*reversed(seen), *seen], target)

    assert first == again
    assert len(first) == 64
    assert set(first) <= set("0123456789abcdef")


@given(st.tuples(kinds, names, st.frozensets(names), names), st.tuples(kinds, names, st.frozensets(names), names))
def test_anything_else_gives_another_name(
    one: tuple[FindingKind, str, frozenset[str], str], other: tuple[FindingKind, str, frozenset[str], str]
) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


def test_no_spelling_of_one_path_passes_for_two() -> None:
    kind = FindingKind.new_symlink

    together = {
        fingerprint(kind, "P1", ["a,b"]),
        fingerprint(kind, "P1", ["a", "b"]),
        fingerprint(kind, "P1", ['a","b']),
        fingerprint(kind, "P1", ["a"], "b"),
        fingerprint(kind, "P1a", ["b"]),
    }

    assert len(together) == 5


def test_half_a_letter_beside_its_other_half_is_not_the_letter() -> None:
    halves, whole = "\ud83d\ude80", "\U0001f680"

    assert fingerprint(FindingKind.bad_path, "P1", [halves]) != fingerprint(FindingKind.bad_path, "P1", [whole])


def test_a_name_that_is_not_utf8_has_a_fingerprint() -> None:
    bytes_name = b"caf\xe9".decode("utf-8", "surrogateescape")

    assert fingerprint(FindingKind.bad_path, "P1", [bytes_name]) != fingerprint(FindingKind.bad_path, "P1", ["caf?"])


def test_a_task_s_own_finding_has_no_item() -> None:
    assert fingerprint(FindingKind.manual, None, []) == fingerprint(FindingKind.manual, "", [])


def test_the_fingerprint_never_changes_between_releases() -> None:
    known = "5b02de277d1082a143b2b98a52a7bb678adc768ddf948217235ec3b233b74ed4"

    assert fingerprint(FindingKind.new_symlink, "P1", ["b", "a"], "../x") == known


def test_only_what_a_person_can_judge_from_the_outside_can_be_permitted() -> None:
    assert {kind.value for kind in PERMITTABLE} == {
        "metadata_changed",
        "agent_commit",
        "out_of_root_link",
        "link_target_changed",
        "through_link",
        "new_symlink",
        "undeclared_symlink_change",
        "ignored_file",
        "leftover_process",
    }


def test_there_are_twenty_six_kinds_and_each_name_is_its_value() -> None:
    assert len(FindingKind) == 26
    assert [kind.name for kind in FindingKind] == [kind.value for kind in FindingKind]
