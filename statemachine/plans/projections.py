"""The tree as each item will find it, and every operation the tree cannot take.

Only exact paths are judged: whether a folder or a glob will have made or removed a path is not known, so
where an earlier item's pattern covers a path, both answers are allowed. The operations of one item are
judged against the tree before it: what it takes away first, then what it puts there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from statemachine.paths import parents
from statemachine.plans.declarations import Item, Operation, OperationKind
from statemachine.plans.problems import Problem, Where
from statemachine.plans.scopes import covers, exact_path
from statemachine.plans.trees import FILE, GITLINK, SYMLINK, Tree
from statemachine.texts import quote

_ANYTHING: Final = "/x"


@dataclass(frozen=True, slots=True)
class ProjectedTree:
    """Hold the tree, path to mode, as it will be when every item did all it declares exactly."""

    entries: Mapping[str, str]


def project(items: Iterable[tuple[int, Item]], tree: Mapping[str, str]) -> tuple[ProjectedTree, tuple[Problem, ...]]:
    """Run the declared operations of items, each with its place in the plan, over a tree of path to mode."""
    projection = _Projection(Tree(tree))
    problems = tuple(problem for at, item in items for problem in projection.run(item, ("items", at, "files")))
    return ProjectedTree(projection.tree.entries), problems


class _Projection:
    """A tree on its way through the items, and the patterns that may have changed it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._made: list[str] = []
        self._removed: list[str] = []

    def run(self, item: Item, where: Where) -> Iterator[Problem]:
        """Judge one item's operations on the tree before it, and leave the tree as it will be after it."""
        operations = [(operation, (*where, at)) for at, operation in enumerate(item.operations)]
        yield from _doubles(operations)
        self._removed += [spec for operation in item.operations for spec in _removed_patterns(operation)]
        for operation, place in operations:
            yield from self._source_problems(operation, place)
        modes = self._take(item.operations)
        for operation, place in operations:
            yield from self._put(operation, modes, place)
        self._made += [spec for operation in item.operations for spec in _made_patterns(operation)]

    def _source_problems(self, operation: Operation, place: Where) -> Iterator[Problem]:
        source = _source(operation)
        if source is None:
            return
        field = "renamed_from" if operation.kind is OperationKind.rename else operation.kind.value
        mode = self.tree.entries.get(source)
        if mode is None:
            yield from self._missing(source, (*place, field))
        elif mode == GITLINK:
            yield Problem(where=(*place, field), message="is a submodule", hint="submodules cannot be changed here")
        elif mode == SYMLINK and not operation.link:
            hint = "add `link: true` where the link itself may change, or declare the file it leads to"
            yield Problem(where=(*place, field), message="is a symlink", hint=hint)

    def _missing(self, path: str, where: Where) -> Iterator[Problem]:
        if any(covers(spec, path) for spec in self._made):
            return
        twin = self.tree.twin(path)
        if self.tree.is_folder(path):
            yield Problem(
                where=where, message="is a folder", hint=f"write {_shown(path + '/')} for everything beneath it"
            )
        elif twin is not None:
            yield Problem(
                where=where, message=f"is not in the tree, but {_shown(twin)} is", hint="spell it as the tree does"
            )
        else:
            yield Problem(where=where, message="is not in the tree", hint="use `add` for a new file")

    def _take(self, operations: Iterable[Operation]) -> dict[str, str]:
        """Take away what the item deletes or renames; where it may also edit it, it may as well stay."""
        edited = {_source(operation) for operation in operations if operation.kind is OperationKind.edit}
        modes = {}
        for operation in operations:
            source = _source(operation)
            if source is None or operation.kind is OperationKind.edit:
                continue
            if source in edited and operation.kind is OperationKind.delete:
                self._removed.append(operation.path)
            else:
                modes[source] = self.tree.take(source) or FILE
        return modes

    def _put(self, operation: Operation, modes: Mapping[str, str], place: Where) -> Iterator[Problem]:
        path = exact_path(operation.path)
        if path is None or operation.kind not in {OperationKind.add, OperationKind.rename}:
            return
        where = (*place, operation.kind.value)
        if operation.kind is OperationKind.add and path in modes:
            yield Problem(where=where, message="is deleted and added by one item", hint="declare it as `edit`")
        else:
            yield from self._destination_problems(path, where)
        mode = modes.get(_source(operation) or "", FILE)
        self.tree.put(path, SYMLINK if operation.link else mode)

    def _destination_problems(self, path: str, where: Where) -> Iterator[Problem]:
        above = next((parent for parent in parents(path) if parent in self.tree.entries), None)
        twin = self.tree.twin(path)
        if path in self.tree.entries and not self._may_lack(path):
            yield Problem(where=where, message="is there already", hint="use `edit` for a file that exists")
        elif self.tree.is_folder(path) and not self._may_lack(path + _ANYTHING):
            yield Problem(where=where, message="is a folder", hint="choose another name, or delete what is in it first")
        elif above is not None and not self._may_lack(above):
            message = f"lies beneath {_shown(above)}, which is not a folder"
            yield Problem(where=where, message=message, hint="choose another place, or delete that file in this item")
        elif twin is not None and not (self._may_lack(twin) or self._may_lack(twin + _ANYTHING)):
            message = f"differs from {_shown(twin)} only in case or Unicode form"
            yield Problem(where=where, message=message, hint="some file systems cannot hold both; choose one spelling")

    def _may_lack(self, path: str) -> bool:
        return any(covers(spec, path) for spec in self._removed)


def _shown(path: str) -> str:
    return quote(path, 120)


def _source(operation: Operation) -> str | None:
    """Name the exact path that must be there for an operation."""
    match operation.kind:
        case OperationKind.edit | OperationKind.delete:
            return exact_path(operation.path)
        case OperationKind.rename:
            return None if operation.renamed_from is None else exact_path(operation.renamed_from)
        case OperationKind.add:
            return None


def _removed_patterns(operation: Operation) -> list[str]:
    specs = {OperationKind.delete: operation.path, OperationKind.rename: operation.renamed_from}
    spec = specs.get(operation.kind)
    return [] if spec is None or exact_path(spec) is not None else [spec]


def _made_patterns(operation: Operation) -> list[str]:
    makes = operation.kind in {OperationKind.add, OperationKind.rename}
    return [operation.path] if makes and exact_path(operation.path) is None else []


def _doubles(operations: Iterable[tuple[Operation, Where]]) -> Iterator[Problem]:
    """An item edits, makes and takes away each path once at most."""
    seen: set[tuple[str, str]] = set()
    for operation, place in operations:
        for act in _acts(operation):
            if act in seen:
                hint = "remove one of the two entries"
                yield Problem(where=place, message=f"declares for a second time what is {act[0]}", hint=hint)
            seen.add(act)


def _acts(operation: Operation) -> list[tuple[str, str]]:
    match operation.kind:
        case OperationKind.edit:
            return [("edited", operation.path)]
        case OperationKind.add:
            return [("made", operation.path)]
        case OperationKind.delete:
            return [("taken away", operation.path)]
        case OperationKind.rename:
            return [("made", operation.path), ("taken away", operation.renamed_from or "")]
