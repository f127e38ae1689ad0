import pytest

from tests.house import cases


def test_every_id_a_test_names_is_in_the_list() -> None:
    known = {(marker, name) for marker, sentences in cases.wanted().items() for name in sentences}

    assert cases.named() - known == set()


def test_every_id_has_a_sentence_of_its_own() -> None:
    sentences = [sentence for group in cases.wanted().values() for sentence in group.values()]

    assert all(sentence[0].isalnum() or sentence[0] == "." for sentence in sentences)
    assert all(sentence.endswith(".") for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_markers_are_found_on_functions_modules_and_parameters() -> None:
    source = """
import pytest
pytestmark = pytest.mark.case("A01")
@pytest.mark.case("A02", "A03")
def test_x(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.hazard("H01"))])
def test_y(x): ...
# pytest.mark.case("A04")
TEXT = 'pytest.mark.case("A05")'
@pytest.mark.slow("A06")
def test_z(): ...
"""

    found = sorted(cases.named_in(source))

    assert found == [("case", "A01"), ("case", "A02"), ("case", "A03"), ("hazard", "H01")]


def test_what_no_test_names_is_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "named", lambda: {("case", "A01")})

    cases.main()

    shown = capsys.readouterr().out
    assert "A01" not in shown
    assert "A02  An author who acts on an old version hears stale_view and writes nothing." in shown
    assert f"1 of {len(cases.wanted()['case'])} cases are named by a test." in shown
