"""`mosaic bundle`: environments of their own for the algorithm processes of runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

from mosaic.cli.arguments import Parser
from mosaic.cli.formatting import format_moment
from mosaic.cli.tables import print_table
from mosaic.contracts.bundles import Bundle, find_bundle, find_bundles
from mosaic.contracts.errors import EXIT_OK, ConfigError, suggest
from mosaic.contracts.paths import VarPaths

USAGE = """\
usage: mosaic bundle create NAME --extra EXTRA ... [--json]
       mosaic bundle create NAME --cleanrl [--json]
       mosaic bundle list [--json]
       mosaic bundle show NAME [--json]
       mosaic bundle rm NAME [--json]

A bundle is a cached environment of its own, in which the algorithm process of a run then lives:
mosaic train ... --bundle NAME. With --cleanrl it holds what the scripts of a CleanRL checkout need.

example:
  mosaic bundle create cleanrl --cleanrl
"""


def run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, end="")
        return EXIT_OK
    verb, *rest = words
    if verb not in _VERBS:
        raise ConfigError(
            f"bundle has no verb {verb!r}: give one of {', '.join(_VERBS)}.{suggest(verb, _VERBS)}"
        )
    return _VERBS[verb](rest)


def _parser(verb: str, description: str) -> Parser:
    parser = Parser(prog=f"mosaic bundle {verb}", description=description)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _create(words: Sequence[str]) -> int:
    from mosaic.cli.bundle_building import build_bundle
    from mosaic.cli.bundle_contents import contents_for_cleanrl, contents_of_extras

    parser = _parser("create", "Make a bundle; one that stands with the same contents is kept.")
    parser.add_argument("name", metavar="NAME", help="letters, digits, '_' and '-'")
    parser.add_argument(
        "--extra", action="append", default=[], metavar="EXTRA", help="an extra of mosaic-rl"
    )
    parser.add_argument("--cleanrl", action="store_true", help="what CleanRL's scripts need")
    given = parser.parse(words)
    if given.cleanrl and given.extra:
        raise ConfigError(
            "--cleanrl and --extra contradict each other: CleanRL's scripts need other versions."
        )
    contents = contents_for_cleanrl() if given.cleanrl else contents_of_extras(given.extra)

    def say(text: str) -> None:
        print(f"{given.name}: {text}", file=sys.stderr, flush=True)

    _tell(build_bundle(VarPaths.default(), given.name, contents, say), as_json=given.json)
    return EXIT_OK


def _list(words: Sequence[str]) -> int:
    given = _parser("list", "List the bundles.").parse(words)
    bundles = find_bundles(VarPaths.default())
    if given.json:
        print(json.dumps([each.to_json() for each in bundles], indent=2))
    elif not bundles:
        print("No bundle was made. 'mosaic bundle --help' tells how.")
    else:
        rows = [
            (each.name, _holds(each), each.python_version, format_moment(each.created_at))
            for each in bundles
        ]
        print_table(("name", "holds", "python", "made"), rows)
    return EXIT_OK


def _show(words: Sequence[str]) -> int:
    parser = _parser("show", "Show what a bundle holds.")
    parser.add_argument("name", metavar="NAME", help="a bundle")
    given = parser.parse(words)
    bundle = find_bundle(VarPaths.default(), given.name)
    _tell(bundle, as_json=given.json)
    if not given.json:
        print_table(("package", "version"), list(bundle.packages.items()))
    return EXIT_OK


def _rm(words: Sequence[str]) -> int:
    from mosaic.cli.bundle_building import remove_bundle

    parser = _parser("rm", "Remove a bundle that no run lives in.")
    parser.add_argument("name", metavar="NAME", help="a bundle")
    given = parser.parse(words)
    bundle = remove_bundle(VarPaths.default(), given.name)
    print(json.dumps(bundle.to_json()) if given.json else f"{bundle.name}: removed")
    return EXIT_OK


def _tell(bundle: Bundle, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(bundle.to_json() | {"python": str(bundle.python)}))
    else:
        print(f"{bundle.name}: {_holds(bundle)}, Python {bundle.python_version}, {bundle.root}")


def _holds(bundle: Bundle) -> str:
    if bundle.profile is not None:
        return f"the packages of {bundle.profile}"
    return ", ".join(bundle.extras) or "no extra"


_VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "create": _create,
    "list": _list,
    "show": _show,
    "rm": _rm,
}
