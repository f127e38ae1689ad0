"""Copy objects into a runner repository: checked, connected, flushed; or not at all."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from workspace import durability, git

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from workspace.repositories import RunnerRepository

# Blemishes of old commits that harm nobody; a person's history is not refused for them.
_BLEMISHES: Final = """
    badDate badEmail badName badTimezone missingEmail missingNameBeforeEmail missingSpaceBeforeDate
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
    consumer = git.Call(arguments=("index-pack", "--stdin", checks), git_dir=repo.path, timeout=timeout)
    name = git.pipe(producer, consumer).decode("ascii").split()[-1]
    for suffix in ("pack", "idx"):
        durability.flush(repo.objects / "pack" / f"pack-{name}.{suffix}")
    durability.flush_chain(repo.objects / "pack", repo.path)


def alternates(*folders: Path) -> str:
    """Spell object folders for git's environment, whatever their names hold."""
    quoted = (str(each).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for each in folders)
    return ":".join(f'"{each}"' for each in quoted)
