"""Write the utility classes that the pages use: `python scripts/make_styles.py`.

NiceGUI ships Tailwind's compiler, which would run in the browser of everybody who opens a page. It
runs here instead, once, in Chromium, and the pages load what it made.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nicegui
from playwright.sync_api import sync_playwright

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gym_gui"
TARGET = SOURCE / "static" / "utilities.css"
COMPILER = Path(nicegui.__file__).parent / "static" / "tailwindcss.min.js"
# Utilities without Tailwind's reset: static/base.css is ours.
_INPUT = """
@layer theme, utilities;
@import "tailwindcss/theme" layer(theme);
@import "tailwindcss/utilities" layer(utilities);
@custom-variant dark (&:where(body.body--dark, body.body--dark *));
"""
_MADE = "() => [...document.querySelectorAll('style:not([type])')].map(e => e.textContent).join('')"


def words_in(text: str) -> Iterator[str]:
    """Yield what may be a class: in a text, or in HTML within a text."""
    yield from re.findall(r"[A-Za-z0-9!:/.%()\[\]_-]+", text)


def words_of_source() -> set[str]:
    """Return everything in the texts of the GUI that could be a class."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(words_in(node.value))
    return found


def classes_of_source() -> set[str]:
    """Return what the GUI gives to `classes(...)`."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "classes"
            ):
                found.update(_constant_words(node))
    return found


def _constant_words(call: ast.Call) -> Iterator[str]:
    given = list(call.args)
    for value in (keyword.value for keyword in call.keywords):  # add=, remove=, or **{...: classes}
        given += value.values if isinstance(value, ast.Dict) else [value]
    for node in (part for each in given for part in ast.walk(each)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.split()


def compile_utilities(words: set[str]) -> str:
    """Let Tailwind make the rules of the words that it knows."""
    page_text = (
        f'<style type="text/tailwindcss">{_INPUT}</style>'
        f"<script>{COMPILER.read_text(encoding='utf-8')}</script>"
        f'<div class="{" ".join(sorted(words))}"></div>'
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.set_content(page_text)
        page.wait_for_function(f"({_MADE})().length > 1000")
        page.wait_for_timeout(1000)
        made = str(page.evaluate(_MADE))
        browser.close()
    return made


def main() -> None:
    made = compile_utilities(words_of_source())
    lines = [line.strip() for line in made.splitlines() if line.strip()]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(SOURCE.parents[1])}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
