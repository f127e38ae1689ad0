"""Who an agent is on this host: never the superuser, and nobody the worker could not clean up after."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.agents.confinement import USER
from workspace.executors.bubblewrap import unavailable

if TYPE_CHECKING:
    from workspace.agents.confinement import Confinement


@dataclass(frozen=True, slots=True)
class AgentUser:
    """Name the user an agent runs as; `other` says that it is not the worker's own."""

    uid: int
    gid: int
    other: bool


def agent_user(confinement: Confinement) -> AgentUser:
    """Decide who agents are.

    Raises:
        Refusal: `executor_unavailable` where that would be the superuser, somebody of this host who has other things to
            lose, or, for a worker that is not the superuser, anybody else: it could neither read nor remove the tree.
    """
    worker = os.geteuid()
    if worker:
        if confinement.user not in {None, worker}:
            unavailable(
                f"agents are to run as user {confinement.user}, and this worker is user {worker}, who may not do that",
                "leave the setting sandbox.user out, or run the worker as root",
            )
        return AgentUser(worker, os.getegid(), other=False)
    uid = USER if confinement.user is None else confinement.user
    if uid == worker:
        unavailable("agents are to run as the superuser", "name a user without rights in the setting sandbox.user")
    if confinement.user is None and (name := _name(uid)):
        unavailable(f"user {uid}, as whom agents run, is {name} on this host", "name another one in sandbox.user")
    return AgentUser(uid, uid, other=True)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
