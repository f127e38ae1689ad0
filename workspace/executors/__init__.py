"""Executors by name; one that cannot work here is refused before anything is made, and never replaced by another."""

from typing import Final

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.executors.local import Local
from workspace.executors.protocol import Executor

__all__ = ["DEFAULT", "Executor", "find"]

DEFAULT: Final = "local"
_HERE: Final[dict[str, Executor]] = {"local": Local()}
_LATER: Final = frozenset({"sandbox", "docker", "ssh"})


def find(name: str) -> Executor:
    """Find an executor that works here.

    Raises:
        Refusal: `executor_unknown`; `executor_unavailable`.
    """
    kind = name.partition(":")[0]
    if kind in _LATER:
        raise Refusal(
            "executor_unavailable",
            f"the executor {quote(kind)} does not work here: this version has none",
            hint="--executor local, once you have read what it does not protect",
            executor=kind,
        )
    if kind not in _HERE:
        known = sorted({*_HERE, *_LATER})
        raise Refusal("executor_unknown", f"there is no executor {quote(name)}", hint=f"one of {', '.join(known)}")
    found = _HERE[kind]
    found.probe()
    return found
