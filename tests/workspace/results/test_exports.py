"""What leaves: diffs that hide nothing, patches and bundles that carry exactly the result, and unfinished work."""

import dataclasses
import os
import stat
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from statemachine.refusals import Refusal
from tests import gits
from workspace.disk import durability
from workspace.repository import refs, repositories
from workspace.repository.git import GitFailed
from workspace.repository.repositories import RunnerRepository
from workspace.results import commits, exports
from workspace.results.commits import Identity
from workspace.results.exports import Partial

ATTEMPT = UUID("00000000-0000-4000-8000-000000000001")
FILE, LINK = "100644", "120000"


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """A runner repository with one base, whose commits pile up."""

    repo: RunnerRepository
    base: str
    folder: Path

    def commit(self, work: dict[bytes, gits.Content | None], parent: str = "", message: str = "subject\n") -> str:
        before = parent or self.base
        judgement = gits.judge(self.repo, before, work, self.folder / uuid4().hex)
        made = commits.commit(
            self.repo,
            judgement,
            parent=before,
            message=message,
            author=Identity(),
            date=gits.WHEN,
            attempt=uuid4(),
        )
        assert made
        return made.id

    def diff(self, work: dict[bytes, gits.Content | None], limit: int = 1 << 20) -> str:
        return exports.diff(self.repo, self.base, self.commit(work), limit=limit).decode("utf-8", "backslashreplace")

    def partial(self, judgement: gits.Judgement) -> Partial:
        return exports.partial(
            self.repo,
            judgement,
            attempt=ATTEMPT,
            author=Identity(),
            date=gits.WHEN,
            path=self.folder / "partial.diff",
        )


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    files: dict[str, str | bytes] = {"a": "one\n", "x.py": "print(1)\n", "bin": bytes(range(256)) * 4}
    return Scene(*gits.runner(tmp_path, gits.person(tmp_path / "source", files)), tmp_path)


@pytest.fixture
def clone(scene: Scene) -> Path:
    gits.git(scene.folder, "clone", "-q", "source", "clone")
    return scene.folder / "clone"


@pytest.mark.hazard("H38")
@pytest.mark.parametrize("rule", ["-diff", "binary", "-text -diff", "diff=secret", "linguist-generated -diff"])
def test_no_attribute_hides_a_change(tmp_path: Path, rule: str) -> None:
    files: dict[str, str | bytes] = {".gitattributes": f"x.py {rule}\n", "x.py": "print(1)\n"}
    scene = Scene(*gits.runner(tmp_path, gits.person(tmp_path / "source", files)), tmp_path)

    shown = scene.diff({b"x.py": (FILE, b"import os\n")})

    assert "-print(1)\n+import os\n" in shown
    assert "inary" not in shown


@pytest.mark.hazard("H38")
def test_a_zero_byte_does_not_hide_a_text(scene: Scene) -> None:
    content = b"import os\nos.system('id')\n#" + b"\0" + b" harmless comment\n" * 5

    shown = scene.diff({b"x.py": (FILE, content)})

    assert '# "x.py" holds bytes that are not text; it is shown as text at the end\n' in shown
    assert "-print(1)\n+import os\n+os.system('id')\n" in shown


@pytest.mark.hazard("H38")
def test_what_is_really_binary_is_named_with_its_sizes_and_before_everything_else(scene: Scene) -> None:
    shown = scene.diff({b"bin": (FILE, os.urandom(5000) + b"\0"), b"n\nl": (FILE, b"\0" * 9), b"a": (FILE, b"two\n")})

    assert shown.startswith(
        '# "bin" is binary and not shown: 1024 bytes before, 5001 bytes after\n'
        '# "n\\nl" is binary and not shown: nothing before, 9 bytes after\n'
    )
    assert "-one\n+two\n" in shown


def test_a_large_file_with_zeros_is_named_though_most_of_it_is_text(scene: Scene) -> None:
    shown = scene.diff({b"x.py": (FILE, b"\0" + b"text " * 300_000)})

    assert '# "x.py" is binary and not shown: 9 bytes before, 1500001 bytes after\n' in shown


def test_modes_links_and_exact_renames_are_shown(scene: Scene) -> None:
    shown = scene.diff(
        {b"a": None, b"moved": (FILE, b"one\n"), b"l": (LINK, b"/etc/passwd"), b"x.py": ("100755", b"print(1)\n")}
    )

    assert "rename from a\nrename to moved\n" in shown
    assert "new file mode 120000" in shown
    assert "+/etc/passwd\n" in shown
    assert "old mode 100644\nnew mode 100755\n" in shown


def test_a_file_made_a_folder_is_shown_path_by_path(scene: Scene) -> None:
    shown = scene.diff({b"a": None, b"a/payload": (FILE, b"x\n")})

    assert "diff --git a/a/payload b/a/payload" in shown
    assert "deleted file mode" in shown


@pytest.mark.hazard("H07")
def test_no_program_named_by_a_config_is_asked_for_a_diff(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text(
        f'[diff]\n\texternal = touch {tmp_path}/proof\n\tnoprefix = true\n[diff "t"]\n'
        f"\ttextconv = touch {tmp_path}/proof; cat\n[color]\n\tui = always\n[core]\n\tpager = touch {tmp_path}/proof\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {tmp_path}/proof")

    shown = scene.diff({b".gitattributes": (FILE, b"*.py diff=t\n"), b"x.py": (FILE, b"print(2)\n")})

    assert "diff --git a/x.py b/x.py" in shown
    assert "\x1b" not in shown
    assert not (tmp_path / "proof").exists()


def test_a_long_diff_is_cut_at_a_line_and_says_so(scene: Scene) -> None:
    work: dict[bytes, gits.Content | None] = {b"a": (FILE, b"a line of text\n" * 10_000)}

    shown = scene.diff(work, limit=5000)

    assert len(shown) <= 5000
    assert shown.endswith("+a line of text\n# cut here: there is more than 5000 bytes\n")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_diff_and_a_bundle_know_both_object_formats(tmp_path: Path, object_format: str) -> None:
    place = gits.person(tmp_path / "source", {"a": "one\n"}, f"--object-format={object_format}")
    scene = Scene(*gits.runner(tmp_path, place), tmp_path)

    head = scene.commit({b"a": (FILE, b"two\n")})
    exports.bundle(scene.repo, scene.base, head, tmp_path / "x.bundle")
    gits.git(place, "fetch", "-q", str(tmp_path / "x.bundle"), "refs/heads/weighlock:refs/heads/got")

    assert b"-one\n+two\n" in exports.diff(scene.repo, scene.base, head, limit=10_000)
    assert gits.git(place, "rev-parse", "got") == head


def test_patches_apply_with_git_am_to_exactly_the_result(scene: Scene, clone: Path) -> None:
    first = scene.commit(
        {
            b"a": None,
            b"d/crlf": (FILE, b"l\r\nm\r\n"),
            b"bin": (FILE, os.urandom(3000)),
            b"n\xc3\xb6n": ("100755", b"x"),
            b"l": (LINK, b"bin"),
        },
        message="\u00dcmlaut\n\n From the start\n ---\n diff --git a/x b/x\n\nTask: 1\n",
    )
    head = scene.commit({b"x.py": (FILE, b"print(2)\n")}, parent=first)

    gits.git(clone, "am", "-q", "--keep-cr", stdin=exports.patches(scene.repo, scene.base, head))

    assert gits.git(clone, "rev-parse", "HEAD^{tree}") == gits.git(scene.repo.path, "rev-parse", f"{head}^{{tree}}")
    assert gits.git(clone, "rev-parse", "HEAD~1^{tree}") == gits.git(scene.repo.path, "rev-parse", f"{first}^{{tree}}")
    assert gits.git(clone, "log", "-1", "--format=%an %s|%b", "HEAD~1").startswith("Weighlock \u00dcmlaut| From the")


@pytest.mark.hazard("H38")
def test_patches_carry_what_attributes_would_hide(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {".gitattributes": "x.py -diff\n", "x.py": "print(1)\n"}
    scene = Scene(*gits.runner(tmp_path, gits.person(tmp_path / "source", files)), tmp_path)
    head = scene.commit({b"x.py": (FILE, b"print(2)\n")})

    assert b"-print(1)\n+print(2)\n" in exports.patches(scene.repo, scene.base, head)


@pytest.mark.hazard("H60")
@pytest.mark.hazard("H61")
def test_a_bundle_holds_one_ref_and_only_the_result(scene: Scene, clone: Path) -> None:
    head = scene.commit({b"a": (FILE, b"two\n")})
    refs.hold(scene.repo, refs.task_ref(1), head)
    path = scene.folder / "x.bundle"

    exports.bundle(scene.repo, scene.base, head, path, ref="refs/heads/weighlock/task-1")

    assert gits.git(clone, "bundle", "list-heads", str(path)) == f"{head} refs/heads/weighlock/task-1"
    assert gits.git(clone, "bundle", "verify", "-q", str(path)) == ""
    gits.git(clone, "-c", "fetch.fsckObjects=true", "fetch", "-q", str(path), "refs/heads/weighlock/task-1:got")
    assert gits.git(clone, "rev-parse", "got") == head
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.hazard("H63")
def test_a_bundle_on_a_cut_history_names_the_base_it_needs(tmp_path: Path) -> None:
    deep = gits.person(tmp_path / "deep")
    gits.commit(deep, {"a.txt": "two\n"})
    gits.git(tmp_path, "clone", "-q", "--depth", "1", f"file://{deep}", "cut")
    scene = Scene(*gits.runner(tmp_path, tmp_path / "cut"), tmp_path)
    head = scene.commit({b"b": (FILE, b"x")})

    exports.bundle(scene.repo, scene.base, head, tmp_path / "x.bundle")
    gits.git(deep, "fetch", "-q", str(tmp_path / "x.bundle"), "refs/heads/weighlock:got")

    assert gits.git(deep, "rev-list", "--count", "got") == "3"


def test_there_is_nothing_to_export_without_a_commit(scene: Scene) -> None:
    for act in (
        lambda: exports.patches(scene.repo, scene.base, scene.base),
        lambda: exports.bundle(scene.repo, scene.base, scene.base, scene.folder / "x"),
    ):
        with pytest.raises(Refusal) as refused:
            act()
        assert refused.value.code == "nothing_to_export"
    assert not (scene.folder / "x").exists()


def test_a_file_that_could_not_be_written_whole_does_not_appear(scene: Scene) -> None:
    (scene.folder / "kept").write_text("old")

    def write_half() -> None:
        with durability.appearing(scene.folder / "kept") as file:
            file.write(b"half")
            raise LookupError

    with pytest.raises(LookupError):
        write_half()

    assert (scene.folder / "kept").read_text() == "old"
    assert not list(scene.folder.glob(".kept*"))


@pytest.mark.case("K07")
def test_unfinished_work_is_kept_as_a_diff_and_as_a_commit_that_is_never_merged(scene: Scene) -> None:
    judgement = gits.judge(scene.repo, scene.base, {b"a": (FILE, b"two\n"), b"new": (FILE, b"n\n")}, scene.folder / "s")

    kept = scene.partial(judgement)

    text = kept.path.read_bytes()
    assert b"-one\n+two\n" in text
    assert (kept.size, stat.S_IMODE(kept.path.stat().st_mode)) == (len(text), 0o600)
    assert refs.listing(scene.repo, "refs") == {refs.partial_ref(ATTEMPT): kept.commit}
    assert kept.commit
    assert repositories.listing(scene.repo, kept.commit)[b"new"].id == gits.object_id("blob", b"n\n")


def test_unfinished_work_can_be_kept_twice_with_the_same_result(scene: Scene) -> None:
    judgement = gits.judge(scene.repo, scene.base, {b"a": (FILE, b"two\n")}, scene.folder / "s")

    assert scene.partial(judgement) == scene.partial(judgement)


@pytest.mark.case("J12")
def test_ignored_content_is_in_neither_form(scene: Scene) -> None:
    judgement = gits.judge(scene.repo, scene.base, {b"a": (FILE, b"two\n")}, scene.folder / "s")
    secret = gits.change("add", b".env", None, gits.side(FILE, gits.object_id("blob", b"S"), 1), ignored=True)
    judgement.manifest["changes"].append(secret)
    judgement.manifest["ignored"].append({"path": "build/", "entries": 3, "bytes": 99})

    kept = scene.partial(judgement)

    assert kept.path.read_text().startswith('# "build/" is ignored and was not kept: 3 entries, 99 bytes\n')
    assert ".env" not in kept.path.read_text()
    assert kept.commit
    assert b".env" not in repositories.listing(scene.repo, kept.commit)


def test_what_git_cannot_store_is_named_and_the_rest_is_kept(scene: Scene) -> None:
    work: dict[bytes, gits.Content | None] = {b"a": (FILE, b"two\n"), b"q/.git/config": (FILE, b"[core]\n")}
    judgement = gits.judge(scene.repo, scene.base, work, scene.folder / "s")
    for path, kind in ((b"fifo", "special"), (b"sub", "repository"), (b"un\x1breadable", "unreadable")):
        side = {"type": kind, "mode": "000000", "id": None, "size": 0, "target": None}
        judgement.manifest["changes"].append(gits.change("add", path, None, side))
    unread = gits.side(FILE, gits.object_id("blob", b"never read"), 10)
    judgement.manifest["changes"].append(gits.change("add", b"lost", None, unread))

    kept = scene.partial(judgement)

    notices = [line for line in kept.path.read_text().split("\n") if line.startswith("# ")]
    assert len(notices) == 5
    assert '# "lost" was not kept: its content was not read' in notices
    assert not any("\x1b" in line for line in notices)
    assert kept.commit
    assert repositories.listing(scene.repo, kept.commit).keys() == {b"a", b"bin", b"x.py"}


def test_nothing_that_can_be_stored_makes_a_file_of_notices_and_no_commit(scene: Scene) -> None:
    judgement = gits.judge(scene.repo, scene.base, {}, scene.folder / "s")
    side = {"type": "special", "mode": "000000", "id": None, "size": 0, "target": None}
    judgement.manifest["changes"].append(gits.change("add", b"fifo", None, side))

    kept = scene.partial(judgement)

    assert kept.commit is None
    assert kept.path.read_text().startswith('# "fifo" was not kept')
    assert refs.listing(scene.repo, "refs") == {}


def test_unfinished_work_is_cut_at_a_mebibyte(scene: Scene) -> None:
    work: dict[bytes, gits.Content | None] = {b"big": (FILE, b"a line of text\n" * 200_000)}

    kept = scene.partial(gits.judge(scene.repo, scene.base, work, scene.folder / "s"))

    assert kept.size <= 1 << 20
    assert kept.path.read_text().endswith("# cut here: there is more than 1048576 bytes\n")
    assert kept.commit


def test_keeping_has_a_deadline_of_its_own_and_leaves_no_half_of_a_file(scene: Scene) -> None:
    judgement = gits.judge(scene.repo, scene.base, {b"a": (FILE, b"two\n")}, scene.folder / "s")

    with pytest.raises(GitFailed) as refused:
        exports.partial(
            scene.repo,
            judgement,
            attempt=ATTEMPT,
            author=Identity(),
            date=gits.WHEN,
            path=scene.folder / "partial.diff",
            deadline=timedelta(0),
        )

    assert refused.value.code == "git_timeout"
    assert not (scene.folder / "partial.diff").exists()
    assert refs.listing(scene.repo, "refs") == {}
