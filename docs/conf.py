"""Sphinx configuration."""

import os
import sys
from pathlib import Path

from frugalsvm import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parents[1]))  # for benchmarks

project = "frugalsvm"
author = "the frugalsvm developers"
copyright = "2026, the frugalsvm developers"
release = version = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "comparison_page",
    "mathml",
    "measured",
    "playground",
]
# Names of other libraries are links where the pages are published, and plain code elsewhere: a build needs no network.
PUBLISHED = {"READTHEDOCS", "GITHUB_ACTIONS"} & set(os.environ)
INVENTORIES = {
    "numpy": "https://numpy.org/doc/stable/",
    "python": "https://docs.python.org/3/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
}
intersphinx_mapping = {name: (address, None) for name, address in INVENTORIES.items()} if PUBLISHED else {}
autosummary_generate = True
numpydoc_show_class_members = False
# Docstrings say what parameters are; the types of signatures are for type checkers, and make them hard to read.
autodoc_typehints = "none"
exclude_patterns = ["_build", "_playground", "extending/*", "gallery/*.ipynb", "gallery/*.zip", "gallery/*.json"]
html_theme = "pydata_sphinx_theme"
html_title = "frugalsvm"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "navigation_depth": 2,
}
html_show_sourcelink = False
html_math_renderer = "mathml"
html_static_path = ["_static"]
# What `make experiments` wrote, if it was run before.
REPORT = Path(__file__).parents[1] / "output" / "report.html"
if REPORT.exists():
    tags.add("report")  # noqa: F821 (given by Sphinx)
    html_extra_path = [str(REPORT)]
html_css_files = ["formulas.css", "front.css", "tables.css"]
# Pages without pages below them have nothing to show at the side.
html_sidebars = {
    page: []
    for page in (
        "index",
        "start",
        "choosing",
        "coming_from",
        "comparison",
        "cost",
        "extending",
        "glossary",
        "papers",
        "performance",
        "playground",
        "policy",
        "troubleshooting",
        "walk",
    )
}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"extending|__init__",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # a page that loads scripts from other hosts
    "min_reported_time": 10_000,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_signature": False,
}
