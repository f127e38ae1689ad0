"""What an inspection sees, what it refuses, and that it sees it again."""

import json
import os
import shutil
import socket
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from statemachine.refusals import Refusal
from tests import gits, trees
from tests.trees import Work
from workspace.agents.processes import Leftover
from workspace.inspection import inspections, manifests
from workspace.inspection.inspections import InspectionAborted, InspectionFailed, Limits, unchanged_since


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path, {**trees.FILES, ".gitignore": trees.IGNORES, "b.txt": "two\n"})


def failure(work: Work, **more: object) -> InspectionFailed:
    with pytest.raises(InspectionFailed) as failed:
        work.inspect(**more)
    assert failed.value.code == "inspection_failed"
    return failed.value


def test_an_untouched_tree_has_no_changes(work: Work) -> None:
    manifest = work.inspect().manifest

    assert manifest["changes"] == []
    assert manifest["base"] == work.base
    assert [manifest[key] for key in ("metadata", "commits", "ignored", "notes", "gitlink_content")] == [[]] * 5
    assert (manifest["metadata_changed"], manifest["agent_commits"], manifest["identity"]) == (False, False, "exact")


def test_the_digest_is_that_of_the_manifests_one_spelling(work: Work) -> None:
    (work / "new").write_text("x")

    first, second = work.inspect(), work.inspect()

    assert first.digest == second.digest == manifests.digest(first.manifest)
    assert json.loads(manifests.canonical(first.manifest)) == first.manifest


def test_each_kind_of_change_is_told_with_both_sides(work: Work) -> None:
    (work / "a.txt").write_text("changed\n")
    (work / "b.txt").unlink()
    (work / "src" / "x.py").chmod(0o755)
    (work / "src" / "deep" / "y.py").rename(work / "moved.py")
    (work / "new").write_text("new\n")

    changes = work.changes()

    assert {path: change["kind"] for path, change in changes.items()} == {
        "a.txt": "modify",
        "b.txt": "delete",
        "src/x.py": "mode",
        "moved.py": "rename",
        "new": "add",
    }
    new = gits.object_id("blob", b"changed\n")
    assert changes["a.txt"]["new"] == {"type": "file", "mode": "100644", "id": new, "size": 8, "target": None}
    assert changes["a.txt"]["old"]["size"] == 4
    assert changes["b.txt"]["new"] is None
    assert (changes["src/x.py"]["old"]["mode"], changes["src/x.py"]["new"]["mode"]) == ("100644", "100755")
    assert changes["moved.py"]["old_path"] == "src/deep/y.py"
    assert changes["new"]["old"] is None


def test_only_the_owners_bit_makes_a_program(work: Work) -> None:
    (work / "a.txt").chmod(0o655)

    assert work.kinds() == {}


@pytest.mark.case("J13")
@pytest.mark.hazard("H28")
def test_a_file_replaced_by_a_folder_is_a_delete_and_adds(work: Work) -> None:
    (work / "a.txt").unlink()
    (work / "a.txt").mkdir()
    (work / "a.txt" / "payload").write_text("x")

    assert work.kinds() == {"a.txt": "delete", "a.txt/payload": "add"}


@pytest.mark.case("J13")
def test_a_folder_replaced_by_a_file_is_an_add_and_deletes(work: Work) -> None:
    shutil.rmtree(work / "src")
    (work / "src").write_text("now a file")

    assert work.kinds() == {"src": "add", "src/x.py": "delete", "src/deep/y.py": "delete"}


@pytest.mark.hazard("H86")
def test_a_folder_replaced_by_a_link_to_its_own_content_is_not_followed(work: Work, tmp_path: Path) -> None:
    (work / "src").rename(tmp_path / "aside")
    trees.link(tmp_path / "aside", work / "src")

    changes = work.changes()

    assert {path: change["kind"] for path, change in changes.items()} == {
        "src": "add",
        "src/x.py": "delete",
        "src/deep/y.py": "delete",
    }
    assert changes["src"]["new"]["type"] == "symlink"
    assert changes["src"]["through_link"] is True


def test_a_file_that_becomes_a_link_changes_its_type_even_where_the_bytes_are_equal(work: Work) -> None:
    trees.link("one\n", work / "a.txt")

    change = work.changes()["a.txt"]

    assert change["kind"] == "type"
    assert change["new"]["id"] == change["old"]["id"]
    assert change["new"]["target"] == "one\n"


@pytest.mark.parametrize(
    ("target", "through"),
    [
        ("a.txt", False),
        ("src/deep", False),
        ("nowhere/at/all", False),
        ("src/../a.txt", False),
        ("other", True),
        ("dir/x.py", True),
        ("../outside", True),
        ("/etc/passwd", True),
        ("src/deep/../../../x", True),
        (".git/config", True),
        ("a.txt/beneath", False),
    ],
)
def test_whether_a_new_link_leads_through_another_is_looked_up(work: Work, target: str, *, through: bool) -> None:
    trees.link("a.txt", work / "other")
    trees.link("src", work / "dir")
    trees.link(target, work / "link")

    assert work.changes()["link"]["through_link"] is through


def test_a_changed_link_tells_what_it_said_and_says(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person")
    trees.link("a.txt", person / "link")
    trees.committed(person)
    work = trees.work_on(tmp_path, person)
    trees.link(b"odd\xff", work / "link")

    change = work.changes()["link"]

    assert (change["kind"], change["old"]["target"], change["new"]["target"]) == ("modify", "a.txt", "odd\udcff")


@pytest.mark.case("J07")
@pytest.mark.hazard("H45")
def test_a_nested_repository_is_one_change_and_its_content_is_not_told(work: Work) -> None:
    trees.repository(work / "app")

    changes = work.changes()

    assert list(changes) == ["app"]
    assert changes["app"]["new"] == {"type": "repository", "mode": "040000", "id": None, "size": 0, "target": None}


@pytest.mark.case("J07")
@pytest.mark.parametrize("kind", ["file", "link", "bare"])
def test_a_nested_repository_of_any_kind_is_found(work: Work, tmp_path: Path, kind: str) -> None:
    place = work / "app"
    if kind == "bare":
        gits.git(work.tree, "init", "-q", "--bare", "app")
    else:
        place.mkdir()
        inner = place / ".git"
        trees.link(tmp_path, inner) if kind == "link" else inner.write_text(f"gitdir: {tmp_path}\n")

    assert work.changes()["app"]["new"]["type"] == "repository"


@pytest.mark.case("J07")
def test_a_repository_made_in_a_folder_of_the_base_hides_none_of_its_changes(work: Work) -> None:
    trees.repository(work / "src")
    (work / "src" / "x.py").write_text("changed\n")

    assert work.kinds() == {"src": "add", "src/x.py": "modify", "src/inner.txt": "add"}


def test_a_bare_repository_that_the_base_itself_holds_is_no_change(tmp_path: Path) -> None:
    fixture = {"fixture/HEAD": "ref: x\n", "fixture/objects/aa/bb": "x", "fixture/refs/heads/x": "y"}
    work = trees.work(tmp_path, {**trees.FILES, **fixture})

    assert work.kinds() == {}


@pytest.mark.case("J07")
@pytest.mark.hazard("H42")
@pytest.mark.hazard("H44")
@pytest.mark.parametrize("content", ["payload", ".git"])
def test_anything_beneath_a_gitlink_is_told(tmp_path: Path, content: str) -> None:
    work = _with_submodule(tmp_path)
    (work / "sub" / content).mkdir()

    manifest = work.inspect().manifest

    assert manifest["gitlink_content"] == [f"sub/{content}"]
    assert manifest["changes"] == []


@pytest.mark.case("J07")
@pytest.mark.parametrize("edit", ["delete", "file", "link"])
def test_a_gitlink_that_goes_or_becomes_something_else_is_a_change(tmp_path: Path, edit: str) -> None:
    work = _with_submodule(tmp_path)
    (work / "sub").rmdir()
    if edit == "file":
        (work / "sub").write_text("x")
    if edit == "link":
        trees.link("a.txt", work / "sub")

    change = work.changes()["sub"]

    assert change["old"]["type"] == "gitlink"
    assert change["kind"] == ("delete" if edit == "delete" else "type")


def _with_submodule(tmp_path: Path) -> Work:
    person = gits.person(tmp_path / "person")
    gits.git(person, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    gits.git(person, "commit", "-qm", "submodule")
    return trees.work_on(tmp_path, person)


@pytest.mark.case("J03")
@pytest.mark.hazard("H46")
@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".git ", "\ufeff.git"])
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_every_git_like_name_is_told_with_its_real_type(work: Work, name: str, kind: str) -> None:
    place = work / "src" / "q" / name
    place.parent.mkdir()
    if kind == "folder":
        place.mkdir()
        (place / "hooks").write_text("not looked at")
    elif kind == "file":
        place.write_text("not a pointer")
    else:
        trees.link("elsewhere", place)

    changes = work.changes()

    types = {"folder": "directory", "file": "file", "link": "repository" if name == ".git" else "symlink"}
    path = "src/q" if types[kind] == "repository" else f"src/q/{name}"
    assert {path: change["new"]["type"] for path, change in changes.items()} == {path: types[kind]}


@pytest.mark.case("J12")
def test_what_the_bases_rules_ignore_is_a_line_and_no_change(work: Work) -> None:
    (work / "node_modules" / "p").mkdir(parents=True)
    (work / "node_modules" / "p" / "index.js").write_text("12345")
    (work / "node_modules" / "p" / "lib.js").write_text("123")
    (work / "src" / "__pycache__").mkdir()
    (work / "src" / "__pycache__" / "x.pyc").write_text("1")
    (work / ".env").write_text("SECRET=1")
    (work / "src" / "x.o").write_text("12")

    inspection = work.inspect()

    assert inspection.manifest["changes"] == []
    assert inspection.manifest["ignored"] == [
        {"path": ".env", "entries": 1, "bytes": 8},
        {"path": "node_modules/", "entries": 3, "bytes": 8},
        {"path": "src/__pycache__/", "entries": 1, "bytes": 1},
        {"path": "src/x.o", "entries": 1, "bytes": 2},
    ]
    assert list(inspection.spool.glob("*.pack")) == []


@pytest.mark.case("J12")
@pytest.mark.hazard("H29")
def test_only_the_bases_rules_ignore(work: Work) -> None:
    (work / ".gitignore").write_text("*\n")
    (work / ".git" / "info" / "exclude").write_text("hidden\n")
    (work / "src" / ".gitignore").write_text("hidden\n")
    (work / "src" / "hidden").write_text("x")
    (work / "secret").write_text("x")

    assert work.kinds() == {".gitignore": "modify", "src/.gitignore": "add", "src/hidden": "add", "secret": "add"}


@pytest.mark.case("J12")
def test_a_rule_that_the_agent_removed_still_ignores(work: Work) -> None:
    (work / ".gitignore").unlink()
    (work / ".env").write_text("SECRET=1")

    manifest = work.inspect().manifest

    assert [change["path"] for change in manifest["changes"]] == [".gitignore"]
    assert [line["path"] for line in manifest["ignored"]] == [".env"]


def test_rules_are_gits_own_rules(tmp_path: Path) -> None:
    rules = "/only-top\nlogs/*\n!logs/keep\n**/deep/*.tmp\nfold/\n\\!bang\ntrail\\ \n[ab].x\n"
    work = trees.work(tmp_path, {"a.txt": "a", ".gitignore": rules, "sub/.gitignore": "!keep.o\n*.o\n"})
    names = ["only-top", "sub/only-top", "logs/a", "logs/keep", "q/deep/r.tmp", "!bang", "trail ", "a.x", "c.x"]
    names += ["sub/x.o", "sub/keep.o", "x.o", "fold"]
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x")
    gits.git(work.tree, "add", "-A")

    added = set(gits.git(work.tree, "diff", "--cached", "--name-only", "-z", "HEAD").strip("\0").split("\0"))

    assert set(work.kinds()) == added


def test_a_file_of_the_base_is_judged_even_where_its_rules_ignore_it(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person", {".gitignore": "build/\n", "a": "a"})
    (person / "build").mkdir()
    (person / "build" / "kept").write_text("1")
    trees.committed(person)
    work = trees.work_on(tmp_path, person)
    (work / "build" / "kept").write_text("2")
    (work / "build" / "made").write_text("3")

    manifest = work.inspect().manifest

    assert [(change["path"], change["kind"]) for change in manifest["changes"]] == [("build/kept", "modify")]
    assert [line["path"] for line in manifest["ignored"]] == ["build/made"]


def test_names_that_look_like_patterns_are_asked_for_as_they_are(work: Work) -> None:
    for name in (":(exclude)a.txt", ":/x", "*.o", "[a]", "-n", "!x", "a b", "new\nline", "b\\*"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("x")

    manifest = work.inspect().manifest

    assert {change["path"] for change in manifest["changes"]} == {
        ":(exclude)a.txt",
        ":/x",
        "[a]",
        "-n",
        "!x",
        "a b",
        "new\nline",
        "b\\*",
    }
    assert [line["path"] for line in manifest["ignored"]] == ["*.o"]


def test_what_must_be_told_is_told_of_ignored_folders_too(work: Work) -> None:
    (work / "build" / "deep" / ".git").mkdir(parents=True)
    os.mkfifo(work / "build" / "pipe")
    trees.link("/etc/passwd", work / "build" / "out")
    trees.link("deep", work / "build" / "within")

    changes = work.changes()

    assert {path: (change["new"]["type"], change["ignored"]) for path, change in changes.items()} == {
        "build/deep/.git": ("directory", True),
        "build/pipe": ("special", True),
        "build/out": ("symlink", True),
    }


def test_thousands_of_links_out_of_an_ignored_folder_are_counted_and_some_told(work: Work) -> None:
    (work / "build").mkdir()
    for number in range(150):
        trees.link("/usr/bin/env", work / "build" / f"l{number:03}")

    manifest = work.inspect().manifest

    assert len(manifest["changes"]) == 100
    assert manifest["notes"] == ['ignored links that leave the tree: 1 ("build/ (150)")']


@pytest.mark.case("J08")
@pytest.mark.hazard("H83")
@pytest.mark.hazard("H85")
def test_special_files_are_told_and_never_opened(work: Work) -> None:
    (work / "a.txt").unlink()
    os.mkfifo(work / "a.txt")
    os.mkfifo(work / "src" / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(work / "sock"))

    changes = work.changes()

    assert {path: (change["kind"], change["new"]["type"]) for path, change in changes.items()} == {
        "a.txt": ("type", "special"),
        "src/pipe": ("add", "special"),
        "sock": ("add", "special"),
    }


@pytest.mark.case("J08")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_told_and_never_opened(work: Work) -> None:
    try:
        os.mknod(work / "device", 0o600 | 0o060000, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("not even root makes devices here")

    assert work.changes()["device"]["new"]["type"] == "special"


@pytest.mark.hazard("H80")
def test_names_that_some_disk_takes_for_one_are_marked(work: Work) -> None:
    (work / "A.TXT").write_text("x")
    (work / "SRC").mkdir()
    (work / "SRC" / "z.py").write_text("x")
    (work / "caf\u00e9").write_text("x")
    (work / "cafe\u0301").write_text("x")
    (work / "alone").write_text("x")

    collides = {path: change["collides"] for path, change in work.changes().items()}

    assert collides == {"A.TXT": True, "SRC/z.py": True, "caf\u00e9": True, "cafe\u0301": True, "alone": False}


def test_a_case_only_rename_collides_with_nothing(work: Work) -> None:
    (work / "a.txt").rename(work / "A.txt")

    change = work.changes()["A.txt"]

    assert (change["kind"], change["old_path"], change["collides"]) == ("rename", "a.txt", False)


def test_copies_and_empty_files_are_not_renames(work: Work) -> None:
    (work / "one").write_bytes((work / "a.txt").read_bytes())
    (work / "two").write_bytes((work / "a.txt").read_bytes())
    (work / "a.txt").unlink()
    (work / "empty").write_text("")

    assert work.kinds() == {"one": "rename", "two": "add", "empty": "add"}


def test_set_id_bits_attributes_and_locks_are_noted(work: Work) -> None:
    (work / "a.txt").chmod(0o4755)
    (work / "b.txt").chmod(0o044)
    try:
        os.setxattr(work / "src" / "x.py", "user.note", b"x")
        attributes = ['extended attributes: 1 ("src/x.py")']
    except OSError:
        attributes = []

    inspection = work.inspect()

    assert inspection.manifest["notes"] == [
        *attributes,
        'locked by mode: 1 ("b.txt (0044)")',
        'set-id bits: 1 ("a.txt")',
    ]
    assert (work / "b.txt").stat().st_mode & 0o777 == 0o044


def test_leftovers_and_links_are_part_of_the_manifest(work: Work) -> None:
    manifest = work.inspect(leftovers=[Leftover(42, '"sleep"')]).manifest

    assert manifest["leftover_processes"] == [{"pid": 42, "command": '"sleep"'}]


def test_declared_links_that_nobody_looked_at_before_cannot_be_judged(work: Work) -> None:
    assert failure(work, declared_links=["a.txt"]).facts["reason"] == "links_unknown"


def test_a_difference_beneath_a_declared_link_is_told(tmp_path: Path) -> None:
    person = gits.person(tmp_path / "person", trees.FILES)
    trees.link("src", person / "link")
    trees.committed(person)
    work = trees.work_on(tmp_path, person)
    before = work.links("link", "a.txt")
    (work / "src" / "x.py").write_text("changed\n")

    manifest = work.inspect(declared_links=["link"], before_links=before).manifest

    assert manifest["links_changed"] == [{"path": "link", "difference": "content", "target": "src"}]


def test_a_tree_that_changed_since_is_refused(work: Work) -> None:
    (work / "new").write_text("x")
    inspection = work.inspect()

    unchanged_since(inspection)
    (work / "new").write_text("y")

    with pytest.raises(Refusal) as refused:
        unchanged_since(inspection)
    assert refused.value.code == "tree_changed_after_audit"


@pytest.mark.parametrize("edit", ["ignored", "metadata", "mode"])
def test_a_change_anywhere_in_what_was_told_counts(work: Work, edit: str) -> None:
    (work / "build").mkdir()
    inspection = work.inspect()

    if edit == "ignored":
        (work / "build" / "late").write_text("x")
    elif edit == "metadata":
        (work / ".git" / "config").write_text("")
    else:
        (work / "a.txt").chmod(0o755)

    with pytest.raises(Refusal, match="any more"):
        unchanged_since(inspection)


def test_the_packs_hold_exactly_the_changed_content(work: Work) -> None:
    large = os.urandom(1 << 20) * 10
    (work / "large").write_bytes(large)
    (work / "a.txt").write_text("changed\n")
    trees.link("a.txt", work / "link")
    (work / "build").mkdir()
    (work / "build" / "never").write_text("never")

    inspection = work.inspect()

    scratch = gits.person(work.spools / "scratch")
    kept = set()
    for pack in inspection.spool.glob("blobs-*.pack"):
        name = gits.git(scratch, "index-pack", "--strict", "--stdin", stdin=pack.read_bytes()).split("\t")[-1]
        listed = gits.git(scratch, "verify-pack", "-v", f".git/objects/pack/pack-{name}.idx")
        kept |= {line.split()[0] for line in listed.splitlines() if " blob " in line}
    assert kept == {change["new"]["id"] for change in inspection.manifest["changes"]}
    assert kept == {gits.object_id("blob", content) for content in (large, b"changed\n", b"a.txt")}
    assert not any(path.is_dir() for path in inspection.spool.iterdir())


@pytest.mark.case("J11")
@pytest.mark.hazard("H93")
def test_more_changes_than_anybody_judges_are_no_list_at_all(work: Work) -> None:
    for number in range(12):
        (work / f"n{number}").write_text("x")

    assert "changes" not in work.inspect(limits=Limits(changes=11)).manifest
    assert len(work.inspect(limits=Limits(changes=12)).manifest["changes"]) == 12


@pytest.mark.case("J11")
def test_ten_thousand_changes_are_listed_and_one_more_is_not(work: Work) -> None:
    (work / "many").mkdir()
    for number in range(10_000):
        (work / "many" / f"{number}").touch()

    assert len(work.inspect().manifest["changes"]) == 10_000
    (work / "one-more").touch()
    assert "changes" not in work.inspect().manifest


@pytest.mark.case("J11")
def test_as_many_deletions_are_no_list_either(work: Work) -> None:
    shutil.rmtree(work / "src")
    (work / "a.txt").unlink()

    assert "changes" not in work.inspect(limits=Limits(changes=2)).manifest


def test_ignored_entries_count_against_no_limit_of_changes(work: Work) -> None:
    for number in range(30):
        (work / f"{number}.o").touch()

    manifest = work.inspect(limits=Limits(changes=1)).manifest

    assert (len(manifest["ignored"]), manifest["changes"]) == (30, [])


@pytest.mark.hazard("H92")
def test_a_huge_file_is_refused_before_it_is_read(work: Work) -> None:
    os.truncate(work / "a.txt", 1 << 40)

    failed = failure(work)

    assert (failed.facts["reason"], failed.facts["path"]) == ("added_bytes", "a.txt")


def test_a_path_too_long_for_anybody_is_refused(work: Work) -> None:
    place = work.tree
    for _ in range(5):
        place = place / ("d" * 220)
    place.mkdir(parents=True)

    assert failure(work).facts["reason"] == "name_too_long"


def test_a_folder_in_a_folder_without_end_is_refused(work: Work) -> None:
    (work / "build").mkdir()
    here = os.open(work / "build", os.O_RDONLY)
    for _ in range(450):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)

    assert failure(work).facts["reason"] == "too_deep"
    subprocess.run(["rm", "-rf", work / "build"], check=True)


def test_the_deadline_ends_it(work: Work) -> None:
    assert failure(work, deadline=timedelta(0)).facts["reason"] == "deadline"


@pytest.mark.case("F03")
def test_only_the_callers_abort_is_an_abort(work: Work) -> None:
    with pytest.raises(InspectionAborted):
        work.inspect(aborted=lambda: True)


@pytest.mark.case("F03")
def test_a_real_error_is_told_even_while_an_abort_waits(work: Work) -> None:
    os.truncate(work / "a.txt", 1 << 40)
    asked: list[int] = []

    with pytest.raises(InspectionFailed):
        work.inspect(aborted=lambda: bool(asked.append(1)))

    assert asked


def test_an_abort_leaves_no_helper_behind(work: Work) -> None:
    countdown = iter([False] * 2)

    with pytest.raises(InspectionAborted):
        work.inspect(aborted=lambda: next(countdown, True))

    ours = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True, check=False
    )
    assert "walk.py" not in ours.stdout


@pytest.mark.case("F02")
def test_a_helper_that_dies_is_a_failed_inspection(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workspace.inspection.walk.__file__", "/dev/null")

    assert failure(work).facts["reason"] == "helper_died"


@pytest.mark.case("F02")
def test_a_tree_that_is_not_there_is_a_failed_inspection(work: Work) -> None:
    shutil.rmtree(work.tree)

    assert failure(work).facts["reason"] == "unexpected"


@pytest.mark.case("F02")
def test_a_base_that_is_not_there_is_a_failed_inspection(work: Work) -> None:
    elsewhere = trees.Work(work.repo, "1" * 40, work.tree, work.baseline, work.spools)

    assert failure(elsewhere).facts["reason"] == "git_failed"


@pytest.mark.case("F02")
def test_a_defect_of_ours_is_a_failed_inspection_and_never_a_clean_tree(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object) -> None:
        raise KeyError("a name nobody thought of")

    monkeypatch.setattr(inspections.differences, "changes", defect)

    assert failure(work).facts["reason"] == "unexpected"


def test_a_link_in_place_of_the_tree_is_not_entered(work: Work, tmp_path: Path) -> None:
    work.tree.rename(tmp_path / "aside")
    trees.link(tmp_path / "aside", work.tree)

    assert failure(work)


@pytest.mark.hazard("H98")
def test_somebody_who_still_writes_is_caught_or_the_tree_is_told_as_it_was(work: Work) -> None:
    for number in range(300):
        (work / f"f{number}").write_text("x" * 100)
    stop = threading.Event()
    writer = threading.Thread(target=_scribble, args=(work.tree, stop))
    writer.start()

    try:
        unchanged_since(work.inspect())
        caught = False
    except Refusal as refused:
        caught = refused.code in {"inspection_failed", "tree_changed_after_audit"}
    finally:
        stop.set()
        writer.join()

    assert caught


def _scribble(tree: Path, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        (tree / f"f{number % 300}").write_text(f"{number}")


def test_nothing_of_the_tree_or_the_runner_is_changed_by_looking(work: Work) -> None:
    (work / "new").write_text("x")
    before = gits.snapshot(work.tree), gits.snapshot(work.repo.path)

    work.inspect()

    assert (gits.snapshot(work.tree), gits.snapshot(work.repo.path)) == before


def test_an_agents_environment_for_the_worker_does_not_reach_the_helpers(
    work: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "marshal.py").write_text("raise SystemExit(3)")
    (tmp_path / "evil" / "sitecustomize.py").write_text("raise SystemExit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "evil"))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "evil"))

    assert work.kinds() == {}


LOCKED = """
import os
from pathlib import Path
from tests import trees
work = trees.work(Path(os.environ["FOLDER"]))
(work / "src" / "deep" / "y.py").chmod(0)
(work / "src" / "deep").chmod(0)
(work / "src").chmod(0o300)
(work / "locked" / "new").mkdir(parents=True)
(work / "locked" / "new" / "file").write_text("x")
(work / "locked" / "new").chmod(0)
work.tree.chmod(0o100)
inspection = work.inspect()
print([(change["path"], change["kind"]) for change in inspection.manifest["changes"]])
print(inspection.manifest["notes"])
print(oct(work.tree.stat().st_mode & 0o777))
for place, mode in (("", 0o700), ("src", 0o300), ("src", 0o700), ("src/deep", 0), ("locked/new", 0)):
    if mode == 0o700:
        (work / place).chmod(mode)
    else:
        assert (work / place).stat().st_mode & 0o777 == mode, place
for place in ("src/deep", "locked/new"):
    (work / place).chmod(0o700)
"""


@pytest.mark.case("J08")
@pytest.mark.hazard("H89")
def test_what_its_owner_locked_is_read_and_locked_again(tmp_path: Path) -> None:
    told = trees.without_privileges(LOCKED, tmp_path).splitlines()

    assert told == [
        "[('locked/new/file', 'add')]",
        str(['locked by mode: 4 ("locked/new (0000)", "src (0300)", "src/deep (0000)", "src/deep/y.py (0000)")']),
        "0o100",
    ]


FOREIGN = """
import os
from pathlib import Path
from tests import trees
work = trees.Work(*__import__("pickle").loads(Path(os.environ["FOLDER"], "work").read_bytes()))
print(sorted((path, change["kind"], change["new"]["type"]) for path, change in work.changes().items()))
"""


@pytest.mark.case("J08")
@pytest.mark.hazard("H90")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_and_is_closed_is_unreadable_and_never_deleted(work: Work, tmp_path: Path) -> None:
    (work / "new").mkdir()
    for name in ("src", "a.txt", "new"):
        (work / name).chmod(0)
        os.chown(work / name, trees.NOBODY, trees.NOBODY)
    parts = (work.repo, work.base, work.tree, work.baseline, work.spools)
    (tmp_path / "work").write_bytes(__import__("pickle").dumps(parts))

    told = trees.without_privileges(FOREIGN, tmp_path)

    expected = [("a.txt", "type", "unreadable"), ("new", "add", "unreadable"), ("src", "add", "unreadable")]
    assert told == f"{expected}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_another_file_system_in_the_tree_is_a_directory_that_nobody_enters(work: Work) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", work / "src"], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (work / "src" / "secret").write_text("x")
        changes = work.changes()
    finally:
        subprocess.run(["umount", work / "src"], check=True)

    assert {path: change["new"]["type"] for path, change in changes.items()} == {"src": "directory"}
