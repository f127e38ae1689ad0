import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.demo import scripted_agent
from cli.demo.page import Page, broken, fold
from cli.demo.play import Play, SurpriseError
from cli.demo.schemas import DemoDocument
from cli.demo.stage import raised
from cli.demo.story import PLAN, PRICE, README
from cli.frame.screen import Screen
from cli.main import main
from cli.plan_files.reading import read_plan
from store.locks import alone
from tests.cli.conformity import conforms
from tests.cli.terminal import REPOSITORY
from tests.sandboxes import needs_sandbox
from workspace.agents import proctree
from workspace.executors import bubblewrap

WORDS = ["tasks", "gate", "approve", "1", "--accept", "1", "--accept", "2", "--reason", "a hook, and a link"]
EXPECTED = [
    ("git init", 0),
    ("git -C", 0),
    ("git -C", 0),
    ("cat plan.yaml", 0),
    ("tasks run", 10),
    ("tasks gate list", 0),
    ("tasks gate show", 0),
    ("tasks gate approve", 0),
    ("tasks work", 0),
    ("tasks gate show", 0),
    ("tasks gate approve", 0),
    ("tasks work", None),
    ("tasks list", 0),
    ("tasks recover", 0),
    ("tasks work", 0),
    ("tasks show", 0),
    ("tasks gate approve", 0),
    ("tasks merge", 0),
    ("git -C", 0),
    ("tasks log", 0),
]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a home, a folder for temporary files, and settings the demo must not follow."""

    home: Path
    temporary: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(REPOSITORY),
            "TASKS_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere",
            "TASKS_EXECUTOR": "moon",
            "GIT_DIR": "/nowhere",
            "PGPORT": "1",
        }

    def types(self, *words: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "cli.main", "demo", *words],
            env={**self.environment, **(environment or {})},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def left(self) -> list[str]:
        """List files and living processes of a demo."""
        return [*os.listdir(self.temporary), *processes_about(self.temporary)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How a demo went, and what was there before and after it."""

    code: int
    document: Any
    errors: str
    left: list[str]
    home_before: dict[str, str]
    home_after: dict[str, str]

    def step(self, beginning: str) -> Any:
        return next(step for step in self.document["steps"] if step["command"].startswith(beginning))


def processes_about(folder: Path) -> list[str]:
    """Name the processes that were started with, for or in a folder."""
    found = []
    for process in proctree.scan().values():
        about = b""
        for name in ("cmdline", "environ"):
            try:
                about += Path(f"/proc/{process.pid}/{name}").read_bytes()
            except OSError:
                continue
        if os.fsencode(folder) in about:
            found.append(proctree.command_line(process.pid))
    return found


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def played_by(person: Person) -> Played:
    before = contents(person.home)
    with person.types("--json", "--as", "ann") as process:
        out, errors = process.communicate()
    return Played(
        code=process.returncode,
        document=json.loads(out),
        errors=errors,
        left=person.left(),
        home_before=before,
        home_after=contents(person.home),
    )


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text("[commit]\n    gpgSign = true\n[core]\n    hooksPath = /nowhere\n")
    (home / ".config" / "weighlock").mkdir(parents=True)
    (home / ".config" / "weighlock" / "config.toml").write_text('executor = "moon"\n')
    temporary = Path(tempfile.mkdtemp(prefix="weighlock-demos-"))
    temporary.chmod(0o711)
    yield Person(home, temporary)
    shutil.rmtree(temporary)


@pytest.fixture(scope="module")
def played(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play the demo once for every test that looks at it, in whichever process of the run."""
    own = tmp_path_factory.getbasetemp()
    told = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "demo.json"
    with alone(told.with_suffix(".lock"), timedelta(minutes=10)):
        if not told.exists():
            told.write_text(json.dumps(asdict(played_by(person))), encoding="utf-8")
        return Played(**json.loads(told.read_text(encoding="utf-8")))


# ---------------------------------------------------------------- the whole story


@pytest.mark.case("C05")
def test_the_story_is_played_to_its_end(played: Played) -> None:
    conforms(played.document, DemoDocument)

    assert played.document["surprise"] is None, played.document["steps"][-1]
    assert (played.code, played.errors) == (0, "")
    assert (played.document["passed"], played.document["folder"]) == (True, None)
    assert [
        (step["command"].startswith(words), step["exit"])
        for step, (words, _) in zip(played.document["steps"], EXPECTED, strict=True)
    ] == [(True, code) for _, code in EXPECTED]
    assert [step["signal"] for step in played.document["steps"] if step["exit"] is None] == [signal.SIGKILL]


@pytest.mark.case("C05")
def test_it_leaves_no_file_and_no_process_and_touches_nothing_of_the_person(played: Played) -> None:
    assert played.left == []
    assert played.home_after == played.home_before


def test_only_what_was_judged_reaches_the_main_branch(played: Played) -> None:
    history = played.step("git -C shop log")["output"]

    assert [line.split(" ", 1)[1] for line in history.splitlines() if not line.startswith(" ")] == [
        "Note the discount",
        "Describe the discount",
        "Test the discount",
        "Give a discount",
        "Add up prices",
    ]
    assert set(re.findall(r"^ (\S+) +\|", history, re.MULTILINE)) == {
        "CHANGELOG.md",
        "Makefile",
        "README.md",
        "price.py",
        "test_price.py",
    }


def test_its_agent_runs_in_a_sandbox_where_there_can_be_one(played: Played) -> None:
    needs_sandbox()
    first = played.step("tasks run")

    assert "--executor" not in first["command"]
    assert "serves sandbox" in played.step("tasks work")["output"]


def test_where_there_can_be_none_it_says_so_and_names_another_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "_PLACES", "/nowhere")
    bubblewrap.probe.cache_clear()

    with raised() as stage:
        executor, lacking = stage.executor
        settings = tomllib.loads((stage.folder / "config.toml").read_text())

    assert (executor, settings["executor"]) == ("local", "local")
    assert "there is no bwrap" in lacking


def test_decisions_are_made_in_the_name_given(played: Played) -> None:
    assert re.findall(r"gate_approved\n +by (\w+)", played.step("tasks log")["output"]) == ["ann"] * 3


def test_the_transcript_of_the_readme_is_what_the_demo_prints(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_sandbox()
    monkeypatch.setenv("COLUMNS", "80")
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (transcript,) = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    page = Page(Screen())
    for step in played.document["steps"]:
        page.command(shlex.split(step["command"]), after="" if step["signal"] is None else " &")
        page.said(step["output"])
        page.aside(f"(ended by signal {step['signal']})")

    printed = {masked(line) for line in capsys.readouterr().out.splitlines()}

    shown = [line for line in transcript.splitlines() if line and line != "..."]
    assert [line for line in shown if masked(f"    {line}".rstrip()) not in printed] == []
    assert sum(line.startswith("$ ") for line in shown) > 4


def masked(line: str) -> str:
    """Leave out what is another at every run: hashes, ids, times, processes, hosts and folders."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME", line)
    line = re.sub(r"(worker:?\s?)\S+@\S+", r"\1WORKER", line)
    line = re.sub(r"\S*weighlock-demo\S*", "FOLDER", line)
    line = re.sub(r"\b[0-9a-f]{7,40}\b", "ID", line)
    return re.sub(r" +", " ", line)


# ---------------------------------------------------------------- a story that goes another way


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_cleans_up(person: Person, number: signal.Signals) -> None:
    with person.types() as process:
        assert process.stdout is not None
        seen = next(line for line in process.stdout if line.startswith("    $ tasks run"))
        process.send_signal(number)
        _, errors = process.communicate()

    assert seen
    assert (process.returncode, errors) == (130, "error: interrupted [interrupted]\n")
    assert person.left() == []


def test_a_story_that_goes_another_way_ends_with_1_and_says_where(person: Person, tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho no git today\nexit 3\n")
    (tmp_path / "git").chmod(0o755)

    with person.types("--keep", "--json", environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"}) as process:
        out, errors = process.communicate()

    document, error = json.loads(out), json.loads(errors)["error"]
    conforms(document, DemoDocument)
    assert process.returncode == 1
    assert (document["passed"], document["surprise"]) == (
        False,
        "'git init -q -b main shop' did not end as the story goes",
    )
    assert document["steps"][0]["output"] == "no git today\n"
    assert error["code"] == "demo_surprised"
    assert document["folder"] in error["hint"]
    assert (Path(document["folder"]) / "variables").is_file()
    shutil.rmtree(document["folder"])
    assert person.left() == []


@pytest.mark.parametrize("flag", ["--database-url", "--root"])
def test_the_demo_is_played_nowhere_but_in_its_own_place(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["demo", flag, "somewhere"])

    assert code == 2
    assert f"{flag} does not go with the demo" in capsys.readouterr().err


def test_the_help_of_the_demo_imports_no_database() -> None:
    code = "import sys; from cli.main import main; main(['demo', '--help']); print(*sys.modules, file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "--keep" in done.stdout
    assert not set(done.stderr.split()) & {"psycopg", "store", "workspace", "worker", "rich"}


# ---------------------------------------------------------------- the stage and the play


def test_a_command_that_ends_in_another_way_than_told_is_a_surprise(capsys: pytest.CaptureFixture[str]) -> None:
    with raised() as stage:
        play = Play(stage, Page(Screen()))
        play.scene("A scene", "Something is tried.")

        with pytest.raises(SurpriseError, match="did not end as the story goes"):
            play.run("sh", "-c", "echo said; exit 7")
        with pytest.raises(SurpriseError, match="did not say 'pardon'"):
            play.run("echo", "hello", shows=["pardon"])
        with pytest.raises(SurpriseError, match="so it must be"):
            play.must(fact=False, sentence="so it must be")

    assert [(step["scene"], step["exit"], step["passed"]) for step in play.steps] == [
        ("A scene", 7, False),
        ("A scene", 0, False),
    ]
    assert "    said\n    (exit code 7)\n" in capsys.readouterr().out
    assert not stage.folder.exists()


def test_a_command_that_ends_before_it_rings_is_a_surprise_and_no_endless_wait() -> None:
    with raised() as stage, pytest.raises(SurpriseError, match="did not end as the story goes"):
        Play(stage, Page(Screen(quiet=True))).kill("true")


def test_a_command_that_rings_is_killed_with_everything_it_started() -> None:
    with raised() as stage:
        play = Play(stage, Page(Screen(quiet=True)))

        play.kill("sh", "-c", f"sleep 600 & echo here > {stage.bell}; wait")

        assert play.steps[0]["signal"] == signal.SIGKILL
        assert not stage.bell.exists()
        assert processes_about(stage.folder) == []


def test_a_command_gets_nothing_that_leads_to_the_persons_things() -> None:
    theirs = {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "LANG": "C.UTF-8",
        "TASKS_ROOT": "/theirs",
        "TASKS_EXECUTOR": "moon",
        "GIT_DIR": "/theirs",
        "PGHOST": "theirs",
        "XDG_STATE_HOME": "/theirs",
    }

    with raised(actor="ann") as stage:
        given = stage.environment(theirs)

    assert [name for name, value in given.items() if "theirs" in value or "moon" in value] == []
    assert given["PATH"] == f"{stage.folder}/bin:/bin"
    assert (given["HOME"], given["LANG"], given["TASKS_ACTOR"]) == (str(stage.folder), "C.UTF-8", "ann")
    assert given["TASKS_ROOT"].startswith(given["TASKS_STATE"])


def test_what_is_kept_can_be_looked_at_with_the_variables_told() -> None:
    with raised(keep=True) as stage:
        pass

    shown = subprocess.run(
        ["sh", "-c", ". ./variables; env"], cwd=stage.folder, capture_output=True, text=True, check=True
    )
    shutil.rmtree(stage.folder)

    assert set(shown.stdout.splitlines()) >= {f"{name}={value}" for name, value in stage.variables.items()}


def test_the_signals_are_as_before_when_a_stage_is_gone() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    with raised(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


# ---------------------------------------------------------------- the page


def test_a_long_line_is_folded_between_words_beneath_its_own_beginning() -> None:
    assert fold("  one two three", 10) == ["  one two", "    three"]
    assert fold("  " + "x" * 20, 10) == ["  " + "x" * 20]
    assert fold("", 10) == [""]
    assert fold("short", 10) == ["short"]
    assert all(fold("many words in a very narrow place", width) for width in range(-5, 5))


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_a_long_command_line_is_broken_so_that_a_shell_still_reads_it(width: int) -> None:
    shown = broken(WORDS, width)

    assert shlex.split(shown.replace("\\\n", "")) == WORDS
    assert ("\n" in shown) == (width < 80)


def test_an_escape_in_what_a_command_said_moves_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(Screen())

    page.command(["echo", "\x1b[31m"])
    page.said("\x1b[2Jgone\u202e\ttab\n")

    assert capsys.readouterr().out == "\n    $ echo '\\x1b[31m'\n    \\x1b[2Jgone\\u202e       tab\n"


@pytest.mark.parametrize("screen", [Screen(json=True), Screen(quiet=True)])
def test_a_page_is_silent_where_nobody_wants_it(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(screen)

    page.title("Title", "text")
    page.command(["true"])
    page.said("words\n")
    page.ending(None)

    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------- the plan and its agent


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Lay out the work tree an agent gets."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "README.md").write_text(README)
    (folder / "price.py").write_text(PRICE)
    (tmp_path / "prompt.md").write_text("## What is wanted\n")
    return folder


def work_on(item: str, shop: Path) -> str:
    """Run the agent without any package but the standard library."""
    environment = {"TASKS_ITEM": item, "TASKS_PROMPT_FILE": str(shop.parent / "prompt.md")}
    line = [sys.executable, "-I", "-S", scripted_agent.__file__, str(shop.parent / "bell")]
    done = subprocess.run(line, cwd=shop, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_agent_knows_every_item_of_the_plan(shop: Path) -> None:
    plan = read_plan(PLAN.encode()).plan

    said = [work_on(item.id, shop) for item in plan.items]

    assert all(said)
    for item in plan.items:
        assert all((shop / operation.path).is_file() for operation in item.operations)
    check = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=shop, capture_output=True, check=False)
    assert check.returncode == 0


def test_the_agent_does_something_unsafe_until_it_is_told_not_to(shop: Path) -> None:
    work_on("P3", shop)
    unsafe = (shop / "customers.txt").is_symlink(), (shop / "docs" / ".git" / "hooks" / "post-merge").exists()
    (shop / "customers.txt").unlink()
    (shop.parent / "prompt.md").write_text(f"{scripted_agent.GUIDED}\n\nOnly the text.\n")

    work_on("P3", shop)

    assert unsafe == (True, True)
    assert not (shop / "customers.txt").is_symlink()
