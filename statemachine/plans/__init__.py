"""Plans: what a task is asked to do, item by item, and the paths each item may touch."""

from collections.abc import Collection, Mapping

from statemachine.limits import writing_problems
from statemachine.plans.amendments import amend_with, granted, revision_problems
from statemachine.plans.declarations import ApprovalMode, Item, ItemKind, Operation, OperationKind, Plan
from statemachine.plans.documents import item_digest, item_to_document, plan_to_document
from statemachine.plans.problems import PlanInvalid, Problem
from statemachine.plans.projections import ProjectedTree, project
from statemachine.plans.readings import read_document
from statemachine.plans.scopes import covers, declares_exactly, declares_link, exact_path, exact_paths, permits
from statemachine.refusals import Refusal

__all__ = [
    "ApprovalMode",
    "Item",
    "ItemKind",
    "Operation",
    "OperationKind",
    "Plan",
    "PlanInvalid",
    "Problem",
    "ProjectedTree",
    "amend_with",
    "covers",
    "declares_exactly",
    "declares_link",
    "exact_path",
    "exact_paths",
    "granted",
    "item_digest",
    "item_to_document",
    "permits",
    "plan_from_document",
    "plan_to_document",
    "read_document",
    "revision_problems",
    "validate",
    "writing_problems",
]


def plan_from_document(document: object) -> Plan:
    """Read a plan back; raises `PlanInvalid` with every problem of its shape."""
    plan, problems = read_document(document)
    if problems:
        raise PlanInvalid(problems)
    return plan


def validate(plan: Plan, tree: Mapping[str, str], *, done: Collection[str] = ()) -> ProjectedTree:
    """Project a plan over a tree of path to mode; raises `PlanInvalid` with every problem found.

    `done` names the items whose commits the tree already holds: they are not run over it again.
    """
    undone = [(at, item) for at, item in enumerate(plan.items) if item.id not in done]
    projected, problems = project(undone, tree)
    if problems:
        raise PlanInvalid(problems)
    _refuse_unsupported(plan)
    return projected


def _refuse_unsupported(plan: Plan) -> None:
    for field, asked in (("fixed_if", plan.fixed_if), ("review", plan.review)):
        if asked is not None:
            message = f"`{field}` is part of the plan format, but this version does not run it yet"
            raise Refusal("plan_unsupported", message, hint=f"remove `{field}` from the plan", field=field)
