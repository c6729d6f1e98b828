"""Colours and type: a palette that passes WCAG AA in both themes.

NiceGUI's own primary and positive colours do not on white. State is never shown by colour alone:
each has a word and a symbol as well.
"""

from __future__ import annotations

from nicegui import ui

from gym_gui.styles import head_links

# Quasar's names; white text on each has a contrast of at least 4.5.
COLORS = {
    "primary": "#1d4ed8",
    "secondary": "#475569",
    "accent": "#7c3aed",
    "positive": "#15803d",
    "negative": "#b91c1c",
    "info": "#0369a1",
    "warning": "#a16207",
    "dark": "#1c2129",
    "dark_page": "#14171c",
}

# Curves: distinguishable by people with any kind of colour vision (Okabe and Ito's set, darkened).
CURVES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7c3aed", "#555555")

# State: word, symbol (Material icon), colour in the light theme, colour in the dark one.
STATES = {
    "INIT": ("queued", "schedule", "#475569", "#cbd5e1"),
    "HANDSHAKE": ("starting", "sync", "#0369a1", "#7dd3fc"),
    "READY": ("starting", "sync", "#0369a1", "#7dd3fc"),
    "EXECUTING": ("running", "play_arrow", "#1d4ed8", "#93c5fd"),
    "PAUSED": ("paused", "pause", "#a16207", "#fcd34d"),
    "succeeded": ("succeeded", "check", "#15803d", "#86efac"),
    "failed": ("failed", "error", "#b91c1c", "#fca5a5"),
    "cancelled": ("cancelled", "block", "#475569", "#cbd5e1"),
    "FAULTED": ("lost", "link_off", "#b91c1c", "#fca5a5"),
    "UNKNOWN": ("unknown", "help", "#475569", "#cbd5e1"),
}

_STYLE = """
:root { --mosaic-muted: #475569; --mosaic-line: #d8dee7; --mosaic-panel: #ffffff;
        --mosaic-page: #f6f7f9; }
body.body--dark { --mosaic-muted: #b6c2d1; --mosaic-line: #38414e; --mosaic-panel: #1c2129;
                  --mosaic-page: #14171c; }
body { background: var(--mosaic-page); }
.mosaic-muted { color: var(--mosaic-muted); }
.mosaic-panel { background: var(--mosaic-panel); border: 1px solid var(--mosaic-line);
                border-radius: .6rem; padding: 1rem; }
.mosaic-number { font-variant-numeric: tabular-nums; }
.mosaic-mono { font-family: ui-monospace, SFMono-Regular, Menlo, monospace; font-size: .85rem; }
*:focus-visible { outline: 3px solid #f59e0b !important; outline-offset: 1px; }
.mosaic-state { display: inline-flex; align-items: center; gap: .25rem; font-weight: 600;
                white-space: nowrap; }
body:not(.body--dark) .mosaic-state { color: var(--light); }
body.body--dark .mosaic-state { color: var(--dark); }
body:not(.body--dark) a.nicegui-link { color: #1d4ed8; }
body.body--dark a:not(.q-btn):not(.q-item) { color: #93c5fd; }
/* The palette is made for white text upon it; as text upon the dark page it needs lighter twins.
   Quasar's own rule is important and in a layer, which wins: so its variable is changed instead. */
body.body--dark .text-primary { --q-primary: #93c5fd; }
body.body--dark .q-item--active { --q-primary: #93c5fd; }
body.body--dark .text-negative { --q-negative: #fca5a5; }
body.body--dark .text-positive { --q-positive: #86efac; }
body.body--dark .text-warning { --q-warning: #fcd34d; }
body.body--dark .text-info { --q-info: #7dd3fc; }
body.body--dark .text-secondary { --q-secondary: #cbd5e1; }
.q-field__bottom, .q-field__label { color: var(--mosaic-muted) !important; }
.q-field--error .q-field__bottom { color: #b91c1c !important; }
body.body--dark .q-field--error .q-field__bottom { color: #fca5a5 !important; }
.mosaic-tabs .q-tab { padding: 0 10px; }
.mosaic-frame { opacity: 0; background: var(--mosaic-panel); }
.q-notification.bg-warning { --q-dark: #ffffff; }
.mosaic-key { border: 1px solid var(--mosaic-muted); border-radius: .25rem; padding: 0 .4rem; }
.mosaic-stale { border-left: 4px dashed #a16207; }
@media (prefers-reduced-motion: reduce) {
  * { animation: none !important; transition: none !important; }
}
"""


def apply_theme() -> None:
    """Set the colours of the page that is being built."""
    ui.colors(**COLORS)
    ui.add_head_html(head_links())
    ui.add_css(_STYLE)


def state_words(state: str, outcome: str) -> tuple[str, str, str, str]:
    """Return word, symbol and the two colours of a run's state."""
    key = outcome if state == "TERMINATED" and outcome else state
    return STATES.get(key, STATES["UNKNOWN"])
