"""bubblewrap itself: where it is, and whether it works here; told once, in words that say what to do."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from statemachine.refusals import Refusal
from statemachine.texts import quote
from workspace.agents import staging
from workspace.executors.walls import CUT_OFF, ENDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.executors.identities import AgentUser

_OLDEST: Final = (0, 8)
_PLACES: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SECONDS: Final = 20
_PROBE: Final = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true")
_INSTALL: Final = "install the package bubblewrap, 0.8 or newer"
_NAMESPACES: Final = (
    "let this user make user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, "
    "kernel.apparmor_restrict_unprivileged_userns); in a container, it must allow nested ones"
)


def binary() -> str:
    """Return where bubblewrap is. Raises `executor_unavailable`."""
    return _found("bwrap", _INSTALL)


def python() -> list[str]:
    """Write the words that run a file of ours, with nothing from the environment or site-packages."""
    return [os.path.realpath(sys.executable), "-I", "-S"]


def set_out(user: AgentUser, sources: Sequence[str]) -> list[str]:
    """Write the words that set places out where the agent's user can reach them; none where that is the worker's."""
    return [*python(), staging.__file__, *sources, "--"] if user.other else []


def become(user: AgentUser) -> list[str]:
    """Write the words that make the rest of a command line the agent's user, without groups, rights or a way back."""
    if not user.other:
        return []
    program = _found("setpriv", "install the package util-linux")
    words = ["--reuid", str(user.uid), "--regid", str(user.gid), "--clear-groups", "--no-new-privs"]
    return [program, *words, "--inh-caps=-all", "--bounding-set=-all", "--"]


@functools.lru_cache
def probe(user: AgentUser) -> None:
    """Make a sandbox in which nothing happens; remembered once it worked.

    Raises:
        Refusal: `executor_unavailable` with the reason.
    """
    if sys.platform != "linux":
        unavailable("it needs Linux", "name another executor")
    program = binary()
    _look_at_version(program)
    done = _run([*set_out(user, ["/usr"]), *become(user), program, *CUT_OFF, *ENDS, *_PROBE])
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        unavailable(f"a sandbox cannot be made: {quote(said)}", _NAMESPACES)


def unavailable(why: str, hint: str) -> NoReturn:
    """Refuse; nothing weaker is ever taken in its place."""
    raise Refusal("executor_unavailable", f"executor sandbox cannot work here: {why}", hint=hint, executor="sandbox")


def _found(name: str, hint: str) -> str:
    # Not on the caller's search path: that may lead anywhere, and this runs with the worker's rights.
    found = shutil.which(name, path=_PLACES)
    return found or unavailable(f"there is no {name} in {_PLACES}", hint)


def _look_at_version(program: str) -> None:
    said = _run([program, "--version"]).stdout.decode("utf-8", "replace").strip()
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        unavailable(f"{quote(said or program)} is too old", _INSTALL)


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            words,
            check=False,
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        unavailable(quote(str(error)), "try: bwrap --unshare-all --ro-bind / / true")
