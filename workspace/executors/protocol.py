"""What an executor is: where a work tree lives, and how an agent runs in it and ends."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

from workspace.allocations import Admission, Expected
from workspace.inspections import Inspection, LeftBehind, Tree
from workspace.links import LinkState
from workspace.processes import Held, Launch
from workspace.repositories import RunnerRepository
from workspace.roots import Root

Weight = Literal["note", "finding"]


class Executor(Protocol):
    """Give an agent a place to work and take it away again; nothing above knows which one it is.

    An executor that cannot work here says `executor_unavailable` in `probe`, before anything is made;
    there is never a fallback to another one.
    """

    @property
    def name(self) -> str:
        """The word plans, rows and commands use for it."""

    @property
    def unprotected(self) -> str:
        """What it does not protect, in one sentence that every run says."""

    @property
    def agent_commits(self) -> Weight:
        """How commits of the agent's own weigh: a note where its gitdir is thrown away."""

    @property
    def leftover(self) -> Weight:
        """How a process that outlived the agent weighs: a note where a namespace ends it for certain."""

    def probe(self) -> None:
        """Refuse where this executor cannot work."""

    def materialise(
        self, root: Root, repo: RunnerRepository, commit: str, *, task: int, epoch: int, allocation: UUID, branch: str
    ) -> Tree:
        """Make the work tree of an allocation whose row is stored."""

    def attach(self, root: Root, tree: Tree, expected: Expected, *, repo: RunnerRepository, spool: Path) -> Admission:
        """Look whether a ready work tree may be used again; changes nothing."""

    def launch(self, launch: Launch) -> Held:
        """Start an agent held before its first instruction."""

    def inspect(
        self,
        tree: Tree,
        *,
        repo: RunnerRepository,
        base: str,
        spool: Path,
        before_links: LinkState,
        leftovers: Sequence[LeftBehind] = (),
        aborted: Callable[[], bool] = ...,
        deadline: timedelta = ...,
    ) -> Inspection:
        """Tell what is different from the base, once everything that could write is gone."""

    def release(self, root: Root, folder: Path, *, allocation: UUID) -> str:
        """Remove a work tree that is proven ours; gives the reason where something of it stays, else nothing."""

    def leftovers(self, root: Root, known: Mapping[str, UUID]) -> list[Path]:
        """List places of this root that belong to none of the known allocations; they are never touched."""
