"""A throwaway object folder beside a runner repository: what is built in it counts for nothing until it is judged."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from workspace import git, intake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from workspace.children import Input
    from workspace.repositories import RunnerRepository

PREFIX: Final = "quarantine-"
PATIENCE: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Give git an object folder and an index of its own; it may read the repository and cannot write to it."""

    repo: RunnerRepository
    folder: Path
    timeout: timedelta

    @property
    def objects(self) -> Path:
        """Return the folder that new objects go to."""
        return self.folder / "objects"

    @property
    def env(self) -> dict[str, str]:
        """Return what turns git's eyes and hands to this place."""
        return {
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": intake.alternates(self.repo.objects),
            "GIT_INDEX_FILE": str(self.folder / "index"),
        }

    def call(self, *arguments: str, stdin: Input = b"", env: dict[str, str] | None = None) -> git.Call:
        """Describe a run of git in here; nothing of it needs to survive a power cut."""
        return git.Call(
            arguments=arguments,
            git_dir=self.repo.path,
            stdin=stdin,
            env=self.env | (env or {}),
            durable=False,
            timeout=self.timeout,
        )

    def run(self, *arguments: str, stdin: Input = b"", env: dict[str, str] | None = None) -> bytes:
        """Run git in here and return what it printed."""
        return git.must(self.call(*arguments, stdin=stdin, env=env))

    def migrate(self, commit: str, *, parent: str) -> None:
        """Copy what the commit adds to its parent, and nothing else of what lies here, into the repository."""
        revisions = f"{commit}\n^{parent}\n".encode()
        intake.take_in(self.repo, revisions, env=self.env, timeout=self.timeout)


@contextmanager
def quarantine(repo: RunnerRepository, *, timeout: timedelta = PATIENCE) -> Iterator[Quarantine]:
    """Make a quarantine, and remove it with all that was not migrated."""
    folder = repo.path / f"{PREFIX}{uuid4().hex}"
    try:
        (folder / "objects" / "pack").mkdir(parents=True, mode=0o700)
        yield Quarantine(repo=repo, folder=folder, timeout=timeout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
