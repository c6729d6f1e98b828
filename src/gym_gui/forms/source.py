"""Where the algorithms of the train form come from: MOSAIC's recipes, or a CleanRL checkout."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from nicegui import ui

from mosaic.contracts.bundles import CLEANRL_BUNDLE, find_bundle
from mosaic.contracts.checkouts import PREFIX, find_scripts, is_script
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_settings
from mosaic.workers.discovery import Catalogue

RECIPES, CHECKOUT = "MOSAIC recipes", "my CleanRL checkout"

_FIRST = f"{PREFIX}ppo"
_HOW = (
    "No checkout is allowed yet. Name its directory under [allow] in mosaic.toml of the data "
    'directory: checkouts = ["/path/to/cleanrl"]'
)


def allowed_checkouts(paths: VarPaths) -> list[Path]:
    """Return the checkouts that the operator allowed: each directory, or what lies in it."""
    found = []
    for directory in load_settings(paths.settings).checkouts:
        inside = sorted(directory.iterdir()) if directory.is_dir() else []
        found += [each for each in (directory, *inside) if each.is_dir() and find_scripts(each)]
    return list(dict.fromkeys(found))


def choose_source(
    paths: VarPaths, catalogue: Catalogue, home: str, algo: str
) -> tuple[Catalogue, str, str]:
    """Add the switch; return the catalogue to choose from, the checkout, and the algorithm."""
    checkouts = allowed_checkouts(paths)
    chosen = next((each for each in checkouts if str(each) == home), None)
    if chosen is None and (is_script(algo) or home):
        chosen = next(iter(checkouts), None)
    _switch(checkouts, chosen, is_asked=bool(home) or is_script(algo))
    if chosen is None:
        return catalogue, "", "" if is_script(algo) else algo
    _tell_bundle(paths)
    scripts = catalogue.of_checkout(chosen)
    usual = _FIRST if _FIRST in scripts.entries else next(iter(scripts.entries), "")
    return scripts, str(chosen), algo if algo in scripts.entries else usual


def _switch(checkouts: list[Path], chosen: Path | None, *, is_asked: bool) -> None:
    with ui.row().classes("w-full items-center gap-3"):
        ui.toggle(
            [RECIPES, CHECKOUT],
            value=CHECKOUT if chosen is not None or is_asked else RECIPES,
            on_change=lambda event: _go(event.value, checkouts),
        ).props("no-caps unelevated").props("aria-label='Source of the algorithms'")
        if len(checkouts) > 1 and chosen is not None:
            ui.select(
                [str(each) for each in checkouts],
                value=str(chosen),
                label="Checkout",
                on_change=lambda event: _open(str(event.value)),
            ).props("outlined dense")
        elif chosen is not None:
            ui.label(str(chosen)).classes("mosaic-muted")
        elif is_asked:
            ui.label(_HOW).classes("mosaic-muted")


def _go(source: str, checkouts: list[Path]) -> None:
    _open(str(next(iter(checkouts), "none")) if source == CHECKOUT else "")


def _open(home: str) -> None:
    asked = {"form": "train"} | ({"home": home} if home else {})
    ui.navigate.to(f"/launch?{urlencode(asked)}")


def _tell_bundle(paths: VarPaths) -> None:
    """Say how the packages are brought, where they are not there yet."""
    try:
        find_bundle(paths, CLEANRL_BUNDLE)
    except MosaicError as error:
        ui.label(error.one_line()).classes("text-warning")
