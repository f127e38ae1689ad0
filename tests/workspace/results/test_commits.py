"""A commit is exactly what was judged, or there is none."""

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from statemachine.refusals import LostRace, Refusal
from tests import gits
from workspace.disk import durability
from workspace.repository import refs, repositories
from workspace.repository.repositories import RunnerRepository
from workspace.results import commits
from workspace.results.commits import CommitRefused, Committed, Identity

ATTEMPT = UUID("00000000-0000-4000-8000-000000000001")
US = Identity()
FILE, PROGRAM, LINK = "100644", "100755", "120000"


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """A runner repository with one base, and a folder for spools."""

    repo: RunnerRepository
    base: str
    folder: Path

    def judge(self, wanted: dict[bytes, gits.Content | None]) -> gits.Judgement:
        return gits.judge(self.repo, self.base, wanted, self.folder / uuid4().hex)

    def commit(
        self,
        judgement: gits.Judgement,
        attempt: UUID = ATTEMPT,
        *,
        parent: str = "",
        author: Identity = US,
        date: datetime = gits.WHEN,
    ) -> Committed | None:
        return commits.commit(
            self.repo,
            judgement,
            parent=parent or self.base,
            message="subject\n",
            author=author,
            date=date,
            attempt=attempt,
        )

    def paths(self, committed: Committed | None) -> dict[bytes, str]:
        assert committed
        return {path: entry.mode for path, entry in repositories.listing(self.repo, committed.id).items()}

    def objects(self) -> list[str]:
        printed = gits.git(self.repo.path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        return printed.split()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    place = gits.person(tmp_path / "source", {"a": "one\n", "d/b": "two\n", "d/c": "three\n"})
    return Scene(*gits.runner(tmp_path, place), tmp_path)


def refusal(scene: Scene, judgement: gits.Judgement, *, parent: str = "", attempt: UUID = ATTEMPT) -> str:
    before = (scene.objects(), refs.listing(scene.repo, "refs"))
    with pytest.raises(CommitRefused) as refused:
        scene.commit(judgement, attempt, parent=parent)
    assert refused.value.code == "commit_refused"
    assert (scene.objects(), refs.listing(scene.repo, "refs")) == before
    assert not list(scene.repo.path.glob("quarantine-*"))
    return refused.value.message


@pytest.mark.case("X02")
def test_what_was_judged_is_committed_on_the_base_under_the_attempts_ref(scene: Scene) -> None:
    judgement = scene.judge(
        {b"a": (FILE, b"ONE\n"), b"d/b": None, b"new": (PROGRAM, b"#!/bin/sh\n"), b"l": (LINK, b"a")}
    )

    made = scene.commit(judgement)

    assert made
    assert scene.paths(made) == {b"a": FILE, b"d/c": FILE, b"l": LINK, b"new": PROGRAM}
    assert repositories.commit_info(scene.repo, made.id).parents == (scene.base,)
    assert refs.listing(scene.repo, "refs") == {refs.attempt_ref(ATTEMPT): made.id}


@pytest.mark.case("X02")
def test_the_same_facts_give_the_same_id_wherever_they_are_committed(scene: Scene, tmp_path: Path) -> None:
    wanted: dict[bytes, gits.Content | None] = {b"a": (FILE, b"ONE\n")}
    other_repo, base = gits.runner(tmp_path / "other", tmp_path / "source")
    other = Scene(other_repo, base, tmp_path / "other")
    elsewhere = gits.WHEN.astimezone(timezone(timedelta(hours=5)))

    first = scene.commit(scene.judge(wanted))
    again = scene.commit(scene.judge(wanted))
    there = other.commit(other.judge(wanted), date=elsewhere)

    assert first == again == there


@pytest.mark.case("X02")
def test_author_committer_and_date_are_the_ones_given(scene: Scene) -> None:
    made = scene.commit(scene.judge({b"a": None}), author=Identity("N\u00e4me", "n@example.invalid"))

    assert made
    found = repositories.commit_info(scene.repo, made.id)
    assert found.author == found.committer == f"N\u00e4me <n@example.invalid> {int(gits.WHEN.timestamp())} +0000"


def test_the_default_identity_names_nobodys_address(scene: Scene) -> None:
    made = scene.commit(scene.judge({b"a": None}))

    assert made
    assert repositories.commit_info(scene.repo, made.id).author.startswith("Weighlock <noreply@weighlock.invalid> ")


def test_a_date_without_a_time_zone_is_a_mistake(scene: Scene) -> None:
    with pytest.raises(ValueError, match="time zone"):
        scene.commit(scene.judge({b"a": None}), date=datetime(2024, 1, 1))  # noqa: DTZ001 - the mistake


@pytest.mark.case("X03")
def test_a_tree_without_a_change_makes_no_commit(scene: Scene) -> None:
    ignored = gits.change("add", b"x", None, gits.side(FILE, "1" * 40, 3), ignored=True)

    assert scene.commit(scene.judge({})) is None
    assert scene.commit(gits.Judgement(gits.manifest(scene.base, [ignored]), scene.folder)) is None
    assert refs.listing(scene.repo, "refs") == {}


@pytest.mark.case("K01")
def test_a_whole_run_leaves_the_source_as_it_was(scene: Scene, tmp_path: Path) -> None:
    before = gits.snapshot(tmp_path / "source")

    scene.commit(scene.judge({b"a": (FILE, b"ONE\n")}))

    assert gits.snapshot(tmp_path / "source") == before


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.case("K09")
def test_either_object_format_is_committed_to(tmp_path: Path, object_format: str) -> None:
    place = gits.person(tmp_path / "source", None, f"--object-format={object_format}")
    scene = Scene(*gits.runner(tmp_path, place), tmp_path)

    made = scene.commit(scene.judge({b"n\xc3\xb6n ascii": (FILE, b"x")}))

    assert scene.paths(made) == {b"a.txt": FILE, b"n\xc3\xb6n ascii": FILE}


@pytest.mark.hazard("H73")
@pytest.mark.hazard("H74")
@pytest.mark.parametrize(
    "name", [b"n\nl", b" lead", b"a -> b", b"bad\xff", b"\t", b'q"', b":(glob)x", b":(exclude)a", b"-rf", b"*", b"\\x"]
)
def test_a_name_is_bytes_and_nothing_else(scene: Scene, name: bytes) -> None:
    made = scene.commit(scene.judge({name: (FILE, b"x")}))

    assert scene.paths(made).keys() == {b"a", b"d/b", b"d/c", name}


@pytest.mark.case("J13")
def test_a_file_makes_room_for_a_folder_and_a_folder_for_a_file(scene: Scene) -> None:
    made = scene.commit(scene.judge({b"a": None, b"a/x": (FILE, b"x"), b"d/b": None, b"d/c": None, b"d": (FILE, b"y")}))

    assert scene.paths(made).keys() == {b"a/x", b"d"}


def test_a_rename_is_a_removal_and_an_addition(scene: Scene) -> None:
    moved = repositories.listing(scene.repo, scene.base)[b"a"]
    leaf = gits.side(FILE, moved.id, 4)
    rename = gits.change("rename", b"z/a", leaf, leaf, old_path="a")

    made = scene.commit(gits.Judgement(gits.manifest(scene.base, [rename]), scene.folder))

    assert scene.paths(made).keys() == {b"d/b", b"d/c", b"z/a"}


def test_a_new_mode_alone_needs_no_bytes(scene: Scene) -> None:
    made = scene.commit(dataclasses.replace(scene.judge({b"a": (PROGRAM, b"one\n")}), spool=scene.folder / "none"))

    assert scene.paths(made)[b"a"] == PROGRAM


def test_a_spool_may_be_of_several_packs_and_hold_large_and_empty_blobs(scene: Scene) -> None:
    wanted = {f"f{n}".encode(): (FILE, os.urandom(n * 30_000)) for n in range(5)}

    made = scene.commit(gits.judge(scene.repo, scene.base, wanted, scene.folder / "spool", packs=3))

    assert len(scene.paths(made)) == 8


@pytest.mark.hazard("H36")
@pytest.mark.hazard("H37")
def test_no_attribute_changes_a_byte(scene: Scene) -> None:
    rules = b"* text=auto eol=crlf\ni ident\nu working-tree-encoding=UTF-16LE\nf filter=lfs\n"
    wanted = {b".gitattributes": rules, b"c": b"l\r\n", b"i": b"$Id: payload $\n", b"u": b"h\0i\0", b"f": b"raw"}

    made = scene.commit(scene.judge({path: (FILE, content) for path, content in wanted.items()}))

    assert made
    listing = repositories.listing(scene.repo, made.id)
    assert {path: repositories.read_blob(scene.repo, listing[path].id) for path in wanted} == wanted


@pytest.mark.case("K02")
def test_a_blob_that_was_judged_but_is_not_there_is_refused(scene: Scene) -> None:
    judgement = scene.judge({b"a": (FILE, b"ONE\n"), b"x": (FILE, b"x")})
    gits.write_pack(judgement.spool / "blobs-0.pack", [("blob", b"x")])

    assert "lacks blobs" in refusal(scene, judgement)


@pytest.mark.case("K02")
def test_a_blob_that_nobody_judged_is_refused(scene: Scene) -> None:
    judgement = scene.judge({b"x": (FILE, b"x")})
    gits.write_pack(judgement.spool / "blobs-1.pack", [("blob", b"secret")])

    assert "nobody judged" in refusal(scene, judgement)


@pytest.mark.case("K02")
@pytest.mark.parametrize("kind", ["commit", "tree", "tag"])
def test_an_object_that_is_no_blob_is_refused_even_where_it_is_well_formed(scene: Scene, kind: str) -> None:
    source = gits.git(scene.folder / "source", "rev-parse", "HEAD")
    tag = f"object {source}\ntype commit\ntag v\ntagger t <t@e> 1 +0000\n\nx\n".encode()
    commit = f"tree {gits.object_id('tree', b'')}\nauthor t <t@e> 1 +0000\ncommitter t <t@e> 1 +0000\n\nx\n".encode()
    content = {"commit": commit, "tree": b"", "tag": tag}[kind]
    judgement = scene.judge({b"x": (FILE, b"x")})
    gits.write_pack(judgement.spool / "blobs-1.pack", [("tree", b""), (kind, content)][kind == "tree" :])

    assert "nobody judged" in refusal(scene, judgement)


@pytest.mark.case("K02")
def test_a_tree_that_poses_as_a_judged_blob_is_refused(scene: Scene) -> None:
    identity = gits.object_id("tree", b"")
    change = gits.change("add", b"x", None, gits.side(FILE, identity, 0))
    gits.write_pack(scene.folder / "spool" / "blobs-0.pack", [("tree", b"")])

    assert "not the judged blob" in refusal(
        scene, gits.Judgement(gits.manifest(scene.base, [change]), scene.folder / "spool")
    )


@pytest.mark.case("K02")
def test_a_blob_of_another_size_than_judged_is_refused(scene: Scene) -> None:
    judgement = scene.judge({b"x": (FILE, b"xyz")})
    judgement.manifest["changes"][0]["new"]["size"] = 4

    assert "not the judged blob" in refusal(scene, judgement)


@pytest.mark.case("K02")
@pytest.mark.parametrize("damage", ["cut", "junk", "flipped", "too large"])
def test_a_broken_pack_is_refused(scene: Scene, damage: str) -> None:
    judgement = scene.judge({b"x": (FILE, b"xyz" * 100)})
    pack = judgement.spool / "blobs-0.pack"
    whole = pack.read_bytes()
    match damage:
        case "cut":
            pack.write_bytes(whole[:-9])
        case "junk":
            pack.write_bytes(b"junk")
        case "flipped":
            pack.write_bytes(whole[:20] + bytes([whole[20] ^ 255]) + whole[21:])
        case _:
            gits.write_pack(pack, [("blob", os.urandom(3 << 20))])

    assert "would not take" in refusal(scene, judgement)


@pytest.mark.hazard("H81")
@pytest.mark.parametrize(
    "name",
    [
        b".git/config",
        b"d/.GIT/x",
        b"git~1",
        b".git ",
        b".git.",
        b".git::$INDEX_ALLOCATION",
        b".g\xe2\x80\x8cit",
        b"../x",
        b"/x",
        b"d//x",
        b"./x",
    ],
)
def test_a_path_that_git_silently_leaves_out_is_refused(scene: Scene, name: bytes) -> None:
    assert "every path" in refusal(scene, scene.judge({name: (FILE, b"x"), b"ok": (FILE, b"y")}))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("file", "100664"),
        ("file", "160000"),
        ("gitlink", "160000"),
        ("directory", "040000"),
        ("special", "000000"),
        ("file", LINK),
        ("symlink", FILE),
    ],
)
def test_a_side_that_is_no_ordinary_file_or_link_is_refused(scene: Scene, kind: str, mode: str) -> None:
    judgement = scene.judge({b"x": (FILE, b"x")})
    judgement.manifest["changes"][0]["new"] |= {"type": kind, "mode": mode}

    assert "cannot be committed" in refusal(scene, judgement)


@pytest.mark.parametrize("identity", [None, "", "main", "HEAD:a", "1" * 39])
def test_a_malformed_blob_id_is_refused_before_git_sees_it(scene: Scene, identity: str | None) -> None:
    judgement = scene.judge({b"x": (FILE, b"x")})
    judgement.manifest["changes"][0]["new"]["id"] = identity

    assert "cannot be committed" in refusal(scene, judgement)


def test_a_manifest_whose_old_side_is_not_the_base_is_refused(scene: Scene) -> None:
    judgement = scene.judge({b"a": (FILE, b"ONE\n")})
    judgement.manifest["changes"][0]["old"]["id"] = gits.object_id("blob", b"two\n")

    assert "not what was judged" in refusal(scene, judgement)


def test_a_removal_of_what_was_never_there_is_refused(scene: Scene) -> None:
    gone = gits.change("delete", b"nope", gits.side(FILE, gits.object_id("blob", b"x"), 1), None)

    assert "not what was judged" in refusal(scene, gits.Judgement(gits.manifest(scene.base, [gone]), scene.folder))


def test_an_addition_that_swallows_a_file_unsaid_is_refused(scene: Scene) -> None:
    judgement = scene.judge({b"a/x": (FILE, b"x")})

    assert "not what was judged" in refusal(scene, judgement)


def test_a_change_that_changes_nothing_is_refused(scene: Scene) -> None:
    leaf = gits.side(FILE, gits.object_id("blob", b"one\n"), 4)
    idle = gits.change("modify", b"a", leaf, leaf)

    assert "cannot be committed" in refusal(scene, gits.Judgement(gits.manifest(scene.base, [idle]), scene.folder))


def test_a_path_that_comes_twice_is_refused(scene: Scene) -> None:
    judgement = scene.judge({b"x": (FILE, b"x")})
    judgement.manifest["changes"] *= 2

    assert "twice" in refusal(scene, judgement)


@pytest.mark.case("J12")
def test_ignored_content_is_not_committed_and_must_not_be_in_the_spool(scene: Scene) -> None:
    judgement = scene.judge({b"x": (FILE, b"x"), b".env": (FILE, b"SECRET=1\n")})
    judgement.manifest["changes"][0]["ignored"] = True
    clean = dataclasses.replace(judgement, spool=scene.folder / "clean")
    gits.write_pack(clean.spool / "blobs-0.pack", [("blob", b"x")])

    assert "nobody judged" in refusal(scene, judgement)
    assert scene.paths(scene.commit(clean)).keys() == {b"a", b"d/b", b"d/c", b"x"}


@pytest.mark.hazard("H116")
def test_a_tree_inspected_against_another_base_is_refused(scene: Scene) -> None:
    first = scene.commit(scene.judge({b"x": (FILE, b"x")}))
    assert first

    assert "another base" in refusal(scene, scene.judge({b"y": (FILE, b"y")}), parent=first.id, attempt=uuid4())


@pytest.mark.case("X07")
def test_a_malformed_parent_is_refused(scene: Scene) -> None:
    with pytest.raises(Refusal) as refused:
        scene.commit(scene.judge({b"x": (FILE, b"x")}), parent="HEAD")

    assert refused.value.code == "bad_object_id"


@pytest.mark.case("K02")
def test_only_what_the_commit_reaches_enters_the_repository(scene: Scene) -> None:
    before = set(scene.objects())

    made = scene.commit(scene.judge({b"d/x": (FILE, b"x")}))

    assert made
    trees = set(gits.git(scene.repo.path, "rev-parse", f"{made.id}^{{tree}}", f"{made.id}:d").split())
    assert set(scene.objects()) - before == {made.id, gits.object_id("blob", b"x")} | trees


@pytest.mark.case("K11")
def test_every_file_and_folder_that_leads_to_the_commit_is_flushed_before_it_is_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[Path] = []
    flush = durability.flush
    monkeypatch.setattr(durability, "flush", lambda path: (flush(path), flushed.append(path)))
    before = set(scene.repo.path.rglob("*"))

    scene.commit(scene.judge({b"x": (FILE, b"x")}))

    made = [path for path in set(scene.repo.path.rglob("*")) - before if "logs" not in path.parts]
    names = {path.name for path in flushed}
    assert {path.suffix for path in made if path.is_file()} == {".pack", ".idx", ""}
    assert all(path.name in names for path in made)
    packs, ref = scene.repo.objects / "pack", scene.repo.path / refs.attempt_ref(ATTEMPT)
    assert {packs, scene.repo.objects, scene.repo.path, ref, *list(ref.parents)[:4]} <= set(flushed)
    assert flushed.index(packs) < flushed.index(ref)


def test_an_attempts_ref_that_keeps_another_commit_is_a_conflict(scene: Scene) -> None:
    first = scene.commit(scene.judge({b"x": (FILE, b"x")}))

    with pytest.raises(LostRace) as refused:
        scene.commit(scene.judge({b"y": (FILE, b"y")}))

    assert first
    assert refused.value.code == "conflict"
    assert refs.read(scene.repo, refs.attempt_ref(ATTEMPT)) == first.id


@pytest.mark.case("K04")
def test_twelve_attempts_commit_at_once_and_leave_no_lock(scene: Scene) -> None:
    attempts = [uuid4() for _ in range(12)]
    judgements = [scene.judge({f"f{n}".encode(): (FILE, b"%d" % n), b"same": (FILE, b"same")}) for n in range(12)]

    with ThreadPoolExecutor(12) as pool:
        made = list(pool.map(scene.commit, judgements, attempts))

    found = refs.listing(scene.repo, "refs")
    assert found == {refs.attempt_ref(attempt): each.id for attempt, each in zip(attempts, made, strict=True) if each}
    assert len(set(found.values())) == 12
    assert not [*scene.repo.path.rglob("*.lock"), *scene.repo.path.glob("quarantine-*")]
    assert gits.git(scene.repo.path, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.hazard("H42")
def test_a_base_with_a_gitlink_and_a_module_file_keeps_them(tmp_path: Path) -> None:
    place = gits.person(tmp_path / "source", {"a": "x", ".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = ./s\n'})
    gits.git(place, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},s")
    gits.git(place, "commit", "-q", "-m", "gitlink")
    scene = Scene(*gits.runner(tmp_path, place), tmp_path)

    made = scene.commit(scene.judge({b"a": (FILE, b"y")}))

    assert scene.paths(made) == {b".gitmodules": FILE, b"a": FILE, b"s": "160000"}
