"""An environment as a card: its picture, its names, and whether it is there."""

from __future__ import annotations

from nicegui import ui

from gym_gui.environment_filter import environment_path
from mosaic.catalog.environments import Environment
from mosaic.catalog.games import load_games, preview_file
from mosaic.catalog.needs import needs_of

PREVIEWS = "/environment-previews"


def environment_card(environment: Environment) -> None:
    card = ui.link(target=environment_path(environment.id))
    card.classes("mosaic-panel !p-0 overflow-hidden no-underline !text-inherit flex flex-col")
    with card:
        preview(environment, "w-full h-32 object-contain")
        with ui.column().classes("gap-1 p-3 w-full"):
            ui.label(environment.title).classes("font-semibold break-words")
            ui.label(environment.id).classes("mosaic-mono mosaic-muted break-all")
            badges(environment)


def preview_address(env_id: str) -> str:
    """Return where the picture of an environment is; empty where it has none."""
    game = load_games().get(env_id)
    return f"{PREVIEWS}/{game.slug}.webp" if game and preview_file(game).is_file() else ""


def preview(environment: Environment, classes: str) -> None:
    """Show its picture, or a symbol where it has none."""
    address = preview_address(environment.id)
    with (
        ui.row()
        .classes(f"{classes} items-center justify-center")
        .style("background: color-mix(in srgb, var(--mosaic-muted) 12%, transparent)")
    ):
        if not address:
            ui.icon("sports_esports", size="lg").classes("mosaic-muted").props("aria-hidden=true")
            return
        image = ui.element("img").classes("max-w-full h-full object-contain")
        image.props["src"] = address
        image.props["alt"] = f"A picture of {environment.title}"
        image.props["loading"] = "lazy"


def badges(environment: Environment) -> None:
    """Say in a few words what it is; state is a word and a symbol, never a colour alone."""
    missing = [need for need in needs_of(environment) if not need.is_met]
    actions = {"discrete": "discrete", "box": "continuous"}.get(environment.actions, "other")
    with ui.row().classes("gap-x-3 gap-y-1 text-xs mosaic-muted items-center"):
        _badge("download" if missing else "check", "not installed" if missing else "installed")
        _badge("tune", f"{actions} actions")
        if environment.is_playable:
            _badge("gamepad", "playable")


def _badge(icon: str, text: str) -> None:
    with ui.row().classes("gap-1 items-center no-wrap"):
        ui.icon(icon, size="xs").props("aria-hidden=true")
        ui.label(text)
