"""What a recovery pass found and did, line by line."""

from dataclasses import dataclass, field


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


@dataclass(slots=True, kw_only=True)
class Notes:
    """Collect lines while a pass runs."""

    dry_run: bool = False
    lines: list[Line] = field(default_factory=list)
    unfinished: list[Line] = field(default_factory=list)

    def did(self, task: int | None, what: str, detail: str = "") -> None:
        """Note something that is put right."""
        self.lines.append(Line(task=task, what=what, detail=detail))

    def left(self, task: int | None, what: str, detail: str = "") -> None:
        """Note something that is not put right yet."""
        self.unfinished.append(Line(task=task, what=what, detail=detail))

    def report(self) -> Report:
        """Close the collection."""
        return Report(dry_run=self.dry_run, lines=tuple(self.lines), unfinished=tuple(self.unfinished))
