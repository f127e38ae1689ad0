"""Make real git repositories, packs and judgements for tests; nothing here is the product's own code."""

import hashlib
import os
import subprocess
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from workspace.disk.roots import open_root
from workspace.repository import repositories, sources
from workspace.repository.repositories import RunnerRepository

WHO = {f"GIT_{role}_{what}": "t@e" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
NEUTRAL = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **WHO}
WHEN = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)

Content = tuple[str, bytes]


def git(folder: Path, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
    """Run git as a person would and return what it prints."""
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    ended = subprocess.run(
        command, cwd=folder, input=stdin, env={**NEUTRAL, **(env or {})}, capture_output=True, check=False
    )
    assert ended.returncode == 0, f"{arguments}: {ended.stderr.decode('utf-8', 'replace')}"
    return ended.stdout.decode("utf-8", "surrogateescape").strip()


def person(folder: Path, files: Mapping[str, str | bytes] | None = None, *options: str) -> Path:
    """Make a person's repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main", *options)
    commit(folder, files or {"a.txt": "one\n"})
    return folder


def commit(folder: Path, files: Mapping[str, str | bytes], message: str = "base") -> str:
    """Write files in a person's work tree, commit them, and return the id."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def runner(tmp_path: Path, source: Path, revision: str = "HEAD") -> tuple[RunnerRepository, str]:
    """Make a runner repository that has fetched one commit of a source."""
    looked = sources.inspect_source(source)
    base = sources.resolve(looked, revision)
    repo = repositories.create(open_root(tmp_path / "root"), uuid4(), looked.object_format)
    repositories.fetch(repo, looked, base)
    return repo, base


def snapshot(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Take down every entry of a folder: its mode, when it was changed, what it holds."""
    taken = {}
    for place in sorted(folder.rglob("*")):
        found = place.lstat()
        content = str(place.readlink()) if place.is_symlink() else place.read_bytes().hex() if place.is_file() else ""
        taken[str(place.relative_to(folder))] = (found.st_mode, found.st_mtime_ns, content)
    return taken


def object_id(kind: str, content: bytes, object_format: str = "sha1") -> str:
    """Compute an object's id as git does."""
    return hashlib.new(object_format, b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()


def write_pack(path: Path, objects: Iterable[tuple[str, bytes]], object_format: str = "sha1") -> None:
    """Write a pack without deltas, of whatever kinds of objects."""
    entries = [_entry(kind, content) for kind, content in objects]
    body = b"PACK" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big") + b"".join(entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body + hashlib.new(object_format, body).digest())


def _entry(kind: str, content: bytes) -> bytes:
    number, size = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}[kind], len(content)
    head, size = bytearray([number << 4 | size & 15]), size >> 4
    while size:
        head[-1] |= 128
        head.append(size & 127)
        size >>= 7
    return bytes(head) + zlib.compress(content)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Stand where an inspection stands: a manifest and its spool."""

    manifest: dict[str, Any]
    spool: Path


def side(mode: str, identity: str, size: int, target: str | None = None) -> dict[str, Any]:
    """Describe one side of a change."""
    kind = {"120000": "symlink", "160000": "gitlink"}.get(mode, "file")
    return {"type": kind, "mode": mode, "id": identity, "size": size, "target": target}


def judge(
    repo: RunnerRepository, base: str, wanted: Mapping[bytes, Content | None], spool: Path, *, packs: int = 1
) -> Judgement:
    """Write the manifest and the packs that an inspection of these edits would leave; None is a removal."""
    before = repositories.listing(repo, base, sizes=True)
    changes = []
    for path, content in sorted(wanted.items()):
        entry = before.get(path)
        old = entry and side(entry.mode, entry.id, entry.size or 0)
        new = content and side(content[0], object_id("blob", content[1], repo.object_format), len(content[1]))
        if old != new:
            changes.append(change(_kind(old, new), path, old, new))
    blobs = sorted({content[1] for content in wanted.values() if content})
    for number in range(packs):
        if mine := blobs[number::packs]:
            write_pack(spool / f"blobs-{number}.pack", [("blob", blob) for blob in mine], repo.object_format)
    return Judgement(manifest(base, changes), spool)


def change(
    kind: str, path: bytes, old: dict[str, Any] | None, new: dict[str, Any] | None, **more: object
) -> dict[str, Any]:
    """Describe one change of a manifest."""
    stated = {"kind": kind, "path": path.decode("utf-8", "surrogateescape"), "old_path": None, "old": old, "new": new}
    return {**stated, "ignored": False, "collides": False, "through_link": None, **more}


def manifest(base: str, changes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Describe a tree in which nothing but these changes was found."""
    lists = ("metadata", "commits", "links_changed", "gitlink_content", "leftover_processes", "ignored", "notes")
    flags = {"metadata_changed": False, "agent_commits": False, "identity": "exact"}
    return {"version": 1, "base": base, **flags, **{each: [] for each in lists}, "changes": list(changes)}


def _kind(old: dict[str, Any] | None, new: dict[str, Any] | None) -> str:
    if old is None or new is None:
        return "delete" if old else "add"
    if old["type"] != new["type"]:
        return "type"
    return "mode" if old["id"] == new["id"] else "modify"
