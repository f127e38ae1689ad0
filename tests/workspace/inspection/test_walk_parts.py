"""The parts a walk is made of: names, messages, packs, folders."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import gits, trees
from workspace.disk import names
from workspace.disk.descriptors import Folders, OtherDeviceError, TooDeepError, opened
from workspace.inspection import frames, packs
from workspace.inspection.lists import listing

SPELLINGS = [
    ".git",
    ".GIT",
    ".gIt",
    "git~1",
    "GIT~1",
    ".git.",
    ".git ",
    ".git. .",
    ".git::$INDEX_ALLOCATION",
    ".git:x",
    ".g\u200cit",
    "\ufeff.git",
    ".git\u202e",
    "a\\.git",
    ".git\\config",
    "g\u200bit~1".replace("\u200b", "\u206a"),
]
LOOK_ALIKES = [
    ".github",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    "git",
    "git~2",
    ".git2",
    "x.git",
    "..git",
    "gi",
]


@pytest.mark.case("J03")
@pytest.mark.hazard("H81")
@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_of_git_is_one(name: str) -> None:
    assert names.spells_git(name)


@pytest.mark.case("J03")
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_like_git_is_not(name: str) -> None:
    assert not names.spells_git(name)


@given(st.binary())
def test_any_name_comes_back_as_it_was(name: bytes) -> None:
    assert names.raw(names.text(name)) == name


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", ".", "a/../b", "a/.", "a\0b", "x/.git/y", "x/GIT~1"])
def test_a_path_that_must_not_be_written_has_a_fault(path: str) -> None:
    assert names.fault(path)


@pytest.mark.parametrize(
    ("left", "right"), [("A", "a"), ("\u00e9", "e\u0301"), ("\u00c9", "e\u0301"), ("\u00df", "ss")]
)
def test_names_that_some_disk_takes_for_one_fold_to_one(left: str, right: str) -> None:
    assert names.folded(left) == names.folded(right)


@pytest.mark.parametrize(
    ("folder", "target", "leaves"),
    [
        ("", "a", False),
        ("", "..", True),
        ("d", "..", False),
        ("d", "../..", True),
        ("d/e", "../../../x", True),
        ("d", "a/../../b", False),
        ("d", "a/../../../b/c/d", True),
        ("", "/etc/passwd", True),
        ("", "./a/.", False),
    ],
)
def test_a_link_out_of_the_tree_is_known_by_its_text(folder: str, target: str, *, leaves: bool) -> None:
    assert names.leaves_tree(folder, target) is leaves


def test_messages_are_put_together_from_any_pieces() -> None:
    sent = [["a", "bad\udcff", b"\0", 1 << 70], {"x": None}, "y"]
    stream = b"".join(map(frames.pack, sent))
    assembly, received = frames.Assembly(), []

    for byte in stream:
        assembly.add(bytes([byte]))
        if (message := assembly.take()) is not None:
            received.append(message)

    assert received == sent


def test_a_message_of_an_absurd_length_is_refused() -> None:
    assembly = frames.Assembly()
    assembly.add(b"\xff" * 8)

    with pytest.raises(ValueError, match="bytes"):
        assembly.take()


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_git_takes_a_pack_and_finds_the_ids_that_were_promised(tmp_path: Path, algorithm: str) -> None:
    repo = gits.person(tmp_path / "repo", {"a": "a"}, f"--object-format={algorithm}")
    contents = [b"", b"x", os.urandom(15), os.urandom(16), os.urandom(5000), b"y" * (3 << 20)]
    writer = packs.PackWriter(os.fsencode(tmp_path / "blobs.pack"), algorithm)

    for content in [*contents, *contents]:
        writer.add(packs.blob_id(content, algorithm), len(content), iter([content[:7], content[7:]]))
    kept = writer.finish()

    gits.git(repo, "index-pack", "--strict", "--stdin", stdin=(tmp_path / "blobs.pack").read_bytes())
    assert kept == len(contents)
    for content in contents:
        assert gits.git(repo, "cat-file", "-s", packs.blob_id(content, algorithm)) == str(len(content))
    assert stat.S_IMODE((tmp_path / "blobs.pack").stat().st_mode) == 0o600


def test_a_pack_without_blobs_is_no_file(tmp_path: Path) -> None:
    assert packs.PackWriter(os.fsencode(tmp_path / "blobs.pack"), "sha1").finish() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_pack_never_replaces_or_follows_what_is_there(tmp_path: Path) -> None:
    trees.link("elsewhere", tmp_path / "blobs.pack")
    writer = packs.PackWriter(os.fsencode(tmp_path / "blobs.pack"), "sha1")

    with pytest.raises(FileExistsError):
        writer.add("0" * 40, 1, iter([b"x"]))

    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_reached_through_a_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    trees.link("real", tmp_path / "link")

    with opened(tmp_path) as tree, Folders(tree) as folders:
        assert os.stat("deep", dir_fd=folders.open("real"))
        with pytest.raises(NotADirectoryError):
            folders.open("link/deep")
        assert listing(folders, "link/deep")["state"] == "absent"


def test_another_device_is_not_entered() -> None:
    if Path("/").stat().st_dev == Path("/proc").stat().st_dev:
        pytest.skip("this system has one device")

    with opened("/") as tree, Folders(tree) as folders:
        with pytest.raises(OtherDeviceError):
            folders.open("proc")
        assert listing(folders, "proc")["state"] == "foreign"


def test_folders_nested_without_end_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as tree, Folders(tree) as folders, pytest.raises(TooDeepError):
        folders.open("/".join("d" * 401))


def test_a_locked_folder_is_opened_and_locked_again(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b").chmod(0o000)
    (tmp_path / "a").chmod(0o100)

    with opened(tmp_path) as tree:
        folders = Folders(tree)
        assert listing(folders, "a/b")["state"] == "open"
        folders.close()

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o100
    assert stat.S_IMODE((tmp_path / "a" / "b").lstat().st_mode) == 0o000
    (tmp_path / "a").chmod(0o700)
    (tmp_path / "a" / "b").chmod(0o700)
