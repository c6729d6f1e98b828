"""The login page: one button, whose POST uses the link up.

A GET alone must not: mail programs and chat clients open links to look at them.
"""

from __future__ import annotations

import html
from typing import Annotated

from fastapi import FastAPI, Form
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from gym_gui.guard import LOGIN_PATH
from mosaic.contracts.gui_access import Access, cookie_name

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>MOSAIC</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>
 :root {{ color-scheme: light dark }}
 body {{ font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center;
        min-height: 100vh; margin: 0; background: light-dark(#f6f7f9, #14171c);
        color: light-dark(#14171c, #eceff4) }}
 main {{ text-align: center; padding: 2rem }}
 button {{ font: inherit; padding: .7rem 1.6rem; border: 0; border-radius: .5rem;
          background: #1d4ed8; color: #fff; cursor: pointer }}
 button:focus-visible {{ outline: 3px solid #f59e0b; outline-offset: 2px }}
</style></head><body><main><h1>MOSAIC</h1>{content}</main></body></html>
"""
_BUTTON = """<p>Train, watch and compare reinforcement-learning agents.</p>
<form method="post" action="/login"><input type="hidden" name="token" value="{token}">
<button autofocus>Open MOSAIC</button></form>"""
_REFUSAL = """<p>This link was used already, or is older than 15 minutes.</p>
<p>Run <code>mosaic gui --link</code> for a fresh one.</p>"""


def add_login(app: FastAPI, access: Access, port: int) -> None:
    """Add the two routes that need no session."""

    @app.get(LOGIN_PATH)
    async def show(token: str = "") -> HTMLResponse:
        if not access.is_good_link(token):
            return HTMLResponse(_PAGE.format(content=_REFUSAL), status_code=401)
        content = _BUTTON.format(token=html.escape(token))
        return HTMLResponse(_PAGE.format(content=content), headers={"cache-control": "no-store"})

    @app.post(LOGIN_PATH)
    async def log_in(token: Annotated[str, Form()] = "") -> Response:
        session = access.use_link(token)
        if session is None:
            return HTMLResponse(_PAGE.format(content=_REFUSAL), status_code=401)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(cookie_name(port), session, httponly=True, samesite="strict", path="/")
        return answer
