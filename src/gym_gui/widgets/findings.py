"""The findings of the doctor: what is wrong first, each with the command that fixes it."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from gym_gui.diagnosis import Finding
from gym_gui.widgets.copy_text import copy_text

# Status: symbol, word, and the colours of the two themes.
_MARKS = {
    "problem": ("error", "problem", "#b91c1c", "#fca5a5"),
    "warning": ("warning", "warning", "#a16207", "#fcd34d"),
    "missing": ("download", "not installed", "#475569", "#cbd5e1"),
    "ok": ("check", "ok", "#15803d", "#86efac"),
}


def show_findings(box: ui.column, findings: Sequence[Finding]) -> None:
    fine = [each for each in findings if each.status == "ok"]
    box.clear()
    with box:
        for finding in findings:
            if finding.status != "ok":
                _finding(finding)
        if len(fine) == len(findings):
            ui.label("Nothing is wrong.").classes("mosaic-muted")
        with ui.expansion(f"{len(fine)} checks passed").classes("w-full"):
            for finding in fine:
                _finding(finding)


def _finding(finding: Finding) -> None:
    icon, word, light, dark = _MARKS[finding.status]
    with ui.column().classes("w-full gap-0"):
        with ui.row().classes("items-baseline gap-x-2 gap-y-0 w-full"):
            mark = ui.element("span").classes("mosaic-state")
            with mark.style(f"--light: {light}; --dark: {dark}"):
                ui.icon(icon, size="xs").props("aria-hidden=true")
                ui.label(word)
            ui.label(finding.name).classes("font-semibold")
            ui.label(finding.text).classes("break-words min-w-0")
        if finding.fix:
            copy_text(finding.fix)
