"""Figures as SVG inside the page, with their contents in words for those who do not see them."""

import io
import re

import matplotlib
from markupsafe import Markup, escape
from matplotlib.figure import Figure as Canvas

from experiments.results import Figure

__all__ = ["in_words", "svg"]

_STYLE = {
    # Text stays text: it can be searched, and is a tenth of the size of outlines.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "figure.facecolor": "white",
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def svg(figure: Figure, anchor: str) -> tuple[Markup, list[str]]:
    """The drawing as an ``<svg>`` element, and what it shows in sentences."""
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": anchor}):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        file = io.StringIO()
        canvas.savefig(file, format="svg", metadata=_NO_METADATA)
        words = in_words(canvas)
    return _as_element(file.getvalue(), figure.title, words, anchor), words


def _as_element(text: str, title: str, words: list[str], anchor: str) -> Markup:
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :]
    # All figures have a "figure_1" and an "axes_1", but a page may have one element of a name.
    text = re.sub(r'\bid="', f'id="{anchor}-', text)
    text = re.sub(r'href="#', f'href="#{anchor}-', text)
    text = text.replace("url(#", f"url(#{anchor}-")
    end = text.index(">")
    opening = re.sub(r'\s(width|height)="[^"]*"', "", text[:end])
    width = re.search(r'width="([\d.]+)pt"', text[:end]).group(1)
    attributes = f' role="img" aria-labelledby="{anchor}-title {anchor}-words" style="--width: {width}pt"'
    alternatives = f'<title id="{anchor}-title">{escape(title)}</title>'
    alternatives += f'<desc id="{anchor}-words">{escape(" ".join(words))}</desc>'
    return Markup(opening + attributes + ">" + alternatives + text[end + 1 :])


def in_words(canvas: Canvas) -> list[str]:
    """One sentence per panel and one per named line: where it begins, where it ends, and its highest point."""
    sentences = []
    for axes in canvas.axes:
        names = [name for name in (axes.get_xlabel(), axes.get_ylabel()) if name]
        panel = f"Panel “{axes.get_title()}”" if axes.get_title() else "A panel"
        sentences.append(f"{panel}: {' against '.join(reversed(names))}." if names else f"{panel}.")
        for line in axes.get_lines():
            x, y = line.get_xdata(), line.get_ydata()
            if len(x) and not line.get_label().startswith("_"):
                highest = max(y)
                sentences.append(
                    f"{line.get_label()}: from {y[0]:.4g} at {x[0]:.4g} to {y[-1]:.4g} at {x[-1]:.4g}, "
                    f"at most {highest:.4g}."
                )
        if axes.images:
            sentences.append(f"It shows {len(axes.images)} image{'s' * (len(axes.images) > 1)}.")
    return sentences
