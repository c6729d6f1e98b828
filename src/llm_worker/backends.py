"""Who answers a prompt: an OpenAI-compatible service, chance, or a script."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from llm_worker.config import Config
from mosaic.contracts.errors import ConfigError, MosaicError

Message = Mapping[str, str]
KEY_VARIABLE = "OPENAI_API_KEY"

_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_ANSWER_LIMIT_BYTES = 4 << 20
_TEXT_LIMIT = 300


class EndpointError(MosaicError):
    """The service does not answer, or not as an OpenAI-compatible one does."""

    @property
    def exit_code(self) -> int:
        return 1  # of the run, not of its config


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; tokens are None where the service does not count them."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retries: int = 0
    latency_s: float = 0.0


class Backend(Protocol):
    def ask(self, messages: Sequence[Message]) -> Answer:
        """Answer a conversation; an EndpointError ends the run."""


class RandomBackend:
    """Answers with random actions, in the words that a model would use."""

    def __init__(self, actions: Sequence[str], config: Config, seed: int) -> None:
        self._actions = actions
        self._steps = config.steps_per_prompt
        self._random = random.Random(seed)

    def ask(self, messages: Sequence[Message]) -> Answer:
        chosen = [self._random.choice(self._actions) for _ in range(self._steps)]
        return Answer(json.dumps({"actions": chosen}))


class ScriptedBackend:
    """Gives the lines of a script, one after the other, again from the start."""

    def __init__(self, config: Config) -> None:
        self._lines = [line for line in config.script.splitlines() if line.strip()]
        if not self._lines:
            raise ConfigError("script is empty: the scripted backend needs at least one answer.")
        self._next = 0

    def ask(self, messages: Sequence[Message]) -> Answer:
        line = self._lines[self._next % len(self._lines)]
        self._next += 1
        return Answer(line)


class _NoRedirect(HTTPRedirectHandler):
    """A service that sends us elsewhere would send the key along."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class EndpointBackend:
    """Asks `POST <base_url>/chat/completions`."""

    def __init__(self, config: Config, key: str | None, should_stop: Callable[[], bool]) -> None:
        self._config = config
        self._url = check_base_url(config.base_url) + "/chat/completions"
        self._key = key
        self._should_stop = should_stop
        self._opener = build_opener(_NoRedirect)

    def ask(self, messages: Sequence[Message]) -> Answer:
        started, fault = time.monotonic(), ""
        for attempt in range(self._config.retries + 1):
            if attempt:
                self._wait(self._config.retry_wait_s * 2 ** (attempt - 1))
            if self._should_stop():
                break
            try:
                document = self._post(messages)
            except _Temporary as error:
                fault = str(error)
                continue
            text, usage = _read(document, self._url)
            return Answer(
                text,
                _count(usage.get("prompt_tokens")),
                _count(usage.get("completion_tokens")),
                retries=attempt,
                latency_s=time.monotonic() - started,
            )
        raise EndpointError(
            f"The service at {self._url} did not answer within {self._config.retries + 1} tries: "
            f"{fault or 'the run was stopped'}."
        )

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._should_stop():
            time.sleep(min(0.1, seconds))

    def _post(self, messages: Sequence[Message]) -> Any:
        config = self._config
        body = {
            "model": config.model,
            "messages": list(messages),
            "temperature": config.temperature,
            "max_tokens": config.max_tokens,
        }
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(body).encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=config.timeout_s) as response:
                data = response.read(_ANSWER_LIMIT_BYTES)
        except HTTPError as error:
            with error:
                said = error.read(_TEXT_LIMIT).decode("utf-8", errors="replace")
            text = f"status {error.code}: {' '.join(said.split())}"
            if error.code in _AGAIN:
                raise _Temporary(text) from None
            raise EndpointError(f"The service at {self._url} refused: {text}.") from None
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise _Temporary(str(reason)) from None
        try:
            return json.loads(data)
        except ValueError:
            raise _Temporary("its answer is no JSON") from None


class _Temporary(Exception):
    """A fault that may be gone the next time."""


def check_base_url(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"base_url={base_url!r} is not allowed: give http(s)://HOST[:PORT]/v1.")
    if parts.username or parts.password:
        raise ConfigError("base_url holds a password: give the key as openai_api_key.")
    return base_url.rstrip("/")


def _read(document: Any, url: str) -> tuple[str, Mapping[str, Any]]:
    try:
        text = document["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise EndpointError(
            f"The service at {url} answers as no OpenAI-compatible one: its answer has no "
            "choices[0].message.content."
        ) from None
    usage = document.get("usage")
    return "" if text is None else str(text), usage if isinstance(usage, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def make_backend(
    config: Config,
    actions: Sequence[str],
    seed: int,
    secrets: Mapping[str, str],
    should_stop: Callable[[], bool],
) -> Backend:
    if config.backend == "random":
        return RandomBackend(actions, config, seed)
    if config.backend == "scripted":
        return ScriptedBackend(config)
    return EndpointBackend(config, secrets.get(KEY_VARIABLE), should_stop)
