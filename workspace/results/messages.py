"""Write a commit message whose words nobody can make a command of: one clean subject, the intent, our trailers."""

import re
import unicodedata
from typing import Final
from uuid import UUID

_SUBJECT: Final = 120
_BODY: Final = 4000

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

# What forges and their robots act upon, and what is written instead.
_NEUTRAL: Final = (
    (re.compile(r"\bhttps?://(?=\S+/(?:issues|pull|pulls|merge_requests|commit)/)", re.IGNORECASE), ""),
    (re.compile(r"(?<![\w.+-])@(?=\w)"), "@ "),
    (re.compile(r"([#!&])(?=\d)"), r"\1 "),
    (re.compile(r"\b(GH)-(?=\d)", re.IGNORECASE), r"\1 "),
    (re.compile(r"\[\s*((?:skip|no)[\s_-]+\w+|\w+[\s_-]+skip)\s*\]", re.IGNORECASE), r"(\1)"),
    (re.compile(r"\*{3}(NO_CI)\*{3}", re.IGNORECASE), r"\1"),
    (re.compile(r"^(fixup|squash|amend)!", re.IGNORECASE), r"\1:"),
)
# What a line may not begin with: a trailer, a comment, or what `git am` takes for the end of the message.
_RISKY: Final = re.compile(r"#|-{3}|diff |Index:|>?From |\(cherry picked|[A-Za-z0-9][\w-]*[ \t]*:")


def message(*, title: str, intent: str, task: int, item: str, revision: int, attempt: UUID) -> str:
    """Write the message of an item's commit; the same facts give the same bytes."""
    name = _subject(item, 60)
    trailers = f"Task: {task}\nItem: {name}\nPlan-Revision: {revision}\nAttempt: {attempt}\n"
    parts = (_subject(title, _SUBJECT) or f"Item {name}", _body(intent), trailers)
    return "\n\n".join(filter(None, parts))


def _subject(text: str, limit: int) -> str:
    line = _neutral(" ".join(_visible(text).split())).lstrip("#- ")
    return line if len(line) <= limit else f"{line[: limit - 3].rstrip()}..."


def _body(text: str) -> str:
    lines = [_neutral(_visible(line).rstrip()) for line in text[:_BODY].splitlines()]
    safe = "\n".join(f" {line}" if _RISKY.match(line) else line for line in lines)
    paragraphs = re.sub(r"\n{3,}", "\n\n", safe.strip("\n"))
    return f"{paragraphs}\n[...]" if len(text) > _BODY else paragraphs


def _visible(text: str) -> str:
    """Drop terminal sequences; everything else that cannot be seen becomes a blank."""
    plain = _SEQUENCE.sub("", text)
    return "".join(" " if unicodedata.category(letter) in _UNSEEN else letter for letter in plain)


def _neutral(line: str) -> str:
    for pattern, instead in _NEUTRAL:
        line = pattern.sub(instead, line)
    return line
