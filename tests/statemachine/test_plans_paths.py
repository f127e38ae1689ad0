import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statemachine.paths import fold, is_canonical, is_git_spelling, is_inside, is_sensitive, names_git, names_gitmodules
from workspace.disk.names import spells_git

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

GIT_SPELLINGS = [
    ".git",
    ".GIT",
    ".Git",
    ".gIt ",
    ".git.",
    ".git . .",
    ".git...",
    "git~1",
    "GIT~1",
    "git~1.",
    ".git:",
    ".git::$INDEX_ALLOCATION",
    "git~1:stream",
    ".git\\config",
    "a\\.git",
    "a\\GIT~1\\b",
    ".g\u200cit",
    "\u200d.git",
    ".git\u200e",
    ".gi\u202at",
    ".gi\u202et",
    "\ufeff.git",
    ".\u206agit",
    ".gi\u206ft",
    ".git\u200c.",
]
LOOK_ALIKES = [
    ".github",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".gitfoo",
    ".gitkeep",
    "git",
    "dot.git",
    "project.git",
    "..git",
    ". git",
    " .git",
    "git~2",
    "git~10",
    ".gi",
    ".gitt",
    ".git-blame-ignore-revs",
    ".g\u0456t",
    "x:.git",
    ".git\xa0",
]


@pytest.mark.case("J03")
@pytest.mark.hazard("H81")
@pytest.mark.parametrize("part", GIT_SPELLINGS)
def test_every_spelling_of_git_is_seen_at_any_depth(part: str) -> None:
    assert is_git_spelling(part)
    assert names_git(part)
    assert names_git(f"a/{part}")
    assert names_git(f"a/{part}/b/c")


@pytest.mark.case("J03")
@pytest.mark.hazard("H81")
@pytest.mark.parametrize("part", LOOK_ALIKES)
def test_what_only_looks_like_git_is_a_name_like_any_other(part: str) -> None:
    assert not names_git(part)
    assert not names_git(f"a/{part}/b")


@pytest.mark.case("J03")
@patiently
@given(st.text(st.sampled_from(".gGiItT~1: \\\u200c\ufeff\u202ax"), max_size=9))
def test_the_walk_and_the_judge_agree_on_every_spelling(part: str) -> None:
    assert is_git_spelling(part) == spells_git(part)


def test_what_steers_git_is_sensitive_in_any_folder_and_spelling() -> None:
    assert all(map(is_sensitive, (".gitattributes", "a/b/.gitignore", "a/.GITMODULES", ".gitmodules ", "GITMOD~1")))
    assert not any(map(is_sensitive, ("gitattributes", ".gitattributes/x", "src/a.py", ".gitkeep")))


def test_gitmodules_is_known_by_its_short_names() -> None:
    assert all(map(names_gitmodules, (".gitmodules", "a/.gitmodules", "gitmod~1", "GI7EBA~1", ".gitmodules::$DATA")))
    assert not any(map(names_gitmodules, (".gitmodule", "gitmod~5", ".gitmodules/x")))


@pytest.mark.case("J04")
@pytest.mark.parametrize("path", [".", "..", "a/.", "./a", "a/../b", "../a", "a//b", "a/", "//a", "a/./b", "/"])
def test_dot_segments_and_stray_slashes_are_not_canonical(path: str) -> None:
    assert not is_canonical(path)


@pytest.mark.case("J04")
@pytest.mark.parametrize("path", ["a", "a/b", "...", "a/...", ".a", "a b", "a\\b", "x:y", "con", "\x1b[31m", "\udcff"])
def test_odd_names_are_canonical_and_inside(path: str) -> None:
    assert is_canonical(path)
    assert is_inside(path)


@pytest.mark.case("J04")
@pytest.mark.parametrize("path", ["", "/a", "a\x00b"])
def test_nothing_absolute_empty_or_cut_by_a_nul_is_inside(path: str) -> None:
    assert not is_inside(path)


@pytest.mark.hazard("H80")
@pytest.mark.parametrize(
    ("one", "other"),
    [("README", "readme"), ("caf\u00e9", "cafe\u0301"), ("STRASSE", "stra\u00dfe"), ("\u212bngstrom", "\xe5ngstrom")],
)
def test_two_spellings_that_one_file_may_have_fold_to_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_different_names_do_not_fold_to_one() -> None:
    assert fold("a-b") != fold("a_b")
    assert fold("\udcff") != fold("\udcfe")


@patiently
@given(st.text())
def test_folding_is_stable_under_case_and_unicode_form(path: str) -> None:
    assert fold(unicodedata.normalize("NFD", path)) == fold(unicodedata.normalize("NFC", path))
    assert fold(fold(path)) == fold(path)
