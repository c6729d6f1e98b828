"""Which runs a list shows: from the address of the page to what the daemon is asked, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from mosaic.contracts.errors import suggest

PAGE_SIZES = (25, 50, 100, 200)
DEFAULT_SIZE = 50
# Groups need the config of every run, which is fetched once for each: so many in one go.
GROUPED_SIZE = 200

SORTS = ("created_at", "name", "algo", "env_id", "state", "step")

# Word of the filter: what it says, and what it asks the daemon for.
STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("any state", {}),
    "unfinished": ("not ended", {"only_unfinished": True}),
    "queued": ("queued", {"states": ["INIT"]}),
    "starting": ("starting", {"states": ["HANDSHAKE", "READY"]}),
    "running": ("running", {"states": ["EXECUTING"]}),
    "paused": ("paused", {"states": ["PAUSED"]}),
    "succeeded": ("succeeded", {"outcomes": ["succeeded"]}),
    "failed": ("failed", {"outcomes": ["failed"]}),
    "cancelled": ("cancelled", {"outcomes": ["cancelled"]}),
    "lost": ("lost", {"states": ["FAULTED"]}),
}

# Longer than any name or token of ours; what is longer was not made by this page.
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class RunFilters:
    """A view of the list. Every field is a parameter of the address, and has the same name."""

    q: str = ""
    state: str = ""
    algo: str = ""
    env: str = ""
    worker: str = ""
    sort: str = SORTS[0]
    up: bool = False  # smallest, oldest first
    size: int = DEFAULT_SIZE
    after: str = ""  # the token of the page before
    bin: bool = False
    group: bool = False

    def request(self) -> dict[str, Any]:
        """Return what ListRuns is asked for."""
        return {
            **STATES[self.state][1],
            "text": self.q,
            "algo": self.algo,
            "env_id": self.env,
            "worker": self.worker,
            "order_by": self.sort,
            "ascending": self.up,
            "page_size": GROUPED_SIZE if self.group else self.size,
            "page_token": self.after,
            "only_deleted": self.bin,
        }

    def address(self, path: str = "/runs") -> str:
        """Return the address that shows this view again."""
        default = RunFilters()
        changed = {
            each.name: _write(getattr(self, each.name))
            for each in fields(self)
            if getattr(self, each.name) != getattr(default, each.name)
        }
        return f"{path}?{urlencode(changed)}" if changed else path

    def changed(self, **values: Any) -> RunFilters:
        """Return another view, from its first page on unless a page is named."""
        return replace(self, **{"after": "", **values})

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.state or self.algo or self.env or self.worker)


def read_filters(query: Mapping[str, str]) -> tuple[RunFilters, list[str]]:
    """Return the view of an address, and a line for each parameter that has no meaning."""
    values: dict[str, Any] = {}
    problems = []
    known = {each.name: type(each.default) for each in fields(RunFilters)}
    for name, text in query.items():
        if name not in known:
            problems.append(f"{name!r} is not a parameter of this page.{suggest(name, known)}")
            continue
        value, problem = _read(name, known[name], text)
        if problem:
            problems.append(problem)
        else:
            values[name] = value
    return RunFilters(**values), problems


def _read(name: str, kind: type, text: str) -> tuple[Any, str]:
    allowed: tuple[str, ...] | None = None
    if kind is bool:
        allowed = ("1", "0")
    elif name == "size":
        allowed = tuple(map(str, PAGE_SIZES))
    elif name == "state":
        allowed = tuple(STATES)
    elif name == "sort":
        allowed = SORTS
    if allowed is not None and text not in allowed:
        words = ", ".join(word for word in allowed if word)
        return None, f"{name}={text[:40]!r} is not allowed: give one of {words}."
    if len(text) > _LONGEST:
        return None, f"{name} is too long: at most {_LONGEST} characters."
    return {bool: text == "1", int: int(text) if name == "size" else 0}.get(kind, text), ""


def _write(value: str | int | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
