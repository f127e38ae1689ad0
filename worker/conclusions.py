"""Conclusions: what a judged tree and its agent's end come to, as a report to settle.

Recovery, which knows no worker, is handed `conclude` by the command: it settles as the worker would have.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

from statemachine.texts import quote
from store.outputs import NewOutput
from store.settlements import Report
from worker.judging import Judged, Tree, judge
from workspace.agents.endings import Ending
from workspace.inspection.inspections import Inspection

LOG = "output.log"


def conclude(tree: Tree, inspected: Inspection, blank: Report, *, ending: Ending | None, may_commit: bool) -> Report:
    """Judge an inspected tree and report it; without an ending nothing is committed."""
    judged = judge(tree, inspected, may_commit=lambda: may_commit and ending is not None and succeeded(ending))
    return reported(blank, tree.folder, ending, judged)


def succeeded(ending: Ending) -> bool:
    """Tell whether an agent ended by itself, as one that did what it was asked to."""
    return ending.exit_code == 0 and ending.isolation is None and ending.stopped is None


def reported(blank: Report, folder: Path, ending: Ending | None, judged: Judged) -> Report:
    """Put into a report what was judged; without an ending, nothing that only a worker could have seen."""
    report = replace(
        blank,
        failure=f"its output was not kept: {judged.export_failure}" if judged.export_failure else "",
        manifest_digest=judged.manifest_digest,
        findings=judged.findings,
        evidence=judged.evidence,
        files=(*_log(folder, ending), *_diff(judged.diff)),
    )
    return _seen(report, ending, judged) if ending else report


def _seen(report: Report, ending: Ending, judged: Judged) -> Report:
    outside = judged.verdict.out_of_scope if judged.verdict else ()
    launch = quote(ending.launch_error) if ending.launch_error else ""
    return replace(
        report,
        exit_code=ending.exit_code,
        isolation=ending.isolation,
        failure_code=_failure_code(ending, judged),
        failure="; ".join(part for part in (launch, report.failure) if part),
        outcome=judged.outcome,
        commit=judged.commit,
        tree=judged.tree,
        out_of_scope=tuple({"operation": kind.value, "path": path} for kind, path in outside),
        recovered=False,
    )


def _failure_code(ending: Ending, judged: Judged) -> str:
    """Name a cause of failure that the exit code does not tell; a bad exit speaks for itself."""
    if ending.launch_error:
        return "launch_failed"
    return "unsafe" if judged.findings and ending.exit_code == 0 else ""


def _log(folder: Path, ending: Ending | None) -> tuple[NewOutput, ...]:
    if ending is None:
        return ()
    said = ending.log
    logged = NewOutput(
        kind="log",
        path=str(folder / LOG),
        size=said.size,
        sha256=said.sha256,
        truncated=said.truncated,
        tail=said.tail,
    )
    return (logged,)


def _diff(path: Path | None) -> tuple[NewOutput, ...]:
    if path is None:
        return ()
    content = path.read_bytes()
    return (NewOutput(kind="diff", path=str(path), size=len(content), sha256=hashlib.sha256(content).hexdigest()),)
