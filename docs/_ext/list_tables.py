"""Tables as reStructuredText."""

__all__ = ["list_table"]


def list_table(title: str, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f".. list-table:: {title}", "   :header-rows: 1", "   :class: measured", ""]
    for row in (headings, *rows):
        lines += [f"   {'* -' if place == 0 else '  -'} {cell}".rstrip() for place, cell in enumerate(row)]
    return [*lines, ""]
