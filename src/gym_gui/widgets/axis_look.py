"""How the axes of charts look: colours of the theme, which the browser knows, and short numbers.

A key that begins with a colon holds an expression that the browser evaluates.
"""

from __future__ import annotations

from typing import Any

MUTED = "getComputedStyle(document.body).getPropertyValue('--mosaic-muted').trim()"
LINE = "getComputedStyle(document.body).getPropertyValue('--mosaic-line').trim()"
PANEL = "getComputedStyle(document.body).getPropertyValue('--mosaic-panel').trim()"

COMPACT = """value => {
  for (const [unit, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (Math.abs(value) >= unit) return Number((value / unit).toPrecision(4)) + letter;
  return Number(Number(value).toPrecision(4));
}"""

AXIS: dict[str, Any] = {
    "axisLabel": {":color": MUTED, ":formatter": COMPACT, "hideOverlap": True},
    "nameTextStyle": {":color": MUTED},
    "axisLine": {"lineStyle": {":color": MUTED}},
    "splitLine": {"lineStyle": {":color": LINE}},
}
# The same where the axis has names rather than numbers.
NAMES: dict[str, Any] = {**AXIS, "axisLabel": {":color": MUTED}}
