"""Curves on paper: a vector or a bitmap, by the ending of the file's name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, DependencyMissing, StorageError
from mosaic.contracts.installed import is_installed
from mosaic.figures.aggregate import Aggregate

ENDINGS = (".svg", ".pdf", ".png")
# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_STYLES = ("-", "--", "-.", ":")
_COLUMN_INCHES = 3.4  # of a two-column page
_BITMAP_DPI = 300
_FONT_POINTS = 8


def check_file(path: Path) -> None:
    """Refuse what cannot be drawn before anything is fetched."""
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(
            f"output={str(path)!r} is not allowed: give a name that ends in {', '.join(ENDINGS)}."
        )
    if not is_installed("matplotlib"):
        raise DependencyMissing(
            "A figure needs matplotlib, which is not installed.",
            hint="Install 'mosaic-rl[figure]'.",
        )


def draw(
    curves: Mapping[str, Aggregate], path: Path, *, x_label: str, y_label: str, title: str = ""
) -> None:
    """Write the figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    style: dict[Any, Any] = {"font.size": _FONT_POINTS, "svg.fonttype": "none", "pdf.fonttype": 42,
             "axes.spines.top": False, "axes.spines.right": False}  # fmt: skip
    with mpl.rc_context(style):
        figure, axes = pyplot.subplots(
            figsize=(_COLUMN_INCHES, _COLUMN_INCHES * 0.7), layout="constrained"
        )
        for place, (name, curve) in enumerate(curves.items()):
            colour = _COLOURS[place % len(_COLOURS)]
            line = _STYLES[place // len(_COLOURS) % len(_STYLES)]
            label = f"{name} (n={curve.seeds})"
            axes.plot(curve.steps, curve.middle, line, color=colour, linewidth=1.2, label=label)
            axes.fill_between(
                curve.steps, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0
            )
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(title)
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.legend(frameon=False, fontsize=_FONT_POINTS - 1)
        try:
            figure.savefig(path, dpi=_BITMAP_DPI, metadata=_undated(path))
        except OSError as error:
            raise StorageError(f"{str(path)!r} cannot be written: {error.strerror}.") from None
        finally:
            pyplot.close(figure)


def _undated(path: Path) -> dict[str, None] | None:
    """Leave the date out: the same runs give the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
