"""The document of `tasks demo --json`; the rules of `cli.pages.schemas` hold here too."""

from typing import TypedDict


class StepDocument(TypedDict):
    """One command of the story; one that was killed has a signal instead of an exit code."""

    scene: str
    command: str
    exit: int | None
    signal: int | None
    output: str
    passed: bool


class DemoDocument(TypedDict):
    """The story as it went; `folder` is null where it was removed, `surprise` says what went another way."""

    passed: bool
    surprise: str | None
    seconds: float
    folder: str | None
    steps: list[StepDocument]
