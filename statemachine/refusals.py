"""What is said when something may not be done: a sentence, its facts and a stable code."""


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error
    """Say no with a code that never changes, one sentence, a next step and the facts behind it."""

    def __init__(self, code: str, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.facts = facts


class LostRace(Refusal):
    """Somebody was faster; look again and try again: `stale_view`, `conflict`, `lock_timeout`."""


class NotFound(Refusal):
    """Nothing has that name, or more than one thing has it."""


class Unavailable(Refusal):
    """The database cannot be reached, or its schema is not the one this program knows."""


class NotClean(Refusal):
    """A process that was told to end left something undone; recovery finds it."""


class LeaseLost(Refusal):
    """The lease belongs to somebody else now; whoever hears this ends its process tree and writes nothing."""

    def __init__(self, message: str = "the lease on this task was lost", *, hint: str = "", **facts: object) -> None:
        super().__init__("lease_lost", message, hint=hint, **facts)
