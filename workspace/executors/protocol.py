"""What an executor is asked, whatever it is: a folder on this host, a container, a folder on another host."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workspace.agents.confinement import Terms
from workspace.inspection.links import LinkState
from workspace.places.allocations import folder_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from workspace.agents.processes import Exit, Handle, Held, Leftover, Running, Survivor
    from workspace.disk.roots import Root
    from workspace.inspection.inspections import Inspection
    from workspace.places.allocations import Admission, Released
    from workspace.repository.repositories import RunnerRepository
    from workspace.results.commits import Identity
    from workspace.results.exports import Partial

NO_LINKS = LinkState({"version": 1, "links": {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Name one allocation. `base` is the commit it holds; `path` and `baseline` are as recorded when it was made."""

    root: Root
    repo: RunnerRepository
    task: int
    epoch: int
    allocation: UUID
    base: str
    path: str | None = None
    baseline: str | None = None

    @property
    def folder(self) -> Path:
        """Return where it is, or will be, for executors that keep it on this host."""
        if self.path is not None:
            return Path(self.path)
        return self.root.workspaces / folder_name(self.task, self.epoch, self.allocation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Say what to record of a workspace that is complete."""

    path: str
    baseline: str | None = None
    handles: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Hold the verdict on a workspace, and where its declared links lead. Not admitted: neither was looked at."""

    admission: Admission
    links: LinkState = NO_LINKS
    identity: tuple[int, int] | None = None

    @property
    def admitted(self) -> bool:
        """Return whether an agent may be launched there; the links have refusals of their own."""
        return not self.admission.code


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Say what to run. `identity` is the attachment's, so that nothing else can be in its place by then.

    `room` is the attempt's own folder, `readable` the files in it that are for the agent; `secrets` are masked in what
    it prints.
    """

    argv: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    output: Path
    room: Path
    readable: Sequence[Path] = ()
    terms: Terms = field(default_factory=Terms)
    secrets: Sequence[str] = field(default=(), repr=False)
    time_limit: timedelta | None = None
    identity: tuple[int, int] | None = None


class Executor(Protocol):
    """Run agents in one way. Refusals carry the codes of the modules that do the work."""

    @property
    def name(self) -> str:
        """Return the word that names it in plans, flags and rows."""
        ...

    @property
    def unprotected(self) -> str:
        """Return one sentence on what it does not protect; empty where it protects everything promised."""
        ...

    @property
    def commits_watched(self) -> bool:
        """Return whether the agent works in a repository whose metadata is compared afterwards."""
        ...

    @property
    def ends_for_certain(self) -> bool:
        """Return whether the kernel itself ends everything an agent started, whatever it does."""
        ...

    @property
    def about(self) -> str:
        """Return a few words on how it works on this host, for whoever runs it."""
        ...

    def probe(self) -> None:
        """Refuse with `executor_unavailable` where it cannot work, before anything is made."""
        ...

    def materialise(self, place: Place) -> Made:
        """Make the workspace of a reserved allocation; what a failure leaves behind is there to be released."""
        ...

    def attach(
        self,
        place: Place,
        *,
        spool: Path,
        declared_links: Sequence[str] = (),
        ignored: Collection[str] = (),
        others: Collection[Path] = (),
        aborted: Callable[[], bool] = ...,
    ) -> Attachment:
        """Look whether a ready workspace may be used, and along its links; change nothing."""
        ...

    def launch(self, place: Place, order: Order) -> Held:
        """Start the agent, held."""
        ...

    def stop(self, running: Running, grace: timedelta = ...) -> Exit:
        """End the agent and everything beneath it."""
        ...

    def inspect(
        self,
        place: Place,
        *,
        spool: Path,
        links: LinkState = NO_LINKS,
        leftovers: Sequence[Leftover] = (),
        deadline: timedelta = ...,
        aborted: Callable[[], bool] = ...,
    ) -> Inspection:
        """Tell what is in a workspace whose agent is dead; `links` is what `attach` saw."""
        ...

    def recheck(self, inspection: Inspection, *, aborted: Callable[[], bool] | None = None) -> None:
        """Refuse with `tree_changed_after_audit` a workspace that is not what was inspected."""
        ...

    def export(
        self,
        place: Place,
        inspection: Inspection,
        *,
        attempt: UUID,
        author: Identity,
        date: datetime,
        path: Path,
    ) -> Partial:
        """Keep what an attempt that did not complete has made."""
        ...

    def retire(self, place: Place) -> None:
        """Let go of what a replaced workspace holds on to; its content stays as it is."""
        ...

    def release(self, place: Place, *, forbidden: Sequence[Path] = ()) -> Released:
        """Remove the workspace, if it is proven ours."""
        ...

    def leftovers(self, handle: Handle) -> tuple[Survivor, ...]:
        """List what is alive of an agent whose worker is dead."""
        ...

    def end_leftovers(self, handle: Handle) -> bool:
        """End what is proven ours of it; True when nothing is left."""
        ...
