"""`local`: a folder of this host and a process of this user; for trusted agents, or inside a machine of their own."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from workspace import allocations, gitdirs, inspections, processes
from workspace.allocations import Admission, Expected
from workspace.executors.protocol import Weight
from workspace.inspections import DEADLINE, Inspection, LeftBehind, Tree
from workspace.links import LinkState
from workspace.materialise import materialise
from workspace.processes import Held, Launch
from workspace.repositories import RunnerRepository
from workspace.roots import Root


def _never() -> bool:
    return False


class Local:
    """Run the agent as this user, with this user's network and files within its reach."""

    name: Final = "local"
    agent_commits: Final[Weight] = "finding"
    leftover: Final[Weight] = "finding"
    unprotected: Final = (
        "local isolates nothing: the agent runs as this user and can read and change this user's files, "
        "use the network and reach other processes; what it leaves in the work tree is judged all the same"
    )

    def probe(self) -> None:
        """Work everywhere."""

    def materialise(
        self, root: Root, repo: RunnerRepository, commit: str, *, task: int, epoch: int, allocation: UUID, branch: str
    ) -> Tree:
        """Write the tree and a repository of its own; what was half made stays for its owner to see."""
        folder = allocations.prepare(root, task=task, epoch=epoch, allocation=allocation)
        materialise(repo, commit, folder)
        return Tree(folder, gitdirs.write_gitdir(repo, commit, folder, branch=branch))

    def attach(self, root: Root, tree: Tree, expected: Expected, *, repo: RunnerRepository, spool: Path) -> Admission:
        """Compare a ready tree with its row and with the head."""
        return allocations.admit(root, tree.folder, expected, repo=repo, spool=spool)

    def launch(self, launch: Launch) -> Held:
        """Start a process of this user."""
        return processes.start(launch)

    def inspect(
        self,
        tree: Tree,
        *,
        repo: RunnerRepository,
        base: str,
        spool: Path,
        before_links: LinkState,
        leftovers: Sequence[LeftBehind] = (),
        aborted: Callable[[], bool] = _never,
        deadline: timedelta = DEADLINE,
    ) -> Inspection:
        """Walk the tree on this host."""
        return inspections.inspect(
            tree,
            repo=repo,
            base=base,
            spool=spool,
            before_links=before_links,
            leftovers=leftovers,
            aborted=aborted,
            deadline=deadline,
        )

    def release(self, root: Root, folder: Path, *, allocation: UUID) -> str:
        """Throw the folder away, as far as it can be."""
        released = allocations.release(root, folder, allocation)
        return "" if released.gone else released.reason or "something of it could not be removed"

    def leftovers(self, root: Root, known: Mapping[str, UUID]) -> list[Path]:
        """List folders beneath the workspaces that no row names."""
        return sorted(place for place in root.workspaces.iterdir() if place.is_dir() and place.name not in known)
