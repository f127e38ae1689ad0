"""Leaving: every step is tried, whatever became of the ones before, and the first that failed is what is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from statemachine.refusals import NotClean, Refusal
from statemachine.texts import one_line
from worker.station import Sign

_LONGEST = 300


class Farewell:
    """What went wrong on the way out."""

    def __init__(self, *, told: Sign, say: Callable[[str], None]) -> None:
        self._told = told
        self._say = say
        self._troubles: list[Refusal] = []

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Do one step; what goes wrong is said and kept, and the next step is done all the same."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a defect in one step must not cost the others
            self.failed(what, as_refusal(error))

    def failed(self, what: str, refused: Refusal) -> None:
        """Say and keep what went wrong."""
        self._say(f"{what}: {refused.message} [{refused.code}]")
        self._troubles.append(refused)

    def end(self) -> None:
        """Raise the first thing that went wrong; `NotClean` where somebody told this process to end."""
        if not self._troubles:
            return
        first = self._troubles[0]
        if not self._told.is_set():
            raise first
        raise NotClean(
            "shutdown_incomplete",
            f"the shutdown was not clean: {first.message} [{first.code}]",
            hint="tasks recover",
            first=first.code,
            troubles=len(self._troubles),
        ) from first


def as_refusal(error: Exception) -> Refusal:
    """Say a defect like any other trouble."""
    if isinstance(error, Refusal):
        return error
    return Refusal("unexpected", f"{type(error).__name__}: {one_line(str(error), _LONGEST)}")
