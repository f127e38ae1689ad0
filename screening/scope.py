"""Which changes an item declared, path by path."""

from collections.abc import Iterable

from screening.parts import Part
from screening.verdicts import Touched
from statemachine.plans import Item, permits


def split_by_scope(parts: Iterable[Part], item: Item) -> tuple[tuple[Touched, ...], tuple[Touched, ...]]:
    """Split what was done into what the item declares and what it does not."""
    inside: list[Touched] = []
    outside: list[Touched] = []
    for part in parts:
        (inside if permits(item, part.kind, part.path) else outside).append((part.kind, part.path))
    return tuple(inside), tuple(outside)
