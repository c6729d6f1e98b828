"""Sphinx settings: Markdown pages, the furo theme, nothing fetched from outside."""

from importlib.metadata import version as distribution_version

project = "MOSAIC"
author = "MOSAIC contributors"
copyright = "2026, MOSAIC contributors"
version = release = distribution_version("mosaic-rl")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "MOSAIC"
