"""Items: one writing attempt, from its admission to the day its workspace is put away."""

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path

from statemachine.attempts import AttemptKind
from statemachine.failpoints import reach
from statemachine.findings import FindingKind, fingerprint
from statemachine.plans import exact_paths
from statemachine.refusals import LeaseLost, Refusal
from statemachine.texts import quote
from store import steps
from store.attempts import Launched
from store.findings import NewFinding
from store.settlements import Report, Rows, believe
from store.tasks import Task
from worker import runs, spaces
from worker.conclusions import LOG, reported
from worker.inspecting import ending_of, look
from worker.judging import Judged
from worker.launches import TIME_LIMIT, deadline, mark_launched, start_held, watch
from worker.leases import Lease
from worker.patience import surely
from worker.publishing import publish_refs
from worker.runs import Run
from worker.settling import settle_surely
from worker.spaces import Space
from worker.station import Station
from workspace.agents import prompts
from workspace.agents.endings import Ending
from workspace.agents.environments import command, environment
from workspace.executors import Attachment, Order, Terms
from workspace.inspection.inspections import InspectionAborted
from workspace.inspection.links import LinkState

# What a workspace can be refused for that a person must look at; the rest is a failure with its code.
_FOUND = {kind.value: kind for kind in (FindingKind.metadata_changed, FindingKind.tree_unfit)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unlaunched:
    """Why nothing was started: the attempt ends with this."""

    code: str = ""
    failure: str = ""
    findings: tuple[NewFinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ran:
    """An agent that ran, and what its tree was judged to be."""

    launched: Launched
    ending: Ending
    judged: Judged


def run_item(station: Station, task: Task, lease: Lease, *, item: str, kind: AttemptKind) -> Task:
    """Run one item and settle it; gives the task as it then is."""
    run = runs.admit(station, task, lease, kind=kind, item=item)
    station.say(f"task {task.id}: {item} attempt {run.attempt.number} begins")
    space, result = _attempt(run)
    settled = settle_surely(run, _report(run, result), believed=_believed(run, result))
    station.say(f"task {task.id}: {item} {settled.attempt_state} ({settled.word}); the task is {settled.task.state}")
    _put_away(run, space, result)
    return settled.task


def _attempt(run: Run) -> tuple[Space | None, _Unlaunched | _Ran]:
    space: Space | None = None
    try:
        space = spaces.prepare(run)
        attached = _attach(run, space)
        if attached.links.refusals:
            return space, _linked(run, attached.links)
        order = _order(run, attached)
        launched = mark_launched(run, space, links_digest=attached.links.digest)
        held = start_held(run, space, order)
    except runs.INFRASTRUCTURE:
        raise
    except (Refusal, OSError) as error:
        return space, _unlaunched(run, runs.told(error))
    ended = watch(run, held, deadline=deadline(launched))
    judged = look(run, space, ended, links=attached.links, started_at=launched.started_at)
    return space, _Ran(launched=launched, ending=ending_of(ended), judged=judged)


def _believed(run: Run, result: _Unlaunched | _Ran) -> Rows | None:
    """Say what the rows must be where all went as it was launched; anything else is read before it is settled."""
    if isinstance(result, _Unlaunched) or not result.judged.outcome or result.judged.findings:
        return None
    outside = result.judged.verdict and result.judged.verdict.out_of_scope
    return None if outside else believe(run.task, run.attempt, result.launched, retries=run.item.retries)


def _attach(run: Run, space: Space) -> Attachment:
    """Read the whole tree, and see where declared links lead before the agent can change that."""
    declared = [path for operation in run.item.operations for path in exact_paths(operation)]
    try:
        attached = run.executor.attach(
            space.place,
            spool=run.folder / "attached",
            declared_links=declared,
            aborted=lambda: run.lease.lost,
        )
    except InspectionAborted:
        raise LeaseLost(task=run.task.id, epoch=run.attempt.epoch) from None
    if not attached.admitted:
        raise Refusal(attached.admission.code, attached.admission.message, **attached.admission.facts)
    # Recovery compares with the same.
    run.keep("links.json", attached.links.document)
    reach("attached")
    return attached


def _unlaunched(run: Run, refused: Refusal) -> _Unlaunched:
    """Say why nothing was judged: a refusal of the second boundary leaves the reason to the rows."""
    if refused.code == "not_launched":
        return _Unlaunched(failure=refused.message)
    kind = _FOUND.get(refused.code)
    found = (NewFinding.refused(kind, refused, item=run.item.id),) if kind else ()
    return _Unlaunched(code=refused.code, failure=refused.message, findings=found)


def _linked(run: Run, before: LinkState) -> _Unlaunched:
    found = tuple(
        NewFinding(
            kind=FindingKind(refusal.kind),
            summary=f"the declared link {quote(refusal.path)} leads to {quote(refusal.target)}; nothing was started",
            fingerprint=fingerprint(FindingKind(refusal.kind), run.item.id, [refusal.path], refusal.target),
            evidence={"path": quote(refusal.path), "target": quote(refusal.target)},
        )
        for refusal in before.refusals
    )
    return _Unlaunched(code="unsafe_link", failure="a declared link leads where nobody can answer for", findings=found)


def _order(run: Run, attached: Attachment) -> Order:
    text = _prompt(run)
    file = prompts.write_prompt(run.folder, text)
    secrets = run.repository.policy.get("secrets", ())
    given = environment(
        attempt=run.attempt.id,
        task=run.task.id,
        item=run.item.id,
        prompt_file=file,
        temporary=spaces.temporary(run),
        home=Path.home(),
        allowed=secrets,
    )
    return Order(
        argv=command(run.plan.agent or "", prompt_file=file, prompt=text, path=given["PATH"]),
        environment=given,
        output=run.folder / LOG,
        room=run.folder,
        readable=(file,),
        terms=Terms.of(run.repository.policy),
        secrets=[given[name] for name in secrets if name in given],
        time_limit=run.item.time_limit or TIME_LIMIT,
        identity=attached.identity,
    )


def _prompt(run: Run) -> str:
    declared = [(each.kind.value, each.path, each.renamed_from) for each in run.item.operations]
    return prompts.prompt(
        title=run.item.title,
        intent=run.item.intent,
        operations=declared,
        checks=run.plan.checks,
        guidance=run.task.guidance,
        commits_watched=run.executor.commits_watched,
    )


def _report(run: Run, result: _Unlaunched | _Ran) -> Report:
    blank = Report(
        task=run.task.id,
        epoch=run.attempt.epoch,
        attempt=run.attempt.id,
        host=run.station.host.id,
        next_kind=_kind_after(run),
        draining=run.station.draining.is_set(),
    )
    match result:
        case _Unlaunched(code=code, failure=failure, findings=found):
            return replace(blank, failure_code=code, failure=failure, findings=found)
        case _Ran(ending=ending, judged=judged):
            return reported(blank, run.folder, ending, judged)


def _kind_after(run: Run) -> AttemptKind:
    def read() -> AttemptKind:
        with run.station.database.connection() as db:
            return steps.kind_after(db, task=run.task.id, done=run.item.id)

    return surely(run.lease, read)


def _put_away(run: Run, space: Space | None, result: _Unlaunched | _Ran) -> None:
    """Let the refs follow the rows, then the workspace go; what fails here recovery repairs from the rows."""
    with contextlib.suppress(Refusal, OSError):
        publish_refs(run.station.database, run.station.root, run.task.id, lease=run.lease)
    with contextlib.suppress(Refusal, OSError):
        if space is not None:
            spaces.put_away(run, space, keep=_why_kept(result))
        spaces.clear(run)


def _why_kept(result: _Unlaunched | _Ran) -> str:
    if isinstance(result, _Unlaunched):
        return "a finding was stored" if result.findings else ""
    if result.judged.findings:
        return "a finding was stored"
    return result.judged.export_failure
