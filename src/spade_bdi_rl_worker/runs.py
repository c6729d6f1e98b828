"""The runs of this worker: training, going on from a checkpoint, evaluation."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.parameters import build
from mosaic.contracts.paths import run_name
from mosaic.workers.solo.checkpoints import read_checkpoint, save_checkpoint
from mosaic.workers.solo.evaluation import EvaluationReport
from mosaic.workers.solo.recorder import RunRecorder
from mosaic.workers.solo.settings import RunSettings
from spade_bdi_rl_worker.q_learning import Config, Learner, play
from spade_bdi_rl_worker.skill import Skill
from spade_bdi_rl_worker.worlds import load_world

if TYPE_CHECKING:
    from spade_bdi_rl_worker.director import Director

_FINAL_EPISODES = 10


class BdiRun:
    """One run, prepared: its world is read and its table there."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._config = build(Config, settings.params)
        self._world = load_world(settings.env_id)
        self._is_evaluation = settings.mode == "policy_eval"
        total = settings.total_timesteps or 1
        self._learner = Learner(self._world, self._config, settings.seed, total)
        self._from: tuple[Path, dict[str, Any]] | None = None
        self._interval = self._check_interval(total)
        self._load()
        play(self._learner, 0)
        # SPADE takes seconds to import: a config that is wrong is refused before.
        from spade_bdi_rl_worker.director import direct

        self._direct = direct

    def summary(self) -> dict[str, Any]:
        world = self._world
        return {
            "callable": "BdiRun",
            "env": {
                "id": world.env_id,
                "family": "toy_text",
                "observation_space": f"Discrete({world.states})",
                "action_space": f"Discrete({world.actions})",
            },
            "agent": {
                "parameters": world.states * world.actions,
                "architecture": "BDI agent with a table of action values",
            },
        }

    def _check_interval(self, total: int) -> int:
        bound = 2 * self._world.limit
        interval = self._settings.options.get("checkpoint_interval")
        if interval is not None and interval < bound:
            raise ConfigError(
                f"extras.checkpoint_interval={interval} is too short: at least {bound} steps, "
                f"twice the longest episode of {self._world.env_id} ({self._world.limit})."
            )
        return int(interval or max(bound, total // 10))

    def _load(self) -> None:
        """Take over the checkpoint, or the policy, that the run is to begin with."""
        mode, options = self._settings.mode, self._settings.options
        key = {"resume_training": "checkpoint_path", "policy_eval": "policy_path"}.get(mode)
        if key is None:
            return
        if not options.get(key):
            raise ConfigError(f"extras.{key} is missing: mode={mode!r} needs one.")
        path = Path(options[key]).absolute()
        document = read_checkpoint(path, algo=self._settings.algo)
        values = document["state"].get("values") or []
        if len(values) != self._world.states or len(values[0]) != self._world.actions:
            raise ConfigError(
                f"{str(path)!r} was trained on {document.get('env_id')!r}: its table does not fit "
                f"{self._world.env_id!r}."
            )
        self._learner.restore(document["state"])
        if mode == "resume_training":
            self._learner.seed = int(document["seed"])
        self._from = (path, document)

    def run(self, recorder: RunRecorder) -> None:
        if self._from is not None and not self._is_evaluation:
            recorder.checkpoint_loaded(*self._from)
        skill = Skill(
            self._learner, recorder, may_learn=not self._is_evaluation, seed=self._settings.seed
        )
        if self._is_evaluation:
            evaluation = _Evaluation(recorder, skill)
            self._direct(skill, evaluation.work)
        else:
            training = _Training(recorder, skill, self._interval)
            self._direct(skill, training.work)
            if not recorder.should_stop:
                training.save_policy()


class _Training:
    def __init__(self, recorder: RunRecorder, skill: Skill, interval: int) -> None:
        self._recorder = recorder
        self._skill = skill
        self._learner = skill.learner
        self._interval = interval
        self._next_checkpoint = (self._learner.steps // interval + 1) * interval
        self._began = (time.monotonic(), self._learner.steps)

    async def work(self, director: Director) -> None:
        """Round after round: learn, then show what was learned in an episode by plans."""
        learner, number = self._learner, 0
        while learner.steps < learner.total_steps and not self._recorder.should_stop:
            number += 1
            await director.achieve(f"improve({number})", "improved")
            episode = learner.episodes
            learner.episodes += 1
            await director.achieve(f"episode({episode})", "finished")
            self._tell()
            if learner.steps >= self._next_checkpoint:
                self._next_checkpoint = (learner.steps // self._interval + 1) * self._interval
                save_checkpoint(self._recorder, learner.steps, learner.to_json())
        if self._recorder.should_stop:
            save_checkpoint(self._recorder, learner.steps, learner.to_json(), exact=False)

    def _tell(self) -> None:
        learner, recorder = self._learner, self._recorder
        returns, lengths = self._skill.take_returns()
        began, before = self._began
        rate = (learner.steps - before) / max(1e-9, time.monotonic() - began)
        values = {
            "bdi/plan_return": self._skill.last["total_reward"],
            "bdi/planned_states": sum(
                count >= learner.config.plan_visits for count in learner.visits
            ),
            "charts/epsilon": learner.fall(learner.config.start_e, learner.config.end_e),
            "charts/SPS": rate,
        }
        if returns:
            values["charts/episodic_return"] = statistics.fmean(returns)
            values["charts/episodic_length"] = statistics.fmean(lengths)
        recorder.metrics(learner.steps, values)

    def save_policy(self) -> None:
        """Save the table, and say what ten episodes by it give."""
        recorder, learner = self._recorder, self._learner
        settings = recorder.settings
        if not settings.option("save_model"):
            return
        name = run_name(settings.env_id, settings.algo, settings.seed, int(time.time()))
        path = recorder.paths.models / name / f"{settings.algo}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "algo": settings.algo,
            "env_id": settings.env_id,
            "seed": settings.seed,
            "step": learner.steps,
            "settings": dict(settings.params),
            "state": learner.to_json(),
        }
        write_json_whole(path, document)
        recorder.policy_path = path
        seeds = range(settings.seed + 1, settings.seed + 1 + _FINAL_EPISODES)
        returns = [play(learner, seed % 2**32)[0] for seed in seeds]
        recorder.final["eval/episodic_return"] = statistics.fmean(returns)


class _Evaluation:
    def __init__(self, recorder: RunRecorder, skill: Skill) -> None:
        self._recorder = recorder
        self._skill = skill

    async def work(self, director: Director) -> None:
        settings, report = self._recorder.settings, EvaluationReport(self._recorder)
        episode = 0
        while True:
            started, returns, lengths = time.monotonic(), list[float](), list[int]()
            for _ in range(int(settings.option("eval_batch_size"))):
                if self._recorder.should_stop:
                    return
                await director.achieve(f"episode({episode})", "finished")
                returns.append(self._skill.last["total_reward"])
                lengths.append(self._skill.last["steps"])
                episode += 1
            report.batch(returns, lengths, time.monotonic() - started)
            if not settings.option("eval_repeat"):
                return
