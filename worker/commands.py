"""The command lines of a new task, looked at before there is a task: what cannot run is refused while it can be mended.

Nothing is run through a shell, so a line that was written for one is refused too instead of doing something else.
"""

import os
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from statemachine.plans import Plan
from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.agents.environments import command

_SHELL: Final = re.compile(r"[0-9]?[<>].*|&>.*|\|\|?|&&?|;|.*;|.*[`].*|.*\$\(.*", re.DOTALL)
"""Words that mean something to a shell and nothing here, as they are written: a quoted one is no such word."""

_QUOTED: Final = re.compile("['\"\\\\]")
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_KNOWN: Final = {"prompt", "prompt_file"}


def settled(plan: Plan, agents: Mapping[str, str], *, folder: Path) -> Plan:
    """Give the plan with the command its task will run, every line of it looked at; `folder` is for relative paths."""
    known = replace(plan, agent=_agent(plan.agent, agents, folder=folder))
    check_lines(known)
    return known


def find_in(tree: Collection[str], agent: str, *, folder: Path) -> None:
    """Refuse an agent's program by a relative path that was not in `folder` and is no file of the base either."""
    program = shlex.split(agent)[0]
    if os.sep in program and not program.startswith(os.sep) and os.path.normpath(program) not in tree:
        raise Refusal(
            "agent_not_found",
            f"the agent's program {quote(program)} is neither in {folder} nor a file of the base",
            hint="name it by its full path",
            program=program,
        )


def check_lines(plan: Plan) -> None:
    """Refuse a check that no worker could run."""
    for line in plan.checks:
        _refuse_shell(line, "check")
        command(line, prompt_file=Path(os.devnull), prompt="", what="check")


def anchored(line: str, folder: Path) -> str:
    """Write a program that lies beneath `folder` by its full path; any other line stays as it is."""
    try:
        program, *rest = shlex.split(line)
    except ValueError:
        return line
    there = (folder / program).resolve()
    if os.sep not in program or Path(program).is_absolute() or not there.is_file():
        return line
    return shlex.join([str(there), *rest])


def _agent(agent: str | None, agents: Mapping[str, str], *, folder: Path) -> str:
    """Turn an agent's name into its command; a text that names no agent is a command itself, if it can be run."""
    if not agent:
        raise Refusal(
            "agent_missing",
            "neither the plan nor the command line names an agent",
            hint="add --agent 'COMMAND', or the line agent: COMMAND to the plan",
        )
    line = agents[agent] if agent in agents else anchored(agent, folder)
    _refuse_shell(line, "agent")
    _refuse_placeholders(line)
    command(line, prompt_file=Path("prompt.md"), prompt="")
    return line


def _refuse_shell(line: str, what: str) -> None:
    found = next((word for word in _as_written(line) if _SHELL.fullmatch(word)), None)
    if found:
        raise Refusal(
            f"{what}_invalid",
            f"in the {what}'s command {quote(line)} the word {quote(found)} has no meaning without a shell",
            hint=f"if a shell is meant: sh -c {shlex.quote(line)}",
            word=found,
        )


def _refuse_placeholders(line: str) -> None:
    names = [name for word in _as_written(line) for name in _PLACEHOLDER.findall(word) if name not in _KNOWN]
    if names:
        raise Refusal(
            "agent_invalid",
            f"in the agent's command {quote(line)} nothing is known to put for {{{names[0]}}}",
            hint="use {prompt_file} or {prompt}; quote the word if it is meant as it is",
            placeholder=names[0],
        )


def _as_written(line: str) -> list[str]:
    """Split into words that keep their quotes, and leave out those that have any: they are meant as they are."""
    try:
        words = shlex.split(line, posix=False)
    except ValueError:
        return []  # what cannot be split is told by `command`
    return [word for word in words if not _QUOTED.search(word)]
