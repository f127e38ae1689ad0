"""Sandboxes for tests: a real tree, a real agent behind real walls, and a way to take one wall down."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import pytest

from statemachine.refusals import Refusal
from tests import gits
from tests.agents import MINUTE
from workspace.agents.confinement import Confinement, Terms
from workspace.agents.environments import environment
from workspace.agents.processes import Exit, Running
from workspace.disk.roots import Root, open_root
from workspace.executors import Order, Place, sandbox
from workspace.executors.identities import AgentUser
from workspace.executors.sandbox import Sandbox
from workspace.executors.walls import Walls

FILES: dict[str, str | bytes] = {"a.txt": "one\n", "src/x.py": "print(1)\n"}
# What the disk of whoever runs the tests has left is no matter of theirs.
ROOMY = Confinement(min_free=0)


@dataclass(frozen=True, slots=True)
class Box:
    """Hold a sandbox, its place, and the folder of its attempt."""

    executor: Sandbox
    place: Place
    room: Path
    extra: Mapping[str, str] = field(default_factory=dict)

    def start(self, *argv: str, terms: Terms | None = None, secrets: Sequence[str] = ()) -> Running:
        """Start an agent."""
        given = environment(
            attempt=uuid4(), task=7, item="P1", prompt_file=self.room / "prompt.md", temporary=self.room, home=HOME
        )
        order = Order(
            argv=argv,
            environment={**given, **self.extra},
            output=self.room / f"output-{uuid4().hex}",
            room=self.room,
            readable=(self.room / "prompt.md",),
            terms=terms or Terms(),
            secrets=secrets,
        )
        with self.executor.launch(self.place, order) as held:
            return held.let_go()

    def run(self, *argv: str, terms: Terms | None = None, secrets: Sequence[str] = ()) -> Exit:
        """Run an agent to its end."""
        found = self.start(*argv, terms=terms, secrets=secrets).wait(MINUTE)
        assert found is not None
        return found

    def shell(self, script: str, terms: Terms | None = None) -> str:
        """Run a shell script and return what it said; it must end well."""
        done = self.run("sh", "-c", script, terms=terms)
        said = done.output.path.read_text("utf-8", "replace")
        assert (done.code, done.launch_error) == (0, None), said
        return said

    def bell(self) -> Path:
        """Put a pipe into the tree, on which the test hears what the agent writes to `bell`."""
        place = self.place.folder / "bell"
        os.mkfifo(place)
        os.chown(place, self.place.folder.stat().st_uid, -1)
        return place

    def with_(self, **changes: object) -> "Box":
        """Return the same box, with another confinement."""
        return replace(self, executor=Sandbox(replace(self.executor.confinement, **changes)))  # type: ignore[arg-type]


HOME = Path("/nowhere/home")


def needs_sandbox() -> None:
    """Skip a test on a host where no sandbox can be made, and say why it cannot."""
    try:
        Sandbox(ROOMY).probe()
    except Refusal as refused:
        pytest.skip(refused.message)


def box(
    folder: Path, confinement: Confinement = ROOMY, files: Mapping[str, str | bytes] = FILES, commits: int = 1
) -> Box:
    """Make a sandbox with a tree that is ready."""
    needs_sandbox()
    person = gits.person(folder / "person", dict(files))
    for number in range(1, commits):
        gits.commit(person, {"a.txt": f"{number}\n"}, f"commit {number}")
    repo, base = gits.runner(folder, person)
    root = open_root(folder / "root")
    return Box(
        *_made(Sandbox(confinement), root, Place(root=root, repo=repo, task=7, epoch=1, allocation=uuid4(), base=base))
    )


def _made(executor: Sandbox, root: Root, place: Place) -> tuple[Sandbox, Place, Path]:
    made = executor.materialise(place)
    room = root.attempts / "one"
    room.mkdir()
    (room / "prompt.md").write_text("do it\n")
    return executor, replace(place, path=made.path, baseline=made.baseline), room


def without(monkeypatch: pytest.MonkeyPatch, *words: str, instead: Sequence[str] = ()) -> None:
    """Take one wall down: these words, one after the other, are left out of the command line, or replaced."""
    whole: Callable[[Walls], list[str]] = Walls.words

    def weaker(walls: Walls) -> list[str]:
        found = whole(walls)
        at = next(n for n in range(len(found)) if tuple(found[n : n + len(words)]) == words)
        return [*found[:at], *instead, *found[at + len(words) :]]

    monkeypatch.setattr(Walls, "words", weaker)


def opened(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Take one wall down: show a place that is not for agents, for whoever can read it."""
    shown = Sandbox._readable
    monkeypatch.setattr(Sandbox, "_readable", lambda *given: {**shown(*given), place: place})


def as_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one wall down: agents run as the worker's own user, be it root."""
    monkeypatch.setattr(sandbox, "agent_user", lambda _: AgentUser(os.geteuid(), os.getegid(), other=False))
