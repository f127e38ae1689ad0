"""Ask which paths the base's own rules ignore; what an agent wrote into an ignore file has no say."""

import contextlib
import os
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from workspace.disk.names import fault, raw, text
from workspace.repository import git
from workspace.repository.blobs import blobs
from workspace.repository.repositories import Entry, RunnerRepository

_RULES: Final = b".gitignore"
_PLAIN: Final = frozenset({"100644", "100755", "100664"})
_HERE: Final = b"./"  # before each path: one that begins with a colon would be taken for a pattern


class Ignores:
    """Answer by git's own matching over a scratch folder that holds the base's ignore files and nothing of the tree."""

    def __init__(self, repo: RunnerRepository, base: Mapping[bytes, Entry], scratch: Path) -> None:
        self._repo = repo
        self._scratch = scratch
        self._rules = [(path, entry.id) for path, entry in base.items() if _is_rules(path, entry)]

    def among(self, files: Collection[str], folders: Collection[str], patience: timedelta) -> set[str]:
        """Return those of the paths that are ignored; the folders above them must not be."""
        if not self._rules or not (files or folders):
            return set()
        self._write(patience)
        for folder in folders:
            self._place(folder)
        return self._ask([_HERE + raw(path) for path in (*files, *folders)], patience)

    def _ask(self, paths: list[bytes], patience: timedelta) -> set[str]:
        call = git.Call(
            arguments=("check-ignore", "--no-index", "--stdin", "-z"),
            git_dir=self._repo.path,
            stdin=b"\0".join(paths) + b"\0",
            env={"GIT_WORK_TREE": str(self._scratch), "GIT_LITERAL_PATHSPECS": "0"},
            timeout=patience,
        )
        outcome = git.perform(call)
        if outcome.status not in {0, 1}:  # 1: none of them
            git.fail(call, outcome.status, outcome.errors)
        return {text(path.removeprefix(_HERE)) for path in outcome.output.split(b"\0") if path}

    def _write(self, patience: timedelta) -> None:
        if self._scratch.exists():
            return
        self._scratch.mkdir(mode=0o700)
        contents = blobs(self._repo, [identity for _, identity in self._rules], patience)
        for (path, _), blob in zip(self._rules, contents, strict=True):
            place = self._scratch / os.fsdecode(path)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.write_bytes(b"".join(blob.pieces()))

    def _place(self, folder: str) -> None:
        # A rule like "build/" is for folders only, and git looks whether there is one.
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            (self._scratch / os.fsdecode(raw(folder))).mkdir(mode=0o700, parents=True)


def _is_rules(path: bytes, entry: Entry) -> bool:
    return path.rpartition(b"/")[2] == _RULES and entry.mode in _PLAIN and not fault(text(path))
