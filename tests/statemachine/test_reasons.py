import pytest

from statemachine.attempts import AttemptKind
from statemachine.reasons import failed, outside


def why(word: str, exit_code: int | None = None, failure: str = "", failures: int = 1) -> str:
    return failed(
        item="P1", kind=AttemptKind.execute, word=word, exit_code=exit_code, failure=failure, failures=failures
    )


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (why("exit", 1), "the agent of P1 exited with 1"),
        (why("exit", 1, failures=2), "the agent of P1 exited with 1; 2 attempts failed"),
        (why("exit", 137), "the agent of P1 was ended by signal 9"),
        (why("timeout"), "the agent of P1 ran past its time limit and was ended"),
        (why("output_limit"), "the agent of P1 printed more than is kept and was ended"),
        (why("agent_not_found", failure="it is gone"), "the agent of P1 failed (agent_not_found): it is gone"),
    ],
)
def test_a_failure_is_told_by_what_happened(told: str, sentence: str) -> None:
    assert told == sentence


def test_a_check_that_failed_is_named_with_how_it_ended() -> None:
    told = failed(
        item=None,
        kind=AttemptKind.check,
        word="checks_failed",
        exit_code=1,
        failure="this check failed: pytest -q",
        failures=1,
    )

    assert told == "this check failed: pytest -q (it exited with 1)"


def test_files_outside_a_scope_are_named_and_no_more_than_a_few() -> None:
    assert outside("P2", ["Makefile"]) == 'P2 also changed "Makefile", which it does not declare'
    assert outside("P2", map(str, range(9))).endswith('"4" and 4 more, which it does not declare')
