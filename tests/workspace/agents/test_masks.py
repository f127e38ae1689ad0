"""Secrets in what an agent prints: gone before anything is kept, however they come."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies

from tests.agents import ended, stage
from workspace.agents.masks import Mask

SECRETS = ["hunter2-hunter2", "hunter2-hunter2-longer", "clé-secrète"]


def masked(pieces: list[bytes]) -> bytes:
    mask = Mask(SECRETS)
    return b"".join([*map(mask.take, pieces), mask.rest()])


@given(cuts=strategies.lists(strategies.integers(0, 80)))
def test_a_secret_is_masked_wherever_it_is_cut(cuts: list[int]) -> None:
    said = "a hunter2-hunter2 b hunter2-hunter2-longer hunter2-hunte clé-secrète clé".encode()
    places = [0, *sorted(cut for cut in cuts if cut < len(said)), len(said)]

    kept = masked([said[start:end] for start, end in pairwise(places)])

    assert kept == "a *** b *** hunter2-hunte *** clé".encode()


@pytest.mark.parametrize("short", ["", "a", "12345"])
def test_what_is_too_short_to_be_told_from_ordinary_words_is_left(short: str) -> None:
    assert Mask([short]).take(b"a 12345 b") == b"a 12345 b"


@pytest.mark.case("W23")
def test_a_secret_an_agent_prints_is_neither_in_the_file_nor_in_the_tail(tmp_path: Path) -> None:
    script = "printf 'key=hunter2-'; printf 'hunter2; bye'"

    finished = ended(stage(tmp_path).shell(script, secrets=["hunter2-hunter2"]).let_go())

    assert finished.output.path.read_text() == "key=***; bye" == finished.output.tail
