"""Whatever a text holds, a column can take it and a terminal survives it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.texts import clean, cleaned, listing, one_line, quote

texts = st.text(
    st.characters(codec=None) | st.sampled_from("\x00\ud800\udcff\x1b\n\r\u2028\u202e\u200b\x9b"), max_size=80
)
HOSTILE = "a\x00b\ud800c\x1b[2J\x9b\u202e\u2066\u200b\ufeff\u2028\U000e0041\r\n\tend"


@given(texts, st.integers(1, 100))
def test_a_cleaned_text_fits_any_column(text: str, limit: int) -> None:
    result = clean(text, limit)

    assert len(result) <= limit
    assert "\x00" not in result
    result.encode("utf-8")


@given(texts, st.integers(1, 100))
def test_cleaning_twice_is_cleaning_once(text: str, limit: int) -> None:
    once = clean(text, limit)

    assert clean(once, limit) == once


@given(texts)
def test_every_loss_is_counted(text: str) -> None:
    lost = sum(letter == "\x00" or 0xD800 <= ord(letter) <= 0xDFFF for letter in text)

    result = cleaned(text, 10)

    assert result.replaced == lost
    assert result.cut == max(0, len(text) - 10)


def test_a_text_without_fault_is_left_alone() -> None:
    text = "Gr\u00fc\u00dfe\n\u65e5\u672c\u8a9e \U0001f680\n"

    assert clean(text, 100) == text


def test_a_loss_is_said_at_the_end() -> None:
    assert clean("a\x00b\ud800", 100) == "a\ufffdb\ufffd [4 characters, 2 replaced]"
    assert clean("x" * 1000, 40) == "x" * 10 + " [1000 characters, 0 replaced]"


@given(texts, st.integers(10, 100))
def test_a_quoted_text_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    result = quote(text, limit)

    assert len(result) <= limit
    assert result.isprintable()
    assert result.startswith('"')
    assert result.endswith(('"', '"...'))


@given(texts)
def test_an_uncut_quote_is_json_for_exactly_the_text(text: str) -> None:
    result = quote(text, 12 * len(text) + 2)

    assert json.loads(result).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


def test_a_cut_falls_between_letters_and_the_quotes_are_closed() -> None:
    results = [quote("\x1b" * 50, limit) for limit in range(11, 60)]

    for result in results:
        assert json.loads(result.removesuffix("...")).strip("\x1b") == ""


def test_nothing_that_moves_a_terminal_survives_quoting() -> None:
    result = quote(HOSTILE)

    assert result.isprintable()
    assert "\\u001b[2J" in result
    assert "\\u202e" in result


@given(texts, st.integers(4, 100))
def test_a_line_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    result = one_line(text, limit)

    assert len(result) <= limit
    assert result.isprintable()
    assert result == result.strip()


def test_a_forged_trailer_stays_on_the_title_s_line() -> None:
    title = "  Fix #12 for @ada\n\nSigned-off-by: root\r\u2028Reviewed-by: all\x1b[31m"

    assert one_line(title) == "Fix #12 for @ada Signed-off-by: root Reviewed-by: all\\u001b[31m"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], ""),
        ([1], "1"),
        (["a\nb", "c"], '"a\\nb", "c"'),
        (range(1, 10), "1, 2, 3, 4, 5 and 4 more"),
    ],
)
def test_a_listing_shows_a_few_and_counts_the_rest(values: list[object], said: str) -> None:
    assert listing(values) == said
