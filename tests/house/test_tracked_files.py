import os
import re
import subprocess
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]

# In pieces, so that this file holds none of them.
HOSTS = ["pypi" + ".org", "python" + "hosted.org", "registry.npmjs" + ".org", "deb.debian" + ".org", "crates" + ".io"]
HOSTS += ["proxy.golang" + ".org", "docker" + ".io", "ghcr" + ".io", "quay" + ".io", "conda.anaconda" + ".org"]
HERE = [r"/" + r"work/", r"/" + r"root/(?!repositories|workspaces)", r"\.py" + "env/", re.escape(f"{Path.home()}/")]
MACHINE = re.compile("|".join(HERE))
SECRETS = re.compile(
    "|".join(["-----BEGIN [A-Z ]*PRIVATE" + " KEY", "AK" + "IA[0-9A-Z]{16}", "gh" + "[pousr]_[A-Za-z0-9]{36}"])
)


def tracked() -> list[Path]:
    """List what a commit would hold."""
    done = subprocess.run(
        ["git", "-C", str(HOUSE), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    )
    names = sorted(set(done.stdout.rstrip(b"\0").split(b"\0")))
    return [path for path in (HOUSE / os.fsdecode(name) for name in names) if path.is_file()]


def offending(pattern: re.Pattern[str]) -> list[str]:
    """Find lines that match, as file:line: text."""
    found = []
    for path in tracked():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(HOUSE)}:{number}: {line.strip()[:120]}")
    return found


def test_no_file_names_a_registry() -> None:
    assert offending(re.compile("|".join(map(re.escape, HOSTS)))) == []


def test_no_file_holds_a_path_of_the_machine_it_was_written_on() -> None:
    assert offending(MACHINE) == []


def test_no_file_holds_a_secret() -> None:
    assert offending(SECRETS) == []


@pytest.mark.parametrize("sample", ["/" + "work/x", "/" + "root/.netrc", str(Path.home() / "x"), "~/.py" + "env/bin"])
def test_the_search_finds_what_it_is_for(sample: str) -> None:
    assert MACHINE.search(sample)


def test_code_outside_the_tests_is_ascii() -> None:
    code = [path for path in tracked() if path.suffix in {".py", ".sql", ".toml", ".sh"} and "tests" not in path.parts]

    assert [str(path) for path in code if not path.read_bytes().isascii()] == []


def test_every_script_can_be_started() -> None:
    scripts = [path for path in tracked() if path.read_bytes()[:2] == b"#!"]

    assert {path.name for path in scripts} >= {"run", "agent.py"}
    assert [str(path) for path in scripts if not os.access(path, os.X_OK)] == []


def test_the_steps_of_ci_can_be_read_by_bash() -> None:
    done = subprocess.run(["bash", "-n", str(HOUSE / ".ci" / "run")], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
