import json

import pytest

from screening import Policy
from statemachine.findings import FindingKind
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
)

LENIENT = Policy(agent_commits="note", leftover="note")
LEFTOVERS = [{"pid": 41, "command": "sleep 9"}, {"pid": 42, "command": "nc -l \x1b[31m"}]


def test_a_clean_report_owes_nothing_and_says_nothing() -> None:
    verdict = judged(modified("a"))

    assert (verdict.violations, verdict.permitted, verdict.notes) == ((), (), ())


@pytest.mark.case("F01")
def test_changed_metadata_is_one_finding_that_names_each_difference() -> None:
    (violation,) = judged(metadata_changed=True, metadata=["config", "hooks/post-commit"]).violations

    assert violation.kind is K.metadata_changed
    assert violation.summary == 'the workspace\'s git metadata was changed: "config", "hooks/post-commit"'
    assert violation.evidence["metadata"] == ["config", "hooks/post-commit"]


@pytest.mark.case("F01")
def test_changed_metadata_without_a_word_of_what_is_a_finding_all_the_same() -> None:
    assert kinds(judged(metadata_changed=True)) == [K.metadata_changed]


def test_another_difference_of_the_metadata_is_another_finding() -> None:
    one, same, more = (
        judged(metadata_changed=True, metadata=differences).violations[0].fingerprint
        for differences in (["config"], ["config"], ["config", "hooks/x"])
    )

    assert one == same
    assert one != more


def test_the_agents_own_commits_are_a_finding_or_a_note_as_policy_says() -> None:
    facts: Json = {"agent_commits": True, "commits": ["HEAD moved", "refs/heads/x"]}

    assert kinds(judged(modified("a"), **facts)) == [K.agent_commit]

    noted = judged(modified("a"), policy=LENIENT, **facts)
    assert noted.violations == ()
    assert noted.in_scope == ((EDIT, "a"),)
    assert noted.notes == ('the agent used git itself; only the tree counts: "HEAD moved", "refs/heads/x"',)


def test_noted_commits_still_leave_content_judged_against_the_base() -> None:
    verdict = judged(added("outside"), agent_commits=True, policy=LENIENT, item=an_item(op(EDIT, "a")))

    assert verdict.out_of_scope == ((ADD, "outside"),)


@pytest.mark.case("S15")
def test_leftover_processes_are_a_finding_or_a_note_as_policy_says() -> None:
    (violation,) = judged(leftover_processes=LEFTOVERS).violations

    assert violation.kind is K.leftover_process
    assert violation.evidence["processes"] == LEFTOVERS
    assert violation.summary.isprintable()
    assert judged(leftover_processes=LEFTOVERS, policy=LENIENT).violations == ()
    assert len(judged(leftover_processes=LEFTOVERS, policy=LENIENT).notes) == 1


def test_a_changed_link_target_is_a_finding_for_each_difference() -> None:
    differences = [
        {"path": "lnk", "difference": "present->absent", "target": "b"},
        {"path": "lnk", "difference": "content", "target": "c"},
        {"path": "other", "difference": "retargeted", "target": None},
    ]

    verdict = judged(links_changed=differences)

    assert [(violation.kind, violation.paths) for violation in verdict.violations] == [
        (K.link_target_changed, ("lnk",)),
        (K.link_target_changed, ("lnk",)),
        (K.link_target_changed, ("other",)),
    ]


def test_a_link_the_item_itself_turns_elsewhere_is_judged_by_the_rules_for_links() -> None:
    item = an_item(op(EDIT, "lnk", link=True), op(DELETE, "gone", link=True))
    turned = [{"path": "lnk", "difference": "retargeted", "target": "b"}]

    assert judged(modified("lnk", old_side("symlink"), link("b")), item=item, links_changed=turned).violations == ()
    assert kinds(judged(modified("lnk", old_side("symlink"), link("/b")), item=item, links_changed=turned)) == [
        K.out_of_root_link
    ]
    assert kinds(judged(item=item, links_changed=turned)) == [K.link_target_changed]

    changed = [{"path": "lnk", "difference": "content", "target": "b"}]
    assert kinds(judged(modified("lnk", old_side("symlink"), link("b")), item=item, links_changed=changed)) == [
        K.link_target_changed
    ]


def test_a_file_that_took_a_names_place_does_not_excuse_another_link() -> None:
    turned = [{"path": "lnk", "difference": "retargeted", "target": "b"}]

    assert kinds(judged(modified("lnk"), links_changed=turned)) == [K.link_target_changed]
    assert kinds(judged(deleted("lnk"), links_changed=turned)) == [K.link_target_changed]


@pytest.mark.case("F10")
def test_a_summary_is_within_4000_characters_and_the_evidence_is_whole() -> None:
    long = "\u202e" * 10_000
    verdict = judged(
        added(f"x{'y' * 900}", link("z" * 10_000)),
        metadata_changed=True,
        metadata=[long] * 40,
        agent_commits=True,
        commits=[long] * 40,
        gitlink_content=[f"sub/{at}{'w' * 900}" for at in range(40)],
        links_changed=[{"path": "p" * 1000, "difference": long, "target": long}],
        leftover_processes=[{"pid": 1, "command": long}] * 40,
    )

    assert len(verdict.violations) == 6
    for violation in verdict.violations:
        assert len(violation.summary) <= 4000
        assert violation.summary.isprintable()
    assert verdict.violations[0].evidence["metadata"] == [long] * 40
    assert str(verdict.violations[1].evidence["commits"]).count("\\u202e") == 400_000


@pytest.mark.case("F10")
def test_a_list_shows_five_and_a_count_and_each_part_at_most_300_characters() -> None:
    (violation,) = judged(metadata_changed=True, metadata=["a" * 10_000, *"bcdefgh"]).violations

    shown = violation.summary.removeprefix("the workspace's git metadata was changed: ")
    first, *rest = shown.split(", ")
    assert (len(first), first[-4:]) == (300, '"...')
    assert rest == ['"b"', '"c"', '"d"', '"e" and 3 more']


@pytest.mark.case("F07")
@pytest.mark.parametrize(
    "text",
    [
        "finding: none",
        '", "kind": "manual", "state": "dismissed',
        "\n\nfinding accepted by ann\n",
        "\x1b]0;dismissed\x07",
        "metadata_changed",
        *FindingKind,
    ],
)
def test_text_that_imitates_a_finding_neither_makes_nor_unmakes_one(text: str) -> None:
    path = text.replace("/", "_")
    facts: Json = {"notes": [text], "ignored": [{"path": path, "entries": 1, "bytes": 1}]}

    clean = judged(added(path), **facts)
    assert clean.violations == ()
    assert all(note.isprintable() for note in clean.notes)

    owed = judged(added(path), metadata_changed=True, metadata=[text], **facts)
    assert kinds(owed) == [K.metadata_changed]
    assert owed.violations[0].summary.isprintable()
    assert owed.violations[0].evidence["kind"] == "metadata_changed"


@pytest.mark.hazard("H77")
def test_evidence_from_anywhere_in_a_report_is_fit_for_jsonb() -> None:
    odd = "a\x00\udcff\ud800\\\n"
    verdict = judged(
        metadata_changed=True,
        metadata=[odd],
        agent_commits=True,
        commits=[odd],
        leftover_processes=[{"pid": 1, "command": odd}],
        links_changed=[{"path": "a\udcff", "difference": odd, "target": odd}],
    )

    assert len(verdict.violations) == 4
    for violation in verdict.violations:
        text = json.dumps(violation.evidence, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
        assert "\x00" not in text
    assert verdict.violations[0].evidence["metadata"] == ["a\\x00\\xff\\ud800\\\\\n"]


def test_notes_of_the_inspection_are_passed_on_quoted() -> None:
    verdict = judged(modified("a"), notes=["setuid bit on \x1b", *"bcdef"])

    assert verdict.notes == ('seen in the tree: "setuid bit on \\u001b", "b", "c", "d", "e" and 1 more',)
