import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statemachine.paths import names_git
from statemachine.plans import (
    Item,
    Operation,
    OperationKind,
    covers,
    declares_exactly,
    declares_link,
    exact_path,
    exact_paths,
    permits,
)
from statemachine.plans.scopes import glob_problem, spell

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

EDIT, ADD, DELETE, RENAME = OperationKind.edit, OperationKind.add, OperationKind.delete, OperationKind.rename


def item(*operations: Operation) -> Item:
    return Item(id="P1", title="t", intent="", operations=operations)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("src/a.py", "src/a.py"),
        ("src/", "src/a.py"),
        ("src/", "src/deep/er/a.py"),
        ("src/**", "src/a.py"),
        ("src/**", "src/deep/a.py"),
        ("src/*.py", "src/a.py"),
        ("src/*", "src/.hidden"),
        ("**/a.py", "a.py"),
        ("**/a.py", "x/y/a.py"),
        ("src/**/a.py", "src/a.py"),
        ("src/**/x/**/a.py", "src/1/x/2/3/a.py"),
        ("?.py", "a.py"),
        ("[a-c].py", "b.py"),
        ("[!a-c].py", "d.py"),
        ("pkg/*/src/", "pkg/one/src/a/b.py"),
        ("[[]id].tsx", "[id].tsx"),
        ("[*]", "*"),
        ("pages/[id].tsx", "pages/[id].tsx"),
        ("**", "anything/at/all"),
        ("a b/", "a b/\udcff"),
        ("*", "\n"),
        (".github/**", ".github/workflows/ci.yml"),
    ],
)
def test_a_declaration_covers(spec: str, path: str) -> None:
    assert covers(spec, path)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("src/a.py", "src/a.pyc"),
        ("src/a.py", "SRC/a.py"),
        ("src/", "src"),
        ("src/", "srcs/a.py"),
        ("src/", "lib/src/a.py"),
        ("src/**", "src"),
        ("src/*.py", "src/deep/a.py"),
        ("src/*", "src/deep/a"),
        ("?.py", "ab.py"),
        ("?", "/"),
        ("[a-c].py", "d.py"),
        ("[[]id].tsx", "i.tsx"),
        ("[[]id].tsx", "[[]id].tsx"),
        ("[*]", "x"),
        ("**/a.py", "ba.py"),
        ("a/**/b", "a/x"),
    ],
)
def test_a_declaration_does_not_cover(spec: str, path: str) -> None:
    assert not covers(spec, path)


@pytest.mark.case("J03")
@pytest.mark.parametrize("path", [".git", ".git/config", "src/.GIT/hooks/x", "src/.g\u200cit", "a/git~1"])
@pytest.mark.parametrize(
    "spec", ["**", "*", "src/", "src/**", "**/config", ".git/**", ".git", ".*/**", "[.]git/config"]
)
def test_nothing_ever_covers_a_spelling_of_git(spec: str, path: str) -> None:
    assert not covers(spec, path)


@patiently
@given(st.text(st.characters(exclude_characters="/\x00"), min_size=1))
def test_a_spelled_path_covers_itself_and_is_exact(name: str) -> None:
    path = f"a/{name}"

    assert exact_path(spell(path)) == path
    assert covers(spell(path), path) is not names_git(name)


@patiently
@given(st.text("*?[]!-ab/", min_size=1, max_size=30), st.text("ab/[]*", min_size=1, max_size=40))
def test_any_pattern_can_be_asked_about_any_path(spec: str, path: str) -> None:
    assert covers(spec, path) in {True, False}
    assert glob_problem(spec) is None or isinstance(glob_problem(spec), str)


def test_a_pattern_made_to_take_for_ever_does_not() -> None:
    spec, path = "/".join(["**", "*a*a*a*a*b"] * 20), "/".join(["a" * 60] * 60)

    assert not covers(spec, path)


@pytest.mark.parametrize("spec", ["src/**.py", "a**", "***", "x/[a", "[", "[]", "[!]"])
def test_a_pattern_nobody_could_mean_is_refused(spec: str) -> None:
    assert glob_problem(spec) is not None


@pytest.mark.parametrize("spec", ["**", "a/**/b", "[[]", "[]]", "[!]]", "a]", "[a]b]", "pages/[id].tsx"])
def test_a_pattern_somebody_could_mean_is_not(spec: str) -> None:
    assert glob_problem(spec) is None


def test_each_operation_permits_its_own_change_only() -> None:
    one = item(Operation(kind=EDIT, path="e"), Operation(kind=ADD, path="a"), Operation(kind=DELETE, path="d"))

    granted = {(kind, path) for kind in (EDIT, ADD, DELETE) for path in "ead" if permits(one, kind, path)}

    assert granted == {(EDIT, "e"), (ADD, "a"), (DELETE, "d")}


def test_a_rename_permits_the_delete_of_its_source_and_the_add_of_its_path() -> None:
    one = item(Operation(kind=RENAME, path="new/", renamed_from="old/"))

    assert permits(one, DELETE, "old/x")
    assert permits(one, ADD, "new/x")
    assert not permits(one, ADD, "old/x")
    assert not permits(one, DELETE, "new/x")
    assert not permits(one, EDIT, "new/x")


def test_only_an_exact_path_declares_a_link_and_only_where_it_says_so() -> None:
    one = item(
        Operation(kind=EDIT, path="bin/"),
        Operation(kind=EDIT, path="lib/*"),
        Operation(kind=EDIT, path="current", link=True),
        Operation(kind=DELETE, path="gone"),
        Operation(kind=RENAME, path="new", renamed_from="old", link=True),
    )

    assert [path for path in ("bin/x", "lib/x", "current", "gone", "new", "old") if declares_link(one, path)] == [
        "current",
        "new",
    ]
    assert [path for path in ("bin/x", "lib/x", "current", "gone", "new", "old") if declares_exactly(one, path)] == [
        "current",
        "gone",
        "new",
        "old",
    ]


def test_a_folder_or_a_glob_names_no_exact_path() -> None:
    assert exact_paths(Operation(kind=RENAME, path="a/", renamed_from="b/**")) == ()
    assert exact_paths(Operation(kind=RENAME, path="a[*]", renamed_from="b")) == ("a*", "b")
