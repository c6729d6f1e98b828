"""The script's environments: numbered as they are made, and watched as they step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from cleanrl_worker.upstream.lanes import ScriptLanes
from cleanrl_worker.upstream.session import Session


def watch_environments(gymnasium: Any, session: Session) -> None:
    """Change Gymnasium's `make` and its vector environment in place.

    An environment that is shown is made able to draw itself, unless the script has said how it is
    to draw. Nothing stands between the script and its environments.
    """
    lanes = None if session.is_dry_run else ScriptLanes.open()
    session.lanes = lanes
    gymnasium.make = _drawing_make(gymnasium.make, lanes)
    vector = gymnasium.vector.SyncVectorEnv
    build, step = vector.__init__, vector.step

    @functools.wraps(build)
    def init(self: Any, env_fns: Iterable[Callable[[], Any]], *more: Any, **options: Any) -> None:
        functions = list(env_fns)
        if lanes is not None:
            functions = lanes.numbered(functions)
        build(self, functions, *more, **options)
        session.envs = self
        if lanes is not None:
            lanes.show(self)

    @functools.wraps(step)
    def stepped(self: Any, actions: Any) -> Any:
        result = step(self, actions)
        session.stepped(self.num_envs)
        if lanes is not None:
            lanes.stepped(self, result)
        return result

    vector.__init__, vector.step = init, stepped


def _drawing_make(make: Callable[..., Any], lanes: ScriptLanes | None) -> Callable[..., Any]:
    @functools.wraps(make)
    def drawing(*arguments: Any, **options: Any) -> Any:
        if lanes is None or not lanes.is_wanted or "render_mode" in options:
            return make(*arguments, **options)
        try:
            made = make(*arguments, **options, render_mode="rgb_array")
        except Exception as error:  # noqa: BLE001 - one that cannot draw trains all the same
            lanes.cannot_draw(error)
            return make(*arguments, **options)
        lanes.prepare(made)
        return made

    return drawing
