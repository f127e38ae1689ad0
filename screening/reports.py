"""What a report says beside its changes: the agent's gitdir, declared links, submodules, processes."""

from collections.abc import Iterator

from screening.manifests import LinkDifference, Manifest
from screening.parts import Part
from screening.policies import Policy
from screening.verdicts import Violation, listed, violation
from statemachine.findings import FindingKind
from statemachine.texts import quote


def report_violations(manifest: Manifest, parts: tuple[Part, ...], *, item: str, policy: Policy) -> Iterator[Violation]:
    """List everything wrong with a run as a whole."""
    if manifest.metadata_changed:
        yield _metadata(manifest, item)
    if manifest.agent_commits and policy.agent_commits != "note":
        yield _commits(manifest, item)
    edited = {part.path for part in parts if part.old is not None and part.old.type == "symlink"}
    for difference in manifest.links_changed:
        if difference.difference != "retargeted" or difference.path not in edited:
            yield _link(difference, item)
    if manifest.gitlink_content:
        yield _gitlink_content(manifest, item)
    if manifest.leftover_processes and policy.leftover != "note":
        yield _leftovers(manifest, item)


def report_notes(manifest: Manifest, *, policy: Policy) -> Iterator[str]:
    """List what is worth saying and owed by nobody."""
    if manifest.ignored and policy.ignored == "note":
        entries, size = (sum(column) for column in zip(*((i.entries, i.bytes) for i in manifest.ignored), strict=True))
        names = listed([ignored.path for ignored in manifest.ignored])
        yield f"left out, because the base ignores it: {names} ({entries} entries, {size} bytes)"
    if manifest.agent_commits and policy.agent_commits == "note":
        said = f": {listed(manifest.commits)}" if manifest.commits else ""
        yield f"the agent used git itself; only the tree counts{said}"
    if manifest.leftover_processes and policy.leftover == "note":
        yield f"processes outlived the agent and were ended: {_commands(manifest)}"
    if manifest.notes:
        yield f"seen in the tree: {listed(manifest.notes)}"


def _metadata(manifest: Manifest, item: str) -> Violation:
    said = listed(manifest.metadata) or "what is not said"
    summary = f"the workspace's git metadata was changed: {said}"
    paths = manifest.metadata
    return violation(FindingKind.metadata_changed, item, summary, paths=paths, metadata=list(manifest.metadata))


def _commits(manifest: Manifest, item: str) -> Violation:
    summary = f"the agent made commits or moved refs itself: {listed(manifest.commits) or 'what is not said'}"
    return violation(FindingKind.agent_commit, item, summary, commits=list(manifest.commits))


def _link(difference: LinkDifference, item: str) -> Violation:
    target = difference.target
    leads = "" if target is None else f", which leads to {quote(target)}"
    summary = (
        f"what the declared link {quote(difference.path)} leads to was changed{leads}: {quote(difference.difference)}"
    )
    return violation(
        FindingKind.link_target_changed,
        item,
        summary,
        paths=(difference.path,),
        target=target or "",
        difference=difference.difference,
        leads_to=target,
    )


def _gitlink_content(manifest: Manifest, item: str) -> Violation:
    summary = f"there is content beneath a submodule: {listed(manifest.gitlink_content)}"
    return violation(FindingKind.gitlink_change, item, summary, paths=manifest.gitlink_content)


def _leftovers(manifest: Manifest, item: str) -> Violation:
    summary = f"processes outlived the agent and were ended: {_commands(manifest)}"
    processes = [{"pid": each.pid, "command": each.command} for each in manifest.leftover_processes]
    return violation(FindingKind.leftover_process, item, summary, processes=processes)


def _commands(manifest: Manifest) -> str:
    return listed([process.command for process in manifest.leftover_processes])
