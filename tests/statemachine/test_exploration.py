"""Every world a task can come to, followed from the beginning, with a small model of its rows.

The model does what the verbs of the database do around each move: it opens and closes findings and
the pause, starts and ends attempts, replaces gates. The invariants are those the database enforces.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from statemachine.decisions import Facts, decide
from statemachine.gates import GateKind
from statemachine.refusals import Refusal
from statemachine.tasks import BEGINNING, CLOSED, WAITING, Source, TaskEvent, TaskState

E, S = TaskEvent, TaskState
MOST = 2


@dataclass(frozen=True, slots=True)
class World:
    state: Source = BEGINNING
    findings: int = 0
    pause: bool = False
    gate: GateKind | None = None
    attempt: bool = False
    stop: bool = False


def moved(world: World, event: TaskEvent, *, finished: bool) -> World | None:
    """Make the move with what belongs to its transaction: an attempt ends, a pause is decided, a finding stored."""
    ends_attempt = event is not E.take_over
    decides_pause = event in {E.approve_continuation, E.discard_item, E.cancel}
    facts = Facts(
        owed_findings=world.findings,
        owed_pauses=int(world.pause and not decides_pause),
        gate=world.gate,
        attempt_active=world.attempt and not ends_attempt,
        items_done=finished,
        checks_passed=finished,
    )
    try:
        move = decide(world.state, event, facts)
    except Refusal:
        return None
    return World(
        state=move.dest,
        findings=max(1, world.findings) if event is E.raise_finding else world.findings,
        pause=event is E.pause or (world.pause and not decides_pause),
        gate=move.gate,
        attempt=world.attempt and not ends_attempt,
        stop=world.stop and not ends_attempt,
    )


def beside(world: World) -> Iterator[World]:
    """Change rows without a move: start an attempt, record a finding where that moves nothing, decide one."""
    idle = world.state is S.running and not world.attempt
    if idle and not world.findings:
        yield replace(world, attempt=True)
    joins = world.state is S.needs_human and world.gate is GateKind.finding
    if world.findings < MOST and (world.attempt or joins or world.state is S.merging or world.state in CLOSED):
        yield replace(world, findings=world.findings + 1, stop=world.attempt)
    if world.findings and (joins or world.state in CLOSED):
        yield replace(world, findings=world.findings - 1)


def after(world: World) -> set[World]:
    moves = (moved(world, event, finished=finished) for event, finished in product(E, (False, True)))
    return {found for found in moves if found} | set(beside(world))


@cache
def worlds() -> dict[World, set[World]]:
    seen: dict[World, set[World]] = {}
    queue = deque([World()])
    while queue:
        world = queue.popleft()
        if world not in seen:
            seen[world] = after(world)
            queue.extend(seen[world])
    return seen


def test_every_state_is_found_and_the_search_ends() -> None:
    found = {world.state for world in worlds()}

    assert found == {BEGINNING, *S}


def test_a_finding_is_owed_only_where_a_person_will_meet_it() -> None:
    owing = [world for world in worlds() if world.findings]

    assert owing
    for world in owing:
        assert world.state in {S.needs_human, S.merging, *CLOSED} or (world.state is S.running and world.stop)


def test_a_pause_is_open_only_where_a_person_will_meet_it() -> None:
    paused = [world for world in worlds() if world.pause]

    assert {world.state for world in paused} == {S.needs_amendment, S.needs_human}


def test_a_waiting_task_has_one_gate_and_no_other_has_any() -> None:
    for world in worlds():
        assert (world.gate is not None) == (world.state in WAITING)


def test_an_owed_finding_is_behind_a_finding_gate() -> None:
    asking = {world.gate for world in worlds() if world.findings and world.state is S.needs_human}

    assert asking == {GateKind.finding}


def test_an_active_attempt_belongs_to_a_running_task() -> None:
    assert {world.state for world in worlds() if world.attempt} == {S.running}


def test_from_every_world_a_person_or_a_worker_can_reach_an_end() -> None:
    graph = worlds()
    ending = {world for world in graph if world.state in CLOSED}

    for _ in graph:
        more = {world for world, nexts in graph.items() if nexts & ending} | ending
        if more == ending:
            break
        ending = more

    assert ending == set(graph)


def test_no_way_leads_from_an_owed_finding_to_a_merge_begun_or_work_queued() -> None:
    for world, nexts in worlds().items():
        if world.findings:
            later = {found.state for found in nexts if found.state != world.state}
            assert not later & {S.queued, S.approved, S.merging, S.in_review, S.needs_amendment, S.merge_blocked}
