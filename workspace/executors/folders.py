"""What every executor does alike whose workspaces are folders of this host: look, end, inspect, keep and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.agents import processes
from workspace.executors.protocol import NO_LINKS, Attachment
from workspace.inspection import inspections, links
from workspace.places import allocations
from workspace.results import exports

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path
    from uuid import UUID

    from workspace.agents.processes import Exit, Handle, Leftover, Running, Survivor
    from workspace.executors.protocol import Place
    from workspace.inspection.inspections import Inspection
    from workspace.inspection.links import LinkState
    from workspace.places.allocations import Released
    from workspace.results.commits import Identity
    from workspace.results.exports import Partial


def _never() -> bool:
    return False


class HostFolder:
    """Prove a workspace by reading it on this host; how it is filled and run in is each executor's own."""

    __slots__ = ()

    def attach(
        self,
        place: Place,
        *,
        spool: Path,
        declared_links: Sequence[str] = (),
        ignored: Collection[str] = (),
        others: Collection[Path] = (),
        aborted: Callable[[], bool] = _never,
    ) -> Attachment:
        """Read the whole tree, and look along its declared links."""
        expected = allocations.Expected(
            allocation=place.allocation,
            head=place.base,
            baseline=place.baseline,
            ignored=ignored,
            others=others,
        )
        admission = allocations.admit(place.root, place.folder, expected, repo=place.repo, spool=spool, aborted=aborted)
        if admission.code:
            return Attachment(admission=admission)
        seen = place.folder.lstat()
        return Attachment(
            admission=admission,
            links=links.before(place.folder, declared_links, object_format=place.repo.object_format),
            identity=(seen.st_dev, seen.st_ino),
        )

    def stop(self, running: Running, grace: timedelta = processes.GRACE) -> Exit:
        """End the whole tree of processes."""
        return running.stop(grace)

    def inspect(
        self,
        place: Place,
        *,
        spool: Path,
        links: LinkState = NO_LINKS,
        leftovers: Sequence[Leftover] = (),
        deadline: timedelta = inspections.DEADLINE,
        aborted: Callable[[], bool] = _never,
    ) -> Inspection:
        """Walk the folder."""
        return inspections.inspect(
            inspections.Tree(place.folder, place.baseline),
            repo=place.repo,
            base=place.base,
            spool=spool,
            declared_links=sorted(links.document["links"]),
            before_links=links,
            deadline=deadline,
            aborted=aborted,
            leftovers=leftovers,
        )

    def recheck(self, inspection: Inspection, *, aborted: Callable[[], bool] | None = None) -> None:
        """Walk the folder once more."""
        inspections.unchanged_since(inspection, aborted=aborted)

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
        """Write the difference to a file, and to a ref where git can hold it."""
        return exports.partial(place.repo, inspection, attempt=attempt, author=author, date=date, path=path)

    def retire(self, place: Place) -> None:
        """Do nothing: a folder holds on to nothing."""

    def release(self, place: Place, *, forbidden: Sequence[Path] = ()) -> Released:
        """Remove the folder."""
        return allocations.release(place.root, place.folder, place.allocation, forbidden=forbidden)

    def leftovers(self, handle: Handle) -> tuple[Survivor, ...]:
        """List what is alive of an agent."""
        return processes.survivors(handle)

    def end_leftovers(self, handle: Handle) -> bool:
        """End what is proven ours of it."""
        return processes.end_survivors(handle)
