"""Set places out where another user can reach them, in a mount namespace of our own, then run a command.

Run by its path as `python -I -S staging.py SOURCE... -- COMMAND`: each SOURCE is bound at /tmp/0, /tmp/1, ... Only the
superuser can, and only they need to: the agent's user must not pass through the folders these places lie in.
Nothing of it is seen outside of this process and its children. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys

STAGE = "/tmp"  # noqa: S108 - covered by a file system of our own before anything is made there
_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_LIBC = ctypes.CDLL(None, use_errno=True)


def main(sources: list[str], command: list[str]) -> None:
    """Bind the sources and become the command."""
    _checked(_LIBC.unshare(_CLONE_NEWNS), "unshare")
    _mount(b"none", "/", _MS_REC | _MS_PRIVATE)
    opened = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source in sources]
    _checked(_LIBC.mount(b"tmpfs", os.fsencode(STAGE), b"tmpfs", 0, b"mode=0755,size=1m"), STAGE)
    for number, descriptor in enumerate(opened):
        target = f"{STAGE}/{number}"
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(target)  # noqa: PTH102 - pathlib is slow to load
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        _mount(f"/proc/self/fd/{descriptor}".encode("ascii"), target, _MS_BIND)
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


def _mount(source: bytes, target: str, flags: int) -> None:
    _checked(_LIBC.mount(source, os.fsencode(target), None, flags, None), target)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    split = sys.argv.index("--")
    main(sys.argv[1:split], sys.argv[split + 1 :])
