"""Search spaces: the values of a hyperparameter that a sweep tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter, find, from_text

_LOG_MARK = ":log"


@dataclass(frozen=True, slots=True)
class SearchRange:
    """From `low` to `high`, evenly or by orders of magnitude; or one of `choices`."""

    name: str
    low: float | None = None
    high: float | None = None
    is_log: bool = False
    choices: tuple[Any, ...] = ()

    def to_json(self) -> dict[str, Any]:
        if self.choices:
            return {"name": self.name, "choices": list(self.choices)}
        return {"name": self.name, "low": self.low, "high": self.high, "log": self.is_log}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SearchRange:
        choices = tuple(data.get("choices") or ())
        return cls(data["name"], data.get("low"), data.get("high"), bool(data.get("log")), choices)

    def to_text(self) -> str:
        """Return what `parse_search` reads."""
        if self.choices:
            return f"{self.name}={','.join(map(str, self.choices))}"
        return f"{self.name}={self.low:g}..{self.high:g}{_LOG_MARK if self.is_log else ''}"

    def holds(self, value: Any) -> bool:
        """Say whether the sweep could try this value."""
        if self.choices:
            return value in self.choices
        assert self.low is not None
        assert self.high is not None
        return isinstance(value, int | float) and self.low <= value <= self.high


def parse_search(text: str, parameters: tuple[Parameter, ...], *, owner: str) -> SearchRange:
    """Read `learning_rate=1e-5..1e-2:log`, `gae_lambda=0.8..1` or `num_envs=4,8,16`."""
    name, separator, values = text.partition("=")
    parameter = find(parameters, name.replace("-", "_").strip(), owner=owner)
    refusal = ConfigError(
        f"search={text!r} is not allowed: give NAME=LOW..HIGH, NAME=LOW..HIGH:log "
        "or NAME=VALUE,VALUE."
    )
    if not separator or not values:
        raise refusal
    if ".." not in values:
        choices = [from_text(parameter, word) for word in values.split(",")]
        return SearchRange(parameter.name, choices=tuple(map(parameter.check, choices)))
    is_log = values.endswith(_LOG_MARK)
    ends = values.removesuffix(_LOG_MARK).split("..")
    if parameter.type not in ("int", "float") or len(ends) != 2:
        raise refusal
    low, high = (parameter.check(from_text(parameter, end)) for end in ends)
    if low >= high or (is_log and low <= 0):
        raise refusal
    return SearchRange(parameter.name, low, high, is_log)
