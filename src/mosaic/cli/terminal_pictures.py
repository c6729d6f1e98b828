"""Pictures in a terminal: the protocols of kitty and iTerm2, and blocks of colour for the rest."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping

import numpy as np

from mosaic.fastlane.frame import Pixels
from mosaic.fastlane.jpeg import encode

# Of the last two the first takes any colour, the second those of xterm's cube.
PROTOCOLS = ("kitty", "iterm", "blocks", "blocks256")

_KITTY_CHUNK = 4096  # the most that kitty takes in one escape sequence
_UPPER_HALF = "▀"


def choose_protocol(environment: Mapping[str, str]) -> str | None:
    """Return the best that the terminal says it can; None where it says nothing of the kind."""
    terminal = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    # A multiplexer takes text alone, whatever terminal it runs in.
    is_multiplexed = "TMUX" in environment or terminal.startswith(("screen", "tmux"))
    if not is_multiplexed:
        if terminal in ("xterm-kitty", "xterm-ghostty") or "KITTY_WINDOW_ID" in environment:
            return "kitty"
        if program in ("iTerm.app", "WezTerm"):
            return "iterm"
    if environment.get("COLORTERM") in ("truecolor", "24bit"):
        return "blocks"
    return "blocks256" if "256color" in terminal else None


def draw(protocol: str, pixels: Pixels, columns: int, rows: int) -> str:
    """Return what draws the picture at the cursor and leaves that at the end of its last line."""
    width, height = _fit(pixels, columns, rows)
    if protocol == "kitty":
        return _kitty(pixels, width, height // 2) + _below(height // 2)
    if protocol == "iterm":
        return _iterm(pixels, width, height // 2)
    return _blocks(_shrink(pixels, width, height), is_256=protocol == "blocks256")


def _fit(pixels: Pixels, columns: int, rows: int) -> tuple[int, int]:
    """Return columns and half rows, both of which are about square, that the picture may take."""
    scale = min(columns / pixels.shape[1], 2 * max(rows, 1) / pixels.shape[0])
    width = max(int(pixels.shape[1] * scale), 1)
    return width, max(int(pixels.shape[0] * scale) // 2 * 2, 2)


def _below(rows: int) -> str:
    return "\r\n" * (rows - 1)


def _kitty(pixels: Pixels, columns: int, rows: int) -> str:
    """Transmit and show under one id, which takes the last picture away; q=2: no answer."""
    data = base64.standard_b64encode(encode(pixels, "PNG", compress_level=1)).decode()
    chunks = [data[at : at + _KITTY_CHUNK] for at in range(0, len(data), _KITTY_CHUNK)]
    parts = []
    for index, chunk in enumerate(chunks):
        keys = f"a=T,f=100,i=1,p=1,q=2,C=1,c={columns},r={rows}," if index == 0 else ""
        parts.append(f"\x1b_G{keys}m={int(index < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(parts)


def _iterm(pixels: Pixels, columns: int, rows: int) -> str:
    data = encode(pixels, "JPEG", quality=80)
    keys = f"inline=1;size={len(data)};width={columns};height={rows};preserveAspectRatio=0"
    return f"\x1b]1337;File={keys}:{base64.standard_b64encode(data).decode()}\x07"


def _shrink(pixels: Pixels, width: int, height: int) -> Pixels:
    from PIL import Image

    is_grey = pixels.ndim == 3 and pixels.shape[2] == 1
    image = Image.fromarray(pixels[:, :, 0] if is_grey else pixels).convert("RGB")
    return np.asarray(image.resize((width, height), Image.Resampling.BOX))


def _blocks(pixels: Pixels, *, is_256: bool) -> str:
    """Draw two rows of pixels a line: the upper in the letter's colour, the lower in its ground's.

    A run of equal pairs takes one change of colours, which most pictures are made of.
    """
    lines = []
    for upper, lower in zip(pixels[::2].tolist(), pixels[1::2].tolist(), strict=True):
        pairs = itertools.groupby(zip(upper, lower, strict=True))
        parts = [
            f"\x1b[38;{_colour(top, is_256)};48;{_colour(bottom, is_256)}m"
            + _UPPER_HALF * sum(1 for _ in same)
            for (top, bottom), same in pairs
        ]
        lines.append("".join(parts) + "\x1b[0m\x1b[K")
    return "\r\n".join(lines)


def _colour(pixel: list[int], is_256: bool) -> str:
    red, green, blue = pixel
    if not is_256:
        return f"2;{red};{green};{blue}"
    return f"5;{16 + 36 * (red * 6 // 256) + 6 * (green * 6 // 256) + blue * 6 // 256}"
