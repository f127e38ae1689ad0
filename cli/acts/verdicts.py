"""A person's word at a gate: the flags that belong to it, one transaction, then the refs that follow."""

import os
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from cli.acts.gate_flags import APPROVE, REJECT, refuse_contradictions, refuse_strangers
from cli.frame.context import Context
from cli.frame.identifiers import Number, Prefix
from cli.frame.lookup import gate_named
from cli.pages import nouns, standings
from cli.pages.views import View, look
from statemachine.gates import GateKind
from statemachine.refusals import Refusal
from store import answers
from store.answers import Answered
from store.engine import Connection
from store.gates import Gate
from store.words import Word
from worker.publishing import publish_refs
from workspace.repository.repositories import listing, open_repository

Answer = Callable[[Connection, UUID, Word], Answered]


def approve(
    context: Context, named: Number | Prefix, given: Mapping[str, Any], *, reason: str, if_version: int | None
) -> None:
    """Say yes at the gate named."""
    refuse_contradictions(given)
    gate, view = _asked(context, named)
    refuse_strangers(gate.kind, given, APPROVE, paused=view.pause is not None)
    said = {**given, "then": given["then"] or "retry"}
    word = Word(actor=context.actor, reason=reason, if_version=if_version, tree=_tree(context, view), **said)
    _answer(context, answers.approve, gate.id, word)


def reject(
    context: Context, named: Number | Prefix, given: Mapping[str, Any], *, reason: str, if_version: int | None
) -> None:
    """Say no at the gate named."""
    refuse_contradictions(given)
    gate, _ = _asked(context, named)
    refuse_strangers(gate.kind, given, REJECT)
    _answer(context, answers.reject, gate.id, Word(actor=context.actor, reason=reason, if_version=if_version, **given))


def _asked(context: Context, named: Number | Prefix) -> tuple[Gate, View]:
    with context.database.connection() as db:
        gate = gate_named(db, named)
        return gate, look(db, gate.task_id)


def _answer(context: Context, answer: Answer, gate: UUID, word: Word) -> None:
    with context.database.transaction() as db:
        answered = answer(db, gate, word)
        view = look(db, answered.task.id)
    if answered.task.head != answered.gate.head:
        _publish(context, answered.task.id)
    if not context.flags.json:
        context.screen.say(f"the {answered.gate.kind} gate of task {answered.task.id} is {answered.gate.state}")
        standings.tell(context, view)
        return
    context.screen.document(nouns.decided(view, answered.gate, context.settings.root))


def _publish(context: Context, task: int) -> None:
    """Let the refs follow a decision that moved the head; it stands either way, and recovery repairs them."""
    try:
        publish_refs(context.database, context.root, task)
    except Refusal as refusal:
        context.screen.warn(
            f"the decision stands, but the refs of task {task} did not follow yet: {refusal.message}",
            "run `tasks recover` on the host that has its runner repository",
        )


def _tree(context: Context, view: View) -> Mapping[str, str] | None:
    """Read the tree a continuation is judged on, before any transaction is open."""
    if view.waits_for is not GateKind.scope:
        return None
    repository = open_repository(context.root, view.repository.runner)
    return {os.fsdecode(path): entry.mode for path, entry in listing(repository, view.task.head).items()}
