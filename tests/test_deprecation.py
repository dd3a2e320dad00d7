"""Names that go away: a warning that says what to do, where the caller is, and an alarm when they are overdue."""

import inspect

import pytest

from frugalsvm import __version__
from frugalsvm._deprecation import DECLARED, Deprecation, deprecated, renamed_argument


@pytest.fixture(autouse=True)
def _no_traces():
    before = list(DECLARED)
    yield
    DECLARED[:] = before


def test_nothing_is_overdue():
    assert [each.name for each in DECLARED if each.is_due(__version__)] == []


@pytest.mark.parametrize(
    ("version", "due"),
    [("0.2.0", False), ("0.3.9", False), ("0.4.0", True), ("0.4", True), ("0.10.1", True), ("1.0.0", True)],
)
def test_when_it_is_due(version, due):
    assert Deprecation("name", "0.2", "other").is_due(version) is due


def test_a_function_warns_and_still_works():
    @deprecated("old", since="0.9", instead="new")
    def old(x):
        """Twice a number.

        More words.
        """
        return 2 * x

    expected = r"^old is deprecated since version 0\.9 and will be removed in version 0\.11\. Use new instead\.$"
    with pytest.warns(FutureWarning, match=expected) as caught:
        assert old(2) == 4
    assert caught[0].filename == __file__  # where it is called, so that Python shows it once for each place
    documented = inspect.getdoc(old)
    assert documented.splitlines()[0] == "Twice a number."
    assert ".. deprecated:: 0.9\n   Use ``new`` instead; removed in version 0.11." in documented
    assert documented.endswith("More words.")
    assert DECLARED[-1] == Deprecation("old", "0.9", "new")


def test_an_argument_has_its_old_name_for_a_while():
    @renamed_argument("rows", "n_samples", of="make", since="0.9")
    def make(n_samples=1):
        return n_samples

    with pytest.warns(
        FutureWarning, match=r"^The argument 'rows' of make is deprecated .* Use 'n_samples' instead\.$"
    ) as caught:
        assert make(rows=3) == 3
    assert caught[0].filename == __file__
    assert make(n_samples=4) == 4
    with pytest.raises(TypeError, match="got both 'rows' and 'n_samples'"):
        make(rows=1, n_samples=2)
