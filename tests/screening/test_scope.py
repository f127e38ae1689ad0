import pytest

from tests.screening.made import (
    ADD,
    DELETE,
    EDIT,
    RENAME,
    added,
    an_item,
    deleted,
    judged,
    link,
    modified,
    moved,
    op,
    side,
)


def test_what_is_declared_exactly_by_folder_or_by_glob_is_in_scope() -> None:
    item = an_item(op(EDIT, "a.py"), op(ADD, "src/"), op(DELETE, "old/**/*.py"))

    verdict = judged(modified("a.py"), added("src/deep/x"), deleted("old/y/z.py"), item=item)

    assert verdict.violations == ()
    assert verdict.in_scope == ((EDIT, "a.py"), (ADD, "src/deep/x"), (DELETE, "old/y/z.py"))
    assert verdict.out_of_scope == ()


@pytest.mark.case("P01")
def test_what_is_not_declared_is_out_of_scope_and_is_no_violation() -> None:
    verdict = judged(modified("a.py"), modified("b.py"), added("c.py"), item=an_item(op(EDIT, "a.py")))

    assert verdict.violations == ()
    assert verdict.in_scope == ((EDIT, "a.py"),)
    assert verdict.out_of_scope == ((EDIT, "b.py"), (ADD, "c.py"))
    assert not verdict.unchanged


@pytest.mark.case("P01")
@pytest.mark.parametrize(
    ("declared", "change", "outside"),
    [
        (EDIT, deleted("a"), (DELETE, "a")),
        (EDIT, added("a"), (ADD, "a")),
        (ADD, modified("a"), (EDIT, "a")),
        (DELETE, modified("a"), (EDIT, "a")),
        (ADD, deleted("a"), (DELETE, "a")),
    ],
)
def test_an_operation_allows_its_own_change_only(declared: object, change: dict[str, object], outside: object) -> None:
    assert judged(change, item=an_item(op(declared, "a"))).out_of_scope == (outside,)  # type: ignore[arg-type]


def test_content_mode_and_type_are_edits() -> None:
    changes = [
        modified("content"),
        {**modified("mode", new=side(mode="100755")), "kind": "mode"},
        modified("type", new=link("content")),
    ]
    item = an_item(op(EDIT, "content"), op(EDIT, "mode"), op(EDIT, "type", link=True))

    assert judged(*changes, item=item).in_scope == ((EDIT, "content"), (EDIT, "mode"), (EDIT, "type"))


@pytest.mark.case("J09")
def test_of_a_rename_with_an_undeclared_source_only_the_source_is_out_of_scope() -> None:
    verdict = judged(moved("old.py", "new.py"), item=an_item(op(ADD, "new.py")))

    assert verdict.in_scope == ((ADD, "new.py"),)
    assert verdict.out_of_scope == ((DELETE, "old.py"),)


@pytest.mark.case("J09")
def test_of_a_rename_to_an_undeclared_path_only_that_is_out_of_scope() -> None:
    assert judged(moved("old", "new"), item=an_item(op(DELETE, "old"))).out_of_scope == ((ADD, "new"),)
    assert judged(moved("old", "new"), item=an_item(op(EDIT, "x"))).out_of_scope == ((DELETE, "old"), (ADD, "new"))


def test_a_declared_rename_is_in_scope_told_as_one_change_or_as_two() -> None:
    item = an_item(op(RENAME, "lib/", renamed_from="src/"))

    assert judged(moved("src/a", "lib/a"), item=item).out_of_scope == ()
    assert judged(deleted("src/a"), added("lib/a"), item=item).out_of_scope == ()
    assert judged(modified("lib/a"), item=item).out_of_scope == ((EDIT, "lib/a"),)


@pytest.mark.case("X03")
def test_nothing_changed_is_unchanged_and_only_that_is() -> None:
    assert judged().unchanged
    assert judged(added("cache/x", side(id=None), ignored=True)).unchanged
    assert not judged(modified("a")).unchanged
    assert not judged(modified("a"), item=an_item(op(EDIT, "b"))).unchanged
    assert not judged(metadata_changed=True).unchanged


@pytest.mark.hazard("H29")
@pytest.mark.hazard("H36")
def test_what_steers_git_is_shown_as_sensitive_declared_or_not() -> None:
    changes = [modified(".gitattributes"), deleted("a/.gitignore"), moved("x", ".GITMODULES"), modified("a.py")]

    verdict = judged(*changes, item=an_item(op(EDIT, ".gitattributes")))

    assert verdict.violations == ()
    assert verdict.sensitive == (".gitattributes", "a/.gitignore", ".GITMODULES")
    assert (EDIT, ".gitattributes") in verdict.in_scope


@pytest.mark.case("P09")
def test_scope_is_what_was_seen_in_the_order_of_the_report_and_by_bytes() -> None:
    verdict = judged(added("b\udcff"), added("A"), added("a"), item=an_item(op(ADD, "a")))

    assert verdict.out_of_scope == ((ADD, "b\udcff"), (ADD, "A"))
