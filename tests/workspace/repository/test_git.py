"""The one door to git: what it lets through, what it says, and how it ends."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests import gits
from workspace.repository import git, hardening
from workspace.repository.git import Call, GitFailed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return gits.person(tmp_path / "source") / ".git"


def test_a_command_that_is_not_on_the_list_is_a_mistake_of_ours(source: Path) -> None:
    with pytest.raises(ValueError, match="not on the list"):
        git.run("fetch", "origin", git_dir=source)


def test_nothing_of_the_callers_environment_reaches_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("TASKS_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("HOME", "/home/somebody")

    built = git.environment(Call(arguments=("version",), git_dir=None))

    assert not {"GIT_DIR", "TASKS_DATABASE_URL"} & built.keys()
    assert built["HOME"] == "/dev/null"
    assert built["GIT_ALLOW_PROTOCOL"] == "none"


def test_files_are_written_durably_unless_they_are_thrown_away() -> None:
    kept = git.command(Call(arguments=("version",), git_dir=None))
    thrown = git.command(Call(arguments=("version",), git_dir=None, durable=False))

    assert "core.fsync=all" in kept
    assert "core.fsync=none" in thrown


def test_git_is_started_by_an_absolute_path_even_from_a_relative_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 9.9\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    git.binary.cache_clear()

    found = git.binary()

    assert found.startswith("/")
    assert not found.startswith(str(tmp_path))


def test_a_machine_without_git_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(os, "defpath", "/nowhere/either")
    git.binary.cache_clear()

    with pytest.raises(GitFailed) as refused:
        git.binary()

    assert refused.value.code == "git_missing"
    monkeypatch.undo()
    git.binary.cache_clear()


@pytest.mark.hazard("H120")
@pytest.mark.parametrize("printed", ["git version 2.29.9", "git version 1.8.3.1", "nonsense", ""])
def test_a_git_older_than_what_we_rely_on_is_refused(printed: str) -> None:
    with pytest.raises(GitFailed) as refused:
        git.check_version(printed)

    assert refused.value.code == "git_too_old"


@pytest.mark.parametrize("printed", ["git version 2.30.0", "git version 2.39.5 (Apple Git-154)", "git version 3.0.1"])
def test_a_git_of_the_floor_or_newer_is_taken(printed: str) -> None:
    git.check_version(printed)


def test_input_is_taken_from_bytes_from_a_path_and_from_an_open_file(source: Path, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"hello")

    from_bytes = git.run("hash-object", "--stdin", git_dir=source, stdin=b"hello")
    from_path = git.run("hash-object", "--stdin", git_dir=source, stdin=tmp_path / "input")
    with (tmp_path / "input").open("rb") as file:
        from_file = git.run("hash-object", "--stdin", git_dir=source, stdin=file)

    assert from_bytes == from_path == from_file == gits.object_id("blob", b"hello").encode() + b"\n"


def test_a_failure_tells_the_status_and_quotes_what_git_said(source: Path) -> None:
    with pytest.raises(GitFailed) as refused:
        git.run("cat-file", "blob", "no\nsuch\x1bthing", git_dir=source)

    assert refused.value.code == "git_failed"
    assert refused.value.status == 128
    assert "\n" not in refused.value.message
    assert "\x1b" not in refused.value.message


@pytest.mark.hazard("H118")
def test_an_exit_status_can_be_asked_for_as_a_fact(source: Path) -> None:
    same = Call(arguments=("diff-tree", "--quiet", "HEAD", "HEAD"), git_dir=source)
    differs = Call(arguments=("diff-tree", "--quiet", gits.git(source, "mktree"), "HEAD"), git_dir=source)
    broken = Call(arguments=("diff-tree", "--quiet", "nonsense", "HEAD"), git_dir=source)

    assert [git.perform(each).status for each in (same, differs, broken)] == [0, 1, 128]


def test_a_git_that_does_not_end_is_ended(source: Path) -> None:
    waits, feed = os.pipe()
    with os.fdopen(waits, "rb") as stdin, os.fdopen(feed, "wb", buffering=0) as writer:
        with pytest.raises(GitFailed) as refused:
            git.run("cat-file", "--batch", git_dir=source, stdin=stdin, timeout=timedelta(seconds=0.2))
        stdin.close()

        assert refused.value.code == "git_timeout"
        with pytest.raises(BrokenPipeError):  # nobody holds the other end any more
            writer.write(b"HEAD\n")


def test_output_past_its_bound_ends_git_and_is_refused(source: Path) -> None:
    with pytest.raises(GitFailed) as refused:
        git.run("cat-file", "--batch", git_dir=source, stdin=b"HEAD\n" * 100_000, limit=1000)

    assert refused.value.code == "git_output_limit"


def test_output_past_its_bound_may_be_asked_for_cut(source: Path) -> None:
    outcome = git.perform(
        Call(arguments=("cat-file", "--batch"), git_dir=source, stdin=b"HEAD\n" * 100_000, limit=1000, cut=True)
    )

    assert outcome.cut
    assert len(outcome.output) == 1000


def test_output_of_exactly_its_bound_is_whole(source: Path) -> None:
    printed = git.run("cat-file", "blob", "HEAD:a.txt", git_dir=source, limit=4)

    assert printed == b"one\n"


def test_a_pipe_tells_the_complaint_of_the_one_that_failed(source: Path, tmp_path: Path) -> None:
    producer = Call(arguments=("cat-file", "blob", "HEAD:a.txt"), git_dir=source)
    consumer = Call(arguments=("index-pack", "--stdin"), git_dir=source)
    missing = Call(arguments=("cat-file", "blob", "HEAD:missing"), git_dir=source)
    counting = Call(arguments=("hash-object", "--stdin"), git_dir=source)

    with pytest.raises(GitFailed, match="index-pack ended"):
        git.pipe(producer, consumer)
    with pytest.raises(GitFailed, match="cat-file ended"):
        git.pipe(missing, counting)


def test_a_pipe_hands_on_every_byte(source: Path) -> None:
    producer = Call(arguments=("cat-file", "blob", "HEAD:a.txt"), git_dir=source)
    consumer = Call(arguments=("hash-object", "--stdin"), git_dir=source)

    printed = git.pipe(producer, consumer)

    assert printed.decode().strip() == gits.object_id("blob", b"one\n")


def test_a_pipe_whose_consumer_waits_for_ever_is_ended_as_a_whole(source: Path) -> None:
    waits, feed = os.pipe()
    with os.fdopen(waits, "rb") as stdin, os.fdopen(feed, "wb", buffering=0) as writer:
        producer = Call(arguments=("cat-file", "--batch"), git_dir=source, stdin=stdin)
        consumer = Call(arguments=("hash-object", "--stdin"), git_dir=source, timeout=timedelta(seconds=0.2))
        with pytest.raises(GitFailed) as refused:
            git.pipe(producer, consumer)
        stdin.close()

        assert refused.value.code == "git_timeout"
        with pytest.raises(BrokenPipeError):
            writer.write(b"HEAD\n")


def test_a_stream_is_read_as_it_comes_and_its_failure_is_told_at_its_end(source: Path) -> None:
    with git.stream("cat-file", "blob", "HEAD:a.txt", git_dir=source) as output:
        assert output.read() == b"one\n"

    with (
        pytest.raises(GitFailed, match="cat-file ended with 128"),
        git.stream("cat-file", "blob", "missing", git_dir=source) as output,
    ):
        assert output.read() == b""


def test_a_stream_may_be_left_before_its_end(source: Path) -> None:
    with git.stream("cat-file", "--batch", git_dir=source, stdin=b"HEAD\n" * 100_000) as output:
        first = output.readline()

    assert first.endswith(b" commit 134\n") or b" commit " in first


def test_a_stream_that_says_nothing_for_too_long_is_ended(source: Path) -> None:
    waits, feed = os.pipe()
    with (
        os.fdopen(waits, "rb") as stdin,
        os.fdopen(feed, "wb"),
        pytest.raises(GitFailed) as refused,
        git.stream("cat-file", "--batch", git_dir=source, stdin=stdin, timeout=timedelta(seconds=0.2)) as output,
    ):
        assert output.read() == b""

    assert refused.value.code == "git_timeout"


def test_a_body_that_raises_ends_the_stream_with_its_own_error(source: Path) -> None:
    with pytest.raises(LookupError), git.stream("cat-file", "--batch", git_dir=source, stdin=b"HEAD\n" * 100_000):
        raise LookupError


def test_a_persons_own_repository_is_asked_in_their_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere")

    built = hardening.theirs()

    assert built["HOME"] == str(tmp_path)
    assert built["XDG_CONFIG_HOME"] == str(tmp_path / "xdg")
    assert "GIT_INDEX_FILE" not in built
