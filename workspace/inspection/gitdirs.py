"""Write the `.git` of a `local` work tree: the product's own, with the base's history, and no way back to us."""

import re
import shutil
from pathlib import Path
from typing import Final

from workspace.inspection.baselines import Difference, compare, remember
from workspace.inspection.indexes import write_index
from workspace.repository import git
from workspace.repository.repositories import RunnerRepository, check_id, listing

__all__ = ["Difference", "compare", "write_gitdir"]

_FOLDERS: Final = ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info")
_BRANCH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(/[A-Za-z0-9_][A-Za-z0-9_-]*)*")
# The agent's git finds the raw bytes clean, and leaves no process of its own behind.
_ATTRIBUTES: Final = "* -text -eol -ident -filter -working-tree-encoding\n"
_CONFIG: Final = """\
[core]
	repositoryformatversion = {version}
	filemode = true
	bare = false
	logallrefupdates = true
	fsmonitor = false
[user]
	name = agent
	email = agent@weighlock.invalid
[commit]
	gpgsign = false
[gc]
	auto = 0
[maintenance]
	auto = false
"""
_SHA256: Final = "[extensions]\n\tobjectformat = sha256\n"


def write_gitdir(repo: RunnerRepository, commit: str, folder: Path, *, branch: str) -> str:
    """Write the `.git` of a fresh tree of this commit, on a branch there; return its baseline for `compare`.

    No template, hooks, alternates or remote; history is a copy, so that nothing done to it reaches the runner.
    """
    if not _BRANCH.fullmatch(branch):
        raise ValueError(f"not a branch name the product makes: {branch!r}")
    check_id(repo, commit)
    place = folder / ".git"
    place.mkdir(mode=0o700)
    for name in _FOLDERS:
        (place / name).mkdir(parents=True)
    _write_settings(repo, place)
    _write_history(repo, commit, place)
    ref = place / "refs" / "heads" / branch
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(f"{commit}\n", "ascii")
    (place / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "ascii")
    write_index(folder, listing(repo, commit), place / "index", repo.object_format)
    return remember(folder)


def _write_settings(repo: RunnerRepository, place: Path) -> None:
    other = repo.object_format != "sha1"
    config = _CONFIG.format(version=1 if other else 0) + (_SHA256 if other else "")
    (place / "config").write_text(config, "ascii")
    (place / "info" / "attributes").write_text(_ATTRIBUTES, "ascii")


def _write_history(repo: RunnerRepository, commit: str, place: Path) -> None:
    # Straight into the agent's folder, with its index: a copy by pack-objects shares no file with the runner.
    packs = place / "objects" / "pack" / "pack"
    git.run(
        "pack-objects",
        "--revs",
        "--quiet",
        "--delta-base-offset",
        str(packs),
        git_dir=repo.path,
        stdin=f"{commit}\n".encode("ascii"),
        durable=False,
    )
    shallow = repo.path / "shallow"
    if shallow.exists():
        shutil.copyfile(shallow, place / "shallow")
