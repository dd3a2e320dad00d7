"""Links of the built documentation: all pages and anchors exist, and no page loads anything from another host.

python .ci/check_links.py docs/_build/html
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements that fetch something as soon as a page is shown; `a` waits for a click.
FETCHING = {"audio", "embed", "iframe", "img", "script", "source", "video"}
FETCHING_RELATIONS = {"icon", "preload", "shortcut icon", "stylesheet"}


class Page(HTMLParser):
    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.without_words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        address = found.get("src", found.get("href", ""))
        if tag in FETCHING or (tag == "link" and found.get("rel") in FETCHING_RELATIONS):
            self.fetched.append(address)
        elif tag == "a":
            self.links.append(address)
        if tag == "img" and "alt" not in found:  # an empty one is for a picture beside its title
            self.without_words.append(address)


def problems(folder: Path) -> list[str]:
    """A line for everything that is wrong."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    found = [] if pages else [f"{folder} has no pages"]
    for path, page in pages.items():
        name = path.relative_to(folder)
        found += [f"{name}: fetches {address}" for address in page.fetched if urlsplit(address).netloc]
        found += [f"{name}: a picture without alt text, {address}" for address in page.without_words]
        for address in {*page.links, *page.fetched}:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or not address:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name}: no {address}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: no place {address}")
    return found


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]).resolve())
    print("\n".join(lines) or "All links inside the documentation lead somewhere.")
    sys.exit(bool(lines))
