"""The flags of a CleanRL script, read from its source: nothing of it is imported or run.

A script declares them as the fields of a dataclass `Args`, each with a string below it as its help,
and hands that to tyro.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter

_CLASS = "Args"
# The scripts say so of fields that they overwrite as soon as the flags are read.
_COMPUTED = "computed in runtime"
_SCALARS = ("int", "float", "bool", "str")
_LISTS = ("list", "List", "tuple", "Tuple", "Sequence")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float}


class _NoConstant(Exception):
    """Stands for an expression whose value only running the script would tell."""


def read_arguments(path: Path) -> tuple[Parameter, ...]:
    """Return the fields of the script's Args; a file without them is refused."""
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"The script {str(path)!r} cannot be read: {error}.") from None
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == _CLASS:
            return tuple(_fields(node, path.stem))
    raise ConfigError(
        f"The script {str(path)!r} has no dataclass {_CLASS}, which would tell its flags.",
        hint="CleanRL's scripts have had one since its version 2.",
    )


def _fields(arguments: ast.ClassDef, name_of_script: str) -> Iterator[Parameter]:
    below = [*arguments.body[1:], None]
    for node, following in zip(arguments.body, below, strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        text = _docstring(following)
        if _COMPUTED in text:
            continue
        name = node.target.id
        kind, choices, is_optional = _kind(node.annotation)
        default = name_of_script if name == "exp_name" else _default(node.value)
        yield Parameter(
            name=name,
            type=kind,
            default=default,
            help=text,
            # CleanRL writes `target_kl: float = None`, and tyro takes that for optional.
            optional=is_optional or default is None,
            choices=choices,
        )


def _docstring(node: ast.stmt | None) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    text = value.value if isinstance(value, ast.Constant) else ""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if not line or line.endswith((".", ")", "?")) else f"{line}."


def _kind(annotation: ast.expr) -> tuple[str, tuple[Any, ...], bool]:
    """Return type name, choices, and whether None is one of the values."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _union([annotation.left, annotation.right])
    if isinstance(annotation, ast.Subscript):
        name = ast.unparse(annotation.value).rpartition(".")[2]
        inner = annotation.slice
        arms = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name in ("Optional", "Union"):
            kind, choices, is_optional = _union(arms)
            return kind, choices, is_optional or name == "Optional"
        if name == "Literal":
            values = tuple(arm.value for arm in arms if isinstance(arm, ast.Constant))
            return type(values[0]).__name__ if values else "str", values, False
        if name in _LISTS:
            return f"{_kind(arms[0])[0]}[]", (), False
    name = ast.unparse(annotation)
    return name if name in _SCALARS else "str", (), False


def _union(arms: list[ast.expr]) -> tuple[str, tuple[Any, ...], bool]:
    others = [arm for arm in arms if ast.unparse(arm) not in ("None", "type(None)")]
    if not others:
        return "str", (), True
    kind, choices, is_optional = _kind(others[0])
    return kind, choices, is_optional or len(others) < len(arms)


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return None
    try:
        return _value(node)
    except (_NoConstant, ValueError, TypeError, ArithmeticError):
        return None


def _value(node: ast.expr) -> Any:
    """Compute what stands in the source without running it: numbers, texts, lists, int(1e6)."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.Call):
        return _called(node)
    raise _NoConstant


def _called(node: ast.Call) -> Any:
    name = ast.unparse(node.func).rpartition(".")[2]
    if name in _CASTS and len(node.args) == 1:
        return _CASTS[name](_value(node.args[0]))
    if name == "field":  # field(default_factory=lambda: [1, 2])
        for keyword in node.keywords:
            if keyword.arg == "default":
                return _value(keyword.value)
            if keyword.arg == "default_factory" and isinstance(keyword.value, ast.Lambda):
                return _value(keyword.value.body)
    raise _NoConstant
