"""One field of a form, made from the parameter that it sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter, from_text

# Where a name alone does not say it.
_LABELS = {
    "cuda": "Use a GPU",
    "gpus": "GPUs to wait for",
    "cpus": "CPU cores",
    "memory_mb": "Memory",
    "env_id": "Environment id",
    "run_name": "Run name",
    "worker_id": "Worker id",
    "agent_id": "Agent id",
    "auto_resume": "Resume after a crash",
    "track_wandb": "Track with Weights & Biases",
    "tensorboard_dir": "TensorBoard folder",
    "max_duration_seconds": "Longest duration",
    "runbus_summary": "Minimal RunBus telemetry",
    "bundle": "Dependency bundle",
    "eval_batch_size": "Eval episodes per batch",
    "eval_repeat": "Repeat evaluation until stopped",
}
_UNITS = {"memory_mb": "MB", "max_duration_seconds": "s", "fastlane_interval_ms": "ms"}
_LONG = frozenset({"notes"})


def label_of(parameter: Parameter) -> str:
    words = parameter.name.replace("_", " ").replace("wandb", "W&B").replace("fastlane", "FastLane")
    return _LABELS.get(parameter.name, words[:1].upper() + words[1:])


def read_field(parameter: Parameter, raw: Any) -> Any:
    """Return what a widget holds in the parameter's own type; nothing typed is None."""
    if not isinstance(raw, str):
        return _optional(parameter, raw)
    text = raw.strip() if parameter.name not in _LONG else raw
    if not text:
        is_nothing = parameter.default in ("", [], ())
        return _optional(parameter, parameter.default if is_nothing else None)
    return _optional(parameter, from_text(parameter, text))


def _optional(parameter: Parameter, value: Any) -> Any:
    if value is None and parameter.default is None:
        return None
    return parameter.check(value)


def text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


class Field:
    """A widget, its help, its error, and the way back to the value that holds anyway."""

    def __init__(
        self,
        parameter: Parameter,
        shown: Any,
        base: Any,
        on_value: Callable[[Any], None],
        *,
        label: str | None = None,
    ) -> None:
        self.parameter = parameter
        self.base = base
        self._on_value = on_value
        self._label = label_of(parameter) if label is None else label
        self.error: str | None = None
        self.box = ui.column().classes("gap-0 w-full")
        with self.box:
            self._element = self._make(shown)
        self._element.on_value_change(self._take)
        self._check(self._element.value)

    def _make(self, shown: Any) -> Any:
        if self.parameter.type == "bool":
            switch = ui.switch(self._label, value=bool(shown)).props("dense").classes("py-2")
            ui.label(self._help()).classes("text-xs mosaic-muted")
            return switch
        element: Any
        if self.parameter.choices:
            element = ui.select(
                [text_of(choice) for choice in self.parameter.choices],
                value=text_of(shown) or None,
                label=self._label,
                clearable=self.base is None,
            )
        elif self.parameter.name in _LONG:
            element = ui.textarea(self._label, value=text_of(shown), validation=self._check)
            element.props("autogrow")
        else:
            element = ui.input(self._label, value=text_of(shown), validation=self._check)
        return self._dress(element)

    def _dress(self, element: Any) -> Any:
        element.props("outlined dense hide-bottom-space").classes("w-full")
        element.props["hint"] = self._help()
        unit = self.parameter.unit or _UNITS.get(self.parameter.name)
        if unit:
            element.props["suffix"] = unit
        if self.parameter.type in ("int", "float"):
            element.props["inputmode"] = "decimal"
        return element

    def _help(self) -> str:
        base = "" if self.base in (None, "") else f" Default: {text_of(self.base)}."
        if self.parameter.type == "bool":
            base = f" Default: {'on' if self.base else 'off'}."
        limits = ""
        if self.parameter.range is not None and not self.parameter.choices:
            limits = f" {self.parameter.allowed().capitalize().removesuffix(', or null')}."
        return f"{self.parameter.help}{limits}{base}"

    @property
    def value(self) -> Any:
        """The value; raises a ConfigError that names the field."""
        return self._read(self._element.value)

    def _read(self, raw: Any) -> Any:
        """Read the widget; nothing is a value only where nothing may hold."""
        value = read_field(self.parameter, raw)
        if value is None and self.base is not None and not self.parameter.optional:
            raise ConfigError(f"{self.parameter.name} is empty: give {self.parameter.allowed()}.")
        return value

    @property
    def is_changed(self) -> bool:
        return self.error is not None or self.value != self.base

    def show(self, value: Any) -> None:
        is_switch = self.parameter.type == "bool"
        self._element.set_value(bool(value) if is_switch else text_of(value))

    def enable(self, is_on: bool) -> None:
        self._element.set_enabled(is_on)

    def _check(self, raw: Any) -> str | None:
        try:
            self._read(raw)
        except ConfigError as error:
            self.error = error.one_line()
        else:
            self.error = None
        return self.error

    def _take(self) -> None:
        if self._check(self._element.value) is None:
            self._on_value(self.value)
