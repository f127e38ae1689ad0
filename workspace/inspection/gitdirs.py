"""Write the gitdir an agent works with: the product's own, with the base's history, and no way back to us.

For `local` it is the tree's `.git`, compared afterwards; a sandbox gets one from outside of the tree, which is thrown
away unread, on an empty `.git` that must stay so.
"""

import re
import shutil
from pathlib import Path
from typing import Final, Literal

from workspace.inspection.baselines import Difference, compare, leave_empty, remember
from workspace.inspection.indexes import write_index
from workspace.repository import git
from workspace.repository.repositories import RunnerRepository, check_id, listing

__all__ = ["Difference", "compare", "leave_empty", "write_apart", "write_gitdir"]

History = Literal["full", "shallow", "none"]

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
    write_apart(repo, commit, folder, folder / ".git", branch=branch)
    return remember(folder)


def write_apart(
    repo: RunnerRepository,
    commit: str,
    folder: Path,
    place: Path,
    *,
    branch: str,
    history: History = "full",
    objects: Path | None = None,
) -> None:
    """Write a gitdir for a fresh tree of this commit at a place that is not there yet.

    `objects` is a store of objects to read from instead of a copy of the history. With a history of `none` the branch
    is unborn, and everything in the tree is new to the agent's git.
    """
    if not _BRANCH.fullmatch(branch):
        raise ValueError(f"not a branch name the product makes: {branch!r}")
    check_id(repo, commit)
    place.mkdir(mode=0o700)
    for name in _FOLDERS:
        (place / name).mkdir(parents=True)
    _write_settings(repo, place)
    (place / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "ascii")
    if history == "none":
        return
    if objects is None:
        _write_history(repo, commit, place, history)
    else:
        (place / "objects" / "info" / "alternates").write_bytes(bytes(objects) + b"\n")
    ref = place / "refs" / "heads" / branch
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(f"{commit}\n", "ascii")
    write_index(folder, listing(repo, commit), place / "index", repo.object_format)


def _write_settings(repo: RunnerRepository, place: Path) -> None:
    other = repo.object_format != "sha1"
    config = _CONFIG.format(version=1 if other else 0) + (_SHA256 if other else "")
    (place / "config").write_text(config, "ascii")
    (place / "info" / "attributes").write_text(_ATTRIBUTES, "ascii")


def _write_history(repo: RunnerRepository, commit: str, place: Path, history: History) -> None:
    # Straight into the agent's folder, with its index: a copy by pack-objects shares no file with the runner.
    packs = place / "objects" / "pack" / "pack"
    cut = f"--shallow {commit}\n" if history == "shallow" else ""
    git.run(
        "pack-objects",
        "--revs",
        *(["--shallow"] if cut else []),
        "--quiet",
        "--delta-base-offset",
        str(packs),
        git_dir=repo.path,
        stdin=f"{cut}{commit}\n".encode("ascii"),
        durable=False,
    )
    shallow = repo.path / "shallow"
    if cut:
        (place / "shallow").write_text(f"{commit}\n", "ascii")
    elif shallow.exists():
        shutil.copyfile(shallow, place / "shallow")
