"""The page a reviewer decides by: why the gate opened, what was seen, the diff, and what each answer does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cli.frame import streams
from cli.frame.context import Context
from cli.frame.identifiers import Noun, Number, Prefix, short
from cli.frame.lookup import gate_named
from cli.frame.screen import Screen, printable, when
from cli.pages import nouns
from cli.pages.advice import Choice, approvals, next_steps, rejections
from cli.pages.diffs import as_text, readable, wants_colour
from cli.pages.finding import evidence
from cli.pages.portraits import owed, portrait
from cli.pages.schemas import PageDocument
from cli.pages.views import View, look
from statemachine.attempts import AttemptKind
from statemachine.gates import GateKind, GateState
from statemachine.plans import Plan
from statemachine.refusals import Refusal
from statemachine.texts import one_line, quote
from store import checks, ledger, outputs, plans
from store.checks import Result
from store.engine import Connection
from store.gates import Gate
from store.outputs import Output
from workspace.disk.files import read_plainly

LIMIT: Final = 256 << 10
"""Bytes of a diff on a page; `tasks diff` shows more."""

_TAIL: Final = 20
"""Lines of what a command said last."""

_BEGINS: Final = frozenset({GateKind.approval, GateKind.fixed})
"""Kinds of gates where nothing was made that a diff could show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A gate with all that bears on it; `notes` say what could not be shown."""

    gate: Gate
    view: View
    checks: list[Result] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    diff: bytes = b""
    partial: bytes = b""
    notes: list[str] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Tell whether it still waits."""
        return self.gate.state is GateState.open


def read(context: Context, named: Number | Prefix) -> Page:
    """Gather a page: rows first, then with no connection in use what git and files hold."""
    with context.database.connection() as db:
        gate = gate_named(db, named)
        view = look(db, gate.task_id)
        results = _in_order(checks.latest(db, task=gate.task_id, head=gate.head), _plan(db, view).checks)
        base = _base(db, gate, view)
        files = [each for each in outputs.listing(db, gate.task_id) if _is_latest(each, view)]
    notes: list[str] = []
    diff = b"" if gate.kind in _BEGINS or base == gate.head else _diff(context, view, base, gate.head, notes)
    partial = b"".join(_saved(each, notes) for each in files if each.kind == "diff")
    return Page(gate=gate, view=view, checks=results, outputs=files, diff=diff, partial=partial, notes=notes)


def document(page: Page, root: Path) -> PageDocument:
    """Describe a page, for JSON."""
    view = page.view
    return {
        **nouns.gate(page.gate),
        "task_document": nouns.task(view, root),
        "findings": [nouns.finding(each) for each in view.findings],
        "out_of_scope": view.pause.out_of_scope if view.pause else [],
        "checks": [nouns.check(each) for each in page.checks],
        "diff": as_text(page.diff),
        "partial": as_text(page.partial),
        "notes": page.notes,
        "approve": [nouns.choice(each) for each in approvals(view)] if page.open else [],
        "reject": [nouns.choice(each) for each in rejections(view)] if page.open else [],
    }


def tell(screen: Screen, page: Page) -> None:
    """Print a page: nothing in it but letters, whatever an agent wrote."""
    gate, view = page.gate, page.view
    screen.text(f"gate {short(Noun.gate, gate.id)} ({gate.kind}) of task {gate.task_id} is {gate.state}")
    screen.text(*_decision(gate), *portrait(view, with_owed=False))
    for section in _details(page, whole=screen.verbose):
        screen.text("", *section)
    for title, diff in (("what was committed", page.diff), ("what was not committed", page.partial)):
        if diff:
            screen.text("", f"{title}:")
            streams.write("".join(f"{line}\n" for line in readable(diff, coloured=wants_colour())))
    screen.text(*(f"note: {note}" for note in page.notes))
    if page.open:
        screen.text("", *_choices("approving", approvals(view)), *_choices("rejecting", rejections(view)))
    else:
        screen.next_step(*next_steps(view))


def _details(page: Page, *, whole: bool) -> Iterator[list[str]]:
    """Give what bears on the decision, a section each; evidence in full only where it was asked for."""
    for finding in page.view.findings:
        more = evidence(finding.evidence) if whole else [f"  its evidence: tasks finding show {finding.id}"]
        yield [f"finding {finding.id} ({finding.kind}): {one_line(finding.summary, 4_000)}", *more]
    if page.view.pause and page.gate.kind is GateKind.scope:
        outside = [f"  {row[1]} {row[2]}" for row in owed(page.view) if row[0] == "scope"]
        yield ["outside the declared files:", *outside]
    for result in page.checks:
        yield _checked(result)
    if page.view.attempts and (found := page.view.attempts[-1].evidence):
        yield ["the last attempt:", *evidence(found)]
    if page.gate.kind in {GateKind.failure, GateKind.limit, GateKind.finding}:
        yield from (_said(page.view, each) for each in page.outputs if each.kind == "log" and _is_news(page, each))


def _checked(result: Result) -> list[str]:
    name = f"check {quote(result.command)}"
    if result.passed:
        return [f"{name} passed"]
    whole = f"tasks attempt log {short(Noun.attempt, result.attempt_id)}"
    return [f"{name} failed (it exited with {result.exit_code}); all that was kept: {whole}", *_tail(result.tail)]


def _is_news(page: Page, log: Output) -> bool:
    """Tell whether what was printed is an agent's, or a check's that is not on the page already."""
    told = {result.attempt_id for result in page.checks if not result.passed}
    return bool(log.tail) and log.attempt_id not in told


def _said(view: View, log: Output) -> list[str]:
    of = next(each for each in view.attempts if each.id == log.attempt_id)
    who = "the check" if of.kind is AttemptKind.check else "the agent"
    more = len(log.tail.splitlines()) > _TAIL or log.truncated or log.size > len(log.tail.encode())
    whole = f"all of it: tasks attempt log {short(Noun.attempt, log.attempt_id)}"
    return [f"{who} said last ({'cut; ' if more else ''}{whole}):", *_tail(log.tail)]


def _decision(gate: Gate) -> list[str]:
    if gate.decided_at is None:
        return []
    comment = f": {quote(gate.comment, 500)}" if gate.comment else ""
    return [
        f"  asked {when(gate.opened_at)}: {one_line(gate.reason, 500)}",
        f"  {gate.state} by {quote(gate.decided_by or '')}, {when(gate.decided_at)}{comment}",
    ]


def _choices(title: str, choices: list[Choice]) -> list[str]:
    lines = []
    for number, choice in enumerate(choices):
        lines += [f"{title}: {choice.effect}" if number == 0 else f"or: {choice.effect}", f"    {choice.command}"]
    return lines


def _tail(text: str) -> list[str]:
    return [f"  | {printable(line)[:500]}" for line in text.splitlines()[-_TAIL:]]


def _is_latest(output: Output, view: View) -> bool:
    return bool(view.attempts) and output.attempt_id == view.attempts[-1].id


def _plan(db: Connection, view: View) -> Plan:
    return plans.current(db, task=view.task.id, number=view.task.revision).plan


def _in_order(results: list[Result], commands: Sequence[str]) -> list[Result]:
    """Put results in the order of the plan; those of an older plan come last."""
    places = {command: place for place, command in enumerate(commands)}
    return sorted(results, key=lambda result: places.get(result.command, len(places)))


def _base(db: Connection, gate: Gate, view: View) -> str:
    """Say where the diff starts: at the paused item for a scope gate, else at the task's base."""
    if gate.kind is not GateKind.scope:
        return view.task.base
    entries = [entry for entry in ledger.listing(db, gate.task_id) if entry.commit == gate.head]
    return entries[-1].parent if entries else view.task.base


def _diff(context: Context, view: View, base: str, head: str, notes: list[str]) -> bytes:
    from workspace.repository.repositories import open_repository  # noqa: PLC0415
    from workspace.results import exports  # noqa: PLC0415 - a page without a diff needs no git

    try:
        repository = open_repository(context.root, view.repository.runner)
        return exports.diff(repository, base, head, limit=LIMIT)
    except Refusal as refusal:
        notes.append(f"the diff cannot be shown: {refusal.message}")
        return b""


def _saved(output: Output, notes: list[str]) -> bytes:
    """Read the partial output a worker saved, where this is the host that has it."""
    try:
        text = read_plainly(Path(output.path), LIMIT + 1)
    except OSError:
        notes.append(f"what was not committed is in {quote(output.path)} on host {quote(output.host)}")
        return b""
    if len(text) > LIMIT:
        notes.append(f"only its beginning is shown; all of it is in {quote(output.path)}")
    return text[:LIMIT]
