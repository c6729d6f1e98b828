"""Secrets: known by their names, never written anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "***"

# In an address, a name and a password; a password may hold what an address may not.
_LOGIN = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*://)?(\S*)@")
_ADDRESSES = ("_proxy", "_url")

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
    "wandb_http_proxy": "WANDB_HTTP_PROXY",  # a secret where it holds a password
    "wandb_https_proxy": "WANDB_HTTPS_PROXY",
}


def is_secret(name: str) -> bool:
    lowered = name.lower().replace("-", "_")
    if lowered in _HARMLESS:
        return False
    return lowered in _DECLARED or lowered.endswith(_SUFFIXES)


def holds_login(name: str, value: Any) -> bool:
    """Say whether this is an address, such as a proxy's, with a name and a password in it."""
    return _login(name, value) not in ("", REDACTED)


def lost_login(name: str, value: Any) -> bool:
    """Say whether the name and the password were taken out of an address."""
    return _login(name, value) == REDACTED


def _login(name: str, value: Any) -> str:
    if not name.lower().endswith(_ADDRESSES) or not isinstance(value, str):
        return ""
    found = _LOGIN.match(value)
    return found[2] if found else ""


def redact(value: Any) -> Any:
    """Return a copy in which every non-empty value under a secret's name is "***".

    Of an address only the name and the password are replaced.
    """
    if isinstance(value, Mapping):
        return {key: _redact_item(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def _redact_item(name: str, item: Any) -> Any:
    if is_secret(name) and item not in (None, ""):
        return REDACTED
    return _LOGIN.sub(rf"\1{REDACTED}@", item) if holds_login(name, item) else redact(item)


def take_secrets(extras: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split extras into what may be stored, and the secrets as environment variables.

    A value that is already "***" was a secret once and is gone: it is no value. An address that
    holds a password is a secret, and is stored without it.
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
                environment[variable_of(name)] = value
        elif holds_login(name, value) and name.lower() in ENVIRONMENT_OF:
            environment[variable_of(name)] = value
            kept[name] = _redact_item(name, value)
        else:
            kept[name] = value
    return kept, environment


def variable_of(name: str) -> str:
    """Return the environment variable in which the secret of this name travels."""
    return ENVIRONMENT_OF.get(name.lower(), name.upper())


def mask_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return the text with the value of every secret of the environment as "***"."""
    values = {value for name, value in environment.items() if is_secret(name)}
    for login in (_login(name, value) for name, value in environment.items()):
        values |= {login, login.partition(":")[2]}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, REDACTED)
    return text
