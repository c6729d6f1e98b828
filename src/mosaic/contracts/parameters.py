"""Parameters: declared once on a dataclass, parsed from flags, described as data.

An algorithm declares its hyperparameters as fields of a frozen dataclass, each made by `param`.
The flags, the JSON schema, the forms and the search spaces all derive from that declaration.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from mosaic.contracts.errors import ConfigError, suggest

T = TypeVar("T")

_SCALARS: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
_METADATA_KEY = "mosaic.parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as data. `type`: int, float, bool, str, or one of them with "[]" behind it."""

    name: str
    type: str
    default: Any
    help: str
    optional: bool = False
    choices: tuple[Any, ...] = ()
    range: tuple[float | None, float | None] | None = None
    unit: str | None = None
    group: str = "algorithm"
    runtime_only: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def to_json(self) -> dict[str, Any]:
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["choices"] = list(self.choices)
        data["range"] = None if self.range is None else list(self.range)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Parameter:
        values = dict(data)
        values["choices"] = tuple(values.get("choices") or ())
        values["range"] = None if values.get("range") is None else tuple(values["range"])
        return cls(**values)

    def allowed(self) -> str:
        """Say in words what this parameter accepts."""
        words = {
            "int": "a whole number",
            "float": "a number",
            "bool": "true or false",
            "str": "text",
        }
        text = words.get(self.type) or f"a list of {self.type.removesuffix('[]')} values"
        if self.choices:
            text = "one of " + ", ".join(str(choice) for choice in self.choices)
        elif self.range is not None:
            low, high = self.range
            if low is not None and high is not None:
                text += f" from {_bound(low)} to {_bound(high)}"
            elif low is not None:
                text += f" of at least {_bound(low)}"
            elif high is not None:
                text += f" of at most {_bound(high)}"
        return text + (", or null" if self.optional else "")

    def check(self, value: Any) -> Any:
        """Return the value in the parameter's own type, or raise a ConfigError that names it."""
        if value is None:
            if self.optional:
                return None
            raise self._refusal(value)
        if self.type.endswith("[]"):
            if not isinstance(value, list | tuple):
                raise self._refusal(value)
            return tuple(self._check_scalar(item, self.type[:-2]) for item in value)
        return self._check_scalar(value, self.type)

    def _check_scalar(self, value: Any, kind: str) -> Any:
        checked = _as_kind(value, kind)
        if checked is None:
            raise self._refusal(value)
        if self.choices and checked not in self.choices:
            raise self._refusal(value)
        if self.range is not None:
            low, high = self.range
            if (low is not None and checked < low) or (high is not None and checked > high):
                raise self._refusal(value)
        return checked

    def _refusal(self, value: Any) -> ConfigError:
        shown = "null" if value is None else repr(value)
        return ConfigError(f"{self.name}={shown} is not allowed: give {self.allowed()}.")


def _bound(number: float) -> str:
    """Return a limit in full: 4294967295, where a format of "g" gives 4.29497e+09."""
    return str(int(number)) if float(number).is_integer() else str(number)


def _as_kind(value: Any, kind: str) -> Any:
    """Return the value as int, float, bool or str; None where it is none of that kind.

    Browsers send 1000000.0 for a whole number, so an integral float passes as an int.
    """
    if kind == "bool":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool):
        return None
    if kind == "int":
        if isinstance(value, int):
            return value
        return int(value) if isinstance(value, float) and value.is_integer() else None
    if kind == "float":
        return _finite(value) if isinstance(value, int | float) else None
    return value if isinstance(value, str) else None


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond any float
        return None
    return number if math.isfinite(number) else None


def param(
    default: Any,
    help: str,
    *,
    choices: Sequence[Any] = (),
    range: tuple[float | None, float | None] | None = None,
    unit: str | None = None,
    group: str = "algorithm",
    runtime_only: bool = False,
) -> Any:
    """Declare one parameter as a dataclass field."""
    declared = {
        "help": help,
        "choices": tuple(choices),
        "range": range,
        "unit": unit,
        "group": group,
        "runtime_only": runtime_only,
    }
    return dataclasses.field(default=default, metadata={_METADATA_KEY: declared})


def parameters_of(
    config_type: type, overrides: Mapping[str, Any] | None = None
) -> tuple[Parameter, ...]:
    """Return the parameters that a dataclass declares, with a recipe's own defaults put in."""
    overrides = overrides or {}
    hints = typing.get_type_hints(config_type)
    found = []
    for field in dataclasses.fields(config_type):
        declared = field.metadata.get(_METADATA_KEY)
        if declared is None:
            continue
        kind, optional = _kind_of(hints[field.name])
        default = overrides.get(field.name, field.default)
        found.append(
            Parameter(name=field.name, type=kind, default=default, optional=optional, **declared)
        )
    return tuple(found)


def _kind_of(hint: Any) -> tuple[str, bool]:
    """Return the type name of an annotation, and whether it may be None."""
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        inner = [arm for arm in typing.get_args(hint) if arm is not type(None)]
        assert len(inner) == 1, f"a parameter has one type, or one type and None: {hint}"
        return _kind_of(inner[0])[0], True
    if origin is tuple:
        return f"{typing.get_args(hint)[0].__name__}[]", False
    assert hint in _SCALARS.values(), f"not a parameter type: {hint}"
    return hint.__name__, False


def find(parameters: Iterable[Parameter], name: str, *, owner: str) -> Parameter:
    """Return the parameter of that name; an unknown one is refused with the nearest known."""
    by_name = {parameter.name: parameter for parameter in parameters}
    if name not in by_name:
        raise ConfigError(
            f"{owner} has no parameter {name!r}.{suggest(name, by_name)}",
            hint=f"'mosaic algos {owner}' lists them.",
        )
    return by_name[name]


def to_flags(parameter: Parameter, value: Any) -> list[str]:
    """Return the flags that give a parameter this value."""
    value = parameter.check(value)
    if value is None:
        return [f"{parameter.flag}=None"]
    if parameter.type == "bool":
        return [parameter.flag if value else "--no-" + parameter.flag[2:]]
    if parameter.type.endswith("[]"):
        return [parameter.flag, *(str(item) for item in value)]
    return [f"{parameter.flag}={value}"]


class _Parser(argparse.ArgumentParser):
    def __init__(self, owner: str) -> None:
        super().__init__(prog=owner, add_help=False, allow_abbrev=False)
        # argparse takes -3e-4 for a flag: its own pattern of a negative number knows no exponent.
        self._negative_number_matcher = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message[:1].upper() + message[1:] + ".")


def parse_flags(
    parameters: Iterable[Parameter], flags: Sequence[str], *, owner: str
) -> dict[str, Any]:
    """Return every parameter's value: its default, or what the flags say."""
    parameters = tuple(parameters)
    given, unknown = parse_given(parameters, flags, owner=owner)
    if unknown:
        name = unknown[0].lstrip("-").split("=")[0].replace("-", "_")
        find(parameters, name.removeprefix("no_"), owner=owner)
        raise ConfigError(f"{owner} does not understand {unknown[0]!r}.")
    return {parameter.name: parameter.default for parameter in parameters} | given


def parse_given(
    parameters: Iterable[Parameter], flags: Sequence[str], *, owner: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the values that the flags give, and the words that belong to no parameter."""
    by_name = {parameter.name: parameter for parameter in parameters}
    parser = _Parser(owner)
    for parameter in by_name.values():
        # CleanRL's users write --num-envs and --num_envs alike.
        spellings = dict.fromkeys((parameter.flag, "--" + parameter.name))
        if parameter.type == "bool":
            parser.add_argument(
                *spellings, dest=parameter.name, action=argparse.BooleanOptionalAction
            )
        elif parameter.type.endswith("[]"):
            parser.add_argument(*spellings, dest=parameter.name, nargs="*")
        else:
            parser.add_argument(*spellings, dest=parameter.name)
    found, unknown = parser.parse_known_args(list(flags))
    given = {
        name: by_name[name].check(_from_words(by_name[name], text))
        for name, text in vars(found).items()
        if text is not None
    }
    return given, unknown


def from_text(parameter: Parameter, text: str) -> Any:
    """Return what somebody typed, as near to the parameter's type as it is; not checked yet."""
    if parameter.type.endswith("[]"):
        return _from_words(parameter, text.replace(",", " ").split())
    if parameter.type == "bool":
        return {"true": True, "false": False}.get(text.lower(), text)
    return _from_words(parameter, text)


def _from_words(parameter: Parameter, text: Any) -> Any:
    if parameter.type == "bool":
        return text
    if parameter.type.endswith("[]"):
        return [_scalar_from_text(item, parameter.type[:-2]) for item in text]
    if text == "None" and (parameter.optional or parameter.type != "str"):
        return None
    return _scalar_from_text(text, parameter.type)


def _scalar_from_text(text: str, kind: str) -> Any:
    if kind == "str":
        return text
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        pass
    try:
        return float(text)  # 1e6 for a whole number
    except ValueError:
        return text


def build(config_type: type[T], values: Mapping[str, Any]) -> T:
    """Make the dataclass from parsed values, leaving out what it does not declare."""
    names = {parameter.name for parameter in parameters_of(config_type)}
    return config_type(**{name: value for name, value in values.items() if name in names})
