import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.plan_files.reading import LARGEST, TEMPLATE, PlanFile, load_plan, read_plan
from statemachine.plans import Item, Operation, OperationKind, PlanInvalid, plan_to_document, validate
from statemachine.refusals import NotFound, Refusal

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
CLEAN = """\
title: Retry failed uploads
base: main
items:
  - id: P1
    title: Retry with back-off
    files:
      - edit: src/upload.py
"""
CLEAN_JSON = """\
{
  "title": "Retry failed uploads",
  "base": "main",
  "items": [
    {"id": "P1", "title": "Retry with back-off", "files": [{"edit": "src/upload.py"}]}
  ]
}
"""


def read(text: str | bytes, name: str = "plan.yaml") -> PlanFile:
    return read_plan(text.encode() if isinstance(text, str) else text, name=name)


def problems(text: str | bytes, name: str = "plan.yaml") -> list[tuple[int | None, int | None, str, str]]:
    with pytest.raises(PlanInvalid) as refused:
        read(text, name)
    found = refused.value.problems
    assert refused.value.code == "plan_invalid"
    assert all(problem.hint for problem in found)
    assert refused.value.facts["line"] == found[0].line
    assert json.dumps(refused.value.facts, allow_nan=False)
    return [(problem.line, problem.column, problem.field, problem.message) for problem in found]


# ---------------------------------------------------------------- what is read


def test_yaml_and_json_say_the_same_plan() -> None:
    assert read(CLEAN).plan == read(CLEAN_JSON, "plan.json").plan


def test_json_is_known_by_its_name_or_by_its_first_character() -> None:
    assert read(CLEAN_JSON, "plan").plan == read("\n  " + CLEAN_JSON).plan == read(CLEAN_JSON, "plan.json").plan
    assert problems(CLEAN, "plan.json")[0][3] == '"title" is no JSON value'


def test_the_example_of_the_format_is_read_whole() -> None:
    text = """\
title: Retry failed uploads
base: main                # branch, tag or commit of the repository; resolved to an id at add
target: main              # where a merge goes
agent: claude             # name of an agent, or a command
approval: none            # or: before
fixed_if: pytest -q tests/test_upload.py
budget: 2h
checks:
  - pytest -q
items:
  - id: P1
    title: Retry with back-off
    intent: |
      Wrap upload() and
      retry.
    files:
      - edit: src/upload.py
      - add: tests/test_upload_retry.py
    time_limit: 10m
  - id: P2
    title: Document it
    depends_on: [P1]
    files:
      - edit: docs/upload.md
"""

    document = plan_to_document(read(text).plan)

    assert document["fixed_if"] == "pytest -q tests/test_upload.py"
    assert document["items"] == [
        {
            "id": "P1",
            "title": "Retry with back-off",
            "intent": "Wrap upload() and\nretry.\n",
            "files": [{"edit": "src/upload.py"}, {"add": "tests/test_upload_retry.py"}],
            "time_limit": "10m",
        },
        {"id": "P2", "title": "Document it", "files": [{"edit": "docs/upload.md"}], "depends_on": ["P1"]},
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_a_plan(path: Path) -> None:
    assert load_plan(path).plan.items


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_the_template_is_a_plan_as_it_stands_and_with_everything_uncommented() -> None:
    lines = [line.replace("# ", "", 1) if _is_code(line) else line for line in TEMPLATE.splitlines()]
    whole = read("\n".join(lines)).plan

    plain = read(TEMPLATE).plan

    assert len(plain.items) == 1
    assert (whole.agent, whole.checks, whole.items[0].retries) == ("claude", ("pytest -q",), 1)
    assert [item.id for item in whole.items] == ["P1", "P2"]
    assert {operation.kind for operation in whole.items[0].operations} == set(OperationKind)


def _is_code(line: str) -> bool:
    """Tell a commented line of a plan from prose: prose starts with a capital letter or has no field."""
    words = line.lstrip().removeprefix("# ").lstrip(" -")
    return line.lstrip().startswith("# ") and words[:1].islower() and (":" in words.split()[0] or words == "pytest -q")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("1.2.3", "1.2.3"),
        ("2024-01-02", "2024-01-02"),
        ("12:30:45", "12:30:45"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("'~'", "~"),
        ("1_000", "1_000"),
        ("caf\u00e9", "caf\u00e9"),
        (">\n      one\n      two", "one two\n"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_text_is_what_was_written_as_yaml_1_2_has_it(written: str, title: str) -> None:
    text = CLEAN.replace("title: Retry with", f"intent: {written}\n    title: Retry with")

    assert read(text).plan.items[0].intent == title


@pytest.mark.parametrize(
    "written", ["5", "-5", "1.5", "1e3", "0x1f", "0o17", ".inf", ".nan", "true", "~", "", "9" * 400]
)
def test_what_yaml_takes_for_something_else_than_text_is_not_turned_into_text(written: str) -> None:
    ((line, column, field, message),) = problems(CLEAN.replace("main", written))

    assert (line, column, field) == (2, 1, "base")
    assert message.startswith("wants text, found ")


def test_windows_line_ends_and_a_byte_order_mark_are_fine() -> None:
    assert read(b"\xef\xbb\xbf" + CLEAN.replace("\n", "\r\n").encode()).plan == read(CLEAN).plan
    assert read(b"\xef\xbb\xbf" + CLEAN_JSON.replace("\n", "\r\n").encode()).plan == read(CLEAN).plan


# ---------------------------------------------------------------- what the text may not have


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (CLEAN.replace("main", "&here main"), (2, 7, "base", "has an anchor")),
        (CLEAN.replace("items:", "items: &here"), (3, 8, "items", "has an anchor")),
        (CLEAN.replace("main", "*here"), (2, 7, "base", "is an alias")),
        (CLEAN.replace("main", "!!str main"), (2, 7, "base", "has a tag")),
        (CLEAN.replace("main", "! main"), (2, 7, "base", "has a tag")),
        (CLEAN.replace("main", "!!python/object/apply:os.system ['true']"), (2, 7, "base", "has a tag")),
        (CLEAN.replace("title: Retry f", "!x title: Retry f"), (1, 1, "", "has a tag")),
        (CLEAN + "base: other\n", (8, 1, "base", "is written twice")),
        (CLEAN + "    title: again\n", (8, 5, "items[0].title", "is written twice")),
        (CLEAN + "---\nmore: x\n", (8, 1, "", "holds a second document")),
        (CLEAN + "...\n---\n", (9, 1, "", "holds a second document")),
        ("%YAML 1.1\n---\n" + CLEAN, (2, 1, "", "has a `%` directive")),
        ("%TAG ! tag:x,2000:\n---\n" + CLEAN, (2, 1, "", "has a `%` directive")),
        (CLEAN + "? [a, b]\n: c\n", (8, 3, '["?"]', "is no field name")),
        (CLEAN + "<<: {title: x}\n", (8, 1, '["<<"]', "is not a field here")),
        (CLEAN + "titel: x\n", (8, 1, "titel", "is not a field here")),
        (CLEAN + "1: x\n", (8, 1, "1", "is not a field here")),
        (
            CLEAN + "      - edit: /etc/passwd\n",
            (8, 9, "items[0].files[1].edit", "is not a plain path inside the repository"),
        ),
    ],
)
def test_yaml_that_no_plan_needs_is_refused_with_its_place(text: str, place: tuple[int, int, str, str]) -> None:
    ((line, column, field, message),) = problems(text)

    assert (line, column, field) == place[:3]
    assert message.startswith(place[3])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"title": 1,\n "title": 2}', (2, 2, "title", "is written twice")),
        ('{"title": NaN}', (1, 11, "title", '"NaN" is no JSON value')),
        ('{"title": -Infinity}', (1, 11, "title", '"-Infinity" is no JSON value')),
        ('{"title": True}', (1, 11, "title", '"True" is no JSON value')),
        ('{"title": 01}', (1, 11, "title", '"0" is no JSON value')),
        ('{"title": 1.}', (1, 11, "title", '"1" is no JSON value')),
        ('{"title": +1}', (1, 11, "title", '"+" is no JSON value')),
        ("{\"title\": 'x'}", (1, 11, "title", '"\'" is no JSON value')),
        ('{"title": "x",}', (1, 15, "", "a text in double quotes is wanted here")),
        ('{"items": [1,]}', (1, 14, "items[1]", '"]" is no JSON value')),
        ('{"title" "x"}', (1, 10, "title", "`:` is wanted here")),
        ('{"title": "x" "base": 1}', (1, 15, "title", "`,` is wanted here")),
        ('{"title": "x"', (1, 14, "title", "`,` is wanted here")),
        ('{"title":', (1, 10, "title", "text ends early")),
        ('{"title": "x', (1, 11, "title", "a text in double quotes is wanted here")),
        ('{"title": "a\nb"}', (1, 11, "title", "a text in double quotes is wanted here")),
        ('{"title": "\\x41"}', (1, 11, "title", "a text in double quotes is wanted here")),
        ('{title: "x"}', (1, 2, "", "a text in double quotes is wanted here")),
        ("{} {}", (1, 4, "", "the document goes on after its end")),
        ("{} // x", (1, 4, "", "the document goes on after its end")),
        ("{,}", (1, 2, "", "a text in double quotes is wanted here")),
    ],
)
def test_json_is_read_to_the_letter(text: str, place: tuple[int, int, str, str]) -> None:
    found = problems(text, "plan.json")

    line, column, field, message = next(each for each in found if each[3].startswith(place[3]))
    assert (line, column, field, message[: len(place[3])]) == place


def test_json_text_may_not_hide_what_a_database_cannot_store() -> None:
    for escaped in ("\\u0000", "\\ud800"):
        found = problems(CLEAN_JSON.replace("back-off", escaped))
        assert [(line, field) for line, _, field, _ in found] == [(5, "items[0].title")]


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c",
        "a: [1",
        "a: {x: 1",
        '"a',
        "a: 'x",
        "\tx: 1",
        "- a\nb: c",
        "a: |x",
        "a: @b",
        "a: `b",
        "a: %b",
    ],
)
def test_what_is_not_yaml_says_where(text: str) -> None:
    ((line, _, _, message),) = problems("title: x\n" + text)

    assert line is not None
    assert line >= 2
    assert message.startswith("is not YAML: ")


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "~", "null"])
@pytest.mark.parametrize("name", ["plan.yaml"])
def test_an_empty_plan_is_called_empty(text: str, name: str) -> None:
    assert [message for *_, message in problems(text, name)] == ["is empty"]


@pytest.mark.parametrize("text", ["hello", "5", "[]", "- a", "true"])
def test_what_is_no_mapping_is_no_plan(text: str) -> None:
    assert problems(text)[0][3].startswith("wants fields with values, found ")


@pytest.mark.parametrize("depth", [51, 1000, 100_000])
@pytest.mark.parametrize(
    ("opening", "name"), [("[", "plan.yaml"), ("{a: ", "plan.yaml"), ("[", "p.json"), ('{"a":', "p.json")]
)
def test_what_is_nested_too_deep_is_refused_before_it_costs_anything(opening: str, name: str, depth: int) -> None:
    found = problems(("x: " if name == "plan.yaml" else "") + opening * depth, name)

    assert "is nested more than 50 deep" in [message for *_, message in found]


def test_fifty_levels_are_read() -> None:
    deep = "[" * 49 + "]" * 49

    assert [message for *_, message in problems(CLEAN + f"x: {deep}\n")] == ["is not a field here"]
    assert [message for *_, message in problems(CLEAN + f"x: [{deep}]\n")] == ["is nested more than 50 deep"]


def test_a_bomb_of_aliases_is_never_unfolded() -> None:
    layers = [f"  - &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 30)]
    found = problems("title: &a0 x\nbase: main\nitems:\n" + "\n".join(layers))

    assert {message for *_, message in found} >= {"has an anchor", "is an alias"}


def test_a_plan_of_exactly_one_mebibyte_is_read_and_one_byte_more_is_not() -> None:
    room = LARGEST - len(CLEAN.encode())
    largest = CLEAN + "#" * room

    assert read(largest).plan == read(CLEAN).plan
    assert [message for *_, message in problems(largest + "#")] == ["is larger than 1 MiB"]


def test_bytes_that_are_not_utf_8_are_named_with_their_place() -> None:
    assert problems(b"title: caf\xc3\xa9\nbase: \xe9t\xe9\n") == [(2, 7, "", "is not UTF-8: byte 0xe9")]
    assert problems(CLEAN.encode("utf-16"))[0][3] == "is not UTF-8: byte 0xff"


@pytest.mark.parametrize("name", ["plan.yaml", "plan.json"])
def test_control_characters_are_named_with_their_places(name: str) -> None:
    text = "title: a\x00b\nbase: \x1b[31mmain\x7f\n\x85\u202efine\n\x9b"

    assert [(line, column, message[-6:]) for line, column, _, message in problems(text, name)] == [
        (1, 9, "U+0000"),
        (2, 7, "U+001B"),
        (2, 16, "U+007F"),
        (4, 1, "U+009B"),
    ]


def test_an_escape_in_quotes_brings_no_control_character_in() -> None:
    ((line, _, field, message),) = problems(CLEAN.replace("Retry failed uploads", '"Retry \\e[31m"'))

    assert (line, field, message) == (1, "title", "holds a control character")


@pytest.mark.case("C02")
def test_all_problems_come_at_once_in_the_order_of_the_file_each_with_a_next_step() -> None:
    text = """\
titel: Retry
base: &b main
items:
  - id: P1
    title: !!str Retry
    files:
      - edit: ../secret
      - ad: new.py
    time_limit: soon
  - id: P1
    title: Again
    depends_on: [P9]
    files: []
"""

    found = problems(text)

    assert [(line, field) for line, _, field, _ in found] == [
        (1, "titel"),
        (1, ""),
        (2, "base"),
        (5, "items[0].title"),
        (7, "items[0].files[0].edit"),
        (8, "items[0].files[1].ad"),
        (8, "items[0].files[1]"),
        (9, "items[0].time_limit"),
        (10, "items[1].id"),
        (12, "items[1].depends_on[0]"),
        (13, "items[1].files"),
    ]


def test_a_file_full_of_mistakes_is_given_up_on_after_a_thousand() -> None:
    with pytest.raises(PlanInvalid) as refused:
        read("x: &a\n" + "".join(f"k{at}: *a\n" for at in range(50_000)))

    assert refused.value.facts["count"] == 1000
    assert len(str(refused.value).splitlines()) < 30


def test_limits_do_not_apply_to_items_as_a_reviewer_granted_them() -> None:
    files = "".join(f"      - edit: f{at}\n" for at in range(41))
    text = CLEAN.replace("      - edit: src/upload.py\n", files)
    item = Item(
        id="P1",
        title="Retry with back-off",
        intent="",
        operations=tuple(Operation(kind=OperationKind.edit, path=f"f{at}") for at in range(41)),
    )

    assert problems(text) == [(6, 5, "items[0].files", "has 41 operations")]
    assert read_plan(text.encode(), granted=[item]).plan.items == (item,)


# ---------------------------------------------------------------- on a tree, and from a disk


def test_a_problem_on_the_tree_has_its_line() -> None:
    file = read(CLEAN + "      - add: README.md\n")

    with pytest.raises(PlanInvalid) as refused:
        validate(file.plan, {"README.md": "100644"})
    found = [file.outline.located(problem) for problem in refused.value.problems]

    assert [(problem.line, problem.column, problem.field) for problem in found] == [
        (7, 9, "items[0].files[0].edit"),
        (8, 9, "items[0].files[1].add"),
    ]


def test_a_plan_is_loaded_from_a_file_and_its_name_is_in_the_refusal(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(CLEAN, encoding="utf-8")
    bad.write_text("title: x", encoding="utf-8")

    assert load_plan(good).plan.title == "Retry failed uploads"
    with pytest.raises(PlanInvalid, match=r"bad\.yaml"):
        load_plan(bad)


def test_a_file_that_is_not_there_or_cannot_be_read_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        load_plan(tmp_path / "none.yaml")
    with pytest.raises(Refusal) as folder:
        load_plan(tmp_path)

    assert (missing.value.code, folder.value.code) == ("plan_not_found", "plan_unreadable")
    assert missing.value.hint
    assert folder.value.hint


# ---------------------------------------------------------------- whatever it is

soup = st.text(st.sampled_from("title:base items-[]{}&*!|>'\"%#,?@`\n \t\\0x1~<=\u00e9\u2028"), max_size=80)


@patiently
@given(soup, st.sampled_from(["p.yaml", "p.json"]), st.booleans())
def test_no_text_whatsoever_is_anything_but_a_plan_or_a_refusal(text: str, name: str, after: bool) -> None:  # noqa: FBT001
    _plan_or_refusal((CLEAN + text if after else text).encode(), name)


@patiently
@given(st.binary(max_size=60), st.sampled_from(["p.yaml", "p.json"]))
def test_no_bytes_whatsoever_are_anything_but_a_plan_or_a_refusal(data: bytes, name: str) -> None:
    _plan_or_refusal(data, name)


def _plan_or_refusal(data: bytes, name: str) -> None:
    try:
        read_plan(data, name=name)
    except PlanInvalid as refused:
        _placed(refused)


def _placed(refused: PlanInvalid) -> None:
    assert refused.hint
    assert json.dumps(refused.facts, allow_nan=False)
    assert all(problem.message for problem in refused.problems)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@patiently
@given(st.dictionaries(st.text(), json_values, min_size=1), st.sampled_from([None, 2]))
def test_json_is_read_as_the_standard_library_reads_it(document: dict[str, Any], indent: int | None) -> None:
    from cli.plan_files.from_json import outline_json  # noqa: PLC0415 - the strict reader alone

    outline = outline_json(json.dumps(document, indent=indent))

    assert outline.document == document
    assert outline.problems == []
