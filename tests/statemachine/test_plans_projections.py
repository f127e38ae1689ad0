from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statemachine.plans import Item, Operation, OperationKind, Plan, PlanInvalid, ProjectedTree, validate
from statemachine.plans.projections import project
from statemachine.refusals import Refusal

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TREE = {
    "README.md": "100644",
    "run.sh": "100755",
    "src/a.py": "100644",
    "src/b.py": "100644",
    "docs/guide.md": "100644",
    "current": "120000",
    "vendor/lib": "160000",
    "odd/\udcff": "100644",
}


def edit(path: str, *, link: bool = False) -> Operation:
    return Operation(kind=OperationKind.edit, path=path, link=link)


def add(path: str, *, link: bool = False) -> Operation:
    return Operation(kind=OperationKind.add, path=path, link=link)


def delete(path: str, *, link: bool = False) -> Operation:
    return Operation(kind=OperationKind.delete, path=path, link=link)


def rename(old: str, new: str, *, link: bool = False) -> Operation:
    return Operation(kind=OperationKind.rename, path=new, renamed_from=old, link=link)


def plan(*items: tuple[Operation, ...]) -> Plan:
    made = (
        Item(id=f"P{at}", title="t", intent="", operations=operations) for at, operations in enumerate(items, start=1)
    )
    return Plan(title="t", base="main", target=None, agent=None, items=tuple(made))


def projected(*items: tuple[Operation, ...], tree: dict[str, str] | None = None) -> ProjectedTree:
    return validate(plan(*items), TREE if tree is None else tree)


def refused(*items: tuple[Operation, ...], tree: dict[str, str] | None = None) -> list[tuple[str, str]]:
    with pytest.raises(PlanInvalid) as caught:
        projected(*items, tree=tree)
    assert all(problem.hint for problem in caught.value.problems)
    return [(problem.field, problem.message) for problem in caught.value.problems]


# ---------------------------------------------------------------- what a later item finds


def test_a_later_item_sees_what_the_earlier_ones_added_deleted_and_renamed() -> None:
    tree = projected(
        (add("src/new.py"), delete("src/a.py"), rename("src/b.py", "lib/b.py")),
        (edit("src/new.py"), edit("lib/b.py"), add("src/a.py")),
    )

    assert tree.entries == {
        **{path: mode for path, mode in TREE.items() if path != "src/b.py"},
        "src/new.py": "100644",
        "lib/b.py": "100644",
    }


def test_the_tree_given_is_left_as_it_was() -> None:
    before = dict(TREE)

    projected((delete("src/a.py"), add("x")))

    assert before == TREE


def test_a_renamed_file_keeps_its_mode_and_a_declared_link_has_one() -> None:
    tree = projected((rename("run.sh", "bin/run"), add("latest", link=True), rename("current", "previous", link=True)))

    assert (tree.entries["bin/run"], tree.entries["latest"], tree.entries["previous"]) == ("100755", "120000", "120000")


def test_two_files_may_change_places() -> None:
    tree = projected((rename("src/a.py", "src/b.py"), rename("src/b.py", "src/a.py")))

    assert tree.entries == TREE


@pytest.mark.case("J13")
def test_a_file_may_be_replaced_by_a_folder_and_a_folder_by_a_file_within_one_item() -> None:
    tree = projected(
        (delete("README.md"), add("README.md/index.md")),
        (delete("README.md/index.md"), add("README.md")),
    )

    assert tree.entries == TREE


def test_only_the_case_of_a_name_may_change() -> None:
    tree = projected((rename("README.md", "Readme.md"), rename("src/a.py", "Src/a.py"), rename("src/b.py", "Src/b.py")))

    assert {"Readme.md", "Src/a.py", "Src/b.py"} <= tree.entries.keys()


def test_an_item_may_edit_or_delete_one_path_and_what_it_did_is_then_open() -> None:
    projected((edit("src/a.py"), delete("src/a.py")), (edit("src/a.py"),))
    projected((edit("src/a.py"), delete("src/a.py")), (add("src/a.py"),))


def test_where_an_earlier_pattern_may_have_made_or_removed_a_path_both_are_allowed() -> None:
    projected((add("src/retry/**"),), (edit("src/retry/backoff.py"), delete("src/retry/old.py")))
    projected((delete("docs/"),), (add("docs/guide.md"),))
    projected((delete("docs/"),), (edit("docs/guide.md"),))
    projected((rename("docs/", "manual/"),), (edit("manual/guide.md"), add("docs/guide.md")))
    projected((delete("docs/"), add("docs")))
    projected((delete("docs/"), add("Docs/index.md")))
    projected((delete("*.md"), add("README.md/index")))


def test_what_a_later_pattern_does_is_no_excuse_for_an_earlier_item() -> None:
    assert refused((edit("src/retry/backoff.py"),), (add("src/retry/**"),)) == [
        ("items[0].files[0].edit", "is not in the tree")
    ]


# ---------------------------------------------------------------- what the tree cannot take


@pytest.mark.parametrize(
    ("operation", "field", "message"),
    [
        (edit("nope.py"), "edit", "is not in the tree"),
        (delete("nope.py"), "delete", "is not in the tree"),
        (rename("nope.py", "x"), "renamed_from", "is not in the tree"),
        (edit("src"), "edit", "is a folder"),
        (edit("readme.md"), "edit", 'is not in the tree, but "README.md" is'),
        (add("README.md"), "add", "is there already"),
        (rename("src/a.py", "src/b.py"), "rename", "is there already"),
        (add("src"), "add", "is a folder"),
        (rename("README.md", "docs"), "rename", "is a folder"),
        (add("README.md/x"), "add", 'lies beneath "README.md", which is not a folder'),
        (add("README.md/x/y"), "add", 'lies beneath "README.md", which is not a folder'),
        (add("vendor/lib/x"), "add", 'lies beneath "vendor/lib", which is not a folder'),
        (add("current/x"), "add", 'lies beneath "current", which is not a folder'),
        (edit("vendor/lib"), "edit", "is a submodule"),
        (delete("vendor/lib"), "delete", "is a submodule"),
        (edit("current"), "edit", "is a symlink"),
        (delete("current"), "delete", "is a symlink"),
        (rename("current", "previous"), "renamed_from", "is a symlink"),
        (add("readme.MD"), "add", 'differs from "README.md" only in case or Unicode form'),
        (add("Src/c.py"), "add", 'differs from "src" only in case or Unicode form'),
        (rename("src/a.py", "DOCS/a.py"), "rename", 'differs from "docs" only in case or Unicode form'),
    ],
)
def test_an_operation_the_tree_cannot_take_is_one_problem_at_its_place(
    operation: Operation, field: str, message: str
) -> None:
    assert refused((operation,)) == [(f"items[0].files[0].{field}", message)]


@pytest.mark.parametrize(
    "operation", [edit("current", link=True), delete("current", link=True), edit("run.sh", link=True)]
)
def test_a_link_may_be_changed_and_a_file_become_one_where_it_is_declared(operation: Operation) -> None:
    assert projected((operation,))


def test_folders_and_globs_are_permissions_and_are_not_judged_on_the_tree() -> None:
    tree = projected((edit("nothing/here/"), delete("*.nope"), add("src/"), rename("old/", "new/")))

    assert tree.entries == TREE


@pytest.mark.hazard("H80")
def test_names_that_collide_in_the_base_already_may_be_edited_but_not_joined_by_a_third() -> None:
    twins = {"Makefile": "100644", "makefile": "100644", "cafe\u0301": "100644"}

    projected((edit("Makefile"), edit("makefile")), tree=twins)

    assert refused((add("MAKEFILE"),), tree=twins) == [
        ("items[0].files[0].add", 'differs from "Makefile" only in case or Unicode form')
    ]
    assert refused((add("caf\u00e9"),), tree=twins)


def test_two_new_names_may_not_collide_with_each_other() -> None:
    assert [field for field, _ in refused((add("new.py"),), (add("NEW.py"),))] == ["items[1].files[0].add"]
    assert [field for field, _ in refused((add("new.py"), add("NEW.py")))] == ["items[0].files[1].add"]


@pytest.mark.parametrize("both", [(add("x"), add("x/y")), (add("x/y"), add("x"))])
def test_one_item_may_not_make_a_file_and_something_beneath_it(both: tuple[Operation, ...]) -> None:
    assert [field for field, _ in refused(both)] == ["items[0].files[1].add"]


def test_deleting_and_adding_one_path_is_an_edit() -> None:
    assert refused((delete("src/a.py"), add("src/a.py"))) == [
        ("items[0].files[1].add", "is deleted and added by one item")
    ]


@pytest.mark.parametrize(
    "twice",
    [
        (edit("src/a.py"), edit("src/a.py")),
        (edit("src/"), edit("src/")),
        (add("x/"), add("x/")),
        (delete("docs/guide.md"), rename("docs/guide.md", "x")),
        (rename("src/a.py", "x"), rename("src/a.py", "y")),
    ],
)
def test_declaring_the_same_thing_twice_is_a_problem_at_the_second(twice: tuple[Operation, ...]) -> None:
    assert ("items[0].files[1]") in [field for field, _ in refused(twice)]


def test_two_operations_may_not_end_at_one_path() -> None:
    assert refused((add("x"), rename("src/a.py", "x")))
    assert refused((rename("src/a.py", "x"), rename("src/b.py", "x")))


def test_problems_of_all_items_are_found_at_once_and_one_does_not_cause_another() -> None:
    found = refused((edit("nope.py"), add("README.md")), (edit("README.md"), delete("also-nope")), (add("src"),))

    assert [field for field, _ in found] == [
        "items[0].files[0].edit",
        "items[0].files[1].add",
        "items[1].files[1].delete",
        "items[2].files[0].add",
    ]


def test_names_of_the_tree_reach_a_message_quoted_only() -> None:
    ((_, message),) = refused((add("odd/\u202egpj.exe/x"),), tree={"odd/\u202egpj.exe": "100644"})

    assert "\u202e" not in message


# ---------------------------------------------------------------- items that are done, and what comes later


def test_done_items_are_not_run_over_the_tree_that_holds_them_already() -> None:
    both = plan((add("src/new.py"),), (edit("src/new.py"),))
    head = {**TREE, "src/new.py": "100644"}

    assert validate(both, head, done={"P1"}).entries == head

    with pytest.raises(PlanInvalid) as caught:
        validate(both, head)
    assert [problem.field for problem in caught.value.problems] == ["items[0].files[0].add"]


def test_the_place_of_a_problem_counts_done_items_too() -> None:
    both = plan((add("src/new.py"),), (edit("nope"),))

    with pytest.raises(PlanInvalid) as caught:
        validate(both, TREE, done={"P1"})

    assert caught.value.facts["field"] == "items[1].files[0].edit"


@pytest.mark.parametrize("changes", [{"fixed_if": "pytest -q"}, {"review": "reviewer"}])
def test_what_is_not_delivered_yet_is_refused_and_never_ignored(changes: dict[str, str]) -> None:
    asked = replace(plan((edit("src/a.py"),)), **changes)  # type: ignore[arg-type]

    with pytest.raises(Refusal) as caught:
        validate(asked, TREE)

    (field,) = changes
    assert caught.value.code == "plan_unsupported"
    assert caught.value.facts == {"field": field}
    assert f"`{field}`" in caught.value.message
    assert caught.value.hint


# ---------------------------------------------------------------- a model to compare with

names = st.sampled_from(["a", "b", "c", "d/a", "d/b", "a/x", "d"])


@patiently
@given(st.sets(names), st.lists(st.tuples(st.sampled_from(["edit", "add", "delete"]), names), min_size=1, max_size=6))
def test_one_operation_an_item_is_taken_exactly_where_a_plain_set_of_paths_takes_it(
    paths: set[str], steps: list[tuple[str, str]]
) -> None:
    files = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    items = [(Operation(kind=OperationKind(kind), path=path),) for kind, path in steps]
    expected = _model(set(files), steps)

    tree, problems = project(enumerate(plan(*items).items), dict.fromkeys(files, "100644"))

    assert (problems[0].where[1] if problems else None) == expected[0]
    assert problems or tree.entries.keys() == expected[1]


def _model(files: set[str], steps: list[tuple[str, str]]) -> tuple[int | None, set[str]]:
    for at, (kind, path) in enumerate(steps):
        possible = path in files if kind != "add" else not any(_related(path, each) for each in files)
        if not possible:
            return at, files
        files = files | {path} if kind == "add" else files - ({path} if kind == "delete" else set())
    return None, files


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
