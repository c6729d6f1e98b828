"""The director: it sets the agent's goals over XMPP, and hears when each is achieved."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from spade.agent import Agent
from spade.behaviour import OneShotBehaviour
from spade.container import Container
from spade.message import Message

from spade_bdi_rl_worker.player import DIRECTOR, Player
from spade_bdi_rl_worker.skill import Skill
from spade_bdi_rl_worker.xmpp_server import serving

PLAYER = "player@localhost"
# A round of learning takes a second, an episode less; a machine may be busy.
_ANSWER_S = 600.0
# Of the grace that a run has when it is told to stop. An agent that is stopped right after its
# start may wait for the answer for ever; the server goes down behind it in any case.
_FAREWELL_S = 3.0


class Director:
    """Asks one goal after the other of the player."""

    def __init__(self, behaviour: Any) -> None:
        self._behaviour = behaviour
        self.messages = 0  # that went over the server, both ways

    async def achieve(self, goal: str, answer: str) -> None:
        """Set a goal, and wait until the player says that it is achieved."""
        order = {"performative": "BDI", "ilf_type": "achieve"}
        await self._behaviour.send(Message(to=PLAYER, body=goal, metadata=order))
        reply = await self._behaviour.receive(timeout=_ANSWER_S)
        if reply is None:
            raise TimeoutError(f"the agent did not achieve {goal} within {_ANSWER_S:.0f} s")
        assert reply.body.startswith(answer), (goal, reply.body)
        self.messages += 2


def direct(skill: Skill, work: Callable[[Director], Awaitable[None]]) -> None:
    """Start server and agents, do the work with them, and stop them."""
    # SPADE's agents belong to the loop of its container.
    Container().loop.run_until_complete(_direct(skill, work))


async def _direct(skill: Skill, work: Callable[[Director], Awaitable[None]]) -> None:
    with tempfile.TemporaryDirectory(prefix="mosaic-xmpp-") as directory:
        async with serving(Path(directory)) as port, _agents(skill, port) as director:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            director.add_behaviour(_Work(work, done))
            await done


@asynccontextmanager
async def _agents(skill: Skill, port: int) -> AsyncIterator[Agent]:
    """Log both agents in, with passwords of their own."""
    player = Player(PLAYER, secrets.token_urlsafe(24), skill, port=port)
    director = Agent(DIRECTOR, secrets.token_urlsafe(24), port=port)
    director.container.unregister(DIRECTOR)
    await player.start(auto_register=True)
    await director.start(auto_register=True)
    try:
        yield director
    finally:
        await asyncio.gather(_farewell(director), _farewell(player))


async def _farewell(agent: Agent) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(agent.stop(), _FAREWELL_S)


class _Work(OneShotBehaviour):  # type: ignore[misc]
    def __init__(
        self, work: Callable[[Director], Awaitable[None]], done: asyncio.Future[None]
    ) -> None:
        super().__init__()
        self._work = work
        self._done_with = done

    async def run(self) -> None:
        try:
            await self._work(Director(self))
        except Exception as error:  # noqa: BLE001 - SPADE would log it and go on
            self._done_with.set_exception(error)
        else:
            self._done_with.set_result(None)
