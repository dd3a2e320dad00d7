"""Formulas as MathML, which browsers draw themselves: pages work from disk and load nothing from elsewhere."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

NUMBER = re.compile(r"\\tag\{([^}]*)\}")


def as_mathml(formula: str, display: str) -> str:
    """A formula of LaTeX; a command that is not understood is an error, not a word with a backslash on the page."""
    markup = convert(formula.strip(), display=display)
    if unknown := re.search(r"\\\w+", re.sub(r"<[^>]*>", "", markup)):
        raise ValueError(f"cannot show {unknown.group()} of the formula {formula.strip()}")
    return markup


def visit_inline(self, node):
    self.body.append(as_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self, node):
    formula = node.astext()
    number = "".join(f"<span>({found})</span>" for found in NUMBER.findall(formula))
    self.body.append(f'<div class="formula">{as_mathml(NUMBER.sub("", formula), "block")}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
