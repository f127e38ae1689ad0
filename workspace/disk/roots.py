"""The runner's root: the one folder the product writes to, refused where somebody else could reach into it."""

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn
from uuid import UUID, uuid4

from statemachine.refusals import Refusal

_ELSEWHERE: Final = "name a folder of your own with --root or TASKS_ROOT"
_PRIVATE: Final = 0o700
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_REPOSITORY: Final = ("HEAD", "objects", "refs")
_OWNER_FILE: Final = "owner"


@dataclass(frozen=True, slots=True)
class Root:
    """Name the folders of a root; `open_root` is what looks at them."""

    path: Path

    @property
    def repositories(self) -> Path:
        """Return the folder of runner repositories."""
        return self.path / "repositories"

    @property
    def workspaces(self) -> Path:
        """Return the folder of allocations."""
        return self.path / "workspaces"

    @property
    def attempts(self) -> Path:
        """Return the folder of what attempts leave: logs, results, spools."""
        return self.path / "attempts"

    @property
    def trash(self) -> Path:
        """Return the folder that is emptied."""
        return self.path / "trash"

    @property
    def owner(self) -> UUID:
        """Read the token of the installation this root belongs to."""
        return UUID((self.path / _OWNER_FILE).read_text("ascii").strip())


def open_root(path: Path, *, forbidden: Sequence[Path] = ()) -> Root:
    """Make or open a root; every folder the product makes is its owner's alone.

    Raises:
        Refusal: `root_overlaps`, `root_in_repository`, `root_writable_by_others`, `root_unwritable`.
    """
    place = _resolved(path)
    refuse_overlap(place, forbidden)
    _refuse_repository(place)
    _refuse_writable_by_others(place)
    root = Root(place)
    with _written(place):
        for step in (*reversed(place.parents), place):
            step.mkdir(mode=_PRIVATE, exist_ok=True)
        _refuse_writable_by_others(place)  # again: in a folder all may write to, somebody may have been faster
        for folder in (root.repositories, root.workspaces, root.attempts, root.trash):
            _make_private(folder)
        _make_token(root)
    return root


def refuse_overlap(place: Path, forbidden: Sequence[Path]) -> None:
    """Refuse a place that is or holds the home folder, or overlaps a forbidden folder either way."""
    home = _resolved(Path("~"))
    if home.is_relative_to(place):
        _overlaps(place, home, "the home folder")
    for other in map(_resolved, forbidden):
        if place.is_relative_to(other) or other.is_relative_to(place):
            _overlaps(place, other, "another place that must stay apart")


def _overlaps(place: Path, other: Path, what: str) -> NoReturn:
    raise Refusal(
        "root_overlaps",
        f"{place} and {what} ({other}) lie in one another",
        hint=_ELSEWHERE,
        root=str(place),
        other=str(other),
    )


def _resolved(path: Path) -> Path:
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError) as error:  # a loop of links, or no home to expand
        raise Refusal("root_unwritable", f"the root {path} leads nowhere: {error}", hint=_ELSEWHERE) from error


def _refuse_repository(place: Path) -> None:
    for step in (place, *place.parents):
        # No git is run: one that is there may be hostile, and one that is broken is a repository all the same.
        if os.path.lexists(step / ".git") or all(os.path.lexists(step / name) for name in _REPOSITORY):
            raise Refusal(
                "root_in_repository",
                f"the root {place} lies in the git repository {step}",
                hint="choose a folder outside every repository with --root or TASKS_ROOT",
                root=str(place),
                repository=str(step),
            )


def _refuse_writable_by_others(place: Path) -> None:
    for step in (*reversed(place.parents), place):
        try:
            found = step.lstat()
        except OSError:
            return  # not made yet, or not to be seen: making it tells
        if found.st_uid not in {0, os.geteuid()}:
            _writable(step, "belongs to another user")
        # In a sticky folder nobody moves what is another's, so one above the root may be open to all.
        guarded = step != place and found.st_mode & stat.S_ISVTX
        if found.st_mode & _OTHERS and not guarded and not _private_group(found):
            _writable(step, "may be written to by others")


def _private_group(found: os.stat_result) -> bool:
    """Tell whether only the group may write, and the group is the user alone, as many systems set up accounts."""
    if found.st_mode & stat.S_IWOTH:
        return False
    with contextlib.suppress(KeyError):
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(found.st_gid)
        return group.gr_name == user and set(group.gr_mem) <= {user}
    return False


def _writable(step: Path, why: str) -> NoReturn:
    raise Refusal(
        "root_writable_by_others",
        f"{step} {why}, who could replace what is judged there",
        hint=f"run: chmod go-w {step} - or {_ELSEWHERE}",
        folder=str(step),
    )


@contextlib.contextmanager
def _written(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refusal(
            "root_unwritable",
            f"the root {place} cannot be written: {error.strerror} ({error.filename})",
            hint=f"make it writable for this user, or {_ELSEWHERE}",
            root=str(place),
        ) from error


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=_PRIVATE, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            _writable(folder, "belongs to another user")
        if stat.S_IMODE(found.st_mode) != _PRIVATE:
            os.fchmod(descriptor, _PRIVATE)
    finally:
        os.close(descriptor)


def _make_token(root: Root) -> None:
    token = root.path / _OWNER_FILE
    draft = root.path / f".{_OWNER_FILE}.{uuid4().hex}"
    if token.exists():
        return
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{uuid4()}\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        with contextlib.suppress(FileExistsError):  # another process was faster, and its token stands
            os.link(draft, token)
    finally:
        draft.unlink()
