"""The documents of commands that report instead of showing a noun; the rules of `cli.pages.schemas` hold here too."""

from typing import TypedDict


class DiffDocument(TypedDict):
    """The result of a task against its base."""

    task: int
    base: str
    head: str
    diff: str


class ExportDocument(TypedDict):
    """A result that was written: to the file at `path`, or as patches into `patch`."""

    task: int
    base: str
    head: str
    format: str
    path: str | None
    patch: str | None


class FileDocument(TypedDict):
    """A declared file of a plan; `covers` lists what a folder or a glob finds in the projected tree."""

    operation: str
    path: str
    renamed_from: str | None
    link: bool
    covers: list[str] | None


class PlanItemDocument(TypedDict):
    """An item of a plan with the files it may touch."""

    id: str
    title: str
    files: list[FileDocument]


class EntryDocument(TypedDict):
    """A file of a tree with git's mode."""

    path: str
    mode: str


class PlanDocument(TypedDict):
    """A plan that is fine, and the tree as it will be when every item did all it declares exactly."""

    title: str
    base: str
    target: str | None
    items: list[PlanItemDocument]
    tree: list[EntryDocument]


class WrittenDocument(TypedDict):
    """A file that was written."""

    path: str


class WorkDocument(TypedDict):
    """A worker that has ended."""

    worker: str
    slots: int
    kinds: list[str]
    executors: list[str]
    once: bool


class RepairDocument(TypedDict):
    """One thing a recovery pass found: a stable code, a sentence, and what a person could do, if anything."""

    task: int | None
    what: str
    detail: str
    hint: str


class RecoveryDocument(TypedDict):
    """A recovery pass; `unknown` belongs to no row and is left alone, `complete` says that `unfinished` is empty."""

    dry_run: bool
    complete: bool
    lines: list[RepairDocument]
    unknown: list[RepairDocument]
    unfinished: list[RepairDocument]


class SettingDocument(TypedDict):
    """A setting in force, and where it comes from."""

    name: str
    value: str
    origin: str


class CheckupDocument(TypedDict):
    """What one look of the doctor found; `verdict` is ok, warn or fail."""

    name: str
    verdict: str
    found: str
    advice: str


class DoctorDocument(TypedDict):
    """What the doctor found."""

    settings: list[SettingDocument]
    checks: list[CheckupDocument]


class AttemptLogDocument(TypedDict):
    """What an agent printed, as far as it was kept; `size` counts what it printed, null while it runs."""

    attempt: str
    task: int
    state: str
    path: str
    size: int | None
    truncated: bool
    text: str


class OutputDocument(TypedDict):
    """What an attempt left uncommitted, against the commit it began with."""

    attempt: str
    task: int
    base: str
    path: str | None
    diff: str


class AppliedDocument(TypedDict):
    """Where what an attempt left was applied."""

    attempt: str
    folder: str


class SchemaDocument(TypedDict):
    """The schema of the database, now and before, and the one this version knows."""

    database: str
    schema: str | None
    before: str | None
    newest: str


class DriftDocument(TypedDict):
    """Where the schema of the database differs from what this version expects."""

    database: str
    schema: str
    differences: list[str]


class ScriptDocument(TypedDict):
    """SQL that would be run."""

    sql: str


class UrlDocument(TypedDict):
    """The URL of the database."""

    url: str
    embedded: bool


class ShellDocument(TypedDict):
    """The program a shell would be; `environment` names what it is given beyond ours."""

    program: str
    arguments: list[str]
    environment: list[str]
