"""The page, read as HTML."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from report_support import BROKEN, EXPERIMENTS, WORSE, install

import experiments.report
from experiments.printed import Printed
from experiments.report import write_report
from experiments.report.counting import Counts
from experiments.report.words import rendered, title_and_body
from experiments.results import Cell, Experiment, Figure, Table
from experiments.store import Store
from experiments.tasks import Task

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements with their attributes and texts; refuses what is not properly nested."""

    def __init__(self, text):
        super().__init__()
        self.open: list[dict] = []
        self.elements: list[dict] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        return [
            element
            for element in self.elements
            if element["tag"] == tag and all(element.get(name) == value for name, value in attributes.items())
        ]

    def one(self, name):
        (element,) = [element for element in self.elements if element.get("id") == name]
        return " ".join(element["text"].split())


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        assert write_report(install(patch, folder), "full", folder / "report.html") == []
    return (folder / "report.html").read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_every_kind_of_cell_has_its_numbers_a_word_and_a_sign(page):
    def cell(row, column):
        shown = page.one(f"invented-table-1-cell-{row}-{column}")
        return shown.replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")

    assert cell(1, 1) == "ours 90.10 ± 0.10 paper 89.50 ± 0.30 difference +0.60 ✓ better"
    assert cell(1, 2) == "ours 95.00 paper 95.25 ± 0.30 difference -0.25 ≈ within"
    assert cell(1, 4) == "ours 90.00 paper 92.00 ± 0.10 difference -2.00 ✗ worse1"  # with the number of its note
    assert cell(2, 1) == "ours - paper 88.00 difference … not computed"
    assert cell(2, 2) == "ours 93.50 paper - difference not printed"
    assert cell(2, 3) == "ours - paper 94.00 ± 0.10 difference ∅ no data2"
    assert cell(3, 1) == "ours 3.00 paper 1.00 ± 0.50 difference +2.00 ✗ worse"
    assert "invented-table-1-cell-3-2" not in {element.get("id") for element in page.elements}


def test_rows_and_columns_are_in_order(page):
    (table,) = [element for element in page.all("table") if element.get("class") == "results"]
    positions = [table["text"].index(name) for name in ("banana", "usps & co", "ccat", "ijcnn1", "method A", "seconds")]
    assert positions == sorted(positions)


def test_equal_notes_are_given_once_and_nothing_in_them_is_markup(page, text):
    assert page.one("invented-table-1-note-1") == WORSE
    assert "not among our data" in page.one("invented-table-1-note-2")
    assert len(page.all("a", href="#invented-table-1-note-1")) == 2
    assert not page.all("b")
    assert not page.all("script")
    assert "<script" not in text


def test_the_top_counts_accuracies_of_data_we_hold(page):
    (headline,) = page.all("p", **{"class": "headline"})
    assert " ".join(headline["text"].split()).startswith("50.0 % of 4 accuracies")
    (tally,) = page.all("ul", **{"class": "tally"})
    words = " ".join(tally["text"].split())
    assert words == "1 ✓ better 1 ≈ within the spread 2 ✗ worse 1 … not computed 1 ∅ no data, not counted"
    assert "full" in page.one("top")
    assert "processor" in page.one("top")
    assert "results were computed on" in page.one("top")


def test_the_quick_profile_does_not_judge(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path, EXPERIMENTS[:1])
    write_report(store, "quick", tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    table = "invented-table-1-cell"
    assert page.one(f"{table}-1-1") == "ours 90.10 ± 0.10 paper 89.50 ± 0.30 difference ◔ on a part"
    assert page.one(f"{table}-1-4") == "ours 90.00 paper 92.00 ± 0.10 difference ◔ on a part"  # no word, no explanation
    assert "not computed" in page.one(f"{table}-2-1")
    assert not page.all("details", id="worse")
    assert "2 of 3 results are there" in page.one("top")
    # It opens with the full results.
    (headline,) = page.all("p", **{"class": "headline"})
    assert " ".join(headline["text"].split()).startswith("50.0 % of 4 accuracies")
    assert "These counts are those of the full profile" in " ".join(page.all("section")[0]["text"].split())


def test_results_name_the_machine_that_computed_them(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path, EXPERIMENTS[:1])
    for path in store.folder.glob("results/*/*.json"):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "machine": "abacus", "versions": {"numpy": "0.1"}}))
    write_report(store, "full", tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert "results were computed on abacus processors" in page.one("top")
    (article,) = page.all("article", **{"aria-labelledby": "invented-table"})
    assert "on abacus (numpy 0.1)" in article["text"]


def test_experiments_without_a_quick_result_show_what_is_kept(monkeypatch, tmp_path):
    def plan(profile, choices):
        return [Task("report_support:nothing", {"value": 5 if profile["profile"] == "full" else 7})]

    store = install(monkeypatch, tmp_path, [Experiment("invented-table", "Table 1", plan, EXPERIMENTS[0].show)])
    write_report(store, "quick", tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    (article,) = page.all("article", **{"aria-labelledby": "invented-table"})
    words = " ".join(article["text"].split())
    assert "They are those of the profile full, which the repository keeps: the profile quick has none." in words
    assert "✓ better" in page.one("invented-table-1-cell-1-1")


def test_what_stands_between_backticks_is_code_and_nothing_is_better_by_zero(monkeypatch, tmp_path):
    cells = {
        ("A", "x"): Cell([90.001], Printed(90.0, 0.1)),
        ("A", "y"): Cell([80.0], Printed(90.0, 0.1), "Try `vary <this>`."),
    }
    experiment = Experiment(
        "invented-table", "Table 1", EXPERIMENTS[0].plan, lambda outcome: [Table("T", ["A"], ["x", "y"], cells)]
    )
    write_report(install(monkeypatch, tmp_path, [experiment]), "full", tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Try <code>vary &lt;this&gt;</code>." in text
    assert "`" not in text
    assert Page(text).one("invented-table-1-cell-1-1") == "ours 90.00 paper 90.00 ± 0.10 difference 0.00 ✓ equal"


def test_worse_cells_are_listed_with_their_explanations(page):
    shown = page.one("worse")
    assert shown.startswith("All 2 cells")
    assert "(0 of them by no more than the deviation of our own repetitions)" in " ".join(shown.split())
    assert shown.count(WORSE) == 2
    assert "seconds" not in shown


def test_a_store_without_comparisons_is_told_as_such(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path, EXPERIMENTS[1:])
    write_report(store, "full", tmp_path / "report.html")
    (headline,) = Page((tmp_path / "report.html").read_text()).all("p", **{"class": "headline"})
    assert "Nothing to compare yet" in headline["text"]


def test_without_any_result_nothing_is_drawn(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path, [BROKEN[1]])
    assert write_report(Store(tmp_path / "empty"), "quick", tmp_path / "report.html") == []
    page = Page((tmp_path / "report.html").read_text())
    assert page.one("invented-broken-1") == "Not drawn: no results yet. Broken"
    assert "0 of 3 results are there, 3 missing." in " ".join(page.all("article")[0]["text"].split())


def test_tables_without_printed_numbers_show_ours_alone(monkeypatch, tmp_path):
    tables = [
        Table("Sizes", ["a"], ["x", "y"], {("a", "x"): Cell([7.0]), ("a", "y"): Cell([])}, unit="", digits=0),
        Table("Slopes", [], [], {}),
    ]
    plan, show = EXPERIMENTS[0].plan, lambda outcome: tables
    store = install(monkeypatch, tmp_path, [Experiment("invented-table", "Table 1", plan, show)])
    write_report(store, "quick", tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert page.one("invented-table-1-cell-1-1") == "7"
    assert page.one("invented-table-1-cell-1-2") == "… not computed"
    assert page.one("invented-table-2") == "Slopes: no results yet."
    assert not page.all("span", **{"class": "labels"})


def test_each_experiment_has_its_protocol_parameters_and_command(page):
    shown = page.one("invented-table-protocol")
    assert "python -m experiments run invented-table --profile full --jobs 2" in shown
    assert "grid.alpha [0.1, 1.0]" in shown
    assert "repetitions 5" in shown
    assert "banana 100 not chosen yet" in shown
    (article,) = page.all("article", **{"aria-labelledby": "invented-table"})
    assert "2 of 3 results are there, 1 missing; computing them took 5 minutes, on " in " ".join(
        article["text"].split()
    )
    assert f"numpy {np.__version__}" in article["text"]


def test_recorded_and_computed_choices_are_shown(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path, EXPERIMENTS[:1])
    (tmp_path / "chosen.json").write_text('{"banana 100": {"tuned": {"alpha": 7}}, "of another": {}}')
    write_report(store, "full", tmp_path / "report.html")
    shown = Page((tmp_path / "report.html").read_text()).one("invented-table-protocol")
    assert 'banana 100 {"tuned": {"alpha": 7}}' in shown
    assert "of another" not in shown
    assert "repetitions 5" in shown


def test_the_readme_is_there_without_its_files(page):
    shown = page.one("readme-invented")
    assert 'fewer rows <script>alert("time")</script>' in shown
    assert page.one("paper-invented") == "Invented <machines>: a paper"
    assert len(page.all("a", href="https://example.org/paper")) == 1
    assert not page.all("img")
    assert not page.all("a", href="table.csv")


def test_figures_are_drawings_with_words(page):
    drawings = page.all("svg")
    assert len(drawings) == 2
    assert all(drawing["role"] == "img" for drawing in drawings)
    names = drawings[0]["aria-labelledby"].split()
    assert page.one(names[0]) == "Curves"
    assert "Panel “banana”: accuracy against examples." in page.one(names[1])
    assert "ours & <theirs>: from 70 at 1 to 90 at 100, at most 92.5." in page.one(names[1])


def test_names_are_unique_and_all_links_lead_somewhere(page, text):
    names = [element["id"] for element in page.elements if "id" in element]
    assert len(names) == len(set(names))
    links = [element["href"] for element in page.elements if element.get("href", "").startswith("#")]
    links += [element["xlink:href"] for element in page.elements if "xlink:href" in element]
    links += re.findall(r"url\((#[^)]*)\)", text)
    assert len(links) > 20
    assert {link.removeprefix("#") for link in links} <= set(names)
    labels = {name for element in page.elements for name in element.get("aria-labelledby", "").split()}
    assert labels <= set(names)


def test_nothing_is_fetched_and_nothing_tells_where_it_was_made(page, text, tmp_path_factory):
    fetched = [element for element in page.elements if "src" in element or element["tag"] == "link"]
    assert [element["href"] for element in fetched] == ["data:,"]
    assert not re.search(r"@import|url\((?!#)", text)
    assert str(tmp_path_factory.getbasetemp()) not in text
    assert str(Path.home()) not in text


def test_one_broken_experiment_does_not_take_the_others(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path, BROKEN)
    problems = write_report(store, "quick", tmp_path / "report.html")
    assert len(problems) == 2
    assert "invented-table could not be shown" in problems[0]
    assert "'Broken' could not be drawn" in problems[1]
    page = Page((tmp_path / "report.html").read_text())
    assert [" ".join(element["text"].split()) for element in page.all("p", **{"class": "problem"})] == [
        f"✗ Not shown. {problem}" for problem in problems
    ]
    assert len(page.all("svg")) == 1


def test_the_page_before_stays_if_the_new_one_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "report.html").write_text("before")
    monkeypatch.setattr(experiments.report, "worse_cells", lambda papers: [{}])
    with pytest.raises(Exception, match="has no attribute"):
        write_report(install(monkeypatch, tmp_path, EXPERIMENTS[:1]), "quick", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == "before"


def test_cells_that_are_no_accuracy_or_have_no_printed_number_are_not_counted():
    printed = EXPERIMENTS[0].show([])[0].cells["method A", "banana"].printed
    cells = {
        ("a", "x"): Cell([99.0], printed),
        ("a", "y"): Cell([99.0], printed, counted=False),
        ("a", "z"): Cell([1.0]),
    }
    counts = Counts.of([Table("t", ["a"], ["x", "y", "z"], cells)])
    assert counts == Counts(better=1)
    assert Counts.total([counts, Counts(worse=3, missing=2)]).percent == 25.0
    assert Counts().percent is None


def test_markdown_is_demoted_and_titles_are_taken_out():
    assert title_and_body("# The `BSGD` *paper*\n\nText\n") == ("The BSGD paper", "\nText\n")
    assert title_and_body("Text\n# Later\n") == (None, "Text\n# Later\n")
    html = rendered("## Deeper\n\n[**bold** file](a.md) then [web](https://example.org)\n\n- one\n")
    assert "<h5>Deeper</h5>" in html
    assert "<span><strong>bold</strong> file</span> then <a " in html
    assert "<li>one</li>" in html


def test_drawings_with_images_and_without_labels_have_words():
    from experiments.report.drawing import svg

    def draw(figure):
        figure.subplots(1, 2)[1].imshow([[0, 1], [1, 0]])

    drawing, words = svg(Figure("Digits", draw), "digits")
    assert words == ["A panel.", "A panel.", "It shows 1 image."]
    assert "data:image/png;base64" in drawing


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_texts_stand_out_from_their_grounds(mode):
    """At least the 4.5 : 1 of the guidelines for accessible pages."""
    style = (Path(experiments.report.__file__).parent / "style.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)[:2]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", light if mode == "light" else dark))
    pairs = [("text", "page"), ("faint", "page"), ("link", "page"), ("text", "panel"), ("worse", "page")]
    pairs += [(front, f"{word}-back") for word in ("better", "within", "worse") for front in (word, "text", "link")]
    for front, back in pairs:
        bright, dim = sorted((_luminance(colours[front]), _luminance(colours[back])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, (front, back)


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
