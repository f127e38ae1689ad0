"""What the tests of recovery have in common: workers that are killed, where they are killed, and what is compared."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from unittest import mock
from uuid import uuid4

import psycopg

from recovery.reports import Report
from statemachine.tasks import TaskEvent
from store import allocations, attempts, merges, tasks, workers
from store.allocations import Allocation
from store.attempts import Attempt
from store.engine import Database
from store.tasks import Task
from store.workers import Worker
from tests.agents import is_alive
from tests.factories import HOST, a_worker
from tests.factories import git as run_git
from tests.store.scenes import aged, asked
from tests.workshop import PATIENCE, Workshop
from workspace.agents import proctree
from workspace.agents.hosts import host_id
from workspace.agents.survivors import Handle
from workspace.repository import git

_OVER: Final = timedelta(seconds=-1)
HOLD: Final = "ring(); hold()\n"
PARTIAL: Final = (
    "turn == 1 and (open('a.txt', 'a').write('half\\n'), ring(), hold())\nopen('a.txt', 'a').write('x\\n')\n"
)
UNSAFE: Final = "os.symlink('/etc/passwd', 'link')\n"


# ---------------------------------------------------------------- workers that die


def until(fact: Callable[[], object], what: str) -> None:
    """Wait for a fact; one that never comes fails the test instead of holding it."""
    ends = time.monotonic() + PATIENCE.total_seconds()
    while not fact():
        assert time.monotonic() < ends, f"never: {what}"


def kill(service: "subprocess.Popen[bytes]", superuser_url: str) -> None:
    """Kill a worker, and wait until the server has seen that its sign of life is gone."""
    service.kill()
    service.wait()
    held = (
        "SELECT FROM pg_locks JOIN worker ON objid = worker.id WHERE locktype = 'advisory' AND classid = %s"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND worker.pid = %s"
    )
    until(lambda: not asked(superuser_url, held, workers.LOCK_SPACE, service.pid), "its lock is free")


def kill_working(workshop: Workshop, superuser_url: str) -> None:
    """Serve until an agent rings, then kill the worker."""
    with workshop.serving() as service:
        workshop.heard()
        kill(service, superuser_url)


@contextmanager
def serving_with_a_git_that_stops(
    workshop: Workshop, words: str, *, after: bool = False, **more: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """Serve with a git that rings and holds where its arguments have these words, once the file `armed` is there."""
    with mock.patch.dict(os.environ, {"PATH": a_git_that_stops(workshop, words, after=after)}):
        serving = workshop.serving(**more)
        service = serving.__enter__()
    try:
        yield service
    finally:
        serving.__exit__(None, None, None)


def kill_at(workshop: Workshop, superuser_url: str, words: str, *, after: bool = False) -> None:
    """Kill a worker while it waits for git before, or right after, it did what these words say."""
    with serving_with_a_git_that_stops(workshop, words, after=after) as service:
        workshop.heard()
        kill(service, superuser_url)
    armed(workshop).unlink()


def armed(workshop: Workshop) -> Path:
    return workshop.folder / "armed"


def arming(workshop: Workshop) -> str:
    """Give the line by which an agent arms the git that stops."""
    return f"open({str(armed(workshop))!r}, 'w').close()\n"


def go_on(workshop: Workshop) -> None:
    """Let the git that stopped go on."""
    (workshop.folder / "go").write_text("")


def a_git_that_stops(workshop: Workshop, words: str, *, after: bool = False) -> str:
    """Make it, and give a PATH that begins with it; it dies with the process that started it."""
    folder = workshop.folder / f"bin-{uuid4().hex}"
    folder.mkdir()
    go = workshop.folder / "go"
    if not go.exists():
        os.mkfifo(go)
    stop = folder / "stop.py"
    stop.write_text(
        "import ctypes, os, signal, subprocess, sys\n"
        "parent = os.getppid()\n"
        "ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
        f"call = [{git.binary()!r}, *sys.argv[1:]]\n"
        f"status = subprocess.call(call) if {after} else 0\n"
        f"open({str(workshop.bell)!r}, 'w').close()\n"
        f"os.getppid() == parent and open({str(go)!r}).close()\n"
        f"sys.exit(status) if {after} else os.execv(call[0], call)\n"
    )
    wrapper = folder / "git"
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *"{words}"*)\n'
        f"test -e '{armed(workshop)}' && exec '{sys.executable}' -I -S '{stop}' \"$@\";;\nesac\n"
        f"exec '{git.binary()}' \"$@\"\n"
    )
    wrapper.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def a_dead_worker(database: Database) -> Worker:
    """Register a worker of this host whose process is no more; nobody waits for its lease to end."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        seen = proctree.look(process.pid)
        assert seen is not None
    return a_worker(database, host=host_id(), boot_id=proctree.boot(), pid=process.pid, started=str(seen.started))


def result_of(workshop: Workshop, task: Task) -> Path:
    """Name the file in which a worker kept how the last agent of a task ended."""
    return workshop.root.attempts / str(workshop.attempts(task)[-1].id) / "result.json"


def handle(workshop: Workshop, task: Task) -> Handle:
    """Read which processes the last attempt of a task was seen to start."""
    return Handle(**(workshop.attempts(task)[-1].handle or {}))


def gone(pid: int) -> None:
    until(lambda: not is_alive(pid), f"{pid} is gone")


def quiet(handle: Handle) -> None:
    """Wait until an agent whose worker was killed is gone, and its supervisor with it."""
    gone(handle.pid)
    gone(handle.supervisor)


def end(*pids: int) -> None:
    """Kill processes of this test by their numbers."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        gone(pid)


def orphan(workshop: Workshop, superuser_url: str, script: str, *, kill_agent: bool) -> tuple[int, int]:
    """Kill a worker and the supervisor so that neither can end what the agent started; give agent and its child."""
    pid = workshop.folder / "pid"
    child = (
        "wait = 'import signal; signal.alarm(600); signal.pause()'\n"
        f"child = subprocess.Popen([sys.executable, '-c', wait], {script})\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
    )
    task = workshop.add(child + HOLD)
    with workshop.serving() as service:
        workshop.heard()
        service.send_signal(signal.SIGSTOP)
        seen = handle(workshop, task)
        end(seen.supervisor)
        if kill_agent:
            end(seen.pid)
        kill(service, superuser_url)
    return seen.pid, int(pid.read_text(encoding="ascii"))


def shut(superuser_url: str, name: str) -> None:
    """Let nobody into the test's database any more, and put out who is there."""
    with psycopg.connect(superuser_url, dbname="postgres", autocommit=True) as admin:
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def admit(superuser_url: str, name: str) -> None:
    with psycopg.connect(superuser_url, dbname="postgres", autocommit=True) as admin:
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())


# ---------------------------------------------------------------- rows in the past, and workspaces of this host


def expire(superuser_url: str, *held: Task) -> None:
    """Move leases into the past."""
    for task in held:
        aged(superuser_url, "UPDATE task SET lease_expires = lease_expires - interval '1 day' WHERE id = %s", task.id)


def reserved(database: Database, attempt: Attempt, *, host: str | None = None) -> Allocation:
    """Reserve a workspace for an attempt, by default on this host."""
    with database.connection() as db:
        return allocations.reserve(db, attempt, allocation=uuid4(), host=host or host_id())


def ready(database: Database, attempt: Attempt, *, host: str | None = None) -> Allocation:
    """Reserve a workspace for an attempt and say that it is complete."""
    held = reserved(database, attempt, host=host)
    path = f"/nowhere/{held.id}"
    with database.connection() as db:
        return allocations.ready(db, held, epoch=attempt.epoch, path=path, base=attempt.base, baseline="{}")


def launched(database: Database, attempt: Attempt, *, host: str | None = None) -> Attempt:
    """Launch a pending attempt in a workspace of its own; no process is started."""
    held = ready(database, attempt, host=host)
    with database.connection() as db:
        attempts.launch(db, attempt, allocation=held.id, generation=held.generation, links_digest=None)
        return attempts.get_attempt(db, attempt.id)


def workspaces(database: Database, task: Task) -> list[str]:
    """List the states of a task's workspaces."""
    with database.connection() as db:
        return [row.state.value for row in allocations.listing(db, task=task.id, released=True)]


def begun(workshop: Workshop, *, lease: timedelta = _OVER) -> Task:
    """Walk a real task to where its merge is about to be pushed, by a process that is gone since."""
    task = workshop.approve(workshop.run("open('a.txt', 'a').write('x\\n')\n"))
    old = run_git(workshop.repository, "rev-parse", "main")
    plan = merges.Plan(
        strategy="ff", target=str(workshop.repository), branch="main", old_tip=old, head=task.head, commit=task.head
    )
    merge = uuid4()
    with workshop.database.transaction() as db:
        moved = tasks.move(db, task, TaskEvent.begin_merge, actor="rev")
        merges.begin(db, merge=merge, task=task.id, plan=plan, actor="rev", host=HOST, lease=lease)
        merges.mark_pushing(db, merge)
    return moved


# ---------------------------------------------------------------- what a pass said, and what it changed


def said(report: Report) -> list[tuple[int | None, str]]:
    """List what a pass says it did."""
    return [(line.task, line.what) for line in report.lines]


def unsaid(report: Report) -> list[tuple[int | None, str]]:
    """List what a pass says it could not do."""
    return [(line.task, line.what) for line in report.unfinished]


def everything(superuser_url: str, *, without: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Read every row of every table."""
    names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
    tables = [name for (name,) in asked(superuser_url, names) if name not in without]
    with psycopg.connect(superuser_url, autocommit=True) as admin:
        return {name: _rows(admin, name) for name in tables}


def _rows(admin: "psycopg.Connection[Any]", table: str) -> list[str]:
    rows = admin.execute(f'SELECT found::text FROM public."{table}" AS found ORDER BY 1'.encode()).fetchall()
    return [row for (row,) in rows]


def files(folder: Path) -> dict[str, tuple[object, ...]]:
    """List everything beneath a folder with mode, size, time of change, content and target."""
    return {str(path.relative_to(folder)): _seen(path) for path in sorted(folder.rglob("*"))}


def _seen(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
    target = path.readlink() if path.is_symlink() else None
    return found.st_mode, found.st_mtime_ns, content, target


def without_workspaces(workshop: Workshop) -> None:
    """Lose everything that lay beneath the folder of workspaces."""
    for each in workshop.root.workspaces.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
