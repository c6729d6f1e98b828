"""The run of this worker: a model plays until its steps are used up."""

from __future__ import annotations

import base64
import os
import statistics
import time
from typing import Any

from llm_worker.backends import EndpointError, check_base_url, make_backend
from llm_worker.config import Config
from llm_worker.descriptions import make_game
from llm_worker.player import Player
from mosaic.contracts.parameters import build
from mosaic.fastlane.jpeg import encode
from mosaic.workers.solo.evaluation import EvaluationReport
from mosaic.workers.solo.recorder import RunRecorder
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Rules, Table, Title

_LIMIT = 500  # of an episode in an environment that has none of its own


class LlmRun:
    """One run, prepared: its game is built, and a first prompt has been written."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._config = build(Config, {**settings.params, "env_id": settings.env_id})
        self._game = make_game(settings.env_id)
        if self._config.backend == "endpoint":
            check_base_url(self._config.base_url)
        self._stopped = False
        secrets = {**os.environ, **settings.secrets}
        backend = make_backend(
            self._config, self._game.actions, settings.seed, secrets, lambda: self._stopped
        )
        self.player = Player(self._game, self._config, backend)
        observation, _ = self._game.env.reset(seed=settings.seed)
        self.player.begin(observation)
        self._prompt = self.player.messages()

    def table(self) -> Table:
        """Put the game on the table, with the model as the one who acts."""
        title = Title(self._settings.env_id, self._settings.algo)
        rules = Rules(self._game.actions)
        return Table(self._game.env, rules, title, self._settings.seed, self.player)

    def summary(self) -> dict[str, Any]:
        env = self._game.env
        config = self._config
        return {
            "callable": "LlmRun",
            "env": {
                "id": self._settings.env_id,
                "family": self._game.kind,
                "observation_space": str(env.observation_space),
                "action_space": str(env.action_space),
            },
            "agent": {"backend": config.backend, "model": config.model, "prompt": self._prompt},
        }

    def run(self, recorder: RunRecorder) -> None:
        settings = self._settings
        report = EvaluationReport(recorder) if settings.mode == "policy_eval" else None
        batch = int(settings.option("eval_batch_size"))
        returns, lengths, steps, episode = list[float](), list[int](), 0, 0
        started = time.monotonic()
        try:
            while not recorder.should_stop:
                left = None if report else (settings.total_timesteps or 1) - steps
                total, length = self._play(recorder, episode, steps, left)
                episode += 1
                steps += length
                returns.append(total)
                lengths.append(length)
                if report is None and steps >= (settings.total_timesteps or 1):
                    return
                if report is not None and len(returns) >= batch:
                    report.batch(returns, lengths, time.monotonic() - started)
                    returns, lengths, started = [], [], time.monotonic()
                    if not settings.option("eval_repeat"):
                        return
        except EndpointError:
            if not recorder.should_stop:
                raise
        finally:
            self._game.env.close()

    def _play(
        self, recorder: RunRecorder, episode: int, before: int, left: int | None
    ) -> tuple[float, int]:
        game, player = self._game, self.player
        seed = (self._settings.seed + episode) % 2**32
        observation, _ = game.env.reset(seed=seed)
        player.begin(observation)
        total, step = 0.0, 0
        terminated = truncated = False
        limit = min(_LIMIT, left) if left is not None else _LIMIT
        given_up: dict[str, Any] = {}
        while not (terminated or truncated or recorder.should_stop):
            self._stopped = recorder.should_stop
            action = player.act()
            if action is None:
                given_up, truncated = {"given_up": "unparsable answers", **player.told}, True
                break
            told = player.told
            observation, reward, terminated, truncated, _ = game.env.step(action)
            truncated = bool(truncated) or (not terminated and step + 1 >= limit)
            player.see(action, observation, float(reward))
            total += float(reward)
            fields: dict[str, Any] = {
                "action": action,
                "observation": game.to_json(observation),
                "reward": float(reward),
                "terminated": bool(terminated),
                "truncated": truncated,
                "info": told,
            }
            if self._config.frames:
                fields["render_payload"] = _picture(game.env.render())
            recorder.step(episode, step, seed, **fields)
            step += 1
            recorder.at_step(before + step)
        recorder.episode(
            episode,
            total_reward=total,
            steps=step,
            terminated=bool(terminated),
            truncated=not terminated,
            seed=seed,
            metadata=given_up,
        )
        self._measure(recorder, before + step, total, step)
        return total, max(step, 1)

    def _measure(self, recorder: RunRecorder, at: int, total: float, length: int) -> None:
        counts, latencies = self.player.counts, self.player.latencies
        recorder.metrics(
            at,
            {
                "charts/episodic_return": total,
                "charts/episodic_length": float(length),
                "llm/prompts": float(counts.prompts),
                "llm/prompt_tokens": float(counts.prompt_tokens),
                "llm/completion_tokens": float(counts.completion_tokens),
                "llm/unparsable": float(counts.unparsable),
                "llm/retries": float(counts.retries),
                "llm/latency_s": statistics.fmean(latencies) if latencies else 0.0,
            },
        )


def _picture(pixels: Any) -> dict[str, Any]:
    data = base64.b64encode(encode(pixels, "JPEG", quality=80)).decode()
    return {"mode": "jpeg", "data": data, "width": pixels.shape[1], "height": pixels.shape[0]}
