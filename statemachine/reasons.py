"""Why a task came to a gate, in one sentence a person can act on: the fact first, never the name of a state."""

from collections.abc import Iterable

from statemachine.attempts import AttemptKind
from statemachine.settlement import Isolation
from statemachine.texts import clean, listing

_LONGEST = 500
_ISOLATED = {
    Isolation.timeout: "ran past its time limit and was ended",
    Isolation.output_limit: "printed more than is kept and was ended",
    Isolation.disk_full: "filled the disk it was given and was ended",
    Isolation.memory_limit: "used more memory than it was given and was ended",
    Isolation.process_limit: "started more processes than it was given and was ended",
    Isolation.capture_failed: "was ended, because what it printed could not be kept",
}
_SIGNALLED = 128
"""An exit code above this is a signal, as a shell tells it."""


def outside(item: str | None, paths: Iterable[str]) -> str:
    """Say which files an item changed without declaring them."""
    return clean(f"{item or 'the item'} also changed {listing(paths)}, which it does not declare", _LONGEST)


def failed(
    *, item: str | None, kind: AttemptKind, word: str, exit_code: int | None, failure: str, failures: int
) -> str:
    """Say how the last attempt failed, and how many failed with it; `word` is the one in the attempt's row."""
    who = "a check" if kind is AttemptKind.check else f"the agent of {item or 'the task'}"
    told = _how(who, word, exit_code, failure)
    return clean(told + (f"; {failures} attempts failed" if failures > 1 else ""), _LONGEST)


def _how(who: str, word: str, exit_code: int | None, failure: str) -> str:
    because = f": {failure}" if failure else ""
    if word in _ISOLATED:
        return f"{who} {_ISOLATED[Isolation(word)]}{because}"
    if word == "checks_failed":
        return f"{failure or 'a check failed'} (it {_ended(exit_code)})"
    if word == "exit":
        return f"{who} {_ended(exit_code)}{because}"
    return f"{who} failed ({word}){because}"


def _ended(exit_code: int | None) -> str:
    if exit_code is None:
        return "did not end by itself"
    if exit_code > _SIGNALLED:
        return f"was ended by signal {exit_code - _SIGNALLED}"
    return f"exited with {exit_code}"
