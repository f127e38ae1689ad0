"""No point is left out: a step that gets one is killed at without being told."""

from statemachine.failpoints import POINTS
from tests.crash import test_attempts, test_merges, test_recoveries, test_shutdowns
from tests.crash.scenes import TRIED

FILES = (test_attempts, test_merges, test_recoveries, test_shutdowns)


def test_some_process_is_killed_at_every_point() -> None:
    assert all(FILES)
    assert POINTS.keys() == TRIED
