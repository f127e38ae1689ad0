import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import repositories
from cli.pages.schemas import RepositoryDocument
from tests import factories
from tests.cli.conformity import conforms
from tests.cli.terminal import Terminal


@pytest.fixture
def tasks(database_url: str, tmp_path: Path) -> Terminal:
    return Terminal(database_url=database_url, root=tmp_path / "root")


@pytest.mark.case("C01")
def test_a_repository_is_registered_by_path_and_listed(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)

    added = tasks("repo", "add", source, "--json").json
    listed = tasks("repo", "list", "--json").json

    conforms(added, RepositoryDocument)
    assert listed == [added]
    assert (added["name"], added["source"], added["target"]) == ("project", str(source), str(source))
    assert Path(added["runner_path"]).is_dir()
    assert Path(added["runner_path"]).is_relative_to(tasks.root)
    assert str(source) in tasks("repo", "list").out


def test_a_repository_has_a_name_and_a_target_of_its_own(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    factories.git(tmp_path, "init", "--quiet", "--bare", "target.git")

    done = tasks("repo", "add", source, "--name", "uploads", "--target", tmp_path / "target.git")

    assert f"repository uploads is registered; merges go to {tmp_path / 'target.git'}" in done.out
    assert "next: tasks run PLAN --repo uploads --agent 'COMMAND'" in done.out


@pytest.mark.case("C02")
def test_what_cannot_be_registered_is_refused(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    tasks("repo", "add", source)

    twice = tasks("repo", "add", source, "--name", "other", "--json")
    nothing = tasks("repo", "add", tmp_path, "--json")

    assert (twice.code, twice.error["code"]) == (3, "already_added")
    assert (nothing.code, nothing.error["code"]) == (3, "source_not_a_repository")
    assert len(tasks("repo", "list", "--json").json) == 1


def test_files_that_a_checkout_would_change_are_refused_unless_that_is_meant(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path, files={"a.txt": "a\n", ".gitattributes": "*.txt eol=crlf\n"})

    refused = tasks("repo", "add", source, "--json")
    meant = tasks("repo", "add", source, "--raw-attributes", "--json")

    assert (refused.code, refused.error["code"]) == (3, "attributes_convert")
    assert "--raw-attributes" in refused.error["hint"]
    assert meant.json["raw_attributes"] is True


def test_without_repositories_the_list_says_how_to_begin(tasks: Terminal) -> None:
    assert tasks("repo", "list", "--json").json == []
    assert "next: tasks repo add PATH" in tasks("repo", "list").out


def test_one_repository_is_shown_with_its_policy(tasks: Terminal, tmp_path: Path) -> None:
    source = factories.a_repository(tmp_path)
    tasks("repo", "add", source)
    here = ["--database-url", tasks.database_url, "--root", str(tasks.root)]

    shown = CliRunner().invoke(repositories.show, ["project", *here])
    missing = CliRunner().invoke(repositories.show, ["nothing", *here])

    facts = dict(re.split("  +", line, maxsplit=1) for line in shown.output.splitlines())
    assert (facts["source"], facts["policy"], facts["raw attributes"]) == (str(source), "as it comes", "no")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", facts["added at"])
    assert getattr(missing.exception, "code", "") == "repository_not_found"
