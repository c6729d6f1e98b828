"""`.env`: variables of the working directory, read once at the start of a command."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mosaic.contracts.errors import ConfigError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


def load_dotenv(path: Path = Path(".env")) -> None:
    """Put the file's variables into the environment; what is set already stands."""
    for name, value in read_dotenv(path).items():
        os.environ.setdefault(name, value)


def read_dotenv(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    variables = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:  # the line is not shown: it may be a secret
            raise ConfigError(f"{path}, line {number}: give NAME=value.")
        variables[match[1]] = _unquote(match[2])
    return variables


def _unquote(text: str) -> str:
    """Return the value: inside its quotes, or up to a comment."""
    quote = text[:1]
    if quote in ("'", '"') and (end := text.find(quote, 1)) > 0:
        return text[1:end]
    return re.split(r"\s#", text, maxsplit=1)[0].strip()
