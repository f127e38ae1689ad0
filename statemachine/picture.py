"""Draw every lifecycle for the documentation: `python -m statemachine.picture [--write]`."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from statemachine.lifecycles import NOUNS, Lifecycle
from statemachine.tasks import CLOSED, RULES, Rule, TaskEvent

BEGIN: Final = "<!-- picture: begin; written by `make diagram` -->"
END: Final = "<!-- picture: end -->"
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "lifecycle.md"

E = TaskEvent

# All edges in one picture are a hedge; these four can be read.
CHAPTERS: Final[dict[str, frozenset[TaskEvent]]] = {
    "Task: the work": frozenset(
        {E.add, E.claim, E.take_over, E.settle, E.release, E.requeue, E.submit}
        | {E.await_approval, E.approve_start, E.suspect_fixed, E.continue_anyway}
        | {E.pause, E.approve_continuation}
    ),
    "Task: what a person must look at": frozenset(
        {E.hit_limit, E.halt, E.give_up, E.retry, E.resume_pause, E.accept_result, E.discard_item}
    ),
    "Task: review and merge": frozenset(
        {E.approve, E.request_changes, E.amend, E.recheck, E.lapse_approval}
        | {E.begin_merge, E.confirm_merge, E.fail_merge}
    ),
    "Task: from almost anywhere": frozenset({E.raise_finding, E.cancel}),
}

Arrow = tuple[str, str, str]


def picture() -> str:
    """Give the whole generated part of the page, markers included."""
    parts = [BEGIN, "", "### Task: every event", "", *_table(), ""]
    for title, events in CHAPTERS.items():
        rules = [rule for rule in RULES if rule.event in events]
        parts += [f"### {title}", "", *_diagram(_arrows(rules), CLOSED), ""]
    for life in NOUNS:
        parts += [f"### {life.noun.capitalize()}", "", *_diagram(_bare(life), _ends(life)), ""]
    return "\n".join([*parts, END])


def page(text: str) -> str:
    """Put the current picture between the markers of a page."""
    before, rest = text.split(BEGIN, 1)
    return before + picture() + rest.split(END, 1)[1]


def _table() -> Iterator[str]:
    yield "| event | from | to | who | gate opened | only when |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for rule in RULES:
        sources = ", ".join(f"`{source}`" for source in rule.sources if source) or "the beginning"
        gate = rule.gate.value if rule.gate else ""
        when = rule.when.replace("_", " ")
        yield f"| `{rule.event}` | {sources} | `{rule.dest}` | {', '.join(rule.who)} | {gate} | {when} |"


def _arrows(rules: Iterable[Rule]) -> Iterator[Arrow]:
    """Name each edge by its event, and by its question where that decides between two destinations."""
    edges = [(rule, source) for rule in rules for source in rule.sources]
    ways = Counter((rule.event, source) for rule, source in edges)
    for rule, source in edges:
        chosen = rule.when and ways[rule.event, source] > 1
        yield str(source), rule.dest.value, f"{rule.event} [{rule.when}]" if chosen else rule.event.value


def _bare(life: Lifecycle) -> Iterator[Arrow]:
    yield from ((source, dest, "") for source, dest in life.edges)


def _ends(life: Lifecycle) -> frozenset[str]:
    return frozenset(life.states) - {source for source, _ in life.edges}


def _diagram(arrows: Iterable[Arrow], ends: Iterable[str]) -> Iterator[str]:
    """Draw one line for each pair of states, its events side by side."""
    labels: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for source, dest, label in arrows:
        labels[source, dest].append(label)
    reached = {dest for _, dest in labels}
    yield "```mermaid"
    yield "stateDiagram-v2"
    for (source, dest), names in labels.items():
        yield f"  {source or '[*]'} --> {dest}" + (f" : {' / '.join(names)}" if any(names) else "")
    yield from (f"  {end} --> [*]" for end in sorted(reached.intersection(ends)))
    yield "```"


def main(arguments: list[str]) -> None:
    """Print the picture, or write it into the page."""
    if arguments == ["--write"]:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(picture() + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
