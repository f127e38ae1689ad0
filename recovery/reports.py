"""What a recovery pass found and did, line by line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from statemachine.refusals import LeaseLost, Refusal, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing found: what was, or in a dry run would be, done about it."""

    task: int | None
    what: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All lines of one pass; `unfinished` names what could not be put right yet."""

    dry_run: bool
    lines: tuple[Line, ...]
    unfinished: tuple[Line, ...]

    @property
    def complete(self) -> bool:
        """Tell whether nothing is left for the next pass."""
        return not self.unfinished


def _never() -> bool:
    return False


@dataclass(slots=True, kw_only=True)
class Notes:
    """Collect lines while a pass runs; `stopping` tells that no other row is to be begun."""

    stopping: Callable[[], bool] = _never
    lines: list[Line] = field(default_factory=list)
    unfinished: list[Line] = field(default_factory=list)

    def did(self, task: int | None, what: str, detail: str = "") -> None:
        """Note something that is put right."""
        self.lines.append(Line(task=task, what=what, detail=detail))

    def left(self, task: int | None, what: str, detail: str = "") -> None:
        """Note something that is not put right yet."""
        self.unfinished.append(Line(task=task, what=what, detail=detail))

    @contextmanager
    def apart(self, task: int | None, about: str = "") -> Iterator[None]:
        """Keep what goes wrong in the block to itself: it is named, and whatever comes next is done all the same.

        Only a database that is away gets out, or whoever runs the pass and leaves: nothing else could be done either.
        """
        if self.stopping():
            raise Unavailable("told_to_end", "the process was told to end before this pass did; the next one goes on")
        try:
            yield
        except Unavailable:
            raise
        except LeaseLost:
            self.did(task, "left_alone", "somebody else has it by now")
        except Refusal as refused:
            self.left(task, refused.code, f"{about}{refused.message}")
        except Exception as error:  # noqa: BLE001 - one bad row, or one defect of ours, must not keep the rest waiting
            self.left(task, "unexpected", f"{about}{type(error).__name__}: {error}")

    def report(self, *, dry_run: bool) -> Report:
        """Close the collection."""
        return Report(dry_run=dry_run, lines=tuple(self.lines), unfinished=tuple(self.unfinished))
