"""What a command works with: settings, screen, database and root, each made when first asked for."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from cli.frame.screen import Screen

if TYPE_CHECKING:
    from cli.frame.configuration import Configuration
    from cli.frame.settings import Settings
    from store.engine import Database
    from workspace.disk.roots import Root

STATEMENT: Final = timedelta(seconds=30)
"""How long one statement of a person may take."""

SERVER: Final = timedelta(seconds=10)
"""How long a silent server is waited for."""

EMBEDDED: Final = timedelta(seconds=60)
"""How long the embedded server is waited for, which the first command has to create."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Hold the options every command has, as they were given."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    database_url: str | None = None
    root: str | None = None
    actor: str | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """Open what a command asks for, once, and close it all at the end.

    Asking for `database` starts the embedded server where no URL is set; asking for `root` makes its folders.
    A command that asks for neither touches neither.
    """

    command: str
    flags: Flags = field(default_factory=Flags)
    endings: ExitStack = field(default_factory=ExitStack, repr=False)

    @cached_property
    def screen(self) -> Screen:
        """Print for whoever asked."""
        return Screen(json=self.flags.json, quiet=self.flags.quiet, verbose=self.flags.verbose)

    @cached_property
    def configuration(self) -> "Configuration":
        """Read the settings and where each came from."""
        from cli.frame.configuration import load  # noqa: PLC0415 - only what a command asks for is imported

        flags = self.flags
        return load({"database_url": flags.database_url, "root": flags.root, "actor": flags.actor})

    @property
    def settings(self) -> "Settings":
        """Give the settings."""
        return self.configuration.settings

    @property
    def actor(self) -> str:
        """Name who decides."""
        return self.settings.actor

    @cached_property
    def database(self) -> "Database":
        """Open the database."""
        from store.engine import open_database  # noqa: PLC0415

        settings = self.settings
        database = open_database(
            settings.database_url,
            direct_url=settings.direct_database_url,
            state=settings.state,
            name=self.command,
            patience=SERVER if settings.database_url else EMBEDDED,
            statement_timeout=STATEMENT,
        )
        self.endings.callback(database.close)
        return database

    @cached_property
    def root(self) -> "Root":
        """Open the folder of repositories and workspaces."""
        from workspace.disk.roots import open_root  # noqa: PLC0415

        return open_root(self.settings.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what was opened, the last first."""
        self.endings.close()
