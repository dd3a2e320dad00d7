"""Sphinx configuration."""

from frugalsvm import __version__

project = "frugalsvm"
author = "the frugalsvm developers"
copyright = "2026, the frugalsvm developers"
release = version = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.intersphinx", "numpydoc"]
intersphinx_mapping = {}
autosummary_generate = True
numpydoc_show_class_members = False
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "frugalsvm"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
