"""Process numbers come back: a recorded number may be somebody else's by the time it is used."""

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from workspace.agents import proctree
from workspace.agents.processes import Handle, alive, end_survivors, survivors

UNHARMED = (b"", 0)
AT_ONCE = timedelta(milliseconds=50)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that got the number of an agent that is long gone. It would say if it were signalled."""
    script = "trap 'echo signalled; exit 1' TERM HUP INT CONT; echo ready; while :; do read line || exit 0; done"
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        yield other
        other.kill()


def recorded(stranger: subprocess.Popen[bytes]) -> Handle:
    """What a worker would have recorded had this been its agent."""
    now = proctree.look(stranger.pid)
    assert now is not None
    return Handle(
        pid=now.pid,
        started=now.started,
        group=now.group,
        boot=proctree.boot(),
        supervisor=now.pid,
        supervisor_started=now.started,
        marker="an-attempt",
    )


def fate(stranger: subprocess.Popen[bytes]) -> tuple[bytes, int]:
    """Let it end, and ask what it had to say and how it ended."""
    assert stranger.stdin is not None
    assert stranger.stdout is not None
    stranger.stdin.close()
    return stranger.stdout.read(), stranger.wait()


@pytest.mark.hazard("H101")
def test_the_number_alone_proves_nothing(stranger: subprocess.Popen[bytes]) -> None:
    handle = recorded(stranger)
    earlier = replace(handle, started=handle.started - 1, supervisor_started=handle.started - 1)

    assert not alive(earlier)
    assert [one.proven for one in survivors(earlier)] == [False]  # its group has the number: worth a report
    assert not end_survivors(earlier, grace=AT_ONCE)
    assert fate(stranger) == UNHARMED


@pytest.mark.hazard("H101")
def test_a_process_older_than_the_record_is_not_even_suspected(stranger: subprocess.Popen[bytes]) -> None:
    handle = recorded(stranger)
    later = replace(handle, started=handle.started + 1, supervisor_started=handle.started + 1)

    assert not alive(later)
    assert survivors(later) == ()
    assert end_survivors(later, grace=AT_ONCE)
    assert fate(stranger) == UNHARMED


@pytest.mark.hazard("H101")
def test_number_and_start_time_of_another_boot_prove_nothing(stranger: subprocess.Popen[bytes]) -> None:
    handle = replace(recorded(stranger), boot="another")

    assert not alive(handle)
    assert end_survivors(handle, grace=AT_ONCE)
    assert fate(stranger) == UNHARMED


@pytest.mark.hazard("H101")
def test_a_signal_goes_to_exactly_the_process_that_was_seen(stranger: subprocess.Popen[bytes]) -> None:
    now = proctree.look(stranger.pid)
    assert now is not None

    sent = proctree.send(now._replace(started=now.started - 1), signal.SIGTERM)

    assert not sent
    assert fate(stranger) == UNHARMED


@pytest.mark.hazard("H101")
def test_a_process_that_is_gone_gets_no_signal(stranger: subprocess.Popen[bytes]) -> None:
    now = proctree.look(stranger.pid)
    assert now is not None
    stranger.kill()
    stranger.wait()

    assert not proctree.send(now, signal.SIGTERM)
    assert not proctree.still(now)


@pytest.mark.hazard("H101")
def test_the_right_record_does_end_it(stranger: subprocess.Popen[bytes]) -> None:
    handle = recorded(stranger)

    assert alive(handle)
    end_survivors(handle, grace=AT_ONCE)
    assert stranger.wait() != 0
