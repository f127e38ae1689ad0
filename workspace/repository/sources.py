"""A person's repository, which is only read."""

from __future__ import annotations

import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.repository import git

if TYPE_CHECKING:
    from workspace.repository.repositories import RunnerRepository

_BARE: Final = ("HEAD", "objects", "refs")
_PROMISED: Final = r"^(extensions\.partialclone|remote\..*\.promisor)$"
_OFF: Final = frozenset({"false", "no", "off", "0"})
_UNSET: Final = frozenset({"unspecified", "unset"})
_POINTER: Final = 4096  # bytes a .git file may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Say where a repository is: what a person names, its gitdir, and the gitdir that all its worktrees share."""

    path: Path
    git_dir: Path
    common: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Place):
    """Describe a person's repository as it was found; `owner` is a user id."""

    bare: bool
    shallow: bool
    object_format: str
    owner: int
    head_branch: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Name a path whose attributes make git write other bytes than the repository holds."""

    path: str
    attribute: str
    value: str


def locate(where: str | Path) -> Place:
    """Find the gitdir of exactly this folder, without git and without looking any higher.

    Raises:
        Refusal: `source_not_a_repository`; `source_url_unsupported`.
    """
    path = _folder(where)
    path = path.parent if path.name == ".git" else path
    git_dir = _git_dir(path)
    pointer = git_dir / "commondir"
    common = (git_dir / _line(pointer)).resolve() if pointer.is_file() else git_dir
    return Place(path=path, git_dir=git_dir, common=common)


def inspect_source(where: str | Path) -> Source:
    """Look at a person's repository and refuse one that cannot be a source.

    Raises:
        Refusal: as `locate`; `source_unreadable` where git cannot read it; `source_partial`.
    """
    place = locate(where)
    asked = ("--is-bare-repository", "--is-shallow-repository", "--show-object-format")
    try:
        bare, shallow, object_format = git.run("rev-parse", *asked, git_dir=place.git_dir).decode("ascii").split()
        _refuse_partial(place)
    except git.GitFailed as error:
        raise _unreadable(place, error) from error
    return Source(
        path=place.path,
        git_dir=place.git_dir,
        common=place.common,
        bare=bare == "true",
        shallow=shallow == "true",
        object_format=object_format,
        owner=place.git_dir.stat().st_uid,
        head_branch=_head_branch(place),
    )


def resolve(source: Source, revision: str) -> str:
    """Resolve a branch, a tag or any other revision to the id of a commit.

    Raises:
        Refusal: `base_missing`; `base_ambiguous` where a branch and a tag of that name disagree.
    """
    branch, tag, other = _commits(source, revision)
    if branch and tag and branch != tag:
        raise Refusal(
            "base_ambiguous",
            f"{quote(revision)} is a branch and a tag, and they differ",
            hint=f"write refs/heads/{revision} or refs/tags/{revision}",
            branch=branch,
            tag=tag,
        )
    found = branch or tag or other
    if found is None and not _has_refs(source):
        raise Refusal(
            "base_missing",
            f"{source.path} has no commit yet",
            hint=f"git -C {shlex.quote(str(source.path))} commit --allow-empty -m 'Begin'",
            revision=revision,
        )
    if found is None:
        cut = "; its history is cut short: `git fetch --unshallow` brings the rest" if source.shallow else ""
        raise Refusal(
            "base_missing",
            f"{source.path} has no commit {quote(revision)}{cut}",
            hint="name a branch, a tag or a commit of that repository",
            revision=revision,
        )
    return found


def converting_paths(repo: RunnerRepository, commit: str) -> tuple[Conversion, ...]:
    """List the paths of a fetched commit that a checkout by git would write with other bytes.

    `text` and `eol=lf` are not among them: they change what is added, not what is written here.
    """
    paths = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, git_dir=repo.path)
    if b".gitattributes\0" not in paths:
        return ()
    with tempfile.TemporaryDirectory(dir=repo.path, prefix="index-") as folder:
        env = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.run("read-tree", commit, git_dir=repo.path, env=env, durable=False)
        wanted = ("eol", "ident", "working-tree-encoding", "filter")
        printed = git.run("check-attr", "--cached", "-z", "--stdin", *wanted, git_dir=repo.path, stdin=paths, env=env)
    fields = printed.decode("utf-8", "surrogateescape").split("\0")
    triples = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
    return tuple(
        Conversion(path=path, attribute=key, value=value) for path, key, value in triples if _converts(key, value)
    )


def _folder(where: str | Path) -> Path:
    text = str(where)
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    elif "://" in text or (isinstance(where, str) and re.match(r"[^/]+:", text)):
        raise Refusal(
            "source_url_unsupported",
            f"{quote(text)} is not a folder of this machine",
            hint="clone it and give the path of the clone",
        )
    path = Path(text).expanduser().absolute()
    if not path.is_dir():
        raise _not_a_repository(path, "there is no such folder")
    return path.resolve()


def _git_dir(path: Path) -> Path:
    dot = path / ".git"
    if dot.is_dir():
        return dot
    if dot.is_file():
        pointer = _line(dot)
        if pointer.startswith("gitdir: ") and (found := path / pointer.removeprefix("gitdir: ")).is_dir():
            return found.resolve()
        raise _not_a_repository(path, "its .git file points nowhere")
    if all((path / name).exists() for name in _BARE):
        return path
    around = next((each for each in path.parents if (each / ".git").exists()), None)
    raise _not_a_repository(path, f"it is a folder inside {around}" if around else "it holds no .git", around=around)


def _line(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(_POINTER).decode("utf-8", "surrogateescape").rstrip("\n")


def _not_a_repository(path: Path, why: str, around: Path | None = None) -> Refusal:
    hint = f"give {around}" if around else "give the path of a git repository, or make one with `git init`"
    return Refusal("source_not_a_repository", f"{path} is not a git repository: {why}", hint=hint, path=str(path))


def _unreadable(place: Place, error: git.GitFailed) -> Refusal:
    return Refusal(
        "source_unreadable",
        f"git cannot read {place.path}: {error.message}",
        hint="run `git fsck` there",
        path=str(place.path),
    )


def _refuse_partial(place: Place) -> None:
    call = git.Call(arguments=("config", "--null", "--get-regexp", _PROMISED), git_dir=place.git_dir)
    outcome = git.perform(call)
    if outcome.status > 1:
        git.fail(call, outcome.status, outcome.errors)
    for line in filter(None, outcome.output.decode("utf-8", "replace").split("\0")):
        key, _, value = line.partition("\n")
        if value.lower() not in _OFF:
            raise Refusal(
                "source_partial",
                f"{place.path} is a partial clone ({quote(key)}): objects are missing from it",
                hint="make a full clone and give its path",
                path=str(place.path),
            )


def _head_branch(place: Place) -> str | None:
    outcome = git.perform(git.Call(arguments=("symbolic-ref", "--quiet", "HEAD"), git_dir=place.git_dir))
    name = outcome.output.decode("utf-8", "surrogateescape").strip()
    return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None


def _commits(source: Source, revision: str) -> tuple[str | None, str | None, str | None]:
    """Look a revision up as branch, as tag and as anything else, in one run; what it says is data, never an option."""
    if not revision or "\0" in revision or "\n" in revision:
        return None, None, None
    full = revision == "HEAD" or re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", revision)
    names = [revision] if full else [f"refs/heads/{revision}", f"refs/tags/{revision}", revision]
    asked = "".join(f"{name}^{{commit}}\n" for name in names).encode("utf-8", "surrogateescape")
    printed = git.run(
        "cat-file", "--batch-check=%(objectname) %(objecttype)", git_dir=source.git_dir, stdin=asked
    ).decode("utf-8", "surrogateescape")
    found = [_commit(line) for line in printed.split("\n")[: len(names)]]
    branch, tag, other = [None, None, *found] if full else found
    return branch, tag, other


def _has_refs(source: Source) -> bool:
    return bool(git.run("for-each-ref", "--count=1", git_dir=source.git_dir).strip())


def _commit(line: str) -> str | None:
    found = re.fullmatch(r"([0-9a-f]{40}|[0-9a-f]{64}) commit", line)
    return found[1] if found else None


def _converts(attribute: str, value: str) -> bool:
    match attribute:
        case "eol":
            return value == "crlf"
        case "ident":
            return value == "set"
        case "working-tree-encoding":
            return value not in _UNSET and value.upper() not in {"UTF-8", "SET"}
        case _:
            return value not in _UNSET
