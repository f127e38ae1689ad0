import posixpath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screening.links import unsafe_target

# How fast a machine is proves nothing.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.hazard("H87")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "b"),
        ("a", "./b"),
        ("a", "b/"),
        ("a", "b//c"),
        ("a", "a"),
        ("a", "nowhere/at/all"),
        ("d/a", "../b"),
        ("d/a", "."),
        ("d/a", "../d"),
        ("d/e/a", "../../b"),
        ("a", "b/../c"),
        ("a", "..."),
        ("a", ".gitignore"),
        ("a", ".github/x"),
        ("a", "gitfoo"),
        ("a", "xy:z"),
        ("a", "\udcff/\u202e\x1b"),
        ("a", "b" * 5000),
        ("a", "~/x"),
    ],
)
def test_a_target_inside_the_repository_is_safe(path: str, target: str) -> None:
    assert unsafe_target(path, target) is None


@pytest.mark.parametrize(
    ("path", "target", "why"),
    [
        ("a", "", "is empty"),
        ("a", "b\x00c", "holds a NUL"),
        ("a", "/etc/passwd", "is absolute, or is on some systems"),
        ("a", "//server/share", "is absolute, or is on some systems"),
        ("a", "C:x", "is absolute, or is on some systems"),
        ("a", "c:/x", "is absolute, or is on some systems"),
        ("a", "b\\c", "is absolute, or is on some systems"),
        ("a", "..\\x", "is absolute, or is on some systems"),
        ("a", "..", "leaves the repository"),
        ("a", "../x", "leaves the repository"),
        ("a", "../repo/x", "leaves the repository"),
        ("a", "b/../../x", "leaves the repository"),
        ("d/a", "../../x", "leaves the repository"),
        ("d/a", "../../repo/d/b", "leaves the repository"),
        ("a", "/proc/self/environ", "is absolute, or is on some systems"),
        ("a", ".", "is the repository itself"),
        ("a", "./", "is the repository itself"),
        ("a", "b/..", "is the repository itself"),
        ("d/a", "..", "is the repository itself"),
        ("d/a", "../", "is the repository itself"),
        ("d/e/a", "../..", "is the repository itself"),
    ],
)
def test_a_target_outside_or_at_the_top_is_not(path: str, target: str, why: str) -> None:
    assert unsafe_target(path, target) == why


@pytest.mark.case("J03")
@pytest.mark.parametrize(
    "target",
    [
        ".git",
        ".git/config",
        "b/.git/x",
        "b/../.git/../c",
        ".GIT/hooks",
        "git~1/x",
        ".git./x",
        ".git /x",
        ".g\u200cit/x",
        ".git:x/y",
    ],
)
def test_a_target_that_enters_git_in_any_spelling_is_not_safe_even_if_it_leaves_again(target: str) -> None:
    assert unsafe_target("a", target) == "enters `.git`"
    assert unsafe_target("d/a", f"../{target}") == "enters `.git`"


@patiently
@given(
    st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4).map("/".join),
    st.lists(st.sampled_from(["..", ".", "", "x", "y"]), min_size=1, max_size=7).map("/".join),
)
def test_a_safe_target_stays_beneath_the_root_however_it_is_resolved(path: str, target: str) -> None:
    resolved = posixpath.normpath(posixpath.join("/r/p", posixpath.dirname(path), target))
    stays = resolved.startswith("/r/p/")

    assert stays or unsafe_target(path, target) is not None
