"""After the noise: everything is recovered, every task is led to its end, and the checker reads what is left."""

from collections import Counter

from psycopg.conninfo import make_conninfo

from cli.acts.working import conclude
from recovery.passes import recover
from statemachine.refusals import Refusal
from statemachine.tasks import TaskState
from store import roles
from tests.crash.checker import Checker
from tests.factories import git
from tests.soak.people import CLOSED, WAITING, answer, merge, standing
from tests.soak.stage import Stage
from tests.store.scenes import aged, asked
from workspace.repository import repositories
from workspace.results.commits import Identity

ROUNDS = 40
_LAPSED = (
    "UPDATE merge_attempt SET lease_expires = lease_expires - interval '1 day',"
    " pushing_at = pushing_at - interval '1 day' WHERE state = 'submitting'"
)
_DONE = """
    SELECT task.id, task.state, task.head, task.target, repository.runner,
           ARRAY(SELECT item_id FROM commit_ledger WHERE task_id = task.id AND commit_ledger.state = 'live') AS done
    FROM task JOIN repository ON repository.id = repository_id
"""


def check(stage: Stage) -> None:
    """Recover, look, finish everything, and look again."""
    url = make_conninfo(stage.server.superuser_url, dbname=roles.DATABASE)
    if asked(url, "SELECT FROM merge_attempt WHERE state = 'submitting'"):
        aged(url, _LAPSED)
    _recover(stage)
    _look(stage, url, "after recovery")
    _finish(stage)
    _look(stage, url, "at the end")
    _contents(stage)


def _recover(stage: Stage) -> None:
    for _ in range(ROUNDS):
        report = recover(stage.database, stage.root, actor="recovery", identity=Identity(), conclude=conclude)
        if report.complete:
            return
    stage.wrong += [f"recovery does not finish: {line}" for line in report.unfinished]


def _finish(stage: Stage) -> None:
    """Say yes to everything and work, until no task is left that a worker or a person could lead on."""
    (stage.folder / "quiet").touch()
    for _ in range(ROUNDS):
        left = [task for task in standing(stage) if task.state not in CLOSED]
        if not left:
            return
        for task in left:
            try:
                if task.state in WAITING:
                    answer(stage, task, yes=True)
                elif task.state in {TaskState.approved, TaskState.merge_blocked}:
                    merge(stage, task)
            except Refusal as refused:
                stage.wrong.append(
                    f"task {task.id}, {task.state}, cannot be led on: {refused.message} [{refused.code}]"
                )
                return
        if any(task.state is TaskState.queued for task in standing(stage)):
            stage.start("work", "--once", "--slots", 4).wait()
    stage.wrong += [f"task {task.id} is still {task.state}" for task in left]


def _look(stage: Stage, url: str, when: str) -> None:
    checker = Checker(url=url, root=stage.root, journal=stage.journal)
    stage.wrong += [f"{when}: {wrong}" for wrong in checker.wrongs()]


def _contents(stage: Stage) -> None:
    """What is done is done once: each item left exactly one line, and the target holds it."""
    with stage.database.connection() as db:
        rows = db.execute(_DONE).fetchall()
    for row in rows:
        runner = repositories.open_repository(stage.root, row["runner"])
        for number in (1, 2, 3):
            lines = git(runner.path, "show", f"{row['head']}:{number}.txt").split()
            wanted = ["base", f"P{number}"] if f"P{number}" in row["done"] else ["base"]
            if lines != wanted:
                stage.wrong.append(f"{number}.txt of task {row['id']} holds {lines}")
        if row["state"] == "merged" and git(stage.repository, "rev-parse", row["target"]) != row["head"]:
            stage.wrong.append(f"{row['target']} does not hold what task {row['id']} was merged with")


def figures(stage: Stage) -> str:
    """Tell what happened, in one line a kind."""
    with stage.database.connection() as db:
        count = "SELECT state, count(*) AS n FROM {} GROUP BY 1 ORDER BY 1"
        for noun in ("task", "attempt", "merge_attempt", "allocation", "finding"):
            for row in db.execute(count.format(noun).encode()).fetchall():
                stage.did[f"{noun} {row['state']}"] = row["n"]
    told = Counter(stage.did)
    return "\n".join(f"{told[name]:6} {name}" for name in sorted(told))
