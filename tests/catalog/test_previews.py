"""Pictures: one for every page, small enough to ship."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from mosaic.catalog.games import Game, load_games, preview_file

FOLDER = Path(str(preview_file(next(iter(load_games().values()))))).parent


@pytest.mark.parametrize("game", load_games().values(), ids=lambda game: game.id)
def test_a_page_has_its_picture(game: Game) -> None:
    path = Path(str(preview_file(game)))
    assert path.is_file(), "run .venv/bin/python scripts/make_previews.py"
    assert path.stat().st_size <= 15_000
    with Image.open(path) as image:
        assert min(image.size) >= 60
        colours = image.convert("RGB").getcolors(maxcolors=10**6)
    assert colours is not None
    assert len(colours) > 2, "an empty picture"


def test_all_pictures_are_of_pages_and_small_together() -> None:
    paths = list(FOLDER.iterdir())
    assert {path.name for path in paths} == {f"{game.slug}.webp" for game in load_games().values()}
    assert sum(path.stat().st_size for path in paths) < 2_000_000
