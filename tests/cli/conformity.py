"""Whether a JSON document is what its type in `cli.pages.schemas` says: all its keys, no other, each of its type."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict


def conforms(document: Any, schema: Any) -> None:
    """Fail with the place of the first difference."""
    wrong = next(_differences(document, schema, "$"), None)
    assert wrong is None, wrong


def _differences(document: Any, schema: Any, place: str) -> Iterator[str]:
    origin = get_origin(schema)
    if is_typeddict(schema):
        yield from _of_keys(document, schema, place)
    elif origin is list and isinstance(document, list):
        for number, each in enumerate(document):
            yield from _differences(each, get_args(schema)[0], f"{place}[{number}]")
    elif origin in {Union, UnionType}:
        if all(list(_differences(document, each, place)) for each in get_args(schema)):
            yield f"{place}: {document!r} is none of {schema}"
    elif not (schema is Any or _is(document, origin or schema)):
        yield f"{place}: {document!r} is no {schema}"


def _of_keys(document: Any, schema: Any, place: str) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"{place}: {document!r} is no object"
        return
    hints = get_type_hints(schema)
    for key in hints.keys() ^ document.keys():
        yield f"{place}.{key} is {'missing' if key in hints else 'not in the schema'}"
    for key in hints.keys() & document.keys():
        yield from _differences(document[key], hints[key], f"{place}.{key}")


def _is(document: Any, kind: Any) -> bool:
    wanted = {float: (float, int), None: (NoneType,)}.get(kind, (kind,))
    return isinstance(document, wanted) and (kind is bool or not isinstance(document, bool))
