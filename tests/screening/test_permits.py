from dataclasses import replace

import pytest

from screening import Policy, Verdict
from statemachine.findings import PERMITTABLE
from tests.screening.made import (
    ADD,
    DELETE,
    EDIT,
    Json,
    K,
    added,
    an_item,
    deleted,
    judged,
    kinds,
    link,
    modified,
    old_side,
    op,
    side,
)

ITEM = an_item(op(EDIT, "a.py"), op(ADD, "lnk", link=True))
STRICT = Policy(ignored="finding")


def dismissed(verdict: Verdict) -> frozenset[str]:
    return frozenset(violation.fingerprint for violation in verdict.violations)


OWED_BY_THE_REPORT = [
    {"metadata_changed": True, "metadata": ["config"]},
    {"agent_commits": True, "commits": ["HEAD"]},
    {"leftover_processes": [{"pid": 1, "command": "sleep"}]},
    {"links_changed": [{"path": "l", "difference": "content", "target": "b"}]},
]
OWED_BY_A_CHANGE = [
    (added("new", link("a.py")), (ADD, "new")),
    (modified("a.py", old_side(), link("b")), (EDIT, "a.py")),
    (modified("old", old_side("symlink"), link("b")), (EDIT, "old")),
    (deleted("old", old_side("symlink")), (DELETE, "old")),
    (added("lnk", link("/etc/hosts")), (ADD, "lnk")),
    (added("lnk", link("b"), through_link=True), (ADD, "lnk")),
]


@pytest.mark.case("F19")
@pytest.mark.parametrize("facts", OWED_BY_THE_REPORT)
def test_what_a_person_let_pass_in_a_report_is_evidence_on_the_next_attempt(facts: Json) -> None:
    first = judged(modified("a.py"), item=ITEM, **facts)

    again = judged(modified("a.py"), item=ITEM, permits=dismissed(first), **facts)

    assert len(first.violations) == 1
    assert again.violations == ()
    assert again.permitted == first.violations
    assert again.in_scope == ((EDIT, "a.py"),)


@pytest.mark.case("F19")
@pytest.mark.parametrize(("change", "touched"), OWED_BY_A_CHANGE)
def test_a_change_a_person_let_pass_then_meets_the_scope(change: Json, touched: tuple[object, str]) -> None:
    first = judged(change, item=ITEM)

    again = judged(change, item=ITEM, permits=dismissed(first))

    assert len(first.violations) == 1
    assert (again.violations, again.permitted) == ((), first.violations)
    assert again.in_scope + again.out_of_scope == (touched,)
    assert (touched in again.in_scope) is (touched[1] in {"lnk", "a.py"})


@pytest.mark.case("F19")
def test_an_ignored_file_a_person_let_pass_stays_out() -> None:
    change = added(".env", side(id=None), ignored=True)
    first = judged(change, policy=STRICT)

    again = judged(change, policy=STRICT, permits=dismissed(first))

    assert kinds(first) == [K.ignored_file]
    assert (again.violations, again.permitted) == ((), first.violations)
    assert (again.in_scope, again.out_of_scope, again.unchanged) == ((), (), True)


@pytest.mark.case("F19")
def test_without_the_permit_it_is_owed_again_under_the_same_fingerprint() -> None:
    first, second = (
        judged(added("new", link("a.py"))),
        judged(
            added(
                "new",
                link("a.py"),
            ),
            notes=["later"],
        ),
    )

    assert dismissed(first) == dismissed(second)


@pytest.mark.case("F19")
@pytest.mark.parametrize(
    "other",
    [
        added("new", link("b.py")),
        added("new", link("/etc/passwd")),
        added("newer", link("a.py")),
        modified("new", old_side("symlink"), link("a.py")),
        deleted("new", old_side("symlink")),
    ],
)
def test_a_permit_is_for_one_kind_one_path_and_one_target(other: Json) -> None:
    permits = dismissed(judged(added("new", link("a.py")), item=ITEM))

    verdict = judged(other, item=ITEM, permits=permits)

    assert len(verdict.violations) == 1
    assert verdict.permitted == ()


@pytest.mark.case("F19")
def test_a_permit_is_for_one_item() -> None:
    permits = dismissed(judged(added("new", link("a.py")), item=ITEM))

    assert kinds(judged(added("new", link("a.py")), item=replace(ITEM, id="P2"), permits=permits)) == [K.new_symlink]


@pytest.mark.case("F19")
def test_ids_sizes_and_content_do_not_change_a_fingerprint() -> None:
    one = judged(added("new", link("a.py")))
    other = judged(added("new", link("a.py", id="9" * 40, size=77)), base="c" * 40)

    assert dismissed(one) == dismissed(other)


@pytest.mark.case("F19")
@pytest.mark.parametrize(
    "facts",
    [
        {"changes": [added(".git")]},
        {"changes": [added("a//b")]},
        {"changes": [added("s", side("gitlink"))]},
        {"changes": [added("s", side("repository"))]},
        {"changes": [added("s", side("special"))]},
        {"changes": [added("s", side("directory"))]},
        {"changes": [added("s", side("unreadable"))]},
        {"changes": [added("s", collides=True)]},
        {"changes": [added("s"), added("s")]},
        {"changes": [added("s", ignored=1)]},
        {"changes": None},
        {"gitlink_content": ["s/x"]},
    ],
)
def test_what_nobody_can_permit_is_owed_whatever_is_in_the_permits(facts: Json) -> None:
    first = judged(**facts)

    again = judged(**facts, permits=dismissed(first))

    assert first.violations
    assert {violation.kind for violation in first.violations}.isdisjoint(PERMITTABLE)
    assert again.violations == first.violations
    assert again.permitted == ()


def test_a_permit_for_a_link_is_none_for_what_nobody_can_permit() -> None:
    plain = judged(added("new", link("b")))
    colliding = added("new", link("b"), collides=True)
    gone = judged(deleted(".gitmodules", old_side("symlink")), item=ITEM)

    verdict = judged(colliding, permits=dismissed(plain))

    assert kinds(verdict) == [K.path_collision]
    assert verdict.permitted == plain.violations
    assert kinds(gone) == [K.undeclared_symlink_change]
    changed = modified(".gitmodules", old_side("symlink"), link("b"))
    permits = dismissed(judged(changed, item=ITEM))
    assert kinds(judged(changed, item=ITEM, permits=permits)) == [K.git_named_path]


def test_one_permit_of_two_leaves_one_owed_and_shows_the_other() -> None:
    changes = [added("one", link("b")), added("two", link("b"))]
    first = judged(*changes)

    again = judged(*changes, permits=frozenset({first.violations[0].fingerprint}))

    assert again.violations == first.violations[1:]
    assert again.permitted == first.violations[:1]
    assert again.in_scope == ()
