"""What a recovery pass found and did, in sentences: for whoever is called at night, and for programs by code."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from statemachine.refusals import LeaseLost, Refusal, Unavailable

# So many lines of a kind are told one by one; a pass over a hundred thousand tasks must fit in memory, and on a page.
LONGEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing found: `what` is a stable code, `detail` one sentence, `hint` what a person could type or do."""

    task: int | None
    what: str
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All lines of one pass: put right (in a dry run: would be), not ours to touch, and not put right yet."""

    dry_run: bool
    lines: tuple[Line, ...]
    unknown: tuple[Line, ...]
    unfinished: tuple[Line, ...]

    @property
    def complete(self) -> bool:
        """Tell whether nothing is left for the next pass."""
        return not self.unfinished


def told_to_end() -> Unavailable:
    """Say that a pass is left before it is through."""
    return Unavailable("told_to_end", "the process was told to end before this pass did; the next one goes on")


@dataclass(slots=True, kw_only=True)
class _Told:
    """Lines of one sort, and of those past the first few of a kind only their number."""

    lines: list[Line] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        self.counted[line.what] += 1
        if self.counted[line.what] <= LONGEST:
            self.lines.append(line)

    def all(self) -> tuple[Line, ...]:
        rest = {what: count - LONGEST for what, count in self.counted.items() if count > LONGEST}
        more = (Line(task=None, what=what, detail=f"{what}: {count} more like these") for what, count in rest.items())
        return (*self.lines, *more)


@dataclass(slots=True, kw_only=True)
class Notes:
    """Collect lines while a pass runs."""

    _done: _Told = field(default_factory=_Told)
    _unknown: _Told = field(default_factory=_Told)
    _left: _Told = field(default_factory=_Told)

    def did(self, task: int | None, what: str, detail: str) -> None:
        """Note something that is put right."""
        self._done.add(Line(task=task, what=what, detail=detail))

    def met(self, what: str, detail: str, *, by_hand: str) -> None:
        """Note something that belongs to no row; only a person may touch it."""
        self._unknown.add(Line(task=None, what=what, detail=detail, hint=by_hand))

    def left(self, task: int | None, what: str, detail: str, *, hint: str = "") -> None:
        """Note something that is not put right yet."""
        self._left.add(Line(task=task, what=what, detail=detail, hint=hint))

    @contextmanager
    def apart(self, task: int | None, about: str = "") -> Iterator[None]:
        """Keep what goes wrong in the block to itself: it is named, and whatever comes next is done all the same.

        Only a database that is away gets out, or whoever runs the pass and leaves: nothing else could be done either.
        """
        of = f"task {task}: " if task is not None else about
        try:
            yield
        except Unavailable:
            raise
        except LeaseLost:
            self.did(task, "left_alone", f"{of}left alone, for somebody else has it by now")
        except Refusal as refused:
            self.left(task, refused.code, f"{of}{refused.message}", hint=refused.hint)
        except Exception as error:  # noqa: BLE001 - one bad row, or one defect of ours, must not keep the rest waiting
            self.left(task, "unexpected", f"{of}{type(error).__name__}: {error}")

    def report(self, *, dry_run: bool) -> Report:
        """Close the collection."""
        return Report(dry_run=dry_run, lines=self._done.all(), unknown=self._unknown.all(), unfinished=self._left.all())
