"""`mosaic config get`: read one value from a config file, for scripts that have no `jq`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.cli.arguments import Parser
from mosaic.contracts.errors import EXIT_OK, ConfigError, suggest
from mosaic.contracts.files import read_json

FILE_VARIABLE = "MOSAIC_CONFIG_FILE"


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic config",
        description=f"Print a value of a JSON config file: FILE, or the one in {FILE_VARIABLE}.",
    )
    parser.add_argument("action", choices=("get",), help="get: print the value of a key")
    parser.add_argument("key", metavar="KEY", help="its name; levels with dots: extras.algo_params")
    parser.add_argument("file", metavar="FILE", nargs="?", help="the config file")
    parser.add_argument("--json", action="store_true", help="print the value as JSON")
    given = parser.parse(words)
    name = given.file or os.environ.get(FILE_VARIABLE)
    if not name:
        raise ConfigError(f"config get: name the file, or set {FILE_VARIABLE}.")
    value = look_up(read_json(Path(name), what="The config file"), given.key)
    # Text without quotes, so that a shell can use it as it is.
    is_text = isinstance(value, str) and not given.json
    print(value if is_text else json.dumps(value, ensure_ascii=False))
    return EXIT_OK


def look_up(document: Any, key: str) -> Any:
    """Return the value at a dotted key; a number counts into a list."""
    value = document
    done: list[str] = []
    for part in key.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            known = list(value) if isinstance(value, Mapping) else []
            raise ConfigError(
                f"The config has no key {'.'.join([*done, part])!r}.{suggest(part, known)}"
            )
        done.append(part)
    return value
