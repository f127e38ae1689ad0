"""Where declared links lead before a run, and what is different there after it."""

import os
from pathlib import Path

import pytest

from tests import gits, trees
from tests.trees import Work
from workspace.inspection import links
from workspace.inspection.links import LinkRefusal, after, before
from workspace.inspection.walks import InspectionFailed


@pytest.fixture
def work(tmp_path: Path) -> Work:
    person = gits.person(tmp_path / "person", {**trees.FILES, "docs/guide.md": "guide\n"})
    for name, target in {
        "file-link": "a.txt",
        "src/up": "../docs",
        "dangling": "not/there",
        "twice": "file-link",
        "through": "src/up/guide.md",
        "out": "../elsewhere",
        "absolute": "/etc/passwd",
        "git": ".git/config",
        "spelled": "src/../.GIT/hooks",
        "root": "src/..",
        "loop": "loop",
        "src/deep/far": "../../docs/./guide.md",
    }.items():
        trees.link(target, person / name)
    trees.committed(person)
    return trees.work_on(tmp_path, person)


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("a.txt", "not_a_link"),
        ("src", "not_a_link"),
        ("nowhere", "not_a_link"),
        ("file-link", "present"),
        ("src/up", "present"),
        ("src/deep/far", "present"),
        ("dangling", "absent"),
        ("twice", "through_link"),
        ("through", "through_link"),
        ("loop", "through_link"),
        ("out", "outside"),
        ("absolute", "outside"),
        ("git", "metadata"),
        ("spelled", "metadata"),
        ("root", "metadata"),
    ],
)
def test_where_a_link_leads_is_followed_a_part_at_a_time(work: Work, path: str, state: str) -> None:
    assert work.links(path).document["links"][path]["state"] == state


@pytest.mark.case("F08")
@pytest.mark.hazard("H87")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("twice", "through_link"),
        ("through", "through_link"),
        ("out", "out_of_root_link"),
        ("absolute", "out_of_root_link"),
        ("git", "out_of_root_link"),
    ],
)
def test_a_link_nobody_can_answer_for_refuses_the_launch(work: Work, path: str, kind: str) -> None:
    state = work.links("file-link", path)

    assert [(refusal.kind, refusal.path) for refusal in state.refusals] == [(kind, path)]


def test_a_refusal_names_the_target(work: Work) -> None:
    assert work.links("out").refusals == (LinkRefusal("out_of_root_link", "out", "../elsewhere"),)


def test_the_state_holds_everything_beneath_the_target(work: Work) -> None:
    link = work.links("src/up").document["links"]["src/up"]

    guide = gits.object_id("blob", b"guide\n")
    assert link["resolved"] == "docs"
    assert link["entries"] == {"docs": ["folder", 0, None], "docs/guide.md": ["100644", 6, guide]}


def test_the_same_tree_gives_the_same_digest(work: Work) -> None:
    assert work.links("src/up", "out").digest == work.links("out", "src/up").digest


def test_nothing_done_is_no_difference(work: Work) -> None:
    state = work.links("file-link", "src/up", "dangling", "a.txt")

    assert after(work.tree, state) == []


def edited(work: Work, edit: str) -> None:
    match edit:
        case "content":
            (work / "docs" / "guide.md").write_text("other\n")
        case "mode":
            (work / "docs" / "guide.md").chmod(0o755)
        case "more":
            (work / "docs" / "deep").mkdir()
        case "kind":
            (work / "docs" / "guide.md").unlink()
            os.mkfifo(work / "docs" / "guide.md")
        case "link":
            trees.link("/etc/passwd", work / "docs" / "guide.md")


@pytest.mark.parametrize("edit", ["content", "mode", "more", "kind", "link"])
def test_any_difference_beneath_a_target_is_told(work: Work, edit: str) -> None:
    state = work.links("src/up")

    edited(work, edit)

    assert after(work.tree, state) == [{"path": "src/up", "difference": "content", "target": "../docs"}]


def test_a_target_that_goes_comes_or_hides_is_told(work: Work) -> None:
    state = work.links("file-link", "dangling", "src/up")
    (work / "a.txt").unlink()
    (work / "not").mkdir()
    (work / "not" / "there").write_text("x")
    (work / "docs").rename(work / "papers")
    trees.link("papers", work / "docs")

    differences = {each["path"]: each["difference"] for each in after(work.tree, state)}

    assert differences == {
        "dangling": "absent->present",
        "file-link": "present->absent",
        "src/up": "present->through_link",
    }


def test_a_link_that_says_something_else_is_told_with_its_new_target(work: Work) -> None:
    state = work.links("file-link")
    trees.link("docs/guide.md", work / "file-link")

    assert after(work.tree, state) == [{"path": "file-link", "difference": "retargeted", "target": "docs/guide.md"}]


def test_what_an_old_target_became_is_told_beside_a_new_one(work: Work) -> None:
    state = work.links("file-link")
    trees.link("docs/guide.md", work / "file-link")
    (work / "a.txt").write_text("other\n")

    assert [each["difference"] for each in after(work.tree, state)] == ["retargeted", "content"]


def test_a_link_that_was_removed_is_judged_elsewhere(work: Work) -> None:
    state = work.links("file-link", "dangling")
    (work / "file-link").unlink()
    (work / "dangling").unlink()

    assert after(work.tree, state) == []


def test_too_much_beneath_a_target_is_refused(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_ENTRIES", 1)

    with pytest.raises(InspectionFailed) as failed:
        before(work.tree, ["src/up"])

    assert failed.value.facts["reason"] == "link_target"


def test_a_huge_file_beneath_a_target_is_not_read(work: Work) -> None:
    state = work.links("src/up")
    os.truncate(work / "docs" / "guide.md", 1 << 40)

    with pytest.raises(InspectionFailed) as failed:
        after(work.tree, state)

    assert failed.value.facts["reason"] == "link_target"


def test_whoever_looks_after_a_run_may_end_it(work: Work) -> None:
    def enough() -> None:
        raise InterruptedError

    with pytest.raises(InspectionFailed):
        after(work.tree, work.links("src/up"), check=enough)
