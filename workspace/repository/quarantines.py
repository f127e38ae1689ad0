"""A throwaway object folder beside a runner repository: what is built in it counts for nothing until it is judged."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from workspace.repository import git, intake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from workspace.repository.children import Input
    from workspace.repository.repositories import RunnerRepository

PATIENCE: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Give git an object folder and an index of its own; it may read the repository and cannot write to it."""

    repo: RunnerRepository
    objects: Path
    until: float

    @property
    def timeout(self) -> timedelta:
        """Return what is left of the time for everything that is done in here."""
        return timedelta(seconds=max(0.0, self.until - time.monotonic()))

    @property
    def env(self) -> dict[str, str]:
        """Return what turns git's eyes and hands to this place."""
        return {**intake.seen(self.repo, self.objects), "GIT_INDEX_FILE": str(self.objects.with_name("index"))}

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
    """Make a quarantine whose every act together may last `timeout`; what was not migrated is removed with it."""
    with intake.aside(repo) as objects:
        yield Quarantine(repo=repo, objects=objects, until=time.monotonic() + timeout.total_seconds())
