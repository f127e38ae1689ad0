"""Names a change may not have, whatever it does: rules 5a to 5c."""

from statemachine.findings import FindingKind
from statemachine.paths import is_canonical, is_inside, names_git


def bad_name(path: str) -> tuple[FindingKind, str] | None:
    """Say why nothing may be stored under a path."""
    if not is_canonical(path):
        return FindingKind.bad_path, "is not canonical"
    if names_git(path):
        return FindingKind.git_named_path, "has a part that some file system opens as `.git`"
    if not is_inside(path):
        return FindingKind.bad_path, "is not a path inside the repository"
    return None
