"""Put a manifest together: canonical JSON, so that the same tree gives the same digest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from statemachine.texts import quote

VERSION: Final = 1
_NAMED: Final = 5

Manifest = dict[str, Any]


def canonical(document: object) -> str:
    """Write a document in the one way it is written."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(document: object) -> str:
    """Return the SHA-256 of a document's one spelling."""
    return hashlib.sha256(canonical(document).encode("ascii")).hexdigest()


def notes(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Say in a line each what was noted, with a count and the first few paths."""
    return [_note(what, sorted(paths)) for what, paths in sorted(found.items()) if paths]


def _note(what: str, paths: Sequence[str]) -> str:
    named = ", ".join(quote(path, 100) for path in paths[:_NAMED])
    return f"{what}: {len(paths)} ({named}{', ...' if len(paths) > _NAMED else ''})"
