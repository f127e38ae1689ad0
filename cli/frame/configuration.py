"""Where settings come from: a flag, else the environment, else the file, else the default; and which it was.

Read by hand and not by pydantic-settings: importing that costs more than everything else `tasks list` does
(docs/decisions/0003-configuration.md has the figures).
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cli.frame.settings import FIELDS, Field, Settings, base_folder, masked
from statemachine.durations import show_duration
from statemachine.refusals import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Hold one value as it was written, and where."""

    value: object
    origin: str
    file: Path | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Hold the settings, and for each of them where it came from."""

    settings: Settings
    origins: Mapping[str, str]

    def rows(self) -> list[tuple[str, str, str]]:
        """List name, value and origin of every setting, with passwords hidden."""
        return [(name, _shown(getattr(self.settings, name)), origin) for name, origin in self.origins.items()]


def load(flags: Mapping[str, str | None]) -> Configuration:
    """Read every setting; refuse the first that is wrong with its file, field and line."""
    written = {**from_file(), **from_environment(), **from_flags(flags)}
    known: dict[str, object] = {}
    for field in FIELDS:
        given = written.get(field.name)
        known[field.name] = read(field, given) if given else default(field, known)
    origins = {name: written[name].origin if name in written else "default" for name in known}
    return Configuration(settings=Settings(**known), origins=origins)  # type: ignore[arg-type]


def read(field: Field, given: Given) -> object:
    """Read one value the way its field wants it."""
    try:
        return field.read(given.value)
    except (ValueError, RuntimeError) as error:
        raise _invalid(f"{given.origin}: {field.name}: {error}", field=field.name, given=given) from None


def default(field: Field, known: Mapping[str, object]) -> object:
    """Find the value of a setting nobody set."""
    try:
        return field.default(known)
    except (ValueError, RuntimeError) as error:
        raise _invalid(f"{field.name} is not set and has no default: {error}", field=field.name) from None


def from_flags(flags: Mapping[str, str | None]) -> dict[str, Given]:
    """Take what the command line says."""
    names = {"actor": "--as"}
    return {
        name: Given(value=value, origin=f"the flag {names.get(name, '--' + name.replace('_', '-'))}")
        for name, value in flags.items()
        if value is not None
    }


def from_environment() -> dict[str, Given]:
    """Take what the environment says; a variable that is empty says nothing."""
    variables = {field.name: f"TASKS_{field.name.upper()}" for field in FIELDS}
    return {
        name: Given(value=_variable(name, os.environ[variable]), origin=f"the variable {variable}")
        for name, variable in variables.items()
        if os.environ.get(variable)
    }


def _variable(name: str, value: str) -> object:
    if name not in {"agents", "sandbox"}:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def config_file() -> Path | None:
    """Name the file settings are read from; without a home and TASKS_CONFIG there is none."""
    if named := os.environ.get("TASKS_CONFIG"):
        return Path(named)
    try:
        return base_folder("XDG_CONFIG_HOME", ".config") / "config.toml"
    except (ValueError, RuntimeError):
        return None


def from_file() -> dict[str, Given]:
    """Take what the file says; a name nobody knows is refused, since it is usually a slip."""
    file = config_file()
    text = _text_of(file) if file else None
    if file is None or text is None:
        return {}
    known = {field.name for field in FIELDS}
    given = {name: _given(file, text, name, value) for name, value in _parsed(file, text).items()}
    for name in given.keys() - known:
        raise _invalid(f"{given[name].origin}: there is no setting {name!r}", field=name, given=given[name])
    return given


def _given(file: Path, text: str, name: str, value: object) -> Given:
    pattern = re.compile(rf"""\s*(?:\[\s*)?["']?{re.escape(name)}["']?\s*[=.\]]""")
    line = next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), None)
    return Given(value=value, origin=f"{file}:{line}" if line else str(file), file=file, line=line)


def _text_of(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not os.environ.get("TASKS_CONFIG"):
            return None
        raise _invalid(f"TASKS_CONFIG names {file}, and there is no such file", file=file) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(f"{file} cannot be read: {error}", file=file) from None


def _parsed(file: Path, text: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - needed only where there is a file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise _invalid(f"{file}:{line}: {error}", given=Given(value=None, origin="", file=file, line=line)) from None


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case timedelta():
            return show_duration(value)
        case Mapping():
            return ", ".join(f"{name} = {command}" for name, command in value.items())
        case _:
            return masked(value)


def _invalid(message: str, *, field: str = "", given: Given | None = None, file: Path | None = None) -> Refusal:
    found = {"field": field, "file": file or (given.file if given else None), "line": given.line if given else None}
    facts = {name: value for name, value in found.items() if value}
    where = "correct the file, or name another in TASKS_CONFIG" if "file" in facts else "correct it and try again"
    return Refusal("config_invalid", message, hint=where, **facts)
