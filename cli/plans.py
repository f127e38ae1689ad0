"""Plans: a file to start from, and a look at what a plan would do."""

# ruff: noqa: PLC0415 - as in cli.tasks

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.frame.context import Context
from cli.frame.options import command

if TYPE_CHECKING:
    from cli.pages.report_schemas import PlanDocument, PlanItemDocument, WrittenDocument
    from statemachine.plans import Item, Operation


@command(example=["tasks plan init", "tasks plan init retry-uploads.yaml"])
@click.argument("file", type=click.Path(path_type=Path), default=Path("plan.yaml"), metavar="[FILE]")
def init(context: Context, *, file: Path) -> None:
    """Write a commented plan file to start from."""
    from shlex import quote

    from cli.frame import files
    from cli.plan_files.template import TEMPLATE

    with files.new(file) as path:
        files.write(path, TEMPLATE.encode())
    told: WrittenDocument = {"path": str(path)}
    context.screen.document(told)
    context.screen.say(f"wrote {path}")
    context.screen.next_step(f"tasks plan check {quote(str(file))} --repo PATH")


@command(example="tasks plan check plan.yaml --repo .")
@click.argument("plan", metavar="PLAN")
@click.option("--repo", required=True, metavar="NAME|PATH", help="The repository it is meant for; it is only read.")
def check(context: Context, *, plan: str, repo: str) -> None:
    """Check a plan against a repository."""
    from shlex import quote

    from cli.plan_files import input as given
    from statemachine.texts import one_line
    from worker.additions import check_plan, missing_branch

    file = given.read(plan)
    source, target = _placed(context, repo)
    with given.located(file):
        base, tree = check_plan(file.plan, source=source, agents=context.settings.agents, folder=given.folder(plan))
    told: PlanDocument = {
        "title": file.plan.title,
        "base": base,
        "target": file.plan.target,
        "items": [_document(item, tree.entries) for item in file.plan.items],
        "tree": [{"path": path, "mode": mode} for path, mode in sorted(tree.entries.items())],
    }
    context.screen.document(told)
    context.screen.text(f"{one_line(file.plan.title)}: the plan is fine on {base[:12]}")
    for item in file.plan.items:
        context.screen.text(f"  {one_line(item.id)}  {one_line(item.title)}", *_touches(item, tree.entries))
    if note := missing_branch(target, file.plan.target):
        context.screen.warn(note)
    context.screen.say(f"afterwards the tree holds {len(tree.entries)} files, as far as the plan names them")
    context.screen.detail(*(f"  {mode}  {_quoted(path)}" for path, mode in sorted(tree.entries.items())))
    context.screen.next_step(f"tasks run {quote(plan)} --repo {quote(repo)} --agent 'COMMAND'")


def _placed(context: Context, repo: str) -> tuple[str, str]:
    """Find where a repository and its merge target are; only a word that is no folder needs the database."""
    import os

    if os.sep in repo or Path(repo).exists():
        return repo, repo
    from cli.pages import boards

    with context.database.connection() as db:
        row = boards.named(db, repo)
    return row.source, row.target


def _document(item: "Item", tree: Mapping[str, str]) -> "PlanItemDocument":
    return {
        "id": item.id,
        "title": item.title,
        "files": [
            {
                "operation": each.kind.value,
                "path": each.path,
                "renamed_from": each.renamed_from,
                "link": each.link,
                "covers": _covered(each, tree),
            }
            for each in item.operations
        ],
    }


def _touches(item: "Item", tree: Mapping[str, str]) -> list[str]:
    from statemachine.texts import counted

    lines = []
    for each in item.operations:
        origin = f" from {_quoted(each.renamed_from)}" if each.renamed_from else ""
        link = ", may be a symlink" if each.link else ""
        found = _covered(each, tree)
        pattern = f": {counted(len(found), 'file')} of the tree" if found is not None else ""
        lines.append(f"      {each.kind} {_quoted(each.path)}{origin}{link}{pattern}")
    return lines


def _covered(operation: "Operation", tree: Mapping[str, str]) -> list[str] | None:
    """List what a folder or a glob covers; an exact path says it all by itself."""
    from statemachine.plans import covers, exact_path

    if exact_path(operation.path) is not None:
        return None
    return [path for path in sorted(tree) if covers(operation.path, path)]


def _quoted(path: str) -> str:
    from statemachine.texts import quote

    return quote(path)
