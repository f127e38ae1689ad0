"""The story of `tasks demo`, scene by scene: a plan of four items, what goes wrong with them, and who decides."""

import re
from typing import Final

from cli.demo.play import Play
from cli.demo.stage import AGENT

README: Final = "# Shop\n\n"
PRICE: Final = "def total(prices):\n    return sum(prices)\n"
PLAN: Final = """\
title: Give discounts
base: main
target: main
checks:
  - python3 -m unittest -q
items:
  - id: P1
    title: Give a discount
    intent: Add discounted(prices, percent) to price.py.
    files:
      - edit: price.py
  - id: P2
    title: Test the discount
    intent: Write a test of discounted() into test_price.py.
    files:
      - add: test_price.py
  - id: P3
    title: Describe the discount
    intent: Say in the README what discounted() does.
    files:
      - edit: README.md
  - id: P4
    title: Note the discount
    intent: Begin a changelog with discounted().
    files:
      - add: CHANGELOG.md
"""
REASON: Final = "a link out of the tree, and a hook"
GUIDANCE: Final = "Only the text. No links, no hooks."


def tell(play: Play) -> None:
    """Play every scene in turn."""
    a_repository(play)
    a_plan(play)
    play.page.text("The first command will want its database, a PostgreSQL server that comes with the install ...")
    with play.stage.database():
        for scene in SCENES:
            scene(play)


def a_repository(play: Play) -> None:
    """Make what a person has already."""
    play.scene(
        "1. A repository", "Two files and one commit. Weighlock only reads a repository, until you ask for a merge."
    )
    play.stage.write("shop/README.md", README)
    play.stage.write("shop/price.py", PRICE)
    play.run("git", "init", "-q", "-b", "main", "shop")
    play.run("git", "-C", "shop", "add", ".")
    play.run("git", "-C", "shop", "commit", "-m", "Add up prices")


def a_plan(play: Play) -> None:
    """Write the plan."""
    play.scene(
        "2. A plan",
        "Four small items. Each names the files it may touch; the check runs on the result of all of them.",
    )
    play.stage.write("plan.yaml", PLAN)
    play.run("cat", "plan.yaml")


def the_first_run(play: Play) -> None:
    """Let one item keep to its file, and another one leave it."""
    play.scene(
        "3. A clean item, and one that does more than it was asked",
        "P1 changes its one file and is committed. P2 adds its test, and a Makefile that nobody asked for: the "
        "commit is kept, but the run ends here, with exit code 10, until a person has looked at it.",
    )
    executor, lacking = play.stage.executor
    line = ["tasks", "run", "plan.yaml", "--repo", "shop", "--agent", AGENT]
    if lacking:
        play.page.text(f"Agents run in a sandbox, and here that cannot be: {lacking}. The demo names another executor.")
        line += ["--executor", executor]
    play.run(*line, ends=10, shows=["P1 completed", "needs_amendment"])


def the_scope_gate(play: Play) -> None:
    """Look at what left the scope, and declare it after all."""
    play.scene(
        "4. The gate",
        "What waits for a person is a gate. Its page says why, shows the diff, and what each answer will do.",
    )
    play.run("tasks", "gate", "list", shows=["scope"])
    play.run("tasks", "gate", "show", "1", shows=['add "Makefile"', "+++ b/Makefile", "approving:"])
    play.page.text("A Makefile is welcome here, so it becomes part of what P2 declares.")
    play.run("tasks", "gate", "approve", "1", "--amend", shows=["queued"])


def something_unsafe(play: Play) -> None:
    """Let an item do what must not be committed, and say no to it."""
    play.scene(
        "5. An item that does something unsafe",
        "Beside its text P3 leaves a link to a file outside of the tree, and a git hook in a folder. Each becomes a "
        "finding, nothing of the item is committed, and the work tree is set aside.",
    )
    play.run("tasks", "work", "--once", shows=["needs_human"])
    page = play.run("tasks", "gate", "show", "1", shows=["new_symlink", "git_named_path", "/etc/passwd"])
    play.page.text("Both findings were right, and the agent is told what to do instead.")
    accepted = [word for number in re.findall(r"(?m)^finding (\d+) ", page) for word in ("--accept", number)]
    line = ("tasks", "gate", "approve", "1", *accepted, "--reason", REASON, "--guidance", GUIDANCE)
    play.run(*line, shows=["queued"])


def a_killed_worker(play: Play) -> None:
    """Let the worker die in the middle of the last item."""
    play.scene(
        "6. A worker that is killed",
        "P3 reads the guidance in its prompt and obeys: committed. P4 begins. When half of its file is written, the "
        "demo kills the worker, as a crash would: no warning, no time to tidy up.",
    )
    process = play.kill("tasks", "work", "--once", shows=["P3 completed", "P4 attempt"])
    play.page.text(
        f"Process {process} was the worker; SIGKILL ended it while the agent ran. The agent did not outlive it. The "
        "task is still marked as running:"
    )
    play.run("tasks", "list", shows=["running"])


def the_recovery(play: Play) -> None:
    """Put the task back, and finish it."""
    play.scene(
        "7. Recovery",
        "`tasks recover` sees that nobody works on the task any more, keeps what the agent left, and puts the task "
        "back. Every worker does this first; a service does it at every start. P4 begins again from a clean tree.",
    )
    play.run("tasks", "recover", shows=["queued"])
    play.run("tasks", "work", "--once", shows=["P4 completed", "checks passed"])


def review_and_merge(play: Play) -> None:
    """Approve the result and bring it to main."""
    play.scene(
        "8. Review and merge",
        "All items are done and the check passed. Only now, and only because somebody says so, main moves.",
    )
    play.run("tasks", "show", "1", shows=["in_review"])
    play.run("tasks", "gate", "approve", "1", shows=["approved"])
    play.run("tasks", "merge", "1", shows=["merged"])
    said = play.run("git", "-C", "shop", "log", "--oneline", "--stat", shows=["CHANGELOG.md", "Makefile"])
    play.must("customers.txt" not in said, "the link must not be in the history")


def the_history(play: Play) -> None:
    """Read back everything that happened."""
    play.scene(
        "9. What happened, who did it, and why",
        "Every move, attempt and decision has a line, and no line can be changed.",
    )
    play.run("tasks", "log", "1", shows=["claim", "raise_finding", "requeue", "gate_approved", "merge"])


SCENES: Final = (
    the_first_run,
    the_scope_gate,
    something_unsafe,
    a_killed_worker,
    the_recovery,
    review_and_merge,
    the_history,
)
