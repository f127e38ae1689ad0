import json
import sys
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screening import Policy, judge
from tests.screening.made import (
    EVERYTHING,
    NEW_ID,
    Json,
    K,
    added,
    deleted,
    judged,
    kinds,
    link,
    modified,
    moved,
    old_side,
    report,
    side,
)

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

MISSING = object()
WHOLE = report(
    added("new.py"),
    added("lnk", link("new.py")),
    deleted("gone.py"),
    modified("mod.py"),
    moved("from.py", "to.py"),
    links_changed=[{"path": "lnk", "difference": "content", "target": "new.py"}],
    gitlink_content=["sub/x"],
    leftover_processes=[{"pid": 7, "command": "sleep 9"}],
    ignored=[{"path": "build/", "entries": 3, "bytes": 12}],
    metadata_changed=True,
    metadata=["config"],
    agent_commits=True,
    commits=["HEAD"],
    notes=["setuid: 1"],
)


def put(document: Json, place: str, value: object) -> Json:
    """Set (or remove) one field of a copy, named as a finding would name it."""
    copy = deepcopy(document)
    inside: Any = copy
    *steps, last = [
        int(step) if step.isdigit() else step for step in place.replace("[", ".").replace("]", "").split(".")
    ]
    for step in steps:
        inside = inside[step]
    if value is MISSING:
        del inside[last]
    else:
        inside[last] = value
    return copy


def malformed(manifest: object) -> str:
    verdict = judge(item=EVERYTHING, manifest=manifest, policy=Policy(), permits=frozenset())  # type: ignore[arg-type]
    assert kinds(verdict) == [K.malformed_report]
    assert (verdict.in_scope, verdict.out_of_scope, verdict.unchanged) == ((), (), False)
    return str(verdict.violations[0].evidence["field"])


def test_the_whole_example_is_well_formed() -> None:
    verdict = judge(item=EVERYTHING, manifest=WHOLE, policy=Policy(), permits=frozenset())

    assert K.malformed_report not in kinds(verdict)


FLAGS = [
    "metadata_changed",
    "agent_commits",
    *(f"changes[{at}].{name}" for at in (0, 2, 4) for name in ("ignored", "collides")),
]


@pytest.mark.case("J01")
@pytest.mark.parametrize("value", [MISSING, None, 0, 1, "", "false", "true", [], {}, 0.0])
@pytest.mark.parametrize("place", FLAGS)
def test_a_flag_that_is_not_a_boolean_never_reads_as_clean(place: str, value: object) -> None:
    assert malformed(put(WHOLE, place, value)) == place


LISTS = ["metadata", "commits", "links_changed", "gitlink_content", "leftover_processes", "ignored", "notes"]


@pytest.mark.case("J01")
@pytest.mark.parametrize("value", [MISSING, None, "", {}, 1, True])
@pytest.mark.parametrize("place", LISTS)
def test_a_list_that_is_not_one_is_named(place: str, value: object) -> None:
    assert malformed(put(WHOLE, place, value)) == place


def each(place: str, values: list[object]) -> list[tuple[str, object]]:
    return [(place, value) for value in values]


WRONG: list[tuple[str, object]] = [
    *each("version", [MISSING, None, 0, 2, True, "1", 1.0]),
    *each("base", [MISSING, None, "", "main", "B" * 40, "b" * 39, "b" * 41, "b" * 40 + "\n", 5]),
    *each("identity", [MISSING, None, "", "unknown", "Exact", True]),
    *each("changes", ["", {}, 1, True]),
    *each("metadata[0]", [None, 1, [], {}]),
    *each("commits[0]", [None, 1, [], {}]),
    *each("notes[0]", [None, 1, [], {}]),
    *each("gitlink_content[0]", [None, 1, ""]),
    *each("links_changed[0]", [None, "lnk", []]),
    *((f"links_changed[0].{name}", MISSING) for name in ("path", "difference", "target")),
    *((f"links_changed[0].{name}", 5) for name in ("path", "difference", "target")),
    *((f"leftover_processes[0].{name}", MISSING) for name in ("pid", "command")),
    *each("leftover_processes[0].pid", [True, -1, "7", 1.5, 2**63]),
    *((f"ignored[0].{name}", MISSING) for name in ("path", "entries", "bytes")),
    *each("ignored[0].entries", [True, -1, "7", None, 2**63]),
    *each("ignored[0].bytes", [True, -1, "7", None, 2**63]),
    *each("changes[0]", [None, "new.py", [], 1]),
    *((f"changes[0].{name}", MISSING) for name in ("kind", "path", "old_path", "old", "new")),
    *each("changes[0].kind", [None, "", "copy", "Add", "edit", 1]),
    *each("changes[0].path", [None, "", 1, [], "a\ud800", "a\udfff"]),
    *each("changes[4].old_path", ["", 1, [], "a\ud800"]),
    *each("changes[0].through_link", [0, 1, "false", []]),
    *each("changes[1].through_link", [0, 1, "false", []]),
    *((f"changes[0].new.{name}", MISSING) for name in ("type", "mode", "id", "size", "target")),
    *each("changes[0].new.type", [None, "", "blob", 1]),
    *each("changes[0].new.mode", [None, "", "100664", "644", 33188]),
    *each("changes[0].new.id", ["", "xyz", "A" * 40, 1]),
    *each("changes[0].new.size", [None, -1, "3", True, 1.0, 2**63]),
    *each("changes[0].new.target", [1, []]),
    ("extra", 1),
    ("changes[0].executable", True),
    ("changes[0].new.uid", 0),
]


@pytest.mark.case("J01")
@pytest.mark.parametrize(("place", "value"), WRONG)
def test_the_first_malformed_field_is_named(place: str, value: object) -> None:
    assert malformed(put(WHOLE, place, value)) == place


@pytest.mark.case("J01")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        (added("a", old_path="b"), "old_path"),
        ({**moved("a", "b"), "old_path": None}, "old_path"),
        ({**modified("a"), "old_path": "b"}, "old_path"),
        ({**added("a"), "old": old_side()}, "old"),
        ({**modified("a"), "old": None}, "old"),
        ({**moved("a", "b"), "old": None}, "old"),
        ({**added("a"), "new": None}, "new"),
        ({**deleted("a"), "new": side()}, "new"),
        ({**moved("a", "b"), "new": None}, "new"),
        (deleted("a", old_side("directory")), "old"),
        (deleted("a", old_side("special")), "old"),
        (deleted("a", old_side(id=None)), "old"),
        (added("a", side("symlink")), "new.target"),
        (added("a", side(target="b")), "new.target"),
        (added("a", side(id=None)), "new.id"),
        (added("a", link("b", id=None)), "new.id"),
        (added("a", side(mode="120000")), "new.mode"),
        (added("a", link("b", mode="100644")), "new.mode"),
        (added("a", side("gitlink", mode="040000")), "new.mode"),
        (added("a", through_link=True), "through_link"),
        (modified("a", ignored=True), "ignored"),
        (deleted("a", ignored=True), "ignored"),
        (moved("a", "b", ignored=True), "ignored"),
    ],
)
def test_a_change_that_contradicts_itself_is_named(change: Json, field: str) -> None:
    assert malformed(report(change)) == f"changes[0].{field}"


@pytest.mark.case("J01")
def test_a_list_of_differences_beside_a_flag_that_says_none_is_a_contradiction() -> None:
    assert malformed(report(metadata=["config"])) == "metadata_changed"
    assert malformed(report(commits=["HEAD"])) == "agent_commits"


@pytest.mark.case("J01")
def test_ids_of_another_object_format_than_the_bases_are_refused() -> None:
    assert malformed(report(added("a", side(id="1" * 64)))) == "changes"
    assert kinds(judged(added("a", side(id="1" * 64)), base="b" * 64)) == []


@pytest.mark.case("J01")
@pytest.mark.parametrize("manifest", [None, [], "report", 5, True])
def test_what_is_no_report_is_malformed(manifest: object) -> None:
    assert malformed(manifest) == "report"


@pytest.mark.case("J01")
def test_an_ignored_entry_was_not_read_and_needs_no_id() -> None:
    verdict = judged(added("cache/x", side(id=None), ignored=True))

    assert verdict.violations == ()
    assert verdict.unchanged


@pytest.mark.case("J01")
def test_the_summary_names_the_field_and_quotes_what_was_found() -> None:
    (violation,) = judged({**added("a"), "kind": "\x1b[31m" + "x" * 9000}).violations

    assert violation.summary.startswith("the report cannot be trusted: changes[0].kind is ")
    assert "\x1b" not in violation.summary
    assert len(violation.summary) < 400


# ---------------------------------------------------------------- how much


@pytest.mark.case("J11")
@pytest.mark.parametrize("manifest", [{}, {"changes": None}, {"version": 9, "changes": None}])
def test_a_missing_list_of_changes_is_too_many(manifest: Json) -> None:
    verdict = judge(item=EVERYTHING, manifest=manifest, policy=Policy(), permits=frozenset())

    assert kinds(verdict) == [K.too_many_changes]
    assert verdict.violations[0].evidence["count"] is None


@pytest.mark.case("J11")
def test_ten_thousand_changes_are_judged_and_one_more_is_not() -> None:
    changes = [added(f"f{at}") for at in range(10_000)]

    assert len(judged(*changes).in_scope) == 10_000

    verdict = judged(*changes, added("one more"))
    assert kinds(verdict) == [K.too_many_changes]
    assert verdict.violations[0].evidence["count"] == 10_001
    assert (verdict.in_scope, verdict.out_of_scope, verdict.unchanged) == ((), (), False)


@pytest.mark.case("J11")
def test_too_many_changes_come_before_every_other_fault() -> None:
    assert kinds(judged(*[{}] * 10_001, version=5, metadata_changed=True)) == [K.too_many_changes]


@pytest.mark.case("J11")
def test_what_is_ignored_is_not_counted() -> None:
    verdict = judged(*(added(f"c/{at}", side(id=None), ignored=True) for at in range(10_001)), added("x"))

    assert verdict.violations == ()
    assert len(verdict.in_scope) == 1


@pytest.mark.case("J11")
def test_480_kib_of_paths_are_judged_and_one_byte_more_is_malformed() -> None:
    paths = [f"{at:03}" + "\u00e9" * 510 + "x" for at in range(480)]
    assert {len(path.encode()) for path in paths} == {1024}

    assert kinds(judged(*map(added, paths))) == []
    assert malformed(report(*map(added, [*paths[1:], paths[0] + "x"]))) == "changes"


@pytest.mark.case("J11")
def test_both_paths_of_a_rename_count_and_bytes_that_are_not_utf_8_count_one_each() -> None:
    names = [f"{at:04}" + "\udcff" * 1020 for at in range(480)]
    moves = [moved(old, new) for old, new in zip(names[::2], names[1::2], strict=True)]

    assert kinds(judged(*moves)) == []
    assert malformed(report(*moves, added("x"))) == "changes"


# ---------------------------------------------------------------- whatever it is

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from([NEW_ID, "file"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(list(WHOLE)), inner)
    ),
    max_leaves=12,
)
places = st.sampled_from(
    [*WHOLE, *(f"changes[{at}].{name}" for at in range(5) for name in WHOLE["changes"][0]), "changes[1].new.target"]
)


def safe(manifest: object) -> None:
    """Every judgement ends in evidence that jsonb takes, and what is in doubt is never clean."""
    verdict = judge(item=EVERYTHING, manifest=manifest, policy=Policy(), permits=frozenset())  # type: ignore[arg-type]
    for violation in verdict.violations:
        text = json.dumps([violation.evidence, violation.paths], allow_nan=False)
        assert "\\u0000" not in text.replace("\\\\", "")
        assert not any(0xD800 <= ord(letter) <= 0xDFFF for letter in violation.summary)
        json.dumps(violation.evidence, ensure_ascii=False).encode()
        assert 0 < len(violation.summary) <= 4000
        assert len(violation.summary.splitlines()) == 1
    assert not (verdict.violations and (verdict.in_scope or verdict.out_of_scope or verdict.unchanged))


@patiently
@given(json_values)
def test_no_json_whatsoever_makes_the_judge_raise_or_pass_it(anything: object) -> None:
    safe(anything)

    verdict = judge(item=EVERYTHING, manifest=anything, policy=Policy(), permits=frozenset())  # type: ignore[arg-type]
    assert verdict.violations


@patiently
@given(places, json_values)
def test_no_value_in_any_field_makes_the_judge_raise(place: str, value: object) -> None:
    safe(put(WHOLE, place, value))


@patiently
@given(st.sampled_from(FLAGS), json_values.filter(lambda value: not isinstance(value, bool)))
def test_no_value_but_a_boolean_is_ever_taken_for_one(place: str, value: object) -> None:
    assert malformed(put(WHOLE, place, value)) == place


def test_a_report_nested_beyond_reason_is_refused_like_any_other() -> None:
    deep: object = []
    for _ in range(sys.getrecursionlimit() * 3):
        deep = [deep]

    assert malformed(put(WHOLE, "changes[0].new.target", deep)) == "changes[0].new.target"


@patiently
@given(st.text(min_size=1).filter(lambda name: name not in WHOLE))
def test_an_unknown_field_is_refused_whatever_it_is_called(name: str) -> None:
    malformed(WHOLE | {name: 1})
