"""Directives of the page on tables: pictures and tables of the results in ``benchmarks/comparison/results``.

``.. comparison-picture:: ranks`` (or ``seconds``, ``wins``) and ``.. comparison-text:: facts`` (or another of `TEXTS`)
have the option ``:effort:``, of tuning.
"""

from comparison_pictures import error_against_seconds, rank_diagram, win_matrix
from comparison_text import NONE, TEXTS
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from benchmarks.comparison.plan import DEFAULT
from benchmarks.comparison.results import KEPT, Results
from benchmarks.comparison.sheets import sheet_of


class _Comparison(SphinxDirective):
    required_arguments = 1
    option_spec = {"effort": str}  # noqa: RUF012

    def results(self) -> Results:
        for path in sorted(KEPT.glob("*.jsonl")):
            self.env.note_dependency(str(path))
        return Results.kept()

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        place = nodes.container()
        self.state.nested_parse(StringList(lines, "comparison"), 0, place)
        return place.children


class ComparisonText(_Comparison):
    def run(self) -> list[nodes.Node]:
        return self.parsed(TEXTS[self.arguments[0]](self.results(), self.options.get("effort", DEFAULT)))


class ComparisonPicture(_Comparison):
    def run(self) -> list[nodes.Node]:
        results, effort = self.results(), self.options.get("effort", DEFAULT)
        sheet = sheet_of(results.cells, effort=effort)
        if not len(sheet.tables) or len(sheet.peers) < 2:
            return self.parsed([NONE])
        kind = self.arguments[0]
        if kind == "seconds":
            drawn = error_against_seconds(sheet, results.cells, effort)
        else:
            drawn = {"ranks": rank_diagram, "wins": win_matrix}[kind](sheet)
        return [nodes.raw("", f'<figure class="comparison">{drawn}</figure>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("comparison-picture", ComparisonPicture)
    app.add_directive("comparison-text", ComparisonText)
    return {"parallel_read_safe": True}
