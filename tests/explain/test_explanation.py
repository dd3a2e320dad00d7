"""The forms of an explanation: text, HTML, dict, shap's."""

import json
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from frugalsvm.explain import Explanation

VALUES = np.array([[0.5, -0.2, 0.0], [-1.0, 0.1, 0.3]])


def one():
    return Explanation(VALUES, 0.1, [[3.0, 7.0, 0.25], [1.0, 2.0, 3.0]], ["age", "income", "<b>"], ["yes"])


def several():
    return Explanation(np.stack([VALUES, -2 * VALUES], axis=2), [0.1, 0.2], np.zeros((2, 3)), "abc", ["no", "yes"])


def test_predictions_importances_and_parts():
    np.testing.assert_allclose(one().predictions, [0.4, -0.5])
    np.testing.assert_allclose(one().importances, [0.75, 0.15, 0.15])
    assert several().importances.shape == (3, 2)
    assert len(one()[1]) == 1
    assert one()[1].predictions[0] == one().predictions[1]
    np.testing.assert_array_equal(several().of_output("yes").values, -2 * VALUES)
    assert several().leading_output(1) == 1


def test_text_has_the_largest_shares_first():
    lines = one().text(1, n_features=2).splitlines()
    assert lines[0] == "Row 2: score -0.5 for yes"
    assert [line.split()[0] for line in lines[1:]] == ["base", "age", "<b>", "1"]
    assert lines[2].endswith("-" * 20)
    assert "income" in one().importances_text()


def test_text_chooses_the_output_with_the_largest_value():
    assert several().text(1).splitlines()[0].endswith("for yes")
    assert several().text(1, output="no").splitlines()[0].endswith("for no")


def test_html_stands_alone_and_shows_names_as_they_are():
    found = one().to_html(title="A & B")

    class Reader(HTMLParser):
        sources: list = []  # noqa: RUF012
        tags: list = []  # noqa: RUF012

        def handle_starttag(self, tag, attributes):
            self.tags.append(tag)
            self.sources += [value for name, value in attributes if name in ("src", "href")]

    reader = Reader()
    reader.feed(found)
    assert reader.sources == []
    assert "script" not in reader.tags
    assert "http" not in found
    assert "A &amp; B" in found
    assert "&lt;b&gt;" in found
    assert found.count("<h3>") == 2
    assert "1 more rows" in one().to_html(n_rows=1)


def test_html_tells_all_others_from_columns_and_fits_phones():
    found = one().to_html(n_features=1)
    assert found.count('class="bar rest"') == 1
    assert found.count('class="bar size"') == 1
    assert 'name="viewport"' in found
    assert "scores of all outputs" in several().to_html()
    assert "scores of all outputs" not in found


def test_dict_is_json():
    assert json.loads(json.dumps(one().as_dict()))["predictions"] == pytest.approx([0.4, -0.5])


def test_shap_gets_arrays_of_its_shapes(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=lambda **parts: parts))
    assert one().as_shap()["base_values"].shape == (2,)
    assert several().as_shap()["base_values"].shape == (2, 2)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        one().as_shap()


def test_refuses_parts_that_do_not_fit_together():
    with pytest.raises(ValueError, match="2 names"):
        Explanation(VALUES, 0.1, VALUES, ["a", "b"])
    with pytest.raises(ValueError, match="data"):
        Explanation(VALUES, 0.1, VALUES[:1], "abc")
    with pytest.raises(ValueError, match="base_values"):
        Explanation(VALUES, [0.1, 0.2], VALUES, "abc")
    with pytest.raises(ValueError, match="several outputs"):
        several().of_output()
    with pytest.raises(ValueError, match="no output 'maybe'"):
        several().of_output("maybe")
