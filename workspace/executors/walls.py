"""The walls of a sandbox, as words for bubblewrap: what is seen, what can be written, what is cut off.

The order counts: a later place lies on an earlier one. Everything has the same path inside as outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workspace.agents.confinement import Network
from workspace.executors.programs import SYSTEM, in_system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CUT_OFF: Final = ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL")
ENDS: Final = ("--new-session", "--die-with-parent")
WAY: Final = Path("/run/way-out")
WAY_PORT: Final = 3128
WAY_VARIABLES: Final = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), f"http://127.0.0.1:{WAY_PORT}")
HOME: Final = Path("/tmp/home")  # noqa: S108 - inside, where it is a file system of its own
_MEBIBYTE: Final = 1 << 20
_SIZES: Final = {"/tmp": 1024, "/var/tmp": 256, "/dev/shm": 256}  # noqa: S108 - mebibytes, inside
_HOME_SIZE: Final = 256
# Nothing in it is a secret or leads to one; what a program misses here it does without.
_ETC: Final = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "debian_version", "fonts", "gai.conf", "host.conf"),
    *(
        "hosts",
        "inputrc",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
        "locale.alias",
        "locale.conf",
    ),
    *("localtime", "mime.types", "nsswitch.conf", "os-release", "pki", "protocols", "redhat-release", "services"),
    *("ssl", "terminfo", "timezone", "xattr.conf"),
)
_NETWORKED: Final = ("resolv.conf",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """Describe one sandbox. `writable` and `readable` lead from a place inside to where it is taken from."""

    folder: Path
    home: Path
    writable: Mapping[Path, Path]
    readable: Mapping[Path, Path] = field(default_factory=dict)
    network: Network = Network.off

    @property
    def sources(self) -> list[str]:
        """List where places are taken from, in the order in which they are staged."""
        return [str(source) for source in (*self.writable.values(), *self.readable.values())]

    def staged(self, stage: Path) -> Walls:
        """Take each place from where it was set out for the agent's user instead."""
        numbers = count()
        return replace(
            self,
            writable={place: stage / str(next(numbers)) for place in self.writable},
            readable={place: stage / str(next(numbers)) for place in self.readable},
        )

    def with_way(self, socket: Path) -> Walls:
        """Add the socket of the proxy, as the one way out."""
        return replace(self, readable={**self.readable, WAY: socket})

    def words(self) -> list[str]:
        """Write the command line of the sandbox, up to the command in it."""
        return [
            *CUT_OFF,
            *(["--share-net"] if self.network is Network.on else []),
            *ENDS,
            *_system(),
            *("--proc", "/proc", "--dev", "/dev"),
            *self._empty(),
            *_etc(self.network),
            *self._places(),
            *("--remount-ro", "/dev", "--remount-ro", "/"),
            *("--chdir", str(self.folder), "--"),
        ]

    def _empty(self) -> Iterator[str]:
        for place, size in _SIZES.items():
            yield from _room(place, size, mode="1777")
        yield from ("--perms", "0755", "--dir", "/run")
        yield from _room(str(self.home), _HOME_SIZE, mode="0700")

    def _places(self) -> Iterator[str]:
        """Put the outer places first: an inner one would vanish beneath them."""
        ways = [(place, "--ro-bind", source) for place, source in self.readable.items()]
        ways += [(place, "--bind", source) for place, source in self.writable.items()]
        for place, way, source in sorted(ways, key=lambda each: len(each[0].parts)):
            yield from (way, str(source), str(place))


def home(wanted: str) -> Path:
    """Choose the home inside: the same path as outside, unless that is no place for an empty folder."""
    place = Path(wanted)
    unfit = not place.is_absolute() or len(place.parts) == 1 or in_system(place) or place.is_relative_to("/proc")
    return HOME if unfit or place.is_relative_to("/dev") or place.is_relative_to("/etc") else place


def _room(place: str, mebibytes: int, *, mode: str) -> Iterator[str]:
    yield from ("--perms", mode, "--size", str(mebibytes * _MEBIBYTE), "--tmpfs", place)


def _system() -> Iterator[str]:
    for place in map(Path, SYSTEM):
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))


def _etc(network: Network) -> Iterator[str]:
    for name in (*_ETC, *(_NETWORKED if network is Network.on else ())):
        place = Path("/etc", name)
        if place.exists():
            yield from ("--ro-bind", str(place), str(place))
