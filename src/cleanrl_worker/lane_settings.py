"""How a run shows its environments: from extras into the child's environment, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED

OFF, SINGLE, GRID = "off", "single", "grid"
# Of a grid: what fits on a screen, and what a lane set holds.
MOST_LANES = 16

_VARIABLES = {
    "mode": ("fastlane_video_mode", "GYM_GUI_FASTLANE_VIDEO_MODE"),
    "slot": ("fastlane_slot", "GYM_GUI_FASTLANE_SLOT"),
    "grid_limit": ("fastlane_grid_limit", "GYM_GUI_FASTLANE_GRID_LIMIT"),
    "interval_ms": ("fastlane_interval_ms", "CLEANRL_FASTLANE_INTERVAL_MS"),
    "max_dim": ("fastlane_max_dim", "CLEANRL_FASTLANE_MAX_DIM"),
    "budget": ("fastlane_budget", "MOSAIC_FASTLANE_BUDGET"),
    "view_budget": ("fastlane_view_budget", "MOSAIC_FASTLANE_VIEW_BUDGET"),
}


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """Frames of one environment (`slot`), of a grid of the first ones, or none."""

    mode: str = SINGLE
    slot: int = 0
    grid_limit: int | None = None
    interval_ms: int = 33
    max_dim: int = 480
    budget: float = 0.02
    view_budget: float = 0.05

    @property
    def interval_s(self) -> float:
        return self.interval_ms / 1000

    def shown(self, num_envs: int) -> dict[int, int]:
        """Return the lane of each environment that is shown, by the environment's number."""
        if self.mode == GRID:
            count = min(num_envs, self.grid_limit or num_envs, MOST_LANES)
            return {index: index for index in range(count)}
        if self.slot >= num_envs:
            raise ConfigError(
                f"fastlane_slot={self.slot} is not allowed: the run has {num_envs} environments, "
                "counted from 0."
            )
        return {self.slot: 0}


def lane_variables(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what extras say as variables of the algorithm process; the rest is left as it is."""
    found = {variable: options.get(key) for key, variable in _VARIABLES.values()}
    return {variable: str(value) for variable, value in found.items() if value is not None}


def read_lane_settings(environment: Mapping[str, str]) -> LaneSettings:
    """Read the settings of this process; each is checked as the key of extras is."""
    values: dict[str, Any] = {}
    for field in fields(LaneSettings):
        key, variable = _VARIABLES[field.name]
        text = environment.get(variable)
        if text:
            values[field.name] = _read(key, variable, text)
    return LaneSettings(**values)


def _read(key: str, variable: str, text: str) -> Any:
    parameter = RESERVED[key].as_parameter()
    try:
        value = {"int": int, "float": float}.get(parameter.type, str)(text)
        return parameter.check(value)
    except (ValueError, ConfigError) as error:
        allowed = error.message if isinstance(error, ConfigError) else f"give a {parameter.type}."
        raise ConfigError(f"{variable}={text!r}: {allowed}") from None
