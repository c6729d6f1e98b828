"""Types of fields that models share: each refuses what it does not allow in plain words."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from mosaic.contracts.run_environment import RUN_VARIABLES, check_no_login, check_variable

NAME_LENGTH = 128

# The name is shown to people, and it names folders.
_NAME = re.compile(rf"(?!\.)[^\x00-\x1f\x7f/\\]{{1,{NAME_LENGTH}}}")


def _whole(value: Any) -> Any:
    """Let 2.0 pass as 2, since browsers send it; true and "2" are no numbers."""
    if isinstance(value, bool | str):
        raise ValueError("give a whole number")
    return value


def _relative_path(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or "\\" in value or "\0" in value:
        raise ValueError("give a path inside the run directory, without '..'")
    return value


def is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _name(value: str) -> str:
    if not is_name(value):
        raise ValueError(
            f"give 1 to {NAME_LENGTH} characters, no '/', '\\' or control character, no leading '.'"
        )
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
RelativePath = Annotated[str, Field(min_length=1), AfterValidator(_relative_path)]
Name = Annotated[str, AfterValidator(_name), Field(max_length=NAME_LENGTH)]
Environment = Annotated[
    dict[Annotated[str, AfterValidator(check_variable)], str],
    AfterValidator(check_no_login),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"enum": sorted(RUN_VARIABLES)},
            "additionalProperties": {"type": "string"},
        }
    ),
]
