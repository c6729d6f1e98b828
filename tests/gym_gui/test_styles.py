"""The stylesheet: it has a rule for every class of the pages, and browsers may keep it."""

from __future__ import annotations

import re
from pathlib import Path

import nicegui
from fastapi import FastAPI

from gym_gui.styles import add_styles, head_links, stylesheet, stylesheet_address
from tests.scripts import load_script

QUASAR = Path(nicegui.__file__).parent / "static" / "quasar.unimportant.prod.css"
IMPORTANT = QUASAR.with_name("quasar.important.prod.css")
# Named in the pages' own rules, or there for a script to find.
OWN = ("mosaic-", "nicegui-")


def test_every_class_of_the_pages_has_a_rule() -> None:
    known = stylesheet() + QUASAR.read_text() + IMPORTANT.read_text()
    given = load_script("make_styles").classes_of_source()
    missing = [
        word
        for word in sorted(given)
        if not word.startswith(OWN) and f".{_escaped(word)}" not in known
    ]
    assert not missing, f"run .venv/bin/python scripts/make_styles.py, or correct: {missing}"


def test_the_rules_are_those_of_the_classes_in_use() -> None:
    script = load_script("make_styles")
    made = script.sheet(script.words_of_source())
    assert script.TARGET.read_text(encoding="utf-8") == made, "run scripts/make_styles.py"


def test_a_class_says_what_its_rule_is() -> None:
    script = load_script("make_styles")
    told = {
        "gap-0": ".gap-0 { gap: 0; }",
        "!py-2": r".\!py-2 { padding-block: 0.5rem !important; }",
        "left-1/2": r".left-1\/2 { left: 50%; }",
        "h-[26rem]": r".h-\[26rem\] { height: 26rem; }",
        "sm:p-4": r"@media (width >= 40rem) { .sm\:p-4 { padding: 1rem; } }",
    }
    assert {word: script.rule_of(word)[1] for word in told} == told
    for word in (":grid", "huge:flex", "gap-", "gap-many", "w-[80vw", "p", "text"):
        assert script.rule_of(word) is None


def test_what_the_head_asks_for_early_is_there() -> None:
    static = Path(nicegui.__file__).parent / "static"
    asked = re.findall(
        r'rel="(?:module)?preload" href="/_nicegui/[^/]+/static/([^"]+)"', head_links()
    )
    assert len(asked) == 3
    assert [name for name in asked if not (static / name).is_file()] == []


def _escaped(word: str) -> str:
    return re.sub(r"([^A-Za-z0-9_-])", r"\\\1", word)


def test_the_sheet_is_served_for_good_under_an_address_of_its_own() -> None:
    app = FastAPI()
    add_styles(app)
    [route] = [each for each in app.routes if getattr(each, "path", "") == stylesheet_address()]
    answer = route.endpoint()  # type: ignore[attr-defined]
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    assert ".max-w-full" in answer.body.decode()
