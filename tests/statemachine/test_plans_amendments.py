from dataclasses import replace

import pytest

from statemachine.plans import (
    Item,
    Operation,
    OperationKind,
    Plan,
    PlanInvalid,
    amend_with,
    permits,
    plan_from_document,
    plan_to_document,
    revision_problems,
)
from statemachine.refusals import NotFound

EDIT, ADD, DELETE = OperationKind.edit, OperationKind.add, OperationKind.delete
SEEN = [(EDIT, "src/b.py"), (ADD, "src/new.py"), (DELETE, "docs/old.md")]


def item(name: str, *paths: str) -> Item:
    operations = tuple(Operation(kind=EDIT, path=path) for path in paths or (f"src/{name}.py",))
    return Item(id=name, title=f"Do {name}", intent="", operations=operations)


def plan(*items: Item) -> Plan:
    return Plan(title="t", base="main", target=None, agent=None, items=items)


OLD = plan(item("P1"), item("P2"), item("P3"))


def messages(new: Plan, *, paused: str | None = None, done: tuple[str, ...] = ("P1", "P2")) -> list[str]:
    seen = SEEN if paused else []
    found = revision_problems(OLD, new, done_item_ids=done, paused_item=paused, out_of_scope=seen)
    assert all(problem.hint for problem in found)
    return [problem.message for problem in found]


# ---------------------------------------------------------------- amend_with


@pytest.mark.case("P06")
def test_an_amendment_adds_exactly_what_was_seen_to_the_paused_item() -> None:
    amended = amend_with(OLD, "P2", SEEN)

    gained = [each for each in amended.items[1].operations if each not in OLD.items[1].operations]
    assert [(each.kind, each.path) for each in gained] == SEEN
    assert (amended.items[0], amended.items[2]) == (OLD.items[0], OLD.items[2])
    assert all(permits(amended.items[1], kind, path) for kind, path in SEEN)
    assert replace(amended, items=OLD.items) == OLD


def test_another_kind_of_operation_stands_beside_the_declared_one() -> None:
    amended = amend_with(OLD, "P2", [(DELETE, "src/P2.py")])

    assert [(each.kind, each.path) for each in amended.items[1].operations] == [
        (EDIT, "src/P2.py"),
        (DELETE, "src/P2.py"),
    ]


def test_what_is_declared_already_or_seen_twice_is_added_once_at_most() -> None:
    assert amend_with(OLD, "P2", [(EDIT, "src/P2.py")]) == OLD
    assert len(amend_with(OLD, "P2", [(ADD, "x"), (ADD, "x")]).items[1].operations) == 2


@pytest.mark.parametrize("path", ["pages/[id].tsx", "a*b", "what?", "[[]", "a\nb", "\u202ex"])
def test_an_odd_name_is_declared_as_itself_and_nothing_else(path: str) -> None:
    amended = amend_with(OLD, "P2", [(ADD, path)])

    assert permits(amended.items[1], ADD, path)
    assert not permits(amended.items[1], ADD, "pages/i.tsx")
    assert not permits(amended.items[1], ADD, "axb")
    assert plan_from_document(plan_to_document(amended)) == amended


def test_no_limit_counts_what_was_granted() -> None:
    amended = amend_with(OLD, "P2", [(ADD, f"f{at}") for at in range(500)])

    assert len(amended.items[1].operations) == 501
    assert plan_from_document(plan_to_document(amended)) == amended


def test_a_name_no_document_can_hold_is_refused_with_the_way_out() -> None:
    with pytest.raises(PlanInvalid) as refused:
        amend_with(OLD, "P2", [(ADD, "bad\udcff")])

    assert "reject the pause" in refused.value.hint


def test_an_item_that_is_not_in_the_plan_cannot_be_amended() -> None:
    with pytest.raises(NotFound) as refused:
        amend_with(OLD, "P9", SEEN)

    assert refused.value.code == "item_not_found"


# ---------------------------------------------------------------- revision_problems


def test_a_revision_may_change_everything_that_is_not_done() -> None:
    new = plan(*OLD.items[:2], replace(OLD.items[2], title="Other"), item("P4"))

    assert messages(new) == []
    assert messages(plan(*OLD.items[:2])) == []


def test_before_anything_is_done_a_revision_may_change_everything() -> None:
    assert revision_problems(OLD, replace(plan(item("X")), base="other"), done_item_ids=()) == ()


@pytest.mark.case("P05")
@pytest.mark.parametrize(
    "changes",
    [{"title": "Other"}, {"intent": "Other"}, {"retries": 5}, {"operations": ()}, {"depends_on": ("P1",)}],
)
def test_a_done_item_may_not_be_altered_in_any_word(changes: dict[str, object]) -> None:
    altered = replace(OLD.items[1], **changes)  # type: ignore[arg-type]

    assert messages(plan(OLD.items[0], altered, OLD.items[2])) == ["item `P2` is done and may not be altered"]
    assert messages(plan(OLD.items[0], altered, OLD.items[2]), paused="P2") == [
        "item `P2` is done and may not be altered"
    ]


def test_a_done_item_may_not_be_removed_or_moved() -> None:
    assert messages(plan(OLD.items[0], OLD.items[2])) == ["item `P2` is done and missing"]
    assert messages(plan(OLD.items[1], OLD.items[0], OLD.items[2])) == ["items that are done were moved"]
    assert messages(plan(OLD.items[1], OLD.items[0])) == ["items that are done were moved"]
    assert messages(plan(item("P0"), *OLD.items)) == ["items that are done were moved"]


def test_the_base_may_not_change_beneath_done_items() -> None:
    assert messages(replace(OLD, base="other")) == ["cannot change while items are done"]


@pytest.mark.case("P06")
def test_the_paused_item_may_gain_exactly_what_it_is_paused_for_in_any_order() -> None:
    amended = amend_with(OLD, "P2", SEEN)
    paused = amended.items[1]
    turned = replace(paused, operations=(paused.operations[0], *reversed(paused.operations[1:])))

    assert messages(amended, paused="P2") == []
    assert messages(replace(amended, items=(OLD.items[0], turned, OLD.items[2])), paused="P2") == []
    assert messages(OLD, paused="P2") == []


@pytest.mark.case("P05")
@pytest.mark.parametrize(
    "operations",
    [
        [(EDIT, "src/b.py"), (ADD, "src/new.py")],
        [*SEEN, (EDIT, "src/more.py")],
        [(EDIT, "src/b.py"), (ADD, "src/new.py"), (EDIT, "docs/old.md")],
        [(EDIT, "src/b.py"), (ADD, "src/"), (DELETE, "docs/old.md")],
        [*SEEN, SEEN[0]],
    ],
)
def test_the_paused_item_may_gain_neither_less_nor_more_nor_other(operations: list[tuple[OperationKind, str]]) -> None:
    gained = tuple(Operation(kind=kind, path=path) for kind, path in operations)
    altered = replace(OLD.items[1], operations=(*OLD.items[1].operations, *gained))

    assert messages(plan(OLD.items[0], altered, OLD.items[2]), paused="P2") == [
        "item `P2` is done and may not be altered"
    ]


def test_a_grant_may_not_come_with_a_link_or_without_what_was_declared() -> None:
    amended = amend_with(OLD, "P2", SEEN)
    with_link = replace(amended.items[1], operations=(*amended.items[1].operations[:-1], replace_link(amended)))
    without = replace(amended.items[1], operations=amended.items[1].operations[1:])

    for altered in (with_link, without):
        assert messages(plan(OLD.items[0], altered, OLD.items[2]), paused="P2")


def replace_link(amended: Plan) -> Operation:
    return replace(amended.items[1].operations[-1], link=True)


def test_the_hint_says_whether_anything_may_be_gained() -> None:
    altered = plan(OLD.items[0], replace(OLD.items[1], title="Other"), OLD.items[2])

    hints = [
        revision_problems(OLD, altered, done_item_ids=("P1", "P2"), paused_item=paused)[0].hint
        for paused in (None, "P1", "P2")
    ]

    assert hints == ["add a new item instead"] * 2 + ["it may gain exactly the paths it is paused for"]


def test_only_the_paused_item_may_gain_anything() -> None:
    amended = amend_with(OLD, "P1", SEEN)

    assert messages(amended, paused="P2") == ["item `P1` is done and may not be altered"]
    assert messages(amended) == ["item `P1` is done and may not be altered"]
