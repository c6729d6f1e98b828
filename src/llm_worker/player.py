"""One episode after the other: prompt, answer, actions, and the count of everything."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from llm_worker.answers import Unparsable, parse_actions
from llm_worker.backends import Answer, Backend, Message
from llm_worker.config import Config
from llm_worker.descriptions import Game

_SYSTEM = (
    "You play a game, step by step. {rules}\nThe actions are: {actions}.\n"
    'Answer with a JSON object such as {{"actions": ["{example}"]}}: the next actions, at most '
    "{limit}, in their order."
)


@dataclass
class Counts:
    """What the model cost and missed, over the run."""

    prompts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unparsable: int = 0
    retries: int = 0

    def add(self, answer: Answer) -> None:
        self.prompts += 1
        self.prompt_tokens += answer.prompt_tokens or 0
        self.completion_tokens += answer.completion_tokens or 0
        self.retries += answer.retries


@dataclass
class Player:
    """Chooses actions by asking; an answer that names none is counted and asked for again."""

    game: Game
    config: Config
    backend: Backend
    counts: Counts = field(default_factory=Counts)
    latencies: list[float] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)  # of the last prompt, for telemetry
    _planned: deque[int] = field(default_factory=deque)
    _history: deque[str] = field(default_factory=deque)
    _text: str = ""

    def begin(self, observation: Any) -> None:
        self._planned.clear()
        self._history = deque(maxlen=self.config.history)
        self.latencies = []
        self._text = self.game.describe(observation)

    def act(self) -> int | None:
        """Return the next action; None where the model gave none, however often it was asked."""
        self.told = {}
        if not self._planned:
            self._planned.extend(self._ask())
        return self._planned.popleft() if self._planned else None

    def see(self, action: int, observation: Any, reward: float) -> None:
        """Take in what an action did."""
        self._text = self.game.describe(observation)
        self._history.append(f"{self.game.actions[action]}: reward {reward:g}. {self._text}")

    def _ask(self) -> list[int]:
        messages, complaint = self.messages(), ""
        for _ in range(self.config.unparsable_limit):
            asked = [*messages]
            if complaint:
                asked.append({"role": "user", "content": complaint})
            answer = self.backend.ask(asked)
            self.counts.add(answer)
            self.latencies.append(answer.latency_s)
            self._tell(asked, answer)
            try:
                return parse_actions(answer.text, self.game.actions, self.config.steps_per_prompt)
            except Unparsable as error:
                self.counts.unparsable += 1
                self.told["unparsable"] = str(error)
                complaint = f"Your last answer could not be used: {error}. Answer again."
        return []

    def _tell(self, messages: list[Message], answer: Answer) -> None:
        every = self.config.prompt_every
        if every and (self.counts.prompts - 1) % every == 0:
            self.told = {
                "prompt": [dict(message) for message in messages],
                "answer": answer.text,
                "prompt_tokens": answer.prompt_tokens,
                "completion_tokens": answer.completion_tokens,
                "retries": answer.retries,
            }

    def messages(self) -> list[Message]:
        game = self.game
        system = _SYSTEM.format(
            rules=game.rules,
            actions=", ".join(game.actions),
            example=game.actions[0],
            limit=self.config.steps_per_prompt,
        )
        past = "\n".join(f"- {line}" for line in self._history)
        told = f"What you did so far:\n{past}\n\n" if past else ""
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": f"{told}Now:\n{self._text}\nYour next actions?"},
        ]
