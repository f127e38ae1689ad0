import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statemachine.durations import parse_duration, show_duration
from statemachine.plans import (
    ApprovalMode,
    Item,
    ItemKind,
    Operation,
    OperationKind,
    Plan,
    PlanInvalid,
    item_digest,
    plan_from_document,
    plan_to_document,
    read_document,
    writing_problems,
)
from statemachine.plans.scopes import spell

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

Json = dict[str, Any]


def document(**changes: object) -> Json:
    return {"title": "Retry uploads", "base": "main", "items": [item()], **changes}


def item(**changes: object) -> Json:
    return {"id": "P1", "title": "Retry", "files": [{"edit": "src/a.py"}], **changes}


def problems_of(document: object) -> list[tuple[str, str]]:
    with pytest.raises(PlanInvalid) as refused:
        plan_from_document(document)
    assert refused.value.code == "plan_invalid"
    assert all(problem.message for problem in refused.value.problems)
    return [(problem.field, problem.message) for problem in refused.value.problems]


# ---------------------------------------------------------------- round trips

parts = st.text("abc.-_ []*?\\\u00e9\n\x1b\u202e", min_size=1, max_size=6).filter(lambda part: part.strip(". ") != "")
paths = st.lists(parts, min_size=1, max_size=3).map("/".join)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
said = texts.filter(lambda text: bool(text.strip()))
durations = st.integers(1, 30 * 24 * 3600).map(lambda seconds: timedelta(seconds=seconds))


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    kind = draw(st.sampled_from(OperationKind))
    old, new = sorted({*draw(st.lists(paths, min_size=2, max_size=2, unique=True))})
    source = spell(old) if kind is OperationKind.rename else None
    return Operation(kind=kind, path=spell(new), renamed_from=source, link=draw(st.booleans()))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    ids = draw(
        st.lists(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,10}", fullmatch=True), min_size=1, max_size=4, unique=True)
    )
    items = tuple(
        Item(
            id=name,
            title=draw(said),
            intent=draw(texts),
            operations=tuple(draw(st.lists(operations(), min_size=1, max_size=3))),
            kind=draw(st.sampled_from(ItemKind)),
            depends_on=tuple(ids[:at]),
            approval=draw(st.sampled_from(ApprovalMode)),
            time_limit=draw(st.none() | durations),
            retries=draw(st.integers(0, 100)),
        )
        for at, name in enumerate(ids)
    )
    return Plan(
        title=draw(said),
        base=draw(st.sampled_from(["main", "v1.0", "a" * 40, "topic/x", "HEAD~2"])),
        target=draw(st.none() | st.sampled_from(["main", "release/1.x"])),
        agent=draw(st.none() | said),
        items=items,
        approval=draw(st.sampled_from(ApprovalMode)),
        fixed_if=draw(st.none() | said),
        budget=draw(st.none() | durations),
        checks=tuple(draw(st.lists(said, max_size=3))),
        check_retries=draw(st.integers(0, 100)),
        review=draw(st.none() | said),
    )


@patiently
@given(plans())
def test_a_plan_comes_back_from_its_document_as_it_was(plan: Plan) -> None:
    written = json.loads(json.dumps(plan_to_document(plan)))

    assert plan_from_document(written) == plan


@patiently
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: (
    st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["title", "base", "items", "id", "files", "edit", "link", "checks", "x"]), inner)
)))  # fmt: skip
def test_any_document_whatsoever_gives_problems_and_never_raises(anything: object) -> None:
    plan, problems = read_document(anything)

    assert isinstance(plan, Plan)
    assert json.dumps([problem.document() for problem in problems], allow_nan=False)


@patiently
@given(st.integers(1, 10**7))
def test_a_duration_comes_back_as_it_was_written(seconds: int) -> None:
    duration = timedelta(seconds=seconds)

    assert parse_duration(show_duration(duration)) == duration


# ---------------------------------------------------------------- what is read


def test_everything_a_plan_may_say_is_read() -> None:
    files = [
        {"edit": "a"},
        {"add": "b/"},
        {"delete": "c/**"},
        {"rename": "d", "renamed_from": "e"},
        {"edit": "f", "link": True},
    ]
    written = document(
        target="main",
        agent="claude --print",
        approval="before",
        fixed_if="pytest -q",
        budget="2h",
        checks=["pytest -q", "ruff check"],
        check_retries=2,
        review="reviewer",
        items=[
            item(files=files, intent="Do it.\nWell."),
            item(id="P2", depends_on=["P1"], approval="before", time_limit="10m", retries=0, kind="fix"),
        ],
    )

    plan = plan_from_document(written)

    assert plan.budget == timedelta(hours=2)
    assert plan.checks == ("pytest -q", "ruff check")
    assert plan.items[0].operations == (
        Operation(kind=OperationKind.edit, path="a"),
        Operation(kind=OperationKind.add, path="b/"),
        Operation(kind=OperationKind.delete, path="c/**"),
        Operation(kind=OperationKind.rename, path="d", renamed_from="e"),
        Operation(kind=OperationKind.edit, path="f", link=True),
    )
    assert plan.items[1] == Item(
        id="P2",
        title="Retry",
        intent="",
        operations=(Operation(kind=OperationKind.edit, path="src/a.py"),),
        kind=ItemKind.fix,
        depends_on=("P1",),
        approval=ApprovalMode.before,
        time_limit=timedelta(minutes=10),
        retries=0,
    )
    assert plan_to_document(plan) == written


def test_what_is_left_out_has_its_default() -> None:
    plan = plan_from_document(document())

    assert (plan.target, plan.agent, plan.approval, plan.budget, plan.checks) == (
        None,
        None,
        ApprovalMode.none,
        None,
        (),
    )
    assert (plan.items[0].intent, plan.items[0].retries, plan.items[0].time_limit) == ("", 1, None)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("1h1m1s", 3661), ("090s", 90)]
)
def test_a_duration_is_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "10", "m", "1m1h", "1.5h", "-1m", "1 h", "10M", "1d", "1h\n", "\u0661m", "1h1h", "9" * 30 + "s"]
)
def test_what_is_no_duration_is_not_guessed_at(text: str) -> None:
    assert parse_duration(text) is None


# ---------------------------------------------------------------- what is refused, and where


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": " \n "}, "title"),
        ({"title": 5}, "title"),
        ({"title": None}, "title"),
        ({"title": "a\x00b"}, "title"),
        ({"title": "a\ud800b"}, "title"),
        ({"base": "-x"}, "base"),
        ({"base": "a..b"}, "base"),
        ({"base": "a b"}, "base"),
        ({"base": "main:README"}, "base"),
        ({"base": "x" * 251}, "base"),
        ({"target": "HEAD"}, "target"),
        ({"target": "refs/heads/main"}, "target"),
        ({"target": "a.lock"}, "target"),
        ({"target": "a/.b"}, "target"),
        ({"target": "main~1"}, "target"),
        ({"target": "/main"}, "target"),
        ({"target": "main/"}, "target"),
        ({"agent": ""}, "agent"),
        ({"approval": "always"}, "approval"),
        ({"approval": True}, "approval"),
        ({"budget": "soon"}, "budget"),
        ({"budget": 600}, "budget"),
        ({"budget": "0m"}, "budget"),
        ({"budget": "721h"}, "budget"),
        ({"checks": "pytest"}, "checks"),
        ({"checks": ["ok", ""]}, "checks[1]"),
        ({"checks": ["ok", {"run": "x"}]}, "checks[1]"),
        ({"check_retries": -1}, "check_retries"),
        ({"check_retries": True}, "check_retries"),
        ({"check_retries": 1.0}, "check_retries"),
        ({"check_retries": "1"}, "check_retries"),
        ({"check_retries": 101}, "check_retries"),
        ({"items": {}}, "items"),
        ({"items": None}, "items"),
        ({"items": ["P1"]}, "items[0]"),
        ({"titel": "x"}, "titel"),
        ({"a b\x1b": "x"}, '["a b\\u001b"]'),
        ({"items": [item(id="")]}, "items[0].id"),
        ({"items": [item(id="-P")]}, "items[0].id"),
        ({"items": [item(id="P 1")]}, "items[0].id"),
        ({"items": [item(id="P\n1")]}, "items[0].id"),
        ({"items": [item(id="x" * 65)]}, "items[0].id"),
        ({"items": [item(id="P1\n")]}, "items[0].id"),
        ({"items": [item(kind="check")]}, "items[0].kind"),
        ({"items": [item(intent=["x"])]}, "items[0].intent"),
        ({"items": [item(time_limit="")]}, "items[0].time_limit"),
        ({"items": [item(retries="many")]}, "items[0].retries"),
        ({"items": [item(file=[])]}, "items[0].file"),
        ({"items": [item(files=["a"])]}, "items[0].files[0]"),
        ({"items": [item(files=[{}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"edit": "a", "add": "b"}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"edit": "a", "renamed_from": "b"}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"rename": "a"}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"rename": "a", "renamed_from": "a"}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"rename": "a", "renamed_from": "b/"}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"rename": "a/*", "renamed_from": "b"}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"edit": "a/", "link": True}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"edit": "a*", "link": True}])]}, "items[0].files[0]"),
        ({"items": [item(files=[{"edit": "a", "link": "yes"}])]}, "items[0].files[0].link"),
        ({"items": [item(files=[{"edit": "a", "mode": "755"}])]}, "items[0].files[0].mode"),
        ({"items": [item(depends_on="P1")]}, "items[0].depends_on"),
        ({"items": [item(depends_on=["P1"])]}, "items[0].depends_on[0]"),
        ({"items": [item(depends_on=["P2"]), item(id="P2")]}, "items[0].depends_on[0]"),
        ({"items": [item(), item(id="P2", depends_on=["P1", "P1"])]}, "items[1].depends_on[1]"),
        ({"items": [item(), item()]}, "items[1].id"),
        ({"items": [item(), item(id="p1")]}, "items[1].id"),
    ],
)
def test_one_wrong_thing_is_one_problem_at_its_place(changes: Json, field: str) -> None:
    assert [place for place, _ in problems_of(document(**changes))] == [field]


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/a", "a//b", "./a", "a/.", "..", "../a", "a/../b", "a//", "a\x00b", "a\udcffb"),
        *(".git", ".git/config", "a/.GIT/b", "src/git~1", ".g\u200cit/x", ".git/", ".git/**", "a\\.git"),
        *("src/**.py", "a/[x", "[]"),
    ],
)
@pytest.mark.parametrize("field", ["edit", "add", "delete", "rename"])
def test_a_path_that_is_not_plainly_inside_the_repository_is_refused(path: str, field: str) -> None:
    files = {field: path, **({"renamed_from": "old"} if field == "rename" else {})}

    found = problems_of(document(items=[item(files=[files])]))

    assert [place for place, _ in found] == [f"items[0].files[0].{field}"]


@pytest.mark.parametrize(
    "path", ["a", ".github/x", "a b/\u00e9", "a\\b", "-rf", ":(glob)x", "con", "a:b", "src/", "**"]
)
def test_odd_but_possible_paths_are_taken(path: str) -> None:
    assert plan_from_document(document(items=[item(files=[{"edit": path}])])).items[0].operations[0].path == path


@pytest.mark.parametrize("anything", [None, [], "text", 5, {}, {"items": []}])
def test_what_is_no_plan_at_all_is_refused_with_what_it_lacks(anything: object) -> None:
    assert problems_of(anything)


def test_all_problems_are_found_in_one_pass() -> None:
    files = [{"edit": "/a"}, {"edit": "b", "nope": 1}]
    wrong = document(title=5, budget="x", items=[item(id="", files=files), 7, item(title=None, depends_on=["?"])])

    fields = [field for field, _ in problems_of(wrong)]

    assert fields == [
        "title",
        "items[0].id",
        "items[0].files[0].edit",
        "items[0].files[1].nope",
        "items[1]",
        "items[2].title",
        "items[2].depends_on[0]",
        "budget",
    ]


def test_a_refusal_names_the_first_problem_offers_a_step_and_lists_the_rest() -> None:
    with pytest.raises(PlanInvalid) as refused:
        plan_from_document(document(titel="x", base=7))

    assert refused.value.hint == "did you mean `title`?"
    assert refused.value.facts["field"] == "titel"
    assert refused.value.facts["count"] == 2
    assert "base: wants text, found a number" in str(refused.value)


def test_a_thousand_problems_make_a_sentence_of_a_page() -> None:
    with pytest.raises(PlanInvalid) as refused:
        plan_from_document(document(items=[{}] * 5000))

    assert len(str(refused.value).splitlines()) == 22
    assert str(refused.value).endswith("more")


def test_values_of_an_author_reach_a_message_quoted_only() -> None:
    with pytest.raises(PlanInvalid) as refused:
        plan_from_document(document(base="\x1b[31m\nforged: line"))

    assert "\x1b" not in str(refused.value)
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- limits of writing


def written(**changes: object) -> Plan:
    return plan_from_document(document(**changes))


def over(plan: Plan, *granted: Item) -> list[str]:
    return [problem.field for problem in writing_problems(plan, granted)]


def test_the_largest_plan_a_person_may_write_is_within_the_limits() -> None:
    files = [{"edit": f"f{at}"} for at in range(40)]

    plan = written(title="x" * 120, items=[item(id=f"P{at}", files=files) for at in range(30)])

    assert over(plan) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": "x" * 121}, "title"),
        ({"title": "a\nb"}, "title"),
        ({"title": "a\x1bb"}, "title"),
        ({"title": "a\u2028b"}, "title"),
        ({"agent": "a\x85b"}, "agent"),
        ({"checks": ["ok", "a\nb"]}, "checks[1]"),
        ({"checks": ["ok"] * 51}, "checks"),
        ({"items": [item(id=f"P{at}") for at in range(31)]}, "items"),
        ({"items": [item(title="x" * 121)]}, "items[0].title"),
        ({"items": [item(intent="a\x07b")]}, "items[0].intent"),
        ({"items": [item(kind="fix")]}, "items[0].kind"),
        ({"items": [item(files=[{"edit": f"f{at}"} for at in range(41)])]}, "items[0].files"),
        ({"items": [item(files=[{"edit": "a\nb"}])]}, "items[0].files[0].edit"),
        ({"items": [item(files=[{"rename": "a", "renamed_from": "b\x9b"}])]}, "items[0].files[0].renamed_from"),
    ],
)
def test_what_a_person_may_not_write_is_one_problem_at_its_place(changes: Json, field: str) -> None:
    assert over(written(**changes)) == [field]


def test_line_breaks_and_tabs_belong_in_an_intent() -> None:
    assert over(written(items=[item(intent="a\n\tb")])) == []


def test_an_item_a_reviewer_granted_keeps_what_it_was_granted() -> None:
    files = [{"edit": f"f{at}"} for at in range(41)]
    plan = written(items=[item(id="P0", files=files), item(id="F1", kind="fix")])

    assert over(plan, *plan.items) == []
    assert over(plan, plan.items[0]) == ["items[1].kind"]
    assert over(plan, replace(plan.items[0], title="Other")) == ["items[0].files", "items[1].kind"]


# ---------------------------------------------------------------- digests


def test_an_items_digest_changes_with_every_word_of_it() -> None:
    one = written().items[0]
    others = [
        replace(one, id="P2"),
        replace(one, title="Other"),
        replace(one, intent="Other"),
        replace(one, retries=2),
        replace(one, kind=ItemKind.fix),
        replace(one, approval=ApprovalMode.before),
        replace(one, time_limit=timedelta(minutes=1)),
        replace(one, depends_on=("P0",)),
        replace(one, operations=(Operation(kind=OperationKind.add, path="src/a.py"),)),
        replace(one, operations=(Operation(kind=OperationKind.edit, path="src/a.py", link=True),)),
    ]

    assert len({item_digest(each) for each in (one, *others)}) == len(others) + 1
    assert item_digest(replace(one)) == item_digest(one)
