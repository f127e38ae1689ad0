"""What an attempt left unfinished, taken up by a person: the exact patch, and the patch applied to their folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from statemachine.refusals import NotFound, Refusal
from statemachine.texts import quote
from workspace.repository import git, refs, repositories, sources

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from workspace.repository.repositories import RunnerRepository


def patch(repo: RunnerRepository, attempt: UUID) -> bytes:
    """Write what an attempt left unfinished as a patch for `git apply`, byte for byte, whatever its attributes say.

    Raises:
        NotFound: `partial_not_found` where nothing was kept that git can store.
    """
    commit = refs.read(repo, refs.partial_ref(attempt))
    if commit is None:
        raise NotFound(
            "partial_not_found",
            "this attempt left nothing that git could keep",
            hint="`tasks output show` shows what was kept to read; what it committed is in `tasks diff`",
        )
    return git.run(
        "diff-tree",
        "-p",
        "-r",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        f"{commit}^",
        commit,
        git_dir=repo.path,
        env={"GIT_ATTR_SOURCE": repositories.EMPTY_TREES[len(commit)]},
    )


def apply(patch: bytes, folder: Path) -> None:
    """Apply a patch to a person's work tree, all of it or nothing; nothing is staged or committed.

    The folder is theirs, so their git reads it as it always does. Raises `output_conflicts` where the files are not
    as the attempt found them, and as `sources.locate`.
    """
    place = sources.locate(folder)
    call = git.Call(
        arguments=("apply", "--whitespace=nowarn", "-"),
        git_dir=place.git_dir,
        stdin=patch,
        env={"GIT_WORK_TREE": str(place.path)},
        theirs=True,
        folder=place.path,
        umask=git.INHERITED,
    )
    outcome = git.perform(call)
    if outcome.status:
        raise Refusal(
            "output_conflicts",
            f"the patch does not apply to {quote(str(place.path))}: {quote(outcome.errors.strip())}",
            hint="check out the commit the attempt began with; `tasks output show ATTEMPT` names it",
        )
