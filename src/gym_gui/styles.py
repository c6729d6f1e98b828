"""The stylesheet of every page: a file that browsers keep, and nothing that is compiled in them.

`static/utilities.css` is made by scripts/make_styles.py from the classes that the pages use.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import nicegui
from fastapi import FastAPI
from fastapi.responses import Response

_FOLDER = Path(__file__).with_name("static")
_FILES = ("base.css", "utilities.css")
_A_YEAR = "public, max-age=31536000, immutable"


_STATIC = f"/_nicegui/{nicegui.__version__}/static"
# What a page imports last and cannot begin without.
_MODULES = ("dompurify.mjs", "utils/dynamic_properties.js")


@cache
def head_links() -> str:
    """Return what the head of every page asks for at once, so that nothing of it is found late."""
    links = [f'<link rel="stylesheet" href="{stylesheet_address()}">']
    links += [f'<link rel="modulepreload" href="{_STATIC}/{name}">' for name in _MODULES]
    links += [
        f'<link rel="preload" href="{_STATIC}/{name}" as="font" type="font/woff2" crossorigin>'
        for name in _symbol_fonts()
    ]
    return "".join(links)


def _symbol_fonts() -> list[str]:
    """Return the font of the symbols: until it is there, buttons are empty."""
    sheet = (Path(nicegui.__file__).parent / "static" / "fonts.css").read_text(encoding="utf-8")
    return re.findall(r'font-family: "Material Icons";[^}]*?url\((fonts/[^)]+\.woff2)\)', sheet)


@cache
def stylesheet() -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in _FILES)


@cache
def stylesheet_address() -> str:
    """Return an address that is another one when the sheet is."""
    return f"/styles/{hashlib.sha256(stylesheet().encode()).hexdigest()[:16]}.css"


def add_styles(app: FastAPI) -> None:
    @app.get(stylesheet_address())
    def sheet() -> Response:
        return Response(stylesheet(), media_type="text/css", headers={"cache-control": _A_YEAR})
