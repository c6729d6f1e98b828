"""The BDI agent: its beliefs are what it perceives, its intentions come from the plan library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import agentspeak
from agentspeak import runtime
from spade.template import Template
from spade_bdi.bdi import BDIAgent
from spade_bdi.bdi_behaviour import BDIBehaviour

from spade_bdi_rl_worker.skill import Skill

PLANS = Path(__file__).parent / "plans" / "player.asl"
DIRECTOR = "director@localhost"

_PERCEPT = frozenset([agentspeak.Literal("source", (agentspeak.Literal("percept"),))])


class Player(BDIAgent):  # type: ignore[misc]
    """Plays with a skill, by the plans of a file. It takes orders from the director alone."""

    def __init__(self, jid: str, password: str, skill: Skill, *, port: int) -> None:
        self.skill = skill
        super().__init__(jid, password, str(PLANS), port=port)
        self.container.unregister(jid)  # what it is told, it is told over XMPP

    def add_behaviour(self, behaviour: Any, template: Any = None) -> None:
        if isinstance(behaviour, BDIBehaviour):
            template = Template(sender=DIRECTOR, metadata={"performative": "BDI"})
        super().add_behaviour(behaviour, template)

    def add_custom_actions(self, actions: Any) -> None:
        def add(name: str, work: Callable[..., None], arity: int = 0) -> None:
            @actions.add(name, arity)  # type: ignore[untyped-decorator]
            def _act(agent: Any, term: Any, intention: Any) -> Any:
                work(*(int(agentspeak.grounded(arg, intention.scope)) for arg in term.args))
                yield

        add(".begin", self._begin, 1)
        add(".act", self._act, 1)
        add(".decide", self._decide)
        add(".learn", self.skill.learn_round)
        add(".conclude", self.skill.conclude)

    # What the plans can do

    def _begin(self, number: int) -> None:
        self.skill.begin(number)
        self._perceive()

    def _act(self, action: int) -> None:
        mind = {"beliefs": self.beliefs(), "intentions": self.intentions()}
        self.skill.act(action, mind)
        self._perceive()

    def _decide(self) -> None:
        """Take the best that is known for a plan, little as that may be."""
        self._believe("plan", self.skill.best_action())

    # What it knows

    def _perceive(self) -> None:
        skill = self.skill
        self._believe("at", skill.state)
        self._believe("over", agentspeak.Literal("yes" if skill.is_over else "no"))
        if skill.has_plan() and not skill.is_over:
            self._believe("plan", skill.best_action())
        else:
            self._forget("plan")

    def _believe(self, name: str, value: Any) -> None:
        self._forget(name)
        self._revise(agentspeak.Trigger.addition, agentspeak.Literal(name, (value,), _PERCEPT))

    def _forget(self, name: str) -> None:
        for belief in list(self.bdi_agent.beliefs[(name, 1)]):
            self._revise(agentspeak.Trigger.removal, belief)

    def _revise(self, trigger: Any, belief: Any) -> None:
        self.bdi_agent.call(trigger, agentspeak.GoalType.belief, belief, runtime.Intention())

    def beliefs(self) -> list[str]:
        """Return what it believes, without where that comes from."""
        return sorted(
            str(belief).split("[")[0]
            for beliefs in self.bdi_agent.beliefs.values()
            for belief in beliefs
        )

    def intentions(self) -> list[str]:
        """Return the goals that it is at, the outermost first, each once."""
        stacks = [stack for stack in self.bdi_agent.intentions if stack]
        names = [
            str(intention.head_term).split("[")[0]
            for stack in stacks
            for intention in stack
            if intention.head_term is not None
        ]
        return [f"!{name}" for name in dict.fromkeys(names)]
