"""Write the rules of the utility classes that the pages use: `python scripts/make_styles.py`.

The names are those that NiceGUI's users know (`gap-2`, `sm:w-full`, `!p-0`); the rules are made
here, so that no compiler runs in the browser of everybody who opens a page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gym_gui"
TARGET = SOURCE / "static" / "utilities.css"
STEP_REM = 0.25  # what a 1 stands for, in `gap-1` and its kin

# Prefix: property. A shorthand comes before what refines it, and so do their rules.
LENGTHS = {
    "inset": "inset",
    "top": "top",
    "right": "right",
    "bottom": "bottom",
    "left": "left",
    "m": "margin",
    "mx": "margin-inline",
    "my": "margin-block",
    "mt": "margin-top",
    "mr": "margin-right",
    "mb": "margin-bottom",
    "ml": "margin-left",
    "p": "padding",
    "px": "padding-inline",
    "py": "padding-block",
    "pt": "padding-top",
    "pr": "padding-right",
    "pb": "padding-bottom",
    "pl": "padding-left",
    "gap": "gap",
    "gap-x": "column-gap",
    "gap-y": "row-gap",
    "basis": "flex-basis",
    "h": "height",
    "min-h": "min-height",
    "max-h": "max-height",
    "w": "width",
    "min-w": "min-width",
    "max-w": "max-width",
}
NAMED_LENGTHS = {
    "full": "100%",
    "auto": "auto",
    "md": "28rem",
    "xl": "36rem",
    "3xl": "48rem",
    "screen-2xl": "96rem",
}
# Size and height of a line.
TEXTS = {
    "text-xs": ("0.75rem", "1rem"),
    "text-sm": ("0.875rem", "1.25rem"),
    "text-base": ("1rem", "1.5rem"),
    "text-lg": ("1.125rem", "1.75rem"),
    "text-xl": ("1.25rem", "1.75rem"),
    "text-2xl": ("1.5rem", "2rem"),
}
WORDS = {
    "absolute": "position: absolute",
    "fixed": "position: fixed",
    "relative": "position: relative",
    "sticky": "position: sticky",
    "block": "display: block",
    "flex": "display: flex",
    "grid": "display: grid",
    "hidden": "display: none",
    "inline": "display: inline",
    "inline-block": "display: inline-block",
    "inline-flex": "display: inline-flex",
    "grow": "flex-grow: 1",
    "shrink-0": "flex-shrink: 0",
    "flex-col": "flex-direction: column",
    "flex-wrap": "flex-wrap: wrap",
    "items-baseline": "align-items: baseline",
    "items-center": "align-items: center",
    "items-start": "align-items: flex-start",
    "items-stretch": "align-items: stretch",
    "justify-between": "justify-content: space-between",
    "justify-center": "justify-content: center",
    "justify-end": "justify-content: flex-end",
    "self-center": "align-self: center",
    "truncate": "overflow: hidden; text-overflow: ellipsis; white-space: nowrap",
    "overflow-auto": "overflow: auto",
    "overflow-hidden": "overflow: hidden",
    "rounded": "border-radius: 0.25rem",
    "rounded-lg": "border-radius: 0.5rem",
    "border": "border-width: 1px",
    "border-0": "border-width: 0",
    "object-contain": "object-fit: contain",
    "text-center": "text-align: center",
    "text-left": "text-align: left",
    "text-inherit": "color: inherit",
    "font-mono": "font-family: var(--font-mono)",
    "font-semibold": "font-weight: 600",
    "font-bold": "font-weight: 700",
    "break-words": "overflow-wrap: break-word",
    "break-all": "word-break: break-all",
    "whitespace-nowrap": "white-space: nowrap",
    "whitespace-pre-line": "white-space: pre-line",
    "whitespace-pre-wrap": "white-space: pre-wrap",
    "tabular-nums": "font-variant-numeric: tabular-nums",
    "underline": "text-decoration-line: underline",
    "no-underline": "text-decoration-line: none",
    "select-all": "user-select: all",
    "shadow-lg": "box-shadow: 0 0.5rem 1rem rgb(0 0 0 / 14%)",
}
# Prefix: condition, wider screens after narrower ones, which they refine.
SCREENS = {
    "max-sm": "width < 40rem",
    "sm": "width >= 40rem",
    "md": "width >= 48rem",
    "lg": "width >= 64rem",
    "xl": "width >= 80rem",
}


def rule_of(word: str) -> tuple[tuple[int, int, str], str] | None:
    """Return the place and the rule of a class; None for a word that is no class of ours."""
    screen, colon, name = word.rpartition(":")
    if colon and screen not in SCREENS:
        return None
    found = declarations(name.removeprefix("!"))
    if found is None:
        return None
    place, text = found
    if name.startswith("!"):
        text = "; ".join(f"{each} !important" for each in text.split("; "))
    rule = f".{escaped(word)} {{ {text}; }}"
    if screen:
        rule = f"@media ({SCREENS[screen]}) {{ {rule} }}"
    return (1 + list(SCREENS).index(screen) if screen else 0, place, word), rule


def declarations(name: str) -> tuple[int, str] | None:
    """Return what a class declares, and its place among the classes."""
    if name in WORDS:
        return list(WORDS).index(name), WORDS[name]
    if name in TEXTS:
        size, line = TEXTS[name]
        return 0, f"font-size: {size}; line-height: {line}"
    if (value := _after("opacity", name)) and value.isdecimal():
        return 0, f"opacity: {value}%"
    if (value := _after("z", name)) and value.isdecimal():
        return 0, f"z-index: {value}"
    if (value := _after("bg-black/", name, "")) and value.isdecimal():
        return 0, f"background-color: rgb(0 0 0 / {value}%)"
    if (value := _after("-translate-x", name)) and (share := length(value)):
        return 0, f"translate: -{share} 0"
    if (value := _after("col-span", name)) and value.isdecimal():
        return 0, f"grid-column: span {value} / span {value}"
    if value := _after("grid-cols", name):
        columns = f"repeat({value}, minmax(0, 1fr))" if value.isdecimal() else _bracketed(value)
        return (0, f"grid-template-columns: {columns}") if columns else None
    for prefix in sorted(LENGTHS, key=len, reverse=True):
        if value := _after(prefix, name):
            found = length(value)
            place = len(WORDS) + list(LENGTHS).index(prefix)
            return (place, f"{LENGTHS[prefix]}: {found}") if found else None
    return None


def length(value: str) -> str | None:
    """Return a length: steps, a share, a name, or what stands in brackets."""
    if re.fullmatch(r"\d+(\.5)?", value):
        return f"{float(value) * STEP_REM:g}rem" if float(value) else "0"
    if share := re.fullmatch(r"(\d+)/(\d+)", value):
        return f"{100 * int(share[1]) / int(share[2]):g}%"
    return NAMED_LENGTHS.get(value) or _bracketed(value)


def _after(prefix: str, name: str, link: str = "-") -> str:
    return name.removeprefix(prefix + link) if name.startswith(prefix + link) else ""


def _bracketed(value: str) -> str | None:
    inside = re.fullmatch(r"\[([\w.%]+)\]", value)
    return inside[1].replace("_", " ") if inside else None


def escaped(word: str) -> str:
    return re.sub(r"([^A-Za-z0-9_-])", r"\\\1", word)


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


def sheet(words: set[str]) -> str:
    """Return the rules of the words that are classes, each where later ones may refine it."""
    rules = sorted(rule for rule in map(rule_of, words) if rule is not None)
    return "\n".join(["@layer utilities {", *(f"  {rule}" for _, rule in rules), "}", ""])


def main() -> None:
    TARGET.write_text(sheet(words_of_source()), encoding="utf-8")
    print(f"{TARGET.relative_to(SOURCE.parents[1])}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
