import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screening import Policy
from statemachine.findings import FindingKind
from statemachine.plans import Item
from tests.screening.made import (
    ADD,
    DELETE,
    EDIT,
    EVERYTHING,
    RENAME,
    Json,
    K,
    added,
    an_item,
    deleted,
    judged,
    kinds,
    link,
    modified,
    moved,
    old_side,
    op,
    side,
)

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

WITH_LINK = an_item(op(EDIT, "lnk", link=True), op(ADD, "**"), op(DELETE, "**"))
STRICT = Policy(ignored="finding")

# ---------------------------------------------------------------- names: 5a to 5c


@pytest.mark.case("J04")
@pytest.mark.parametrize(
    "path", ["/a", "a/", "a//b", "./a", "a/.", "a/..", "../a", "..", ".", "a/../b", "/", "a\x00b", "//x", "a/./.git"]
)
@pytest.mark.parametrize("make", [added, deleted, modified])
def test_a_path_that_is_not_plainly_inside_is_a_bad_path(path: str, make: Callable[[str], Json]) -> None:
    assert kinds(judged(make(path))) == [K.bad_path]


@pytest.mark.case("J03")
@pytest.mark.hazard("H81")
@pytest.mark.parametrize(
    "path",
    [
        *(".git", "a/.git", ".GIT/config", "a/b/.Git/hooks/post-commit", "git~1", ".git./x", ".git /x", ".git::$DATA"),
        *("a/.g\u200cit", "\ufeff.git/x", "a\\.git\\config", "/.git/x"),
    ],
)
@pytest.mark.parametrize("make", [added, deleted, modified])
def test_a_spelling_of_git_at_any_depth_is_a_finding_whatever_is_declared(
    path: str, make: Callable[[str], Json]
) -> None:
    item = an_item(op(EDIT, path), op(ADD, path), op(DELETE, path), *EVERYTHING.operations)

    assert kinds(judged(make(path), item=item)) == [K.git_named_path]


@pytest.mark.case("J03")
@pytest.mark.parametrize(
    "path",
    [".github/x", ".gitignore", ".gitattributes", ".gitmodules", ".gitfoo", "git", "dot.git", "a/.gitkeep", "x.git/y"],
)
def test_what_only_looks_like_git_is_fine(path: str) -> None:
    assert kinds(judged(added(path))) == []


@pytest.mark.case("J04")
@pytest.mark.hazard("H79")
@pytest.mark.parametrize(
    "path",
    [
        "a\nb",
        "\x1b[31mred",
        "\u202egpj.exe",
        "bad\udcff",
        "\u200b",
        "con",
        "a:b",
        "a\\b",
        " ",
        "-rf",
        ":(glob)x",
        "\x7f",
    ],
)
def test_an_odd_name_is_a_name_and_is_judged_by_scope_alone(path: str) -> None:
    inside, outside = judged(added(path)), judged(added(path), item=an_item(op(ADD, "other")))

    assert (inside.violations, inside.in_scope) == ((), ((ADD, path),))
    assert (outside.violations, outside.out_of_scope) == ((), ((ADD, path),))


@pytest.mark.hazard("H79")
@pytest.mark.hazard("H77")
@pytest.mark.parametrize(
    "path", ["a\x00b/.git", "\x1b[2J/.git", "\u202e/.git", "bad\udcff/.git", "a\nfinding: none/.git"]
)
def test_a_hostile_name_is_quoted_in_the_summary_and_escaped_in_the_evidence(path: str) -> None:
    (violation,) = judged(added(path)).violations

    assert violation.summary.isprintable()
    assert "\x00" not in str(violation.evidence["paths"])
    json.dumps(violation.evidence, ensure_ascii=False).encode("utf-8")


@patiently
@given(st.lists(st.text(st.characters(exclude_characters="/") | st.sampled_from("\\\x00\udcff\u202e"), max_size=5)))
def test_evidence_tells_any_two_paths_apart(parts: list[str]) -> None:
    paths = sorted({f"{part}/.git" for part in parts if not any(0xD800 <= ord(each) < 0xDC80 for each in part)})
    paths = [path for path in paths if not any(0xDD00 <= ord(each) <= 0xDFFF for each in path)]

    shown = [violation.paths[0] for violation in judged(*map(added, paths)).violations]

    assert len(set(shown)) == len(paths)


# ---------------------------------------------------------------- submodules and repositories: 5e


@pytest.mark.case("J07")
@pytest.mark.parametrize(
    "change",
    [
        added("sub", side("gitlink")),
        deleted("sub", old_side("gitlink")),
        modified("sub", old_side("gitlink"), side("gitlink")),
        modified("sub", old_side("gitlink"), side()),
        modified("sub", old_side(), side("gitlink")),
        modified("sub", old_side("gitlink"), link("x")),
    ],
)
def test_a_submodule_may_not_be_added_deleted_or_changed(change: Json) -> None:
    assert kinds(judged(change, item=an_item(op(EDIT, "sub", link=True), *EVERYTHING.operations))) == [K.gitlink_change]


@pytest.mark.case("J07")
@pytest.mark.parametrize("change", [added("app", side("repository")), modified("app", old_side(), side("repository"))])
def test_a_repository_within_the_tree_is_a_finding(change: Json) -> None:
    assert kinds(judged(change)) == [K.nested_repository]


@pytest.mark.case("J07")
def test_content_beneath_a_submodule_is_one_finding_with_all_of_it() -> None:
    (violation,) = judged(gitlink_content=[f"sub/{at}" for at in range(99)]).violations

    assert violation.kind is K.gitlink_change
    assert len(violation.paths) == 99
    assert violation.summary.endswith('"sub/4" and 94 more')


# ---------------------------------------------------------------- symlinks: 5f and 5g


@pytest.mark.case("J05")
@pytest.mark.parametrize(
    "change",
    [
        deleted("lnk", old_side("symlink")),
        modified("lnk", old_side("symlink"), link("b")),
        modified("lnk", old_side("symlink"), side()),
        moved("lnk", "other", old_side("symlink"), link("b")),
    ],
)
def test_an_undeclared_link_may_not_be_changed_or_removed_by_pattern(change: Json) -> None:
    item = an_item(*EVERYTHING.operations, op(EDIT, "l*"), op(ADD, "other", link=True))

    assert kinds(judged(change, item=item)) == [K.undeclared_symlink_change]


@pytest.mark.case("J05")
@pytest.mark.parametrize("change", [added("lnk", link("b")), modified("lnk", old_side(), link("b"))])
@pytest.mark.parametrize(
    "item", [EVERYTHING, an_item(op(ADD, "lnk"), op(EDIT, "lnk"))], ids=["pattern", "without link"]
)
def test_a_new_link_needs_its_exact_path_with_link_true(change: Json, item: Item) -> None:
    assert kinds(judged(change, item=item)) == [K.new_symlink]


@pytest.mark.case("J05")
def test_a_link_declared_without_link_true_may_go_but_not_lead_elsewhere() -> None:
    item = an_item(op(EDIT, "lnk"), op(DELETE, "lnk"))

    assert judged(deleted("lnk", old_side("symlink")), item=item).in_scope == ((DELETE, "lnk"),)
    assert judged(modified("lnk", old_side("symlink"), side()), item=item).in_scope == ((EDIT, "lnk"),)
    assert kinds(judged(modified("lnk", old_side("symlink"), link("b")), item=item)) == [K.undeclared_symlink_change]


@pytest.mark.case("J05")
@pytest.mark.parametrize(
    "change",
    [
        modified("lnk", old_side("symlink"), link("b")),
        modified("lnk", old_side("symlink"), side()),
        modified("lnk", old_side(), link("b")),
        deleted("lnk", old_side("symlink")),
        added("lnk", link("b")),
    ],
)
def test_a_declared_link_may_be_made_retargeted_replaced_and_deleted(change: Json) -> None:
    verdict = judged(change, item=WITH_LINK)

    assert verdict.violations == ()
    assert len(verdict.in_scope) == 1


@pytest.mark.case("J05")
def test_a_declared_rename_of_a_link_is_a_delete_and_an_add() -> None:
    item = an_item(op(RENAME, "new", renamed_from="old", link=True))

    verdict = judged(moved("old", "new", old_side("symlink"), link("b")), item=item)

    assert verdict.violations == ()
    assert verdict.in_scope == ((DELETE, "old"), (ADD, "new"))


@pytest.mark.hazard("H87")
@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../x", ".", "", "a\x00b", "b\\c", "C:x", ".git/config", "d/../.GIT/../b"]
)
@pytest.mark.parametrize("old", [None, old_side(), old_side("symlink")])
def test_a_declared_link_may_not_lead_out_whatever_it_was_before(target: str, old: Json | None) -> None:
    change = added("lnk", link(target)) if old is None else modified("lnk", old, link(target))

    assert kinds(judged(change, item=WITH_LINK)) == [K.out_of_root_link]


@pytest.mark.case("J06")
@pytest.mark.parametrize("flag", [True, None])
@pytest.mark.parametrize("old", [None, old_side("symlink")])
def test_a_link_not_proven_to_lead_through_no_other_is_a_finding(flag: bool | None, old: Json | None) -> None:  # noqa: FBT001
    make = added("lnk", link("b"), through_link=flag)
    retarget = modified("lnk", old_side("symlink"), link("b"), through_link=flag)

    assert kinds(judged(retarget if old else make, item=WITH_LINK)) == [K.through_link]


@pytest.mark.case("J06")
def test_a_link_of_which_nothing_is_said_is_not_proven_either() -> None:
    change = added("lnk", link("b"))
    del change["through_link"]

    assert kinds(judged(change, item=WITH_LINK)) == [K.through_link]


@pytest.mark.case("J03")
@pytest.mark.parametrize("path", [".gitmodules", "sub/.GITMODULES", ".gitmodules ", "gitmod~1"])
def test_gitmodules_may_not_be_a_link_even_where_one_is_declared(path: str) -> None:
    item = an_item(op(ADD, path, link=True), op(EDIT, path, link=True))

    assert kinds(judged(added(path, link("x")), item=item)) == [K.git_named_path]
    assert kinds(judged(modified(path, old_side("symlink"), link("x")), item=item)) == [K.git_named_path]
    assert kinds(judged(added(path), item=item)) == []


# ---------------------------------------------------------------- kinds of entry: 5h, and collisions: 5i


@pytest.mark.case("J08")
@pytest.mark.parametrize(
    ("kind", "found"),
    [("directory", K.unexpected_directory), ("special", K.special_file), ("unreadable", K.unreadable)],
)
def test_what_is_no_file_is_a_finding_where_it_is_new_and_where_it_took_a_files_place(
    kind: str, found: FindingKind
) -> None:
    assert kinds(judged(added("x", side(kind)))) == [found]
    assert kinds(judged(modified("x", old_side(), side(kind)))) == [found]


@pytest.mark.case("J02")
@pytest.mark.hazard("H80")
def test_an_added_name_that_collides_is_a_finding_and_a_changed_one_is_the_bases_own() -> None:
    assert kinds(judged(added("readme", collides=True))) == [K.path_collision]
    assert kinds(judged(moved("x", "readme", collides=True))) == [K.path_collision]
    assert kinds(judged(modified("readme", collides=True))) == []
    assert kinds(judged(deleted("readme", collides=True))) == []


@pytest.mark.case("J13")
def test_a_file_replaced_by_a_folder_and_the_reverse_are_judged_path_by_path() -> None:
    item = an_item(op(DELETE, "a"), op(ADD, "a/"), op(DELETE, "d/"), op(ADD, "d"))

    verdict = judged(deleted("a"), added("a/x"), added("d"), deleted("d/y"), item=item)

    assert verdict.violations == ()
    assert verdict.out_of_scope == ()
    assert judged(deleted("a"), added("a/x"), item=an_item(op(DELETE, "a"))).out_of_scope == ((ADD, "a/x"),)


# ---------------------------------------------------------------- the same path twice: rule 4


@pytest.mark.case("J02")
@pytest.mark.parametrize(
    "changes",
    [
        (added("a"), added("a")),
        (modified("a"), deleted("a")),
        (deleted("a"), added("a")),
        (moved("a", "b"), added("b")),
        (moved("a", "b"), modified("a")),
        (moved("a", "a"),),
        (moved("a", "b"), moved("a", "c")),
    ],
)
@pytest.mark.parametrize("identity", ["exact", "folding"])
def test_a_path_told_of_twice_makes_the_report_malformed(changes: tuple[Json, ...], identity: str) -> None:
    verdict = judged(*changes, identity=identity)

    assert kinds(verdict) == [K.malformed_report]


@pytest.mark.case("J02")
@pytest.mark.parametrize(
    "changes",
    [
        (added("a"), added("A")),
        (added("a"), modified("A")),
        (deleted("a"), deleted("A")),
        (modified("caf\u00e9"), modified("cafe\u0301")),
        (moved("a", "B"), added("b")),
    ],
)
def test_two_spellings_of_one_file_are_the_same_path_where_the_file_system_folds(changes: tuple[Json, ...]) -> None:
    assert kinds(judged(*changes, identity="folding")) == [K.malformed_report]
    assert K.malformed_report not in kinds(judged(*changes))


@pytest.mark.case("J02")
@pytest.mark.parametrize("changes", [(deleted("readme"), added("README")), (moved("readme", "README"),)])
@pytest.mark.parametrize("identity", ["exact", "folding"])
def test_a_rename_that_only_changes_case_is_fine_split_or_not(changes: tuple[Json, ...], identity: str) -> None:
    verdict = judged(*changes, identity=identity)

    assert verdict.violations == ()
    assert set(verdict.in_scope) == {(DELETE, "readme"), (ADD, "README")}


@pytest.mark.case("J02")
def test_a_third_change_of_a_respelled_path_is_once_too_often() -> None:
    assert kinds(judged(deleted("a"), added("A"), modified("\u0041\u0301"), identity="folding")) == []
    assert kinds(judged(moved("strasse", "STRASSE"), added("stra\u00dfe"), identity="folding")) == [K.malformed_report]


def test_a_name_whose_identity_cannot_be_known_fails_closed() -> None:
    assert kinds(judged(added("a\udcff"), identity="folding")) == [K.malformed_report]
    assert kinds(judged(added("a\udcff"))) == []


def test_a_path_told_twice_stops_the_rules_but_not_what_the_report_said() -> None:
    verdict = judged(added(".git"), added("a"), added("a"), metadata_changed=True)

    assert kinds(verdict) == [K.metadata_changed, K.malformed_report]


# ---------------------------------------------------------------- order


@pytest.mark.case("J10")
@pytest.mark.parametrize(
    ("change", "first"),
    [
        (added("a//.git", side("gitlink"), collides=True), K.bad_path),
        (added("/.git", side("gitlink"), collides=True), K.git_named_path),
        (added(".git", side(id=None), ignored=True), K.git_named_path),
        (added("a\x00", side("special")), K.bad_path),
        (added("x", side("gitlink"), collides=True), K.gitlink_change),
        (added("x", link("/etc"), through_link=True, collides=True), K.new_symlink),
        (modified("x", old_side("symlink"), link("/etc"), through_link=True), K.undeclared_symlink_change),
        (added("lnk", link("/etc"), through_link=True, collides=True), K.out_of_root_link),
        (added("lnk", link("b"), through_link=True, collides=True), K.through_link),
        (added("lnk", link("b"), collides=True), K.path_collision),
        (added("x", side("special"), collides=True), K.special_file),
    ],
)
def test_of_several_faults_of_one_change_the_first_counts(change: Json, first: FindingKind) -> None:
    assert kinds(judged(change, item=WITH_LINK)) == [first]


@pytest.mark.case("F06")
def test_several_faults_are_a_violation_each_and_one_fault_seen_twice_is_one() -> None:
    verdict = judged(
        added(".git"),
        added("x", link("b")),
        added("p", side("special")),
        metadata_changed=True,
        links_changed=[{"path": "c", "difference": "content", "target": "t"}] * 2,
    )

    assert kinds(verdict) == [
        K.metadata_changed,
        K.link_target_changed,
        K.git_named_path,
        K.new_symlink,
        K.special_file,
    ]
    assert len({violation.fingerprint for violation in verdict.violations}) == 5


@pytest.mark.case("J10")
def test_with_a_violation_scope_is_not_computed() -> None:
    verdict = judged(added("outside"), added(".git"), added(".gitignore"), item=an_item(op(EDIT, "a")))

    assert kinds(verdict) == [K.git_named_path]
    assert (verdict.in_scope, verdict.out_of_scope, verdict.sensitive, verdict.unchanged) == ((), (), (), False)


def test_both_halves_of_a_rename_are_judged() -> None:
    assert kinds(judged(moved(".git/x", "a/.git/y"))) == [K.git_named_path, K.git_named_path]
    assert kinds(judged(moved("lnk", "other", old_side("symlink"), link("/x")))) == [
        K.undeclared_symlink_change,
        K.new_symlink,
    ]


# ---------------------------------------------------------------- ignored: 5d


@pytest.mark.case("J12")
def test_what_the_base_ignores_is_a_note_and_nothing_else() -> None:
    changes = [
        added("__pycache__/x.pyc", side(id=None), ignored=True),
        added("node_modules/.bin/x", link("../x", id=None), ignored=True, through_link=True),
        added(".env", side("special"), ignored=True),
    ]
    lines = [{"path": "node_modules/", "entries": 812, "bytes": 4096}, {"path": ".env", "entries": 1, "bytes": 10}]

    verdict = judged(*changes, ignored=lines)

    assert (verdict.violations, verdict.in_scope, verdict.out_of_scope) == ((), (), ())
    assert verdict.unchanged
    assert verdict.notes == (
        'left out, because the base ignores it: "node_modules/", ".env" (813 entries, 4106 bytes)',
    )


@pytest.mark.case("J12")
def test_where_policy_says_so_each_ignored_entry_is_a_finding() -> None:
    lines = [{"path": "node_modules/", "entries": 812, "bytes": 4096}, {"path": ".env", "entries": 1, "bytes": 10}]

    verdict = judged(added(".env", side(id=None), ignored=True), ignored=lines, policy=STRICT)

    assert [(violation.kind, violation.paths) for violation in verdict.violations] == [
        (K.ignored_file, (".env",)),
        (K.ignored_file, ("node_modules",)),
    ]
    assert verdict.notes == ()


@pytest.mark.case("J12")
def test_a_file_ignored_only_by_a_rule_the_item_added_is_an_add() -> None:
    verdict = judged(modified(".gitignore"), added("build/x"), item=an_item(op(EDIT, ".gitignore")))

    assert verdict.out_of_scope == ((ADD, "build/x"),)
    assert verdict.sensitive == (".gitignore",)


@pytest.mark.case("J12")
@pytest.mark.parametrize("path", ["node_modules/x/.git/", ".GIT", "a/../b", "/etc/"])
def test_a_bad_name_is_a_finding_even_in_a_line_that_only_sums_up_what_is_ignored(path: str) -> None:
    assert kinds(judged(ignored=[{"path": path, "entries": 1, "bytes": 1}]))[0] in {K.git_named_path, K.bad_path}


def test_a_policy_nobody_knows_is_taken_for_the_strict_one() -> None:
    odd = replace(STRICT, ignored="whatever", agent_commits="", leftover="off")  # type: ignore[arg-type]

    verdict = judged(
        added("x", side(id=None), ignored=True),
        agent_commits=True,
        leftover_processes=[{"pid": 1, "command": "x"}],
        policy=odd,
    )

    assert kinds(verdict) == [K.agent_commit, K.leftover_process, K.ignored_file]
