"""A small model of one task: what its rows must come to, told without a database and without the product's tables."""

from dataclasses import dataclass, field
from typing import Literal

Work = Literal["done", "unchanged", "outside", "failed", "unsafe", "lost"]
COMPLETES = {"done", "unchanged", "outside"}
ITEMS = ("P1", "P2", "P3")
RETRIES = 1
LOSSES = 3
CLOSED = {"merged", "cancelled"}


@dataclass(slots=True, kw_only=True)
class Model:
    """Where one task is, what it owes, and what its history says."""

    task: int
    state: str = "queued"
    history: list[str] = field(default_factory=lambda: ["add"])
    ends: list[str] = field(default_factory=list)
    findings: int = 0
    pause: bool = False
    gate: str | None = None
    epoch: int = 0
    active: bool = False
    launched: bool = False
    stop: bool = False
    cancel: bool = False
    failures: int = 0
    losses: int = 0
    done: int = 0

    @property
    def idle(self) -> bool:
        """Tell whether somebody holds the task and runs nothing."""
        return self.state == "running" and not self.active

    @property
    def next_item(self) -> str | None:
        return ITEMS[self.done] if self.done < len(ITEMS) else None

    def move(self, event: str, state: str, gate: str | None = None) -> None:
        """Write a line."""
        self.history.append(event)
        self.state, self.gate = state, gate
        if state != "running":
            self.stop = False
            self.cancel = self.cancel and state == "cancelled"

    def claim(self) -> None:
        self.epoch += 1
        self.move("claim", "running")

    def take_over(self) -> None:
        self.epoch += 1
        self.move("take_over", "running")

    def admit(self, *, launched: bool) -> None:
        self.active, self.launched = True, launched

    def settle(self, work: Work, *, recovering: bool) -> None:
        """End the attempt: a person's stop first, then what became of it; then move by the first row that applies."""
        end = "cancelled" if self.stop else _end(work)
        self.ends.append(end)
        self.active, stopped = False, self.stop
        self.failures = 0 if end == "completed" else self.failures + (end == "failed")
        self.losses = 0 if end == "completed" else self.losses + (end == "interrupted")
        self.done += end == "completed"
        loop = end == "interrupted" and self.losses >= LOSSES
        self.findings += (work == "unsafe") + loop
        outside = end == "completed" and work == "outside"
        if self.cancel:
            return self.close()
        self.pause = self.pause or outside
        if self.findings:
            return self.move("raise_finding", "needs_human", "finding")
        if outside:
            return self.move("pause", "needs_amendment", "scope")
        if stopped:
            return self.move("halt", "needs_human", "failure")
        if end == "failed" and self.failures > RETRIES:
            return self.move("give_up", "needs_human", "failure")
        return self.move("requeue", "queued") if recovering else self.move("settle", "running")

    def notice(self) -> None:
        """Record what a person saw, wherever the task is."""
        stays = self.state in {"merging", *CLOSED} or self.gate == "finding" or self.active or self.cancel
        self.findings += 1
        if self.state == "running" and stays:
            self.stop = True
        if not stays:
            self.move("raise_finding", "needs_human", "finding")

    def go_on(self) -> None:
        """Let a task whose questions are answered go on: an open pause comes first."""
        if self.pause:
            return self.move("resume_pause", "needs_amendment", "scope")
        return self.start_afresh("retry")

    def start_afresh(self, event: str) -> None:
        """Queue the task at a person's word: what failed before is forgotten."""
        self.failures = self.losses = 0
        self.move(event, "queued")

    def end_merge(self, *, held: bool) -> None:
        if held:
            self.move("confirm_merge", "merged")
        elif self.findings:
            self.move("fail_merge", "needs_human", "finding")
        else:
            self.move("fail_merge", "merge_blocked")

    def close(self) -> None:
        self.pause = False
        self.cancel = self.cancel and self.state == "running"
        self.move("cancel", "cancelled")


def _end(work: Work) -> str:
    if work == "lost":
        return "interrupted"
    return "completed" if work in COMPLETES else "failed"
