"""Hand a result on: as a diff to read, as patches, as a bundle; and keep what an attempt left unfinished."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.disk import durability, names
from workspace.repository import git, quarantines, refs, repositories
from workspace.results import commits, diffs, edits
from workspace.results.diffs import Trees
from workspace.results.edits import CommitRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path
    from uuid import UUID

    from workspace.repository.repositories import RunnerRepository
    from workspace.results.commits import Identity, Judged
    from workspace.results.edits import Edits

CAP: Final = 1 << 20
PARTIAL_PATIENCE: Final = timedelta(seconds=60)
_BUNDLED: Final = "refs/heads/weighlock"
_HEADERS: Final = {"sha1": "# v2 git bundle\n", "sha256": "# v3 git bundle\n@object-format=sha256\n"}
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """Say where an unfinished attempt's output is; `commit` is None where there was nothing git can store."""

    path: Path
    size: int
    commit: str | None


def diff(repo: RunnerRepository, base: str, head: str, *, limit: int = git.OUTPUT) -> bytes:
    """Show how `head` differs from `base` in at most `limit` bytes; no attribute of either hides anything.

    The text is the agent's: whoever shows it on a terminal escapes it first.
    """
    checked = [repositories.check_id(repo, each) for each in (base, head)]
    return diffs.text(Trees(git_dir=repo.path, base=checked[0], head=checked[1], env={}), limit=limit)


def patches(repo: RunnerRepository, base: str, head: str) -> bytes:
    """Write the commits from `base` to `head` as mails for `git am --keep-cr`."""
    between = f"{repositories.check_id(repo, base)}..{repositories.check_id(repo, head)}"
    printed = git.run(
        "format-patch",
        "--stdout",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-signature",
        between,
        git_dir=repo.path,
        env={"GIT_ATTR_SOURCE": repositories.EMPTY_TREES[len(base)]},
    )
    return printed or _nothing(base, head)


def bundle(repo: RunnerRepository, base: str, head: str, path: Path, *, ref: str = _BUNDLED) -> None:
    """Write what `head` has beyond `base` as a bundle with exactly one ref, which appears whole or not at all."""
    before, after = repositories.check_id(repo, base), repositories.check_id(repo, head)
    if repositories.is_ancestor(repo, after, before):
        _nothing(base, head)
    header = f"{_HEADERS[repo.object_format]}-{before} base\n{after} {ref}\n\n"
    arguments = ("pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset")
    revisions = f"{after}\n^{before}\n".encode()
    with durability.appearing(path) as file, git.stream(*arguments, git_dir=repo.path, stdin=revisions) as pack:
        file.write(header.encode())
        while piece := pack.read(_CHUNK):
            file.write(piece)


def partial(
    repo: RunnerRepository,
    inspection: Judged,
    *,
    attempt: UUID,
    author: Identity,
    date: datetime,
    path: Path,
    deadline: timedelta = PARTIAL_PATIENCE,
) -> Partial:
    """Keep what an attempt that did not complete has made: a diff to read, and a commit that is never merged.

    Ignored content is in neither. What git cannot store is named in the diff's first lines.

    Raises:
        Refusal: where not even the diff could be written; the workspace is then all there is.
    """
    base = repositories.check_id(repo, inspection.manifest["base"])
    with quarantines.quarantine(repo, timeout=deadline) as room:
        wanted, notices = _storable(inspection.manifest)
        missing = edits.absent(room, wanted, edits.load(room, inspection.spool))
        lost = [each for each, edit in wanted.items() if edit.new and edit.new.id in missing]
        notices += [f"{quote(names.text(each))} was not kept: its content was not read" for each in lost]
        kept = {each: edit for each, edit in wanted.items() if each not in lost}
        tree = edits.build(room, base, kept)
        trees = Trees(git_dir=repo.path, base=base, head=tree, env=room.env, timeout=room.timeout)
        text = diffs.text(trees, limit=CAP, notices=notices)
        with durability.appearing(path) as file:
            file.write(text)
        commit = None
        if kept:
            said = f"Partial output of attempt {attempt}\n\nNobody judged it; it is never merged.\n"
            commit = commits.write(room, tree, parent=base, message=said, author=author, date=date)
            room.migrate(commit, parent=base)
            refs.hold(repo, refs.partial_ref(attempt), commit)
    return Partial(path=path, size=len(text), commit=commit)


def _storable(manifest: Mapping[str, Any]) -> tuple[Edits, list[str]]:
    """Part the changes a tree can hold from those that are only named."""
    wanted: Edits = {}
    notices = [
        f"{quote(each['path'])} is ignored and was not kept: {each['entries']} entries, {each['bytes']} bytes"
        for each in manifest["ignored"]
    ]
    for change in manifest["changes"]:
        if change["ignored"]:
            continue
        try:
            found = dict(edits.parts(change))
            _refuse_names(found)
            wanted |= found
        except CommitRefused as refusal:
            notices.append(f"{quote(change['path'])} was not kept: {refusal.facts['reason']}")
    return wanted, notices


def _refuse_names(found: Iterable[bytes]) -> None:
    for path in found:
        if any(part in {"", ".", ".."} or names.spells_git(part) for part in names.text(path).split("/")):
            raise CommitRefused("git has no such path", [path])


def _nothing(base: str, head: str) -> bytes:
    raise Refusal(
        "nothing_to_export", f"there is nothing between {base} and {head}", hint="wait until an item has a commit"
    )
