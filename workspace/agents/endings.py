"""What only its worker saw of an agent's end, kept for whoever settles the attempt if that worker dies first.

A hint, never proof: an agent of executor `local` could have written it. It can make recovery settle a tree that was
inspected and screened again in full, and add a finding; it can take none away and name no commit.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final
from uuid import UUID

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from statemachine.attempts import StopReason
from statemachine.settlement import Isolation
from workspace.agents.running import Leftover
from workspace.disk.durability import appearing
from workspace.disk.files import read_plainly

__all__ = ["LONGEST", "Ending", "Kept", "Leftover", "Log", "keep", "kept_in"]

LONGEST: Final = 1 << 20
"""Bytes of the file, as of every result: a longer one is none."""
_NAME: Final = "result.json"
_STRICT: Final = ConfigDict(extra="forbid", strict=True)

_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Count = Annotated[int, Field(ge=0, lt=1 << 31)]
_Size = Annotated[int, Field(ge=0, lt=1 << 63)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What was captured of an agent's output; `size` and `sha256` speak of what was said, uncut."""

    size: _Size
    sha256: _Digest
    truncated: bool
    tail: Annotated[str, Field(max_length=16_000)]

    __pydantic_config__: ClassVar = _STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an agent ended, and what the layer around it saw; an exit code is a shell's, 128 and the signal's number."""

    exit_code: _Count | None
    log: Log
    isolation: Isolation | None = None
    stopped: StopReason | None = None
    launch_error: Annotated[str, Field(max_length=16_000)] = ""
    leftovers: tuple[Leftover, ...] = ()

    __pydantic_config__: ClassVar = _STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An ending, the attempt and epoch it is of, and the digest of what the tree was then found to be."""

    attempt: UUID
    epoch: _Count
    manifest: _Digest
    ending: Ending

    __pydantic_config__: ClassVar = _STRICT


_KEPT: Final = TypeAdapter(Kept)


def keep(folder: Path, kept: Kept) -> None:
    """Write it into the attempt's folder, where it is whole and flushed or not at all."""
    with appearing(folder / _NAME) as file:
        file.write(json.dumps(asdict(kept), default=str).encode("ascii"))


def kept_in(folder: Path, *, attempt: UUID, epoch: int) -> Kept | None:
    """Read what was kept of an attempt under an epoch; whatever is no such file, or says anything else, is nothing."""
    with suppress(OSError, ValidationError):
        written = read_plainly(folder / _NAME, LONGEST + 1)
        if len(written) > LONGEST:
            return None
        kept = _KEPT.validate_json(written)
        plain = all(each.command.isprintable() for each in kept.ending.leftovers)
        return kept if plain and (kept.attempt, kept.epoch) == (attempt, epoch) else None
    return None
