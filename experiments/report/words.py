"""README files as HTML that fits into the page."""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

__all__ = ["rendered", "title_and_body"]

# Headings of the page itself end at the third level.
_FIRST_LEVEL = 4


def title_and_body(text: str) -> tuple[str | None, str]:
    """The heading that a text begins with, without marks, and the rest."""
    found = re.match(r"\s*#[ \t]+(.+?)[ \t]*#*\n", text)
    return (re.sub(r"[`*_]", "", found.group(1)), text[found.end() :]) if found else (None, text)


def rendered(text: str) -> Markup:
    """Markdown as HTML; raw HTML in it is shown as text, links and images of files beside it become words."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _FIRST_LEVEL - 1, 6)}"
        if token.children:
            token.children = [_without_files(child) for child in _closed_like_opened(token.children)]
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(html)


def _closed_like_opened(tokens: list[Token]) -> list[Token]:
    """Links to files, which the page does not come with, become plain spans."""
    opened: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            outside = str(token.attrs.get("href", "")).startswith(("https://", "http://"))
            if not outside:
                token.tag, token.attrs = "span", {}
            opened.append(token.tag)
        elif token.type == "link_close":
            token.tag = opened.pop()
    return tokens


def _without_files(token: Token) -> Token:
    return Token("text", "", 0, content=token.content) if token.type == "image" else token
