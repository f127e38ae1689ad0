"""Copy objects into a runner repository: checked, connected, flushed; or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from workspace.disk import durability
from workspace.disk.descriptors import FOLDER
from workspace.repository import git

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from workspace.repository.repositories import RunnerRepository

PREFIX: Final = "quarantine-"

# Blemishes of old commits that harm nobody; a person's history is not refused for them.
_BLEMISHES: Final = """
    badDate badDateOverflow badEmail badName badTimezone missingEmail missingNameBeforeEmail missingSpaceBeforeDate
    missingSpaceBeforeEmail missingTaggerEntry multipleAuthors zeroPaddedDate zeroPaddedFilemode
"""
BLEMISHES: Final = frozenset(_BLEMISHES.split())


def take_in(
    repo: RunnerRepository,
    revisions: bytes,
    *,
    env: Mapping[str, str],
    tolerated: Collection[str] = (),
    timeout: timedelta = timedelta(hours=1),
) -> None:
    """Copy what the revisions reach, seen through `env`, into the repository: checked, connected and flushed."""
    producer = git.Call(
        arguments=("pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"),
        git_dir=repo.path,
        stdin=revisions,
        env=env,
    )
    checks = f"--strict={','.join(f'{each}=ignore' for each in sorted(tolerated))}" if tolerated else "--strict"
    with aside(repo) as objects:
        consumer = git.Call(
            arguments=("index-pack", "--stdin", checks), git_dir=repo.path, env=seen(repo, objects), timeout=timeout
        )
        git.pipe(producer, consumer)
        _keep(objects / "pack", repo.objects / "pack")
    durability.flush_chain(repo.objects / "pack", repo.path)


@contextmanager
def aside(repo: RunnerRepository) -> Iterator[Path]:
    """Make an object folder beside the repository's, on the same file system; what stays in it is removed."""
    folder, lock = _locked(repo)
    try:
        for place in (folder / "objects", folder / "objects" / "pack"):
            place.mkdir(mode=0o700)
        yield folder / "objects"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def abandoned(repo: RunnerRepository) -> Iterator[Path]:
    """Find the folders whose makers died; each is locked while it is looked at, so that nobody begins to use it."""
    for folder in sorted(repo.path.glob(f"{PREFIX}*")):
        with suppress(OSError):
            lock = os.open(folder, FOLDER)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield folder
            finally:
                os.close(lock)


def _locked(repo: RunnerRepository) -> tuple[Path, int]:
    """Make a folder under a lock of its own, which the kernel gives up when this process dies."""
    while True:
        folder = repo.path / f"{PREFIX}{uuid4().hex}"
        folder.mkdir(mode=0o700)
        with suppress(OSError):  # a sweeper may have come between
            lock = os.open(folder, FOLDER)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                folder.lstat()
            except OSError:
                os.close(lock)
                raise
            return folder, lock


def seen(repo: RunnerRepository, objects: Path) -> dict[str, str]:
    """Build what makes git write to one object folder and read the repository's too."""
    return {"GIT_OBJECT_DIRECTORY": str(objects), "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates(repo.objects)}


def _keep(packs: Path, kept: Path) -> None:
    """Move packs to where git looks; the index comes last, since a pack counts from when it has one."""
    for path in sorted(packs.iterdir(), key=lambda each: each.suffix == ".idx"):
        durability.flush(path)
        if not (kept / path.name).exists():  # the same objects by another process: those may be in use
            path.rename(kept / path.name)


def alternates(*folders: Path) -> str:
    """Spell object folders for git's environment, whatever their names hold."""
    quoted = (str(each).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for each in folders)
    return ":".join(f'"{each}"' for each in quoted)
