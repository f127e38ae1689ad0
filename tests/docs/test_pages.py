"""Everything the pages say that can be compared, compared."""

import dataclasses
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import COMMANDS, Entry, Family
from cli.frame.exits import MEANINGS
from cli.frame.settings import FIELDS
from cli.plan_files.reading import TEMPLATE, read_plan
from cli.reference import PAGE, page_with, reference
from statemachine.plans import Item, Plan, PlanInvalid

HOUSE = Path(__file__).parents[2]
PAGES = sorted([*HOUSE.glob("*.md"), *HOUSE.glob("docs/**/*.md"), *HOUSE.glob("examples/**/*.md")])
NAMES = [str(page.relative_to(HOUSE)) for page in PAGES]
ON_THE_COMMAND_LINE = {
    f"{entry.name} {verb.name}" for entry in COMMANDS if isinstance(entry, Family) for verb in entry.entries
}
ON_THE_COMMAND_LINE |= {entry.name for entry in COMMANDS if isinstance(entry, Entry)}
FAMILIES = {entry.name for entry in COMMANDS if isinstance(entry, Family)}


def text(name: str) -> str:
    return (HOUSE / name).read_text(encoding="utf-8")


def table(page: str, header: str) -> list[list[str]]:
    """Read the rows of the one table that begins with this header."""
    rows = text(page).split(f"| {header} ")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def fences(page: str, language: str) -> list[str]:
    """Find the code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)


def commands(page: str) -> Iterator[str]:
    """Find everything on a page that looks like a command line of ours, in blocks and in running text."""
    shell = [line.split("#")[0] for block in fences(page, "sh") + fences(page, "yaml") for line in block.splitlines()]
    inline = re.findall(r"`([^`\n]+)`", text(page))
    for line in [*shell, *inline]:
        yield from re.findall(r"(?<![\w./-])tasks ([a-z][a-z-]*(?: [a-z][a-z-]*)?)(?![\w(])", line)


def anchors(page: Path) -> set[str]:
    """Name the places of a page that a link may lead to."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_exit_codes_are_the_table_of_the_code() -> None:
    assert table("docs/exit-codes.md", "code") == [[str(int(code)), meaning] for code, meaning in MEANINGS.items()]


def test_the_settings_are_the_table_of_the_code() -> None:
    written = table("docs/configuration.md", "setting")

    assert [(row[0], row[1].split(",")[0], row[3]) for row in written] == [
        (f"`{field.name}`", f"`TASKS_{field.name.upper()}`", field.meaning) for field in FIELDS
    ]


def test_the_command_reference_is_what_the_commands_say() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == page_with(page, reference()), "run: make reference"


def test_every_command_of_the_table_is_in_the_reference() -> None:
    headings = set(re.findall(r"^#{3,4} tasks (.+)$", text("docs/cli.md"), re.MULTILINE))

    assert headings == ON_THE_COMMAND_LINE | FAMILIES


@pytest.mark.parametrize("page", NAMES)
def test_a_page_names_only_commands_there_are(page: str) -> None:
    for found in commands(page):
        first = found.split()[0]
        known = (
            found in ON_THE_COMMAND_LINE
            if first in FAMILIES and " " in found
            else first in ON_THE_COMMAND_LINE | FAMILIES
        )
        assert known, f"tasks {found}"


@pytest.mark.parametrize("page", NAMES)
def test_a_page_names_only_targets_of_make_there_are(page: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE))
    shown = [line.split("#")[0] for block in fences(page, "sh") for line in block.splitlines()]
    shown += re.findall(r"`([^`\n]+)`", text(page))

    named = {found for line in shown for found in re.findall(r"^make ([a-z]+)", line)}

    assert named <= targets


@pytest.mark.parametrize("page", NAMES)
def test_every_link_leads_somewhere(page: str) -> None:
    here = HOUSE / page

    for target in re.findall(r"\]\(([^)]+)\)", here.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        there = (here.parent / path).resolve() if path else here
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_every_page_can_be_found_from_the_first() -> None:
    found, queue = set(), [HOUSE / "README.md"]
    while queue:
        page = queue.pop()
        if page in found:
            continue
        found.add(page)
        links = re.findall(r"\]\(([^)#]+\.md)", page.read_text(encoding="utf-8"))
        queue += [(page.parent / link).resolve() for link in links]

    assert {page for page in PAGES if "docs" in page.parts} <= found


def test_every_decision_is_in_the_index() -> None:
    linked = set(re.findall(r"\((\d{4}-[a-z0-9-]+\.md)\)", text("docs/decisions/README.md")))

    assert linked == {page.name for page in (HOUSE / "docs/decisions").glob("0*.md")}


def test_the_example_of_a_plan_is_a_plan() -> None:
    (example,) = fences("docs/plan-file.md", "yaml")

    plan = read_plan(example.encode()).plan

    assert [item.id for item in plan.items] == ["P1", "P2"]
    assert (plan.check_retries, plan.items[0].retries) == (1, 2)


def fields(section: str) -> dict[str, str]:
    """Read one table of the page on plans: field to what holds without it."""
    rows = text("docs/plan-file.md").split(f"## {section}\n\n")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name.strip("`"): absent for name, _, absent in cells}


def test_the_page_on_plans_knows_every_field_and_no_other() -> None:
    plan = {field.name for field in dataclasses.fields(Plan)}
    item = {field.name for field in dataclasses.fields(Item)}

    assert set(fields("The plan")) == plan
    assert set(fields("An item")) == (item - {"kind", "operations"}) | {"files"}


@pytest.mark.parametrize("section", ["The plan", "An item"])
def test_the_page_on_plans_says_what_is_required(section: str) -> None:
    item = {"id": "P1", "title": "x", "files": [{"edit": "x"}]}
    plan = {"title": "x", "base": "main", "items": [item]}
    required = {name for name, absent in fields(section).items() if absent == "required"}

    assert read_plan(json.dumps(plan).encode())
    assert required == set(plan if section == "The plan" else item)
    for name in required:
        less = {key: value for key, value in (plan if section == "The plan" else item).items() if key != name}
        document = less if section == "The plan" else {**plan, "items": [less]}
        with pytest.raises(PlanInvalid):
            read_plan(json.dumps(document).encode())


def test_the_plan_that_is_written_for_people_is_a_plan() -> None:
    assert read_plan(TEMPLATE.encode()).plan.items


def test_a_file_that_a_page_shows_is_that_file() -> None:
    shown = re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", text("docs/recovery.md"), re.MULTILINE | re.DOTALL)

    assert [name for name, _ in shown] == ["examples/weighlock.service"]
    assert all(text(name) == content for name, content in shown)


def test_the_example_of_a_configuration_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cli.frame.configuration import load  # noqa: PLC0415 - beside its one use

    (example,) = fences("docs/configuration.md", "toml")
    file = tmp_path / "config.toml"
    file.write_text(example)
    monkeypatch.setenv("TASKS_CONFIG", str(file))

    settings = load({}).settings

    assert settings.slots == 2
    assert set(settings.agents) == {"claude", "fixer"}


@pytest.mark.parametrize("file", ["examples/weighlock.service", "docker-compose.yml"])
def test_a_service_recovers_before_it_works_and_starts_when_recovery_is_incomplete(file: str) -> None:
    lines = [line for line in text(file).splitlines() if not line.lstrip().startswith("#")]
    order = re.findall(r"tasks (db upgrade|recover|work)", "\n".join(lines))

    assert order == ["db upgrade", "recover", "work"]
    assert "|| test $$? -eq 10" in "\n".join(lines)


def test_a_command_in_a_block_can_be_split_as_a_shell_would() -> None:
    for page in NAMES:
        for block in fences(page, "sh"):
            assert shlex.split(block, comments=True)


def test_nothing_is_promised_about_a_transcript_that_is_not_there() -> None:
    assert "TODO" not in "".join(text(page) for page in NAMES)
