"""What an agent is given: an environment made from nothing, and its command line without a shell.

The environment is cut before anything is executed with it, for the launcher's own can be read in /proc.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.agents.survivors import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

_LOCALE: Final = ("LANG", "LC_ALL")
_NEVER: Final = re.compile(r"GIT_.*|TASKS_.*|PG[A-Z]+|SSH_AUTH_SOCK|SSH_AGENT_PID|.*DATABASE_URL.*", re.IGNORECASE)
_DATABASE: Final = re.compile(r"\bpostgres(ql)?(\+\w+)?://", re.IGNORECASE)
_PLACEHOLDER: Final = re.compile(r"\{(prompt_file|prompt)\}")
_LONGEST_ARGUMENT: Final = 131_071  # the kernel's bound on one argument, without its closing NUL


def environment(
    *,
    attempt: UUID,
    task: int | str,
    item: str,
    prompt_file: Path,
    temporary: Path,
    home: Path,
    allowed: Iterable[str] = (),
    source: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Build all that the agent will see: a fixed few, and the names in `allowed` that `source` has.

    Names that lead to the database, to git's behaviour or to the person's keys are `environment_forbidden` even there.
    """
    return {
        **_permitted(allowed, source),
        **{name: source[name] for name in _LOCALE if source.get(name)} | _default_locale(source),
        "PATH": search_path(source),
        "HOME": str(home),
        "TERM": "dumb",
        "TMPDIR": str(temporary),
        "TASKS_PROMPT_FILE": str(prompt_file),
        "TASKS_ITEM": item,
        "TASKS_TASK": str(task),
        MARKER: str(attempt),
    }


def search_path(source: Mapping[str, str] = os.environ) -> str:
    """Return the PATH without its relative and empty parts: those would mean the work tree."""
    parts = [part for part in source.get("PATH", "").split(os.pathsep) if part.startswith(os.sep)]
    return os.pathsep.join(parts) or os.defpath


def command(
    agent: str, *, prompt_file: Path, prompt: str, path: str | None = None, what: str = "agent"
) -> tuple[str, ...]:
    """Split the agent's command as a shell would, without one, and put the prompt where it asks for it.

    `path` is the agent's own PATH; `what` is how a refusal calls it and the first part of its code. A program named
    by a relative path lies in the work tree and is not looked for here.
    """
    words = _words(agent, what)
    if _PLACEHOLDER.search(words[0]):
        raise _invalid(agent, "its first word must be a program", "write the program first, the placeholder after it")
    _require(words[0], search_path() if path is None else path, what)
    values = {"prompt_file": str(prompt_file), "prompt": prompt}
    return tuple(_filled(agent, word, values) for word in words)


def _permitted(allowed: Iterable[str], source: Mapping[str, str]) -> dict[str, str]:
    values = {name: source[name] for name in allowed if name in source or _forbid(name)}
    for name, value in values.items():
        _forbid(name, value)
    return values


def _forbid(name: str, value: str = "") -> bool:
    if _NEVER.fullmatch(name) or _DATABASE.search(value):
        raise Refusal(
            "environment_forbidden",
            f"the variable {quote(name)} is never given to an agent: it leads to the database, git or a person's keys",
            hint="take it out of the repository's policy `secrets`; give the agent a secret of its own instead",
            name=name,
        )
    return False


def _default_locale(source: Mapping[str, str]) -> dict[str, str]:
    return {} if any(source.get(name) for name in _LOCALE) else {"LANG": "C.UTF-8"}


def _words(agent: str, what: str) -> list[str]:
    try:
        words = shlex.split(agent)
    except ValueError as error:
        raise _invalid(agent, str(error).lower(), "close every quotation mark", what) from error
    if not words or not words[0] or "\0" in agent:
        raise _invalid(agent, "it names no program", "give a command such as 'claude -p {prompt}'", what)
    return words


def _require(program: str, path: str, what: str) -> None:
    if os.sep in program and not program.startswith(os.sep):
        return
    if shutil.which(program, path=path) is None:
        why, hint = _missing(program)
        raise Refusal(
            f"{what}_not_found", f"the {what}'s program {quote(program)} {why}", hint=hint, program=program, path=path
        )


def _missing(program: str) -> tuple[str, str]:
    if not program.startswith(os.sep):
        return "is not on the search path", "install it, or name it by its full path"
    if Path(program).is_file():
        return "is not executable", f"chmod +x {shlex.quote(program)}"
    return "is not there", "name a program that is there"


def _filled(agent: str, word: str, values: Mapping[str, str]) -> str:
    """Replace in one pass, so that a prompt that speaks of {prompt_file} stays as it is."""
    filled = _PLACEHOLDER.sub(lambda match: values[match[1]], word)
    if "\0" in filled:
        raise _invalid(agent, "an argument would hold a NUL character", "use {prompt_file} instead of {prompt}")
    if len(os.fsencode(filled)) > _LONGEST_ARGUMENT:
        raise _invalid(agent, "the prompt is too long for an argument", "use {prompt_file} instead of {prompt}")
    return filled


def _invalid(line: str, reason: str, hint: str, what: str = "agent") -> Refusal:
    return Refusal(f"{what}_invalid", f"the {what}'s command {quote(line)} cannot be used: {reason}", hint=hint)
