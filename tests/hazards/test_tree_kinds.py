"""Entries that are no files, files that are no size, folders that are closed."""

import os
import socket
from pathlib import Path

import pytest

from tests import gits, trees
from tests.trees import Work
from workspace.inspection.inspections import InspectionFailed, Limits, unchanged_since
from workspace.inspection.packs import blob_id


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return trees.work(tmp_path)


@pytest.mark.hazard("H83")
def test_a_pipe_in_place_of_a_file_holds_nobody(work: Work) -> None:
    (work / "a.txt").unlink()
    os.mkfifo(work / "a.txt")

    change = work.changes()["a.txt"]

    assert (change["kind"], change["new"]["type"]) == ("type", "special")


@pytest.mark.hazard("H85")
def test_a_socket_is_told(work: Work) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(work / "s"))

    assert work.changes()["s"]["new"]["type"] == "special"


@pytest.mark.hazard("H86")
def test_nothing_is_read_through_a_folder_that_became_a_link(work: Work, tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "x.py").write_text("host secret")
    (work / "src").rename(tmp_path / "aside")
    trees.link("../../../host", work / "src")

    inspection = work.inspect()

    secret = blob_id(b"host secret", "sha1")
    assert secret not in str(inspection.manifest)
    assert {change["kind"] for change in inspection.manifest["changes"]} == {"add", "delete"}


@pytest.mark.hazard("H87")
@pytest.mark.parametrize(
    "target", [b"/etc/shadow", b"../../up", b"/proc/self/root", b"loop", b"dangling", b"x" * 4000, b"bad\xff"]
)
def test_a_link_is_told_by_its_text_wherever_it_leads(work: Work, target: bytes) -> None:
    trees.link(target, work / "loop")

    new = work.changes()["loop"]["new"]

    assert new["target"].encode("utf-8", "surrogateescape") == target
    assert new["id"] == blob_id(target, "sha1")


CLOSED = """
import os
from pathlib import Path
from tests import trees
work = trees.work(Path(os.environ["FOLDER"]))
(work / "src" / "deep").chmod(0)
(work / "src").chmod(0)
print(work.kinds())
(work / "src").chmod(0o700)
(work / "src" / "deep").chmod(0o700)
"""


@pytest.mark.hazard("H89")
def test_a_closed_folder_is_never_taken_for_deleted(tmp_path: Path) -> None:
    assert trees.without_privileges(CLOSED, tmp_path) == "{}\n"


@pytest.mark.hazard("H90")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_owner_are_read_where_they_can_be(work: Work) -> None:
    os.chown(work / "src", trees.NOBODY, trees.NOBODY)
    os.chown(work / "a.txt", trees.NOBODY, trees.NOBODY)

    assert work.kinds() == {}


@pytest.mark.hazard("H92")
def test_a_sparse_file_is_refused_by_what_it_claims_before_it_is_read(work: Work) -> None:
    (work / "big").touch()
    os.truncate(work / "big", 1 << 42)

    with pytest.raises(InspectionFailed) as failed:
        work.inspect()

    assert failed.value.facts["reason"] == "added_bytes"


@pytest.mark.hazard("H93")
def test_a_flood_of_files_is_no_list_of_findings(work: Work) -> None:
    (work / "m").mkdir()
    for number in range(60):
        (work / "m" / f"{number}").touch()

    assert "changes" not in work.inspect(limits=Limits(changes=50)).manifest


@pytest.mark.hazard("H93")
def test_a_flood_of_entries_is_refused(work: Work) -> None:
    for number in range(60):
        (work / "m" / f"{number}").mkdir(parents=True)

    with pytest.raises(InspectionFailed) as failed:
        work.inspect(limits=Limits(entries=50))

    assert failed.value.facts["reason"] == "entries"


@pytest.mark.hazard("H96")
def test_what_is_kept_is_what_was_told_whatever_is_written_afterwards(work: Work, tmp_path: Path) -> None:
    (work / "f").write_text("good\n")
    inspection = work.inspect()
    (work / "f").write_text("evil\n")

    repository = gits.person(tmp_path / "scratch")
    for pack in inspection.spool.glob("*.pack"):
        gits.git(repository, "index-pack", "--strict", "--stdin", stdin=pack.read_bytes())
    (change,) = inspection.manifest["changes"]
    assert gits.git(repository, "cat-file", "blob", change["new"]["id"]) == "good"
    with pytest.raises(Exception, match="not what was inspected"):
        unchanged_since(inspection)


@pytest.mark.hazard("H97")
def test_empty_folders_are_carried_by_nobody_and_change_nothing(work: Work) -> None:
    (work / "empty" / "deeper").mkdir(parents=True)

    assert work.kinds() == {}
