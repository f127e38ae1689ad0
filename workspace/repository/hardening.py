"""What git is told at every start, so that neither a machine, a user nor a repository decides how it behaves."""

import os
import pwd
from typing import Final

_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.commitGraph=false",  # a source's may lie about which commits there are
    "core.excludesFile=/dev/null",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.useReplaceRefs=false",
    "core.fsyncMethod=fsync",
    "core.filesRefLockTimeout=2000",  # milliseconds a lock is waited for, then the caller is told
    "core.packedRefsTimeout=2000",
    "commit.gpgSign=false",
    "credential.helper=",
    "gc.auto=0",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
)
_ENVIRONMENT: Final = {
    "HOME": "/dev/null",  # nothing can lie beneath it, and older gits know no GIT_CONFIG_GLOBAL
    "LC_ALL": "C",
    "GIT_ASKPASS": "true",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DEFAULT_REF_FORMAT": "files",
    "GIT_EDITOR": ":",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


def settings(*, allow_file: bool, durable: bool) -> list[str]:
    """Build the `-c` flags of one run: they beat every config file."""
    chosen = [*_SETTINGS, f"core.fsync={'all' if durable else 'none'}"]
    if allow_file:
        chosen.append("protocol.file.allow=always")
    return [part for setting in chosen for part in ("-c", setting)]


def environment(binary: str, *, allow_file: bool) -> dict[str, str]:
    """Build the whole environment of one run; nothing of the caller's own is in it."""
    # GIT_ALLOW_PROTOCOL beats any protocol.<name>.allow that a repository's own config holds; a flag does not.
    allowed = "file" if allow_file else "none"
    folder = os.path.dirname(binary)  # noqa: PTH120 - a string for a string
    return {"PATH": f"{folder}:{os.defpath}", "GIT_ALLOW_PROTOCOL": allowed} | _ENVIRONMENT


def theirs() -> dict[str, str]:
    """Build the environment in which a person's own repository behaves as it does for them.

    Their config, their filters and their hooks count, and nothing a caller's GIT_* variables say.
    """
    home = os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    kept = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]} if "XDG_CONFIG_HOME" in os.environ else {}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        **kept,
    }
