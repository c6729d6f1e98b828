"""Turn pydantic's findings into one clear line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.secrets import REDACTED, is_secret, redact

_SHOWN_CHARACTERS = 80
_KEY_MARK = "[key]"  # pydantic's last part of a location that means a key, not its value

_Words = Callable[[Mapping[str, Any]], str]

# What is allowed, in words, by pydantic's type of error; `ctx` holds the bound that was broken.
_ALLOWED: dict[str, _Words] = {
    "bool_type": lambda ctx: "give true or false",
    "dict_type": lambda ctx: "give a JSON object",
    "model_type": lambda ctx: "give a JSON object",
    "model_attributes_type": lambda ctx: "give a JSON object",
    "tuple_type": lambda ctx: "give a list",
    "list_type": lambda ctx: "give a list",
    "string_type": lambda ctx: "give text",
    "int_type": lambda ctx: "give a whole number",
    "int_from_float": lambda ctx: "give a whole number",
    "float_type": lambda ctx: "give a number",
    "float_parsing": lambda ctx: "give a number",
    "finite_number": lambda ctx: "give a finite number",
    "greater_than": lambda ctx: f"give a number greater than {ctx['gt']}",
    "greater_than_equal": lambda ctx: f"give a number of at least {ctx['ge']}",
    "string_too_short": lambda ctx: f"give at least {ctx['min_length']} character(s)",
    "string_too_long": lambda ctx: f"give at most {ctx['max_length']} characters",
    "string_pattern_mismatch": lambda ctx: f"give text that matches {ctx['pattern']}",
    "value_error": lambda ctx: str(ctx["error"]),
}


def as_config_error(error: ValidationError, model: type[BaseModel]) -> ConfigError:
    """Name every problem by its full path, value and what is allowed."""
    problems = [_problem(detail, model) for detail in error.errors(include_url=False)]
    line = "; ".join(problem.removesuffix(".") for problem in problems)
    return ConfigError(line if line.endswith("?") else line + ".")


def _problem(detail: ErrorDetails, model: type[BaseModel]) -> str:
    path = _dotted(detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = _known_keys(model, detail["loc"][:-1])
        return f"{path} is unknown.{suggest(str(detail['loc'][-1]), known)}"
    if detail["type"] == "missing":
        return f"{path} is missing."
    words = _ALLOWED.get(detail["type"])
    allowed = detail["msg"] if words is None else words(detail.get("ctx", {}))
    return f"{_with_value(path, detail)} is not allowed: {allowed}."


def _dotted(location: tuple[int | str, ...]) -> str:
    named = [part for part in location if part != _KEY_MARK]
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in named]
    return "".join(parts).removeprefix(".") or "run config"


def _with_value(path: str, detail: ErrorDetails) -> str:
    if detail["loc"] and detail["loc"][-1] == _KEY_MARK:
        return path
    if any(is_secret(str(part)) for part in detail["loc"]):
        return f"{path}={REDACTED}"
    shown = repr(redact(detail["input"]))
    if len(shown) > _SHOWN_CHARACTERS:
        shown = shown[: _SHOWN_CHARACTERS - 3] + "..."
    return f"{path}={shown}"


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the model has at this place."""
    for part in location:
        found = _model_in(model.model_fields[str(part)].annotation)
        assert found is not None, f"no model at {location}"
        model = found
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of an annotation such as `Schedule | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arm in get_args(annotation) if (found := _model_in(arm))), None)
