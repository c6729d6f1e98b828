"""The page of an environment or a family, in Markdown, as the GUI and the docs show it."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.catalog.environments import Environment
from mosaic.catalog.families import Family
from mosaic.catalog.games import Game, family_text


def environment_lines(environment: Environment) -> list[str]:
    """Return the page without its title and without what depends on the machine."""
    game = environment.game
    if game is None:
        shared = f"What all of its family share: {environment.family.summary}"
        return [f"This environment has no page of its own. {shared}", "", *key_lines(environment)]
    return [
        game.goal,
        "",
        f"**Observation.** {game.observation} Space: `{game.observation_space}`.",
        "",
        *_actions(game),
        "",
        f"**Reward.** {game.reward}",
        "",
        f"**Episode.** {game.episode}",
        "",
        *key_lines(environment),
    ]


def _actions(game: Game) -> list[str]:
    lines = [f"**Actions.** {game.action} Space: `{game.action_space}`."]
    if game.actions:
        lines += ["", *_table(("action", "meaning"), list(enumerate(game.actions)))]
    return lines


def key_lines(environment: Environment) -> list[str]:
    game = environment.game
    if not environment.is_playable:
        return [f"**Keys.** For agents only. {environment.why_agent_only}"]
    if game is None or not game.controls:
        return [f"**Keys.** A person can play it. {environment.family.keys}"]
    rows = [(f"`{control.text}`", control.meaning) for control in game.controls]
    idle = "" if game.idle is None else f" While none is held: {game.actions[game.idle]}."
    pace = idle or " The game waits for a key."
    return [f"**Keys.** A person can play it.{pace}", "", *_table(("key", "does"), rows)]


def need_lines(environment: Environment) -> list[str]:
    return _needs(environment.extra, environment.family)


def family_lines(family: Family) -> list[str]:
    return [family_text(family.name).strip(), "", *_needs(family.extra, family)]


def _needs(extra: str, family: Family) -> list[str]:
    """Return the commands as anybody would type them, on whatever machine this is read."""
    commands = [f"pip install 'mosaic-rl[{extra}]'"] if extra else []
    if family.apt:
        commands.append(f"apt-get install {' '.join(family.apt)}")
    if not commands:
        return ["**Needs.** Nothing beyond the base."]
    return ["**Needs.**", "", "```text", *commands, "```"]


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(map(str, row))} |" for row in lines]
