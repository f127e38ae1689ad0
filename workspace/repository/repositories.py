"""The runner repository: bare, owner-only, the one place where the product's commits live."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from statemachine.refusals import NotFound, Refusal
from workspace.disk import durability
from workspace.repository import git, intake, shallows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from uuid import UUID

    from workspace.disk.roots import Root
    from workspace.repository.sources import Source

ID_LENGTHS: Final = {"sha1": 40, "sha256": 64}
FORMATS: Final = {length: name for name, length in ID_LENGTHS.items()}
# The tree of nothing by the length of its id; git knows it without having it.
EMPTY_TREES: Final = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_CONFIG: Final = """\
[core]
	logAllRefUpdates = always
	protectHFS = true
	protectNTFS = true
	fsync = all
[gc]
	auto = 0
[maintenance]
	auto = false
"""
_FOREIGN_OBJECTS: Final = ("objects/info/alternates", "objects/info/http-alternates")


@dataclass(frozen=True, slots=True)
class RunnerRepository:
    """Name a runner repository that was looked at and found fit."""

    path: Path
    object_format: str

    @property
    def objects(self) -> Path:
        """Return the folder of its objects."""
        return self.path / "objects"

    @property
    def nothing(self) -> str:
        """Return the id that stands for no object at all."""
        return "0" * ID_LENGTHS[self.object_format]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Hold one line of a tree listing; `size` only where it was asked for, and only of blobs."""

    mode: str
    type: str
    id: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """Hold one commit; `author` and `committer` are git's own lines, since a date in them need not be one."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    committer: str
    message: str


def folder(root: Root, runner: UUID) -> Path:
    """Name the folder of a runner repository, existing or not."""
    return root.repositories / f"{runner.hex}.git"


def create(root: Root, runner: UUID, object_format: str) -> RunnerRepository:
    """Make an empty runner repository, or open the one that is there; half of one is never seen.

    Raises:
        Refusal: `object_format_mismatch` where one is there already, of another object format.
    """
    place = folder(root, runner)
    if not place.exists():
        _make(place, object_format)
    repo = open_repository(root, runner)
    if repo.object_format != object_format:
        raise Refusal(
            "object_format_mismatch",
            f"the runner repository holds {repo.object_format} objects, the source {object_format}",
            hint="add the source as a repository of its own",
        )
    return repo


def open_repository(root: Root, runner: UUID) -> RunnerRepository:
    """Open a runner repository after a look at who could have changed it.

    Raises:
        NotFound: `repository_missing`.
        Refusal: `repository_unsafe` where others may write to it, or it holds hooks or borrowed objects.
    """
    place = folder(root, runner)
    try:
        text = (place / "config").read_text("utf-8", "replace")
    except OSError as error:
        raise NotFound(
            "repository_missing",
            f"there is no runner repository at {place}",
            hint="restore it from a backup, or add the repository again",
        ) from error
    _refuse_unsafe(place)
    found = re.search(r"(?mi)^\s*objectformat\s*=\s*(sha256)\s*$", text)
    return RunnerRepository(place, found[1] if found else "sha1")


def check_id(repo: RunnerRepository, text: str) -> str:
    """Return a full object id unchanged; whatever else it is, refuse it before it reaches a command or a row."""
    if re.fullmatch(f"[0-9a-f]{{{len(repo.nothing)}}}", text) and text != repo.nothing:
        return text
    raise Refusal("bad_object_id", f"not a full {repo.object_format} object id", found=text[:80])


def listing(repo: RunnerRepository, commit: str, *, sizes: bool = False) -> dict[bytes, Entry]:
    """List every path of a commit or tree as bytes, folders left out, in git's order."""
    long = ("--long",) if sizes else ()
    printed = git.run("ls-tree", "-r", "-z", "--full-tree", *long, check_id(repo, commit), git_dir=repo.path)
    return dict(map(_entry, filter(None, printed.split(b"\0"))))


def _entry(line: bytes) -> tuple[bytes, Entry]:
    about, path = line.split(b"\t", 1)
    mode, kind, found, *size = about.decode("ascii").split()
    known = int(size[0]) if size and size[0] != "-" else None
    return path, Entry(mode=mode, type=kind, id=found, size=known)


def read_blob(repo: RunnerRepository, blob: str, *, limit: int = git.OUTPUT) -> bytes:
    """Return the bytes of one blob of at most `limit` bytes."""
    return git.run("cat-file", "blob", check_id(repo, blob), git_dir=repo.path, limit=limit)


def contains(repo: RunnerRepository, found: str) -> bool:
    """Tell whether an object is here."""
    return bool(present(repo, [check_id(repo, found)]))


def present(repo: RunnerRepository, wanted: list[str], *, env: Mapping[str, str] | None = None) -> set[str]:
    """Return those of the ids whose objects are here, in one look."""
    asked = "".join(f"{each}\n" for each in wanted).encode()
    printed = git.run("cat-file", "--batch-check=%(objectname)", git_dir=repo.path, stdin=asked, env=env)
    return set(printed.decode("ascii", "replace").splitlines()) & set(wanted)


def is_ancestor(repo: RunnerRepository, older: str, newer: str) -> bool:
    """Tell whether `newer` descends from `older`, or is it; both must be here."""
    call = git.Call(
        arguments=("merge-base", "--is-ancestor", check_id(repo, older), check_id(repo, newer)), git_dir=repo.path
    )
    outcome = git.perform(call)
    if outcome.status not in {0, 1}:
        git.fail(call, outcome.status, outcome.errors)
    return outcome.status == 0


def commit_info(repo: RunnerRepository, commit: str) -> CommitInfo:
    """Read one commit as git stores it, with the lines of its header in order."""
    raw = git.run("cat-file", "commit", check_id(repo, commit), git_dir=repo.path)
    header, _, message = raw.decode("utf-8", "replace").partition("\n\n")
    lines = [line.partition(" ")[::2] for line in header.split("\n")]
    said = dict(reversed(lines))
    return CommitInfo(
        id=commit,
        tree=said["tree"],
        parents=tuple(value for key, value in lines if key == "parent"),
        author=said.get("author", ""),
        committer=said.get("committer", ""),
        message=message,
    )


def fetch(repo: RunnerRepository, source: Source, commit: str) -> None:
    """Bring one commit of a person's repository here, with all it needs; its objects are only read, as data.

    No git runs in the source: its objects are borrowed for one `pack-objects` of ours, so that neither its config,
    its hooks, its replace refs nor its owner matter. What arrives is checked whole before it is kept.

    Raises:
        Refusal: `object_format_mismatch`; `source_corrupt`.
    """
    if source.object_format != repo.object_format:
        raise Refusal(
            "object_format_mismatch",
            f"{source.path} holds {source.object_format} objects, the runner repository {repo.object_format}",
            hint="add the repository again under another name",
        )
    if contains(repo, commit):
        return
    env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": intake.alternates(source.common / "objects")}
    try:
        if source.shallow:
            _learn_cuts(repo, source, commit, env)
        known = git.run("for-each-ref", "--format=^%(objectname)", git_dir=repo.path)
        intake.take_in(repo, f"{commit}\n".encode() + known, env=env, tolerated=intake.BLEMISHES)
    except git.GitFailed as error:
        raise Refusal(
            "source_corrupt",
            f"{source.path} cannot give all of {commit}: {error.message}",
            hint="run `git fsck` there",
            path=str(source.path),
        ) from error


def _learn_cuts(repo: RunnerRepository, source: Source, commit: str, env: Mapping[str, str]) -> None:
    """Take over where the source's history is cut, as far as this commit meets it and nothing here is cut by it."""
    cuts = shallows.read(source.common)
    unknown = cuts - present(repo, sorted(cuts))
    with shallows.together(repo.path, unknown) as file:
        seen = {**env, "GIT_SHALLOW_FILE": str(file)}
        roots = git.run("rev-list", "--max-parents=0", commit, git_dir=repo.path, env=seen).decode("ascii").split()
    shallows.record(repo.path, unknown & set(roots))


def _make(place: Path, object_format: str) -> None:
    draft = place.with_name(f".{place.name}.{uuid4().hex}")
    try:
        git.run(
            "init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(draft), git_dir=None
        )
        with (draft / "config").open("a", encoding="ascii") as config:
            config.write(_CONFIG)
        durability.flush_tree(draft)
        with contextlib.suppress(FileExistsError, OSError):
            draft.rename(place)
            durability.flush(place.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _refuse_unsafe(place: Path) -> None:
    for path in (place.parent, place, place / "objects", place / "refs", place / "config"):
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            _unsafe(path, "others may write to it")
    hooks = place / "hooks"
    if hooks.exists() and any(hooks.iterdir()):
        _unsafe(hooks, "it holds hooks")
    for name in _FOREIGN_OBJECTS:
        if os.path.lexists(place / name):
            _unsafe(place / name, "it borrows objects from elsewhere")


def _unsafe(path: Path, why: str) -> None:
    raise Refusal(
        "repository_unsafe",
        f"{path} is not fit to be used: {why}",
        hint="find out who changed it before you remove what does not belong there",
        path=str(path),
    )
