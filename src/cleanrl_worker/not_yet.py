"""What the contract names and this version does not do: refused, never silently ignored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from mosaic.contracts.errors import ConfigError


class NotYet(NamedTuple):
    """A setting that asks for a feature which is still to come."""

    setting: str
    feature: str
    is_asked_for: Callable[[Any], bool] = bool


NOT_IN_THIS_VERSION: tuple[NotYet, ...] = (
    NotYet("teacher_policy_path", "Learning from a teacher"),
    NotYet("teacher_model_exp_name", "Learning from a teacher"),
    NotYet("train_teacher_steps", "Learning from a teacher"),
)


def refuse_what_is_missing(
    settings: Mapping[str, Any], rows: Iterable[NotYet] = NOT_IN_THIS_VERSION
) -> None:
    """Refuse the first setting that asks for what is still to come."""
    for row in rows:
        value = settings.get(row.setting)
        if value is not None and row.is_asked_for(value):
            raise ConfigError(
                f"{_show(row.setting, value)}: {row.feature} is not in this version of MOSAIC. "
                f"Leave {row.setting} out."
            )


def _show(setting: str, value: Any) -> str:
    if setting.startswith("--") or isinstance(value, dict | list):
        return setting
    return f"{setting}={value if isinstance(value, str) else json.dumps(value)}"
