"""Hostile settings, hooks and environments: none runs a program or moves a byte of what the product does with git."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from _pytest.mark import ParameterSet

from statemachine.refusals import Refusal
from tests import gits
from workspace.repository import git, refs, repositories, sources
from workspace.results import commits, exports, messages
from workspace.results.commits import Identity

ATTEMPT = UUID("00000000-0000-4000-8000-000000000001")
FILES: dict[str, str | bytes] = {
    "a.txt": "one\n",
    "b.bin": b"\0\1",
    "d/c": "l\r\n",
    ".gitattributes": "*.bin filter=lfs\n",
}
WORK: dict[bytes, gits.Content | None] = {b"a.txt": ("100644", b"two\r\n"), b"n.bin": ("100755", b"\0"), b"d/c": None}
EVERY_HOOK = (
    "applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change"
    " post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push"
    " pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction"
    " sendemail-validate update"
)


def everything(folder: Path, source: Path, meddle: Callable[[Path], object] = Path.stat) -> dict[str, str | bytes]:
    """Do all the product ever does with git short of a merge, and return what came of it."""
    repo, base = gits.runner(folder, source)
    meddle(repo.path)
    conversions = sources.converting_paths(repo, base)
    judgement = gits.judge(repo, base, WORK, folder / "spool")
    said = messages.message(title="Title", intent="", task=1, item="P1", revision=1, attempt=ATTEMPT)
    made = commits.commit(
        repo,
        judgement,
        parent=base,
        message=said,
        author=Identity(),
        date=gits.WHEN,
        attempt=ATTEMPT,
    )
    assert made
    refs.hold(repo, refs.task_ref(1), made.id)
    exports.bundle(repo, base, made.id, folder / "x.bundle")
    kept = exports.partial(repo, judgement, attempt=ATTEMPT, author=Identity(), date=gits.WHEN, path=folder / "partial")
    refs.delete(repo, refs.attempt_ref(ATTEMPT), old=made.id)
    return {
        "base": base,
        "made": made.id,
        "conversions": repr(conversions),
        "diff": exports.diff(repo, base, made.id, limit=1 << 20),
        "patches": exports.patches(repo, base, made.id),
        "partial": str(kept.commit),
        "text": kept.path.read_bytes(),
        "tree": repr(repositories.listing(repo, made.id, sizes=True)),
    }


@dataclass(frozen=True, slots=True)
class Ground:
    """A person's repository, what comes of it while nothing is hostile, and where a proof would appear."""

    folder: Path
    source: Path
    clean: dict[str, str | bytes]

    @property
    def proof(self) -> Path:
        return self.folder / "proof"

    def stays(self, meddle: Callable[[Path], object] = Path.stat) -> None:
        """Do everything again and find that nothing ran and nothing is different."""
        assert everything(self.folder / "hostile", self.source, meddle) == self.clean
        assert not self.proof.exists()


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("pristine")
    source = gits.person(folder / "source", FILES)
    return Ground(folder, source, everything(folder / "clean", source))


@pytest.fixture
def ground(pristine: Ground, tmp_path: Path) -> Ground:
    source = shutil.copytree(pristine.source, tmp_path / "source", symlinks=True)
    return Ground(tmp_path, source, pristine.clean)


def program(proof: Path) -> Path:
    """Write a program that leaves a proof of having run."""
    place = proof.with_name("program")
    place.write_text(f'#!/bin/sh\necho "$0 $@" >>{proof}\ncat 2>/dev/null\nexit 1\n')
    place.chmod(0o755)
    return place


def _hazard(identity: str, *settings: str) -> ParameterSet:
    return pytest.param(settings, id=f"{identity} {settings[0].split('=')[0]}", marks=pytest.mark.hazard(identity))


SETTINGS = [
    _hazard("H01", "core.fsmonitor=PROGRAM"),
    _hazard("H04", "core.hooksPath=HOOKS"),
    _hazard("H05", "filter.lfs.clean=PROGRAM", "filter.lfs.smudge=PROGRAM"),
    _hazard("H06", "filter.lfs.process=PROGRAM", "filter.lfs.required=true"),
    _hazard("H07", "diff.external=PROGRAM"),
    _hazard("H07", "diff.lfs.textconv=PROGRAM", "diff.lfs.command=PROGRAM"),
    _hazard("H09", "commit.gpgSign=true", "gpg.program=PROGRAM", "log.showSignature=true"),
    _hazard("H10", "core.editor=PROGRAM", "sequence.editor=PROGRAM"),
    _hazard("H11", "core.pager=PROGRAM", "pager.diff-tree=PROGRAM", "pager.cat-file=true"),
    _hazard("H12", "alias.cat-file=!PROGRAM", "alias.rev-parse=!PROGRAM", "help.autocorrect=immediate"),
    _hazard("H13", "core.sshCommand=PROGRAM", "uploadpack.packObjectsHook=PROGRAM", "remote.o.uploadpack=PROGRAM"),
    _hazard("H14", "credential.helper=!PROGRAM", "core.askPass=PROGRAM"),
    _hazard("H15", "merge.lfs.driver=PROGRAM", "merge.default=lfs"),
    _hazard("H17", "init.templateDir=TEMPLATE"),
    _hazard("H19", "submodule.s.update=!PROGRAM", "submodule.recurse=true", "fetch.recurseSubmodules=true"),
    _hazard("H36", "core.attributesFile=ATTRIBUTES", "filter.lfs.clean=PROGRAM"),
    _hazard("H37", "core.autocrlf=true", "core.eol=crlf", "core.safecrlf=true"),
    _hazard("H56", "gc.auto=1", "maintenance.auto=true", "gc.autoDetach=false", "transfer.unpackLimit=1"),
    _hazard("H110", "user.name=Mallory", "user.email=m@example.invalid", "i18n.commitEncoding=ISO-8859-1"),
    _hazard("H110", "diff.noprefix=true", "diff.mnemonicPrefix=true", "color.ui=always", "core.quotePath=false"),
    _hazard("H110", "core.abbrev=4", "diff.renames=copies", "diff.algorithm=patience", "diff.context=0"),
    _hazard("H110", "format.attach=x", "format.signOff=true", "format.coverLetter=true", "format.numbered=true"),
    _hazard("H110", "diff.suppressBlankEmpty=true", "diff.ignoreSubmodules=all", "format.from=true"),
    _hazard("H110", "core.sharedRepository=world", "core.compression=0", "core.logAllRefUpdates=false"),
    _hazard("H110", "safe.directory=*", "protocol.allow=always", "url.ext::sh.insteadOf=/", "core.ignoreCase=true"),
]


def written_out(settings: tuple[str, ...], proof: Path) -> list[tuple[str, str]]:
    """Put the names of real hostile files into settings."""
    hooks, template = proof.with_name("hooks"), proof.with_name("template")
    for name in EVERY_HOOK.split():
        for place in (hooks / name, template / "hooks" / name):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(program(proof).read_bytes())
            place.chmod(0o755)
    proof.with_name("attributes").write_text("* filter=lfs -text\n")
    names = {"PROGRAM": str(program(proof)), "HOOKS": str(hooks), "TEMPLATE": str(template)}
    names["ATTRIBUTES"] = str(proof.with_name("attributes"))
    pairs = [setting.split("=", 1) for setting in settings]
    for word, place in names.items():
        pairs = [[key, value.replace(word, place)] for key, value in pairs]
    return [(key, value) for key, value in pairs]


@pytest.mark.case("K10")
@pytest.mark.hazard("H110")
def test_the_settings_of_the_user_change_nothing(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(ground.folder))
    every = tuple(setting for group in SETTINGS for setting in group.values[0])
    for key, value in written_out(every, ground.proof):
        gits.git(ground.folder, "config", "--file", str(ground.folder / ".gitconfig"), "--add", key, value)

    ground.stays()


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_setting_of_the_source_changes_nothing_and_the_source_stays_as_it_was(
    ground: Ground, settings: tuple[str, ...]
) -> None:
    for key, value in written_out(settings, ground.proof):
        gits.git(ground.folder, "config", "--file", str(ground.source / ".git" / "config"), "--add", key, value)
    (ground.source / ".git" / "info" / "attributes").write_text("* filter=lfs diff=lfs merge=lfs\n")
    before = gits.snapshot(ground.source)

    ground.stays()
    assert gits.snapshot(ground.source) == before


@pytest.mark.hazard("H08")
def test_an_included_or_a_worktrees_own_config_changes_nothing(ground: Ground) -> None:
    inner = f"[core]\n\tfsmonitor = {program(ground.proof)}\n\thooksPath = /nowhere\n"
    (ground.source / ".git" / "x.cfg").write_text(inner)
    (ground.source / ".git" / "config.worktree").write_text(inner)
    gits.git(ground.source, "config", "include.path", "x.cfg")
    gits.git(ground.source, "config", "extensions.worktreeConfig", "true")

    ground.stays()


@pytest.mark.hazard("H02")
@pytest.mark.hazard("H03")
@pytest.mark.parametrize("where", ["source", "runner"])
def test_a_hook_wherever_it_lies_does_not_run(ground: Ground, where: str) -> None:
    def plant(git_dir: Path) -> None:
        for name in EVERY_HOOK.split():
            place = git_dir / "hooks" / name
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(program(ground.proof).read_bytes())
            place.chmod(0o755)

    if where == "source":
        plant(ground.source / ".git")
        ground.stays()
    else:
        ground.stays(plant)


ENVIRONMENT: dict[str, dict[str, str]] = {
    "another repository": {
        "GIT_DIR": "{folder}/other/.git",
        "GIT_WORK_TREE": "{folder}/other",
        "GIT_COMMON_DIR": "{folder}/other/.git",
        "GIT_INDEX_FILE": "{folder}/other/.git/index",
        "GIT_NAMESPACE": "elsewhere",
    },
    "other objects": {
        "GIT_OBJECT_DIRECTORY": "{folder}/other/.git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "{folder}/other/.git/objects",
        "GIT_SHALLOW_FILE": "{folder}/history",
        "GIT_GRAFT_FILE": "{folder}/history",
        "GIT_REPLACE_REF_BASE": "refs/heads/",
        "GIT_QUARANTINE_PATH": "{folder}",
        "GIT_DEFAULT_HASH": "sha256",
    },
    "an index alone": {"GIT_INDEX_FILE": "{folder}/other/.git/index"},
    "other programs": {"GIT_EXEC_PATH": "{folder}", "GIT_TEMPLATE_DIR": "{folder}/template"},
    "settings": {
        "GIT_CONFIG": "{folder}/hostile.cfg",
        "GIT_CONFIG_GLOBAL": "{folder}/hostile.cfg",
        "GIT_CONFIG_SYSTEM": "{folder}/hostile.cfg",
        "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='{program}'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": "{program}",
    },
    "traces": {"GIT_TRACE": "{proof}", "GIT_TRACE2_EVENT": "{proof}", "GIT_TRACE_SETUP": "{proof}"},
    "helpers": {
        "GIT_EXTERNAL_DIFF": "{program}",
        "GIT_SSH_COMMAND": "{program}",
        "GIT_PROXY_COMMAND": "{program}",
        "GIT_ASKPASS": "{program}",
        "GIT_EDITOR": "{program}",
        "GIT_PAGER": "{program}",
        "GIT_ALLOW_PROTOCOL": "ext:file:ssh",
    },
    "manners": {
        "GIT_AUTHOR_NAME": "Mallory",
        "GIT_COMMITTER_DATE": "@1 +0000",
        "GIT_DIFF_OPTS": "-u0",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_ICASE_PATHSPECS": "1",
        "LC_ALL": "de_DE.UTF-8",
        "TZ": "Asia/Kolkata",
    },
}


@pytest.mark.hazard("H109")
@pytest.mark.parametrize("variables", ENVIRONMENT.values(), ids=ENVIRONMENT.keys())
def test_the_workers_environment_changes_nothing(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    gits.person(ground.folder / "other", {"else": "where\n"})
    hostile = f"[core]\n\tfsmonitor = {program(ground.proof)}\n[user]\n\tname = Mallory\n"
    (ground.folder / "hostile.cfg").write_text(hostile)
    (ground.folder / "history").write_text(f"{ground.clean['base']}\n")
    for name, value in variables.items():
        filled = value.format(folder=ground.folder, program=program(ground.proof), proof=ground.proof)
        monkeypatch.setenv(name, filled)

    ground.stays()


@pytest.mark.hazard("H17")
def test_a_new_runner_repository_takes_nothing_from_any_template(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_out(("init.templateDir=TEMPLATE",), ground.proof)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(ground.folder / "template"))

    repo, _ = gits.runner(ground.folder, ground.source)

    assert not (repo.path / "hooks").exists()


@pytest.mark.hazard("H32")
@pytest.mark.parametrize("where", ["/", "../../other"])
def test_a_redirected_work_tree_of_the_source_redirects_nothing(ground: Ground, where: str) -> None:
    (ground.folder / "other").mkdir()
    (ground.folder / "other" / "secret").write_text("s")
    gits.git(ground.folder, "config", "--file", str(ground.source / ".git" / "config"), "core.worktree", where)

    ground.stays()


@pytest.mark.hazard("H32")
def test_a_source_whose_work_tree_is_redirected_to_nowhere_is_refused(ground: Ground) -> None:
    gits.git(ground.source, "config", "core.worktree", "/nowhere/at/all")

    with pytest.raises(Refusal) as refused:
        sources.inspect_source(ground.source)

    assert refused.value.code == "source_unreadable"


@pytest.mark.hazard("H103")
def test_locks_left_in_the_source_by_a_killed_git_are_nobodys_business(ground: Ground) -> None:
    for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock", "refs/heads/main.lock"):
        (ground.source / ".git" / name).touch()
    before = gits.snapshot(ground.source)

    ground.stays()
    assert gits.snapshot(ground.source) == before


@pytest.mark.hazard("H62")
@pytest.mark.hazard("H13")
def test_no_transport_is_allowed_unless_the_product_moves_objects_itself(ground: Ground) -> None:
    repo, base = gits.runner(ground.folder, ground.source)
    gits.git(repo.path, "config", "protocol.file.allow", "always")
    gits.git(repo.path, "config", "protocol.ext.allow", "always")
    spec = f"{base}:refs/heads/got"

    for url in (str(ground.source), f"ext::touch {ground.folder}/proof"):
        with pytest.raises(git.GitFailed, match="not allowed"):
            git.run("push", url, spec, git_dir=repo.path)
    with pytest.raises(git.GitFailed, match="not allowed"):
        git.run("push", f"ext::touch {ground.folder}/proof", spec, git_dir=repo.path, allow_file=True)
    git.run("push", "--quiet", str(ground.source), spec, git_dir=repo.path, allow_file=True)

    assert gits.git(ground.source, "rev-parse", "got") == base
    assert not (ground.folder / "proof").exists()


@pytest.mark.hazard("H69")
@pytest.mark.parametrize("command", ["archive", "commit", "checkout", "status", "add", "clone", "fetch", "stash", "gc"])
def test_a_command_that_rewrites_bytes_runs_hooks_or_walks_trees_is_not_among_ours(command: str) -> None:
    assert command not in git.BUILTINS


@pytest.mark.hazard("H119")
@pytest.mark.hazard("H25")
def test_looking_at_a_source_does_not_refresh_its_index(ground: Ground) -> None:
    os.utime(ground.source / "a.txt", (1, 1))
    before = gits.snapshot(ground.source)

    everything(ground.folder / "run", ground.source)

    assert gits.snapshot(ground.source) == before
