"""What a repository's policy says about matters that are not the same everywhere."""

from dataclasses import dataclass
from typing import Literal

Weight = Literal["note", "finding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Say what is only noted and what is owed.

    `agent_commits` is a note where the agent's gitdir is thrown away; `leftover` is a note where the
    executor's namespace ends every process for certain.
    """

    ignored: Weight = "note"
    agent_commits: Weight = "finding"
    leftover: Weight = "finding"
