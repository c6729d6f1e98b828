"""The dry run under a form: everything but the training, and what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from gym_gui import formatting
from gym_gui.forms.estimate import Cost, costs_of, speed_of
from gym_gui.forms.field_grid import heading
from gym_gui.live import Live
from mosaic.contracts.submitting import environment_secrets
from mosaic.contracts.worker_config import extract_worker_config


class DryRunPanel:
    """Shows one dry run; empty until the first."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.has_passed = False  # of itself; it may still be too much for this machine
        self._panel = ui.column().classes("w-full mosaic-panel gap-2").props("aria-live=polite")
        self._panel.set_visibility(False)

    async def run(
        self, document: Mapping[str, Any], secrets: Mapping[str, str], *, count: int = 1
    ) -> bool:
        """Do the dry run; return whether it passed and fits this machine."""
        self.has_passed = False
        self._show_running()
        client = self._live.need_client()
        config = extract_worker_config(document)
        try:
            answer = await client.validate(document, secrets={**environment_secrets(), **secrets})
            speed = await speed_of(client, str(config.get("algo")), str(config.get("env_id")))
        except BaseException:
            self.hide()
            raise
        if not answer.is_valid:
            self._show_failure(answer.error, answer.exit_code)
            return False
        self.has_passed = True
        summary = json.loads(answer.summary_json)
        costs = costs_of(summary, self._live.health, speed=speed, count=count)
        self._show_summary(summary, costs)
        return not any(cost.warning for cost in costs)

    def hide(self) -> None:
        self._panel.set_visibility(False)

    def _show_running(self) -> None:
        self._panel.set_visibility(True)
        self._panel.clear()
        with self._panel, ui.row().classes("items-center"):
            ui.spinner(size="sm")
            ui.label("Dry run: building the environment and the agent, one step, no training …")

    def _show_failure(self, error: str, exit_code: int) -> None:
        self._panel.clear()
        with self._panel:
            with ui.row().classes("items-center gap-2"):
                ui.icon("error", color="negative", size="sm")
                heading(f"The dry run failed (exit code {exit_code}); nothing was started")
            ui.label(error).classes("mosaic-mono whitespace-pre-wrap break-words")

    def _show_summary(self, summary: Mapping[str, Any], costs: list[Cost]) -> None:
        self._panel.clear()
        with self._panel:
            with ui.row().classes("items-center gap-2"):
                ui.icon("check_circle", color="positive", size="sm")
                heading("The dry run passed")
            _rows([*_found(summary), *((cost.label, cost.text) for cost in costs)])
            for text in [*(cost.warning for cost in costs), *_warnings(summary)]:
                if text:
                    _warning(text)
            with ui.expansion("All of its output").classes("w-full").props("dense"):
                text = json.dumps(summary, indent=2, ensure_ascii=False)
                ui.label(text).classes("mosaic-mono whitespace-pre-wrap break-all")


def _rows(rows: list[tuple[str, str]]) -> None:
    with ui.element("div").classes("grid gap-x-6 gap-y-1 grid-cols-[auto_1fr] w-full"):
        for label, text in rows:
            ui.label(label).classes("mosaic-muted")
            ui.label(text).classes("break-words min-w-0")


def _warning(text: str) -> None:
    with ui.row().classes("items-center gap-2 no-wrap").props("role=alert"):
        ui.icon("warning", color="warning", size="sm")
        ui.label(text)


def _warnings(summary: Mapping[str, Any]) -> list[str]:
    return [str(text) for text in summary.get("warnings") or ()]


def _found(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    env, agent, resources = (_part(summary, name) for name in ("env", "agent", "resources"))
    count = agent.get("parameters")
    parameters = f"{formatting.count(count)} parameters" if isinstance(count, int) else ""
    interval = resources.get("checkpoint_interval")
    rows = [
        ("Environment", f"{env.get('id')} ({env.get('family')})"),
        ("Observation", _words(env.get("observation_space"))),
        ("Action", _words(env.get("action_space"))),
        ("Agent", ", ".join(filter(None, [_words(agent.get("architecture")), parameters]))),
        ("Device", _words(summary.get("device"))),
        ("Checkpoints", f"every {interval} steps" if interval else ""),
    ]
    return [(label, " ".join(text.split())) for label, text in rows if text]


def _part(summary: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = summary.get(name)
    return part if isinstance(part, Mapping) else {}


def _words(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
