"""Where a merge goes: a person's own repository, trusted, and only read here."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from statemachine.refusals import Refusal
from statemachine.texts import listing, quote
from workspace.disk import names
from workspace.repository import git, refs, repositories, sources
from workspace.repository.repositories import EMPTY_TREES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.repository.repositories import RunnerRepository
    from workspace.repository.sources import Place

_LOCK: Final = "index.lock"
_REFUSING: Final = frozenset({"refuse", "true", "yes", "on", "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetState:
    """Say how a target's branch was found; `obstacle` is why its work tree cannot follow, empty where it can.

    `tip` is None where the branch does not exist; `checked_out` is the work tree that has it, if one has.
    """

    place: Place
    branch: str
    tip: str | None
    checked_out: Path | None
    obstacle: str

    @property
    def ref(self) -> str:
        """Return the full name of the branch."""
        return refs.branch_ref(self.branch)


def target_state(target: str | Path, branch: str) -> TargetState:
    """Read a branch of a person's repository and, where a work tree has it, whether that is clean.

    Raises:
        Refusal: `target_unreadable`; `bad_branch`.
    """
    ref = refs.branch_ref(branch)
    try:
        place = sources.locate(target)
        tip = _tip(place, ref)
        work_tree = _work_tree(place, ref)
        obstacle = _obstacle(place, work_tree, tip) if work_tree else ""
    except (Refusal, OSError) as error:
        raise unreadable(target, str(error)) from error
    return TargetState(place=place, branch=branch, tip=tip, checked_out=work_tree, obstacle=obstacle)


def holds(state: TargetState, commit: str) -> bool:
    """Tell whether the branch already reaches a commit."""
    if state.tip is None or state.tip == commit:
        return state.tip == commit
    where = repositories.RunnerRepository(state.place.common, repositories.FORMATS[len(commit)])
    return repositories.contains(where, commit) and repositories.is_ancestor(where, commit, state.tip)


def in_the_way(repo: RunnerRepository, state: TargetState, commit: str) -> list[bytes]:
    """List files of the work tree that nobody committed and the commit's new files would overwrite.

    Git spares untracked files, but not ignored ones.
    """
    if state.checked_out is None:
        return []
    base = state.tip or EMPTY_TREES[len(commit)]
    arguments = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", base, commit)
    added = _paths(git.run(*arguments, git_dir=repo.path))
    suspects = [path for path in added if _occupied(state.checked_out, path)]
    if not suspects:
        return []
    tracked = set(_paths(git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", base, git_dir=repo.path)))
    return [path for path in suspects if not _ours(state.checked_out, path, tracked)]


def unreadable(target: object, why: str) -> Refusal:
    """Make the refusal that says a target could not be looked at."""
    return Refusal(
        "target_unreadable",
        f"the target {quote(str(target))} cannot be read: {why}",
        hint="make it readable for this user (git's safe.directory where it is another's), then try again",
        target=str(target),
    )


def _tip(place: Place, ref: str) -> str | None:
    printed = git.run("for-each-ref", "--format=%(objectname) %(refname)", ref, git_dir=place.git_dir)
    pairs = (line.split(" ", 1) for line in printed.decode("utf-8", "surrogateescape").split("\n") if line)
    return next((found for found, name in pairs if name == ref), None)


def _work_tree(place: Place, ref: str) -> Path | None:
    printed = git.run("worktree", "list", "--porcelain", git_dir=place.common).decode("utf-8", "surrogateescape")
    for block in printed.split("\n\n"):
        lines = block.split("\n")
        if f"branch {ref}" in lines and "bare" not in lines:
            return Path(lines[0].removeprefix("worktree "))
    return None


def _obstacle(place: Place, work_tree: Path, tip: str | None) -> str:
    if _ask(place.git_dir, "config", "--get", "receive.denyCurrentBranch").output.decode().strip().lower() in _REFUSING:
        return "its receive.denyCurrentBranch says refuse"
    git_dir = sources.locate(work_tree).git_dir
    if (git_dir / _LOCK).exists():
        return f"{git_dir / _LOCK} says that another git is at work there, or was ended in the middle of it"
    with tempfile.TemporaryDirectory(prefix="weighlock-") as folder:
        index = Path(folder, "index")
        if (git_dir / "index").exists():
            shutil.copyfile(git_dir / "index", index)  # a look must not refresh the person's own
        env = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(work_tree)}
        _ask(git_dir, "update-index", "-q", "--ignore-submodules", "--refresh", env=env)
        head = tip or EMPTY_TREES[len(git.run("hash-object", "--stdin", git_dir=place.git_dir).strip())]
        for what, arguments in (
            ("changes that are not staged", ("diff-files",)),
            ("staged changes", ("diff-index", "--cached", head)),
        ):
            shown = (arguments[0], "--name-only", "-z", "--exit-code", "--ignore-submodules", *arguments[1:])
            outcome = _ask(git_dir, *shown, env=env)
            if outcome.status:
                return f"its work tree has {what}: {_listed(outcome)}" if outcome.status == 1 else _broken(outcome)
    return ""


def _listed(outcome: git.Outcome) -> str:
    return listing(names.text(path) for path in _paths(outcome.output))


def _broken(outcome: git.Outcome) -> NoReturn:
    raise Refusal("git_failed", quote(outcome.errors.strip()))


def _ask(git_dir: Path, *arguments: str, env: dict[str, str] | None = None) -> git.Outcome:
    return git.perform(git.Call(arguments=arguments, git_dir=git_dir, env=env or {}, theirs=True))


def _paths(printed: bytes) -> list[bytes]:
    return [path for path in printed.split(b"\0") if path]


def _place(work_tree: Path, path: bytes) -> Path:
    return work_tree / path.decode("utf-8", "surrogateescape")


def _occupied(work_tree: Path, path: bytes) -> bool:
    place = _place(work_tree, path)
    return any(_is_there(step) and (step == place or not _is_folder(step)) for step in _between(work_tree, place))


def _between(work_tree: Path, place: Path) -> Iterable[Path]:
    return (step for step in (place, *place.parents) if step != work_tree and step.is_relative_to(work_tree))


def _ours(work_tree: Path, path: bytes, tracked: set[bytes]) -> bool:
    """Tell whether everything at or above a path is what the old commit put there, and so is git's to replace."""
    place = _place(work_tree, path)
    there = [step for step in _between(work_tree, place) if _is_there(step) and not _is_folder(step)]
    if _is_there(place) and _is_folder(place):
        there += [step for step in place.rglob("*") if not _is_folder(step)]
    return all(bytes(step.relative_to(work_tree)) in tracked for step in there)


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
