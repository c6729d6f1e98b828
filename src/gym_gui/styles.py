"""The stylesheet of every page: a file that browsers keep, and nothing that is compiled in them.

`static/utilities.css` is made by scripts/make_styles.py from the classes that the pages use.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

_FOLDER = Path(__file__).with_name("static")
_FILES = ("base.css", "utilities.css")
_A_YEAR = "public, max-age=31536000, immutable"


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
