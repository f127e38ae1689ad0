"""Run agents behind walls on this host, by bubblewrap: their own tree, what programs need to run, and nothing else."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from statemachine.refusals import Refusal
from workspace.agents import inside, limits, processes, staging
from workspace.agents.confinement import Confinement, Network
from workspace.agents.holds import REPORT
from workspace.agents.proxies import Proxy
from workspace.executors import bubblewrap, programs, walls
from workspace.executors.folders import HostFolder
from workspace.executors.identities import AgentUser, agent_user
from workspace.executors.protocol import Made
from workspace.executors.walls import Walls
from workspace.inspection import gitdirs
from workspace.places import allocations, owners
from workspace.places.materialise import materialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.agents.processes import Held
    from workspace.executors.protocol import Order, Place

_GITDIR: Final = "git"
_ACCOUNTS: Final = "accounts"
_WAY: Final = "way"
SCRATCH: Final = (_GITDIR, _ACCOUNTS, _WAY)
"""Folders in an attempt's own that are thrown away at its settlement, unread: an agent wrote there."""
_TEMPORARY: Final = "/tmp"  # noqa: S108 - inside, where it is a file system of its own


@dataclass(frozen=True, slots=True)
class Sandbox(HostFolder):
    """Give every item a fresh tree, and its agent a gitdir that is thrown away unread."""

    confinement: Confinement = field(default_factory=Confinement)
    name: str = "sandbox"
    unprotected: str = ""
    commits_watched: bool = False
    ends_for_certain: bool = True

    @property
    def about(self) -> str:
        """Say who agents are, and who keeps their limits."""
        user = agent_user(self.confinement)
        return f"agents run as user {user.uid}, network {self.confinement.network}, {limits.kept_by(self.confinement)}"

    def probe(self) -> None:
        """Make a sandbox in which nothing happens, as the user agents run as."""
        bubblewrap.probe(agent_user(self.confinement))

    def materialise(self, place: Place) -> Made:
        """Write the tree into the allocation's own folder, with an empty `.git`, and give it to the agent's user."""
        self.probe()
        user = agent_user(self.confinement)
        folder = allocations.prepare(place.root, task=place.task, epoch=place.epoch, allocation=place.allocation)
        materialise(place.repo, place.base, folder)
        baseline = gitdirs.leave_empty(folder)
        if user.other:
            owners.give(folder, user.uid, user.gid)
        return Made(path=str(folder), baseline=baseline)

    def launch(self, place: Place, order: Order) -> Held:
        """Start the agent behind its walls.

        Raises:
            Refusal: `executor_unavailable`, `disk_low`, `readable_forbidden`, `policy_unfit`.
        """
        self.probe()
        user = agent_user(self.confinement)
        _furnish(place, order, user)
        home = walls.home(order.environment["HOME"])
        built = Walls(
            folder=place.folder,
            home=home,
            writable={place.folder: place.folder, place.folder / ".git": order.room / _GITDIR},
            readable=self._readable(place, order),
            network=self._network(order),
        )
        guards = limits.guards(self.confinement, place.root.path, user.uid)
        proxy = self._proxy(order, user)
        return processes.start(
            processes.Launch(
                argv=_behind(built if proxy is None else built.with_way(proxy.place), user, order),
                folder=place.folder,
                environment={
                    **order.environment,
                    **({} if proxy is None else walls.WAY_VARIABLES),
                    "TMPDIR": _TEMPORARY,
                    "HOME": str(home),
                },
                output=order.output,
                time_limit=order.time_limit,
                identity=order.identity,
                enclosed=True,
                limits=guards.rlimits,
                guards=(*guards.watching, *([] if proxy is None else [proxy])),
                secrets=order.secrets,
            )
        )

    def _network(self, order: Order) -> Network:
        return self.confinement.network if order.terms.network is None else order.terms.network

    def _proxy(self, order: Order, user: AgentUser) -> Proxy | None:
        """Open the way to the listed hosts, to those the repository's policy names where it does."""
        if self._network(order) is not Network.hosts:
            return None
        place = order.room / _WAY
        place.mkdir(mode=0o700, exist_ok=True)
        proxy = Proxy(place, order.output.name, order.terms.hosts or self.confinement.hosts)
        os.chown(proxy.place, user.uid, user.gid)
        return proxy

    def _readable(self, place: Place, order: Order) -> Mapping[Path, Path]:
        """List what is shown read-only; what was named may not lead to the root, what was found is left out then."""
        kept = (place.root.path, Path("~").expanduser())
        named = self.confinement.readable
        if forbidden := [each for each in named if _holds(each, kept) or each.is_relative_to(place.root.path)]:
            raise Refusal(
                "readable_forbidden",
                f"agents may not read {forbidden[0]}: it is or holds this worker's home, or the root or a part of it",
                hint="name smaller folders in the setting sandbox.readable",
                path=str(forbidden[0]),
            )
        ours = [Path(inside.__file__), *programs.interpreter_tree(Path(sys.base_prefix))]
        found = programs.needed(order.argv, path=order.environment["PATH"])
        shown = [each for each in (*ours, *found) if not _holds(each, kept) and not each.is_relative_to(place.folder)]
        whole = dict.fromkeys((*shown, *named, *order.readable)).keys()
        accounts = order.room / _ACCOUNTS
        return {
            **{each: each for each in whole if whole.isdisjoint(each.parents)},
            **{Path("/etc", name): accounts / name for name in ("passwd", "group")},
            **({place.repo.objects: place.repo.objects} if order.terms.share_objects else {}),
        }


def _holds(place: Path, kept: tuple[Path, ...]) -> bool:
    return any(each.is_relative_to(place) for each in kept)


def _furnish(place: Place, order: Order, user: AgentUser) -> None:
    """Write what the sandbox needs beside the tree: once for all the commands of an attempt."""
    now = place.folder.lstat()
    if order.identity not in {None, (now.st_dev, now.st_ino)}:
        raise Refusal("workspace_mismatch", f"the work tree {place.folder} was replaced", path=str(place.folder))
    gitdir, accounts = order.room / _GITDIR, order.room / _ACCOUNTS
    if not gitdir.exists():
        if order.terms.share_objects and user.other:
            _unshared()
        gitdirs.write_apart(
            place.repo,
            place.base,
            place.folder,
            gitdir,
            branch=f"task-{place.task}",
            history=order.terms.history.value,
            objects=place.repo.objects if order.terms.share_objects else None,
        )
        accounts.mkdir(mode=0o700)
        home = walls.home(order.environment["HOME"])
        (accounts / "passwd").write_text(f"agent:x:{user.uid}:{user.gid}::{home}:/bin/sh\n", "utf-8")
        (accounts / "group").write_text(f"agent:x:{user.gid}:\n", "utf-8")
        if user.other:  # before anybody was there: what an agent has written to is never walked through by root
            for each in (gitdir, accounts):
                owners.give(each, user.uid, user.gid)
    if user.other:
        for file in order.readable:
            os.chown(file, user.uid, user.gid, follow_symlinks=False)


def _unshared() -> NoReturn:
    raise Refusal(
        "policy_unfit",
        "share_objects: repository needs a worker that runs as the agent's own user; this one is root",
        hint="use share_objects: history in the repository's policy",
    )


def _behind(built: Walls, user: AgentUser, order: Order) -> list[str]:
    """Write the whole command line: set the places out, become the agent's user, build the walls, start the agent."""
    way = [str(walls.WAY), str(walls.WAY_PORT)] if walls.WAY in built.readable else []
    command = [*bubblewrap.python(), inside.__file__, str(REPORT), *way, "--", *order.argv]
    walled = built.staged(Path(staging.STAGE)) if user.other else built
    outside = [*bubblewrap.set_out(user, built.sources), *bubblewrap.become(user), bubblewrap.binary()]
    return [*outside, *walled.words(), *command]
