"""Secrets: known by their names, never written anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REDACTED = "***"

_SUFFIXES = ("api_key", "_key", "_token", "password", "secret")
_DECLARED = frozenset({"wandb_api_key", "hf_token", "openai_api_key", "anthropic_api_key"})
# Names that end like a secret and are none.
_HARMLESS = frozenset({"idempotency_key"})

# Shorter values are no secrets, and masking them would mangle every text.
_SHORTEST = 4

# The variable of the child's environment in which a secret of this name travels.
ENVIRONMENT_OF = {
    "wandb_api_key": "WANDB_API_KEY",
    "hf_token": "HF_TOKEN",
    "openai_api_key": "OPENAI_API_KEY",
}


def is_secret(name: str) -> bool:
    lowered = name.lower().replace("-", "_")
    if lowered in _HARMLESS:
        return False
    return lowered in _DECLARED or lowered.endswith(_SUFFIXES)


def redact(value: Any) -> Any:
    """Return a copy in which every non-empty value under a secret's name is "***"."""
    if isinstance(value, Mapping):
        return {
            key: REDACTED if is_secret(str(key)) and item not in (None, "") else redact(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def take_secrets(extras: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split extras into what may be stored, and the secrets as environment variables.

    A value that is already "***" was a secret once and is gone: it is no value.
    """
    kept: dict[str, Any] = {}
    environment: dict[str, str] = {}
    for name, value in extras.items():
        if isinstance(value, Mapping):
            inner, inner_environment = take_secrets(value)
            kept[name] = inner
            environment.update(inner_environment)
        elif is_secret(name):
            if isinstance(value, str) and value not in ("", REDACTED):
                environment[ENVIRONMENT_OF.get(name.lower(), name.upper())] = value
        else:
            kept[name] = value
    return kept, environment


def mask_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return the text with the value of every secret of the environment as "***"."""
    values = {value for name, value in environment.items() if is_secret(name)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, REDACTED)
    return text
