"""The page is current, and what it draws and says is what the table holds."""

import re
from collections import defaultdict
from itertools import product
from pathlib import Path

import pytest

from statemachine import admissions, landings
from statemachine.answers import ANSWERS
from statemachine.attempts import ACTIVE, AttemptState, StopReason
from statemachine.denials import ELSEWHERE, next_command
from statemachine.findings import PERMITTABLE, FindingKind
from statemachine.lifecycles import NOUNS, Lifecycle
from statemachine.picture import BEGIN, CHAPTERS, END, PAGE, page, picture
from statemachine.settlement import EndFacts, Isolation, Outcome, attempt_end
from statemachine.tasks import TaskEvent, TaskState, edges

TEXT = PAGE.read_text(encoding="utf-8")
DRAWN = TEXT[TEXT.index(BEGIN) : TEXT.index(END) + len(END)]
ARROW = re.compile(r"  (\S+) --> (\S+)(?: : (.*))?")


def rows(heading: str) -> list[list[str]]:
    """Read the first table under a heading, without its head."""
    body = TEXT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = re.search(r"(?:^\|.*\n)+", body, re.MULTILINE)
    assert table
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[0].splitlines()[2:]]


def words(cell: str) -> list[str]:
    return re.findall(r"`([a-z0-9_]+)`", cell)


def arrows(title: str) -> list[tuple[str, str, str]]:
    diagram = DRAWN.split(f"### {title}\n", 1)[1].split("```", 2)[1]
    found = [ARROW.fullmatch(line) for line in diagram.splitlines()[2:]]
    assert all(found)
    return [(match[1], match[2], match[3] or "") for match in found if match]


def test_the_page_s_pictures_are_current() -> None:
    assert picture() == DRAWN, "make diagram"


def test_drawing_again_changes_nothing_outside_the_markers() -> None:
    older = TEXT.replace(DRAWN, f"{BEGIN}\nan older picture\n{END}")

    assert page(older) == TEXT


def test_the_task_s_pictures_together_hold_every_edge_once() -> None:
    drawn = [
        (label.split(" [")[0], "" if source == "[*]" else source, dest)
        for title in CHAPTERS
        for source, dest, labels in arrows(title)
        if dest != "[*]"
        for label in labels.split(" / ")
    ]

    assert sorted(drawn) == sorted((event, source, dest) for event, source, dest, _ in edges())


def test_the_table_holds_every_edge_with_who_may() -> None:
    table = DRAWN.split("### Task: every event\n", 1)[1].split("###", 1)[0].strip().splitlines()[2:]
    held = set()

    for line in table:
        event, sources, dest, who, _, _ = (cell.strip() for cell in line.strip("|").split("|"))
        for source in words(sources) or [""]:
            held.add((event.strip("`"), source, dest.strip("`"), tuple(who.split(", "))))

    assert held == edges()


@pytest.mark.parametrize("life", NOUNS, ids=lambda life: life.noun)
def test_each_noun_s_picture_holds_its_edges(life: Lifecycle) -> None:
    drawn = {(source.replace("[*]", ""), dest) for source, dest, _ in arrows(life.noun.capitalize()) if dest != "[*]"}

    assert drawn == set(life.edges)


def test_every_state_is_explained_with_the_command_to_type() -> None:
    told = {words(state)[0]: command.strip("` ") for state, _, command in rows("Where a task can be")}

    assert told == {state.value: next_command(state) for state in TaskState}


def test_every_gate_s_answers_are_told() -> None:
    told = {words(gate)[0]: (words(yes), words(no)) for gate, yes, no in rows("What a person decides")}

    assert told == {kind.value: ([*answer.approve], [*answer.reject]) for kind, answer in ANSWERS.items()}


def test_every_end_of_an_attempt_is_told_with_its_words() -> None:
    told = {(words(end)[0], word) for _, end, said in rows("How a run of an agent ends") for word in words(said)}
    no_yes = (False, True)
    stops, layers, outcomes = (None, *StopReason), (None, *Isolation), (None, *Outcome)
    every = product(sorted(ACTIVE), stops, no_yes, no_yes, layers, no_yes, (0, 3), outcomes, no_yes, no_yes)

    ends = {
        attempt_end(
            EndFacts(
                state=state,
                reason=reason,
                context_current=context,
                policy_current=policy,
                isolation=isolation,
                isolation_first=first,
                exit_code=code,
                outcome=outcome,
                oversized=oversized,
                recovered=recovered,
            )
        )
        for state, reason, context, policy, isolation, first, code, outcome, oversized, recovered in every
        if state is AttemptState.running or outcome is None
    }

    assert told == ends


def test_every_event_that_settles_is_told_in_its_order() -> None:
    told = [words(event)[0] for _, event in rows("Where its task goes then")]

    assert told == ["cancel", "raise_finding", "pause", "hit_limit", "halt", "give_up", "release", "requeue", "settle"]


def test_every_admission_s_codes_are_told_in_their_order() -> None:
    told = {who: words(codes) for who, codes in rows("When something is refused")}

    assert told == {
        "a claim": [condition.code for condition in admissions.CLAIM],
        "the next item": [condition.code for condition in admissions.GO_ON],
        "a launch": [condition.code for condition in admissions.LAUNCH],
        "a retry": [condition.code for condition in admissions.RETRY],
        "a merge": [condition.code for condition in landings.MERGE],
        "the last look before a push": [condition.code for condition in landings.LAST_LOOK],
    }


def test_every_code_of_a_missing_edge_is_told_with_its_events() -> None:
    table = TEXT.split("answers with one of these:\n", 1)[1].split("During a merge", 1)[0]
    told = {words(line)[0]: set(words(line)[1:]) for line in table.splitlines() if line.startswith("| `")}

    events: defaultdict[str, set[str]] = defaultdict(set)
    for event in TaskEvent:
        events[ELSEWHERE[event]].add(event.value)

    assert told == events


def test_every_kind_of_finding_is_told_on_its_side() -> None:
    text = TEXT.split("A finding is `accepted`", 1)[1].split("\n## ", 1)[0]
    lasting, asked_again = text.split("The others are asked about each time", 1)

    assert {*words(lasting.split("same item and files", 1)[1])} == PERMITTABLE
    assert {*words(asked_again)} == set(FindingKind) - PERMITTABLE


def test_every_code_raised_here_is_told() -> None:
    raised = re.compile(r"Refusal\(\s*\"([a-z_]+)\"|_refusal\(\"([a-z_]+)\"")
    sources = Path(PAGE.parent.parent / "statemachine").glob("*.py")
    mine = {"denials.py", "settlement.py", "decisions.py"}

    codes = {
        code
        for path in sources
        if path.name in mine
        for pair in raised.findall(path.read_text("utf-8"))
        for code in pair
    }

    assert codes - {""} <= set(words(TEXT))
