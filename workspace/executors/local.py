"""Run agents as this very user in a folder of this host: for agents one trusts, or inside a machine of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from workspace.agents import processes
from workspace.executors.folders import HostFolder
from workspace.executors.protocol import Made
from workspace.inspection import gitdirs
from workspace.places import allocations
from workspace.places.materialise import materialise

if TYPE_CHECKING:
    from workspace.agents.processes import Held
    from workspace.executors.protocol import Order, Place

_UNPROTECTED: Final = (
    "executor local protects nothing but the result: the agent runs as your own user and can reach the network, "
    "your home and its keys, your other files, and what your other programs have in their environment"
)


@dataclass(frozen=True, slots=True)
class Local(HostFolder):
    """Give every item a fresh clone with a real `.git`, which is compared afterwards and never used."""

    name: str = "local"
    unprotected: str = _UNPROTECTED
    commits_watched: bool = True
    ends_for_certain: bool = False

    @property
    def about(self) -> str:
        """Say who agents are."""
        return f"agents run as user {os.geteuid()}"

    def probe(self) -> None:
        """Accept: what it needs, this program needs too."""

    def materialise(self, place: Place) -> Made:
        """Write the tree and its repository into the allocation's own folder."""
        folder = allocations.prepare(place.root, task=place.task, epoch=place.epoch, allocation=place.allocation)
        materialise(place.repo, place.base, folder)
        baseline = gitdirs.write_gitdir(place.repo, place.base, folder, branch=f"task-{place.task}")
        return Made(path=str(folder), baseline=baseline)

    def launch(self, place: Place, order: Order) -> Held:
        """Start the agent in the folder."""
        return processes.start(
            processes.Launch(
                argv=order.argv,
                folder=place.folder,
                environment=order.environment,
                output=order.output,
                time_limit=order.time_limit,
                identity=order.identity,
                secrets=order.secrets,
            )
        )
