"""Curricula: counted step by step, switched at clean points, resumed bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker import launcher
from cleanrl_worker.checkpoint_document import find_checkpoints
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.vector import Episode
from cleanrl_worker.wrappers.curriculum import FEWEST_EPISODES, Sequencer, StagedEnvs
from mosaic.contracts.curriculum import parse_schedule
from tests.cleanrl_worker.checkpoint_files import document_of
from tests.cleanrl_worker.conftest import CONFIG, RunWorker
from tests.cleanrl_worker.trained import as_a_process

# The same task with another limit of time: spaces are the same.
STAGES = [{"env_id": "CartPole-v0", "steps": 1500}, {"env_id": "CartPole-v1"}]
FLAGS = [
    "--env-id=CartPole-v1",
    "--total-timesteps=4096",
    "--num-envs=1",
    "--num-steps=128",
    "--checkpoint-interval=1000",
    "--keep-checkpoints=9",
    "--tensorboard-dir=None",
    f"--curriculum-schedule={json.dumps(STAGES)}",
]
SWITCH = 1536  # the first boundary behind 1500


def run_launcher(directory: Path, *flags: str, algo: str = "ppo") -> Path:
    """Train in a directory, and return the folder of what it left."""
    directory.mkdir()
    with as_a_process(directory):
        assert launcher.main([algo, *flags]) == 0
    (home,) = directory.glob("runs/*")
    return home


def points_of(home: Path) -> list[tuple[int, str, float]]:
    rows = [json.loads(line) for line in (home / "metrics.jsonl").read_text().splitlines()]
    return [
        (row["step"], tag, value)
        for row in rows
        for tag, value in row["values"].items()
        if not tag.startswith("time/") and tag != "charts/SPS"
    ]


class TestSequencer:
    def stages(self, *conditions: str) -> Sequencer:
        named = [{"env_id": f"E{n}", "until": text} for n, text in enumerate(conditions)]
        return Sequencer(parse_schedule([*named, {"env_id": "last"}]))

    def test_it_counts_steps_and_not_episodes(self) -> None:
        sequencer = self.stages("steps>=10")
        for _ in range(2):
            sequencer.count(4, ())
            assert sequencer.advance() is None
        sequencer.count(4, ())
        switch = sequencer.advance()
        assert switch is not None
        assert (switch.stage, switch.stages, switch.env_id) == (1, 2, "last")
        assert (switch.previous_env_id, switch.reason) == ("E0", "steps>=10")
        assert (switch.stage_steps, switch.stage_episodes) == (12, 0)

    def test_counts_begin_anew_with_a_stage_and_totals_do_not(self) -> None:
        sequencer = self.stages("steps>=5", "total_steps>=12&steps>=6")
        sequencer.count(5, ())
        assert sequencer.advance() is not None
        sequencer.count(5, ())
        assert sequencer.advance() is None
        sequencer.count(2, ())
        assert sequencer.advance() is not None
        sequencer.count(1_000, ())
        assert sequencer.advance() is None, "the last stage does not end"

    def test_a_condition_that_held_between_two_boundaries_counts(self) -> None:
        sequencer = self.stages("episode_return>=1")
        sequencer.count(1, [Episode(0, 1.0, 1)] * FEWEST_EPISODES)
        sequencer.count(1, [Episode(0, -100.0, 1)])
        switch = sequencer.advance()
        assert switch is not None
        assert switch.reason == "episode_return>=1"

    def test_one_lucky_episode_ends_no_stage(self) -> None:
        sequencer = self.stages("episode_return>=1")
        sequencer.count(1, [Episode(0, 1.0, 1)] * (FEWEST_EPISODES - 1))
        assert sequencer.advance() is None
        sequencer.count(1, [Episode(0, 1.0, 1)])
        assert sequencer.advance() is not None

    def test_its_state_is_restored(self) -> None:
        before, after = self.stages("steps>=9", "steps>=9"), self.stages("steps>=9", "steps>=9")
        before.count(9, [Episode(0, 2.0, 3)])
        before.advance()
        before.count(8, ())
        after.load_state_dict(before.state_dict())
        assert after.index == 1
        after.count(1, ())
        assert after.advance() is not None
        with pytest.raises(ValueError, match="it is of stage 2, and there are 1"):
            Sequencer(parse_schedule([{"env_id": "E"}])).load_state_dict(before.state_dict())


def test_environments_are_swapped_at_a_rebuild() -> None:
    sequencer = Sequencer(parse_schedule(STAGES))
    envs = [resolve("CartPole-v0"), resolve("CartPole-v1")]
    staged = StagedEnvs(lambda index: build_envs(envs[index], 2), sequencer)
    assert staged.max_episode_steps == 200
    first = staged.reset(3)
    staged.step(np.zeros(2, np.int64))
    staged.rebuild()
    assert staged.max_episode_steps == 200, "the same stage, built anew"
    assert (staged.reset(3) == first).all()
    sequencer.count(1500, ())
    sequencer.advance()
    staged.rebuild()
    assert staged.max_episode_steps == 500
    staged.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_launcher(tmp_path_factory.mktemp("curriculum") / "whole", *FLAGS)


def test_stages_are_in_the_metrics_and_the_rate_falls_over_the_whole_run(whole: Path) -> None:
    points = points_of(whole)
    stages = [(step, value) for step, tag, value in points if tag == "curriculum/current_stage"]
    assert stages == [(0, 0.0), (SWITCH, 1.0)]
    rates = {step: value for step, tag, value in points if tag == "charts/learning_rate"}
    assert rates[SWITCH] == pytest.approx(2.5e-4 * (1 - 11 / 32)), "of the run, not of the stage"
    assert rates[4096] > 0


@pytest.mark.parametrize("step", [1024, 2048])
def test_resuming_is_exact_before_and_behind_a_switch(
    whole: Path, tmp_path: Path, step: int
) -> None:
    checkpoint = whole / "checkpoints" / f"step-{step}.ckpt"
    # The schedule comes from the checkpoint: nothing but the path is given.
    child = run_launcher(
        tmp_path / "child",
        f"--checkpoint-path={checkpoint}",
        "--total-timesteps=4096",
        "--seed=1",
        "--env-id=CartPole-v1",
        "--tensorboard-dir=None",
    )
    expected = [point for point in points_of(whole) if point[0] > step or "eval/" in point[1]]
    assert points_of(child) == expected
    model = "ppo.cleanrl_model"
    assert (child / model).read_bytes() == (whole / model).read_bytes()


def test_an_off_policy_algorithm_and_a_normaliser_cross_a_switch(tmp_path: Path) -> None:
    """The buffer and the statistics stay; the checkpoint is of the second stage."""
    stages = [{"env_id": "CartPole-v0", "episodes": 3}, {"env_id": "CartPole-v1"}]
    home = run_launcher(
        tmp_path / "dqn",
        "--env-id=CartPole-v1",
        "--total-timesteps=1200",
        "--learning-starts=100",
        "--tensorboard-dir=None",
        f"--curriculum-schedule={json.dumps(stages)}",
        algo="dqn",
    )
    document = document_of(find_checkpoints(home / "checkpoints")[-1])
    assert document["state"]["curriculum"]["stage"] == 1
    assert document["state"]["curriculum"]["total_steps"] == 1200


def config(**extras: Any) -> dict[str, Any]:
    parameters = {"num_envs": 2, "num_steps": 64}
    return {**CONFIG, "extras": {"algo_params": parameters, **extras}}


def test_events_and_manifest_tell_of_the_switch(run_worker: RunWorker, tmp_path: Path) -> None:
    done = run_worker(config=config(curriculum_schedule=STAGES))
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (switch,) = [event["payload"] for event in events if event["event"] == "stage_changed"]
    assert switch == {
        "step": 1536,
        "stage": 1,
        "stages": 2,
        "env_id": "CartPole-v1",
        "previous_env_id": "CartPole-v0",
        "reason": "steps>=1500",
        "stage_steps": 1536,
        "stage_episodes": switch["stage_episodes"],
    }
    (run_dir,) = (tmp_path / "var/trainer/runs").iterdir()
    manifest = json.loads((run_dir / "analytics.json").read_text())
    assert manifest["curriculum"] == {
        "stages": [
            {"env_id": "CartPole-v0", "until": "steps>=1500"},
            {"env_id": "CartPole-v1", "until": None},
        ],
        "switches": [switch],
    }


def test_a_dry_run_trains_nothing_and_visits_every_stage(
    run_worker: RunWorker, tmp_path: Path
) -> None:
    long = [{"env_id": "CartPole-v0", "steps": 9_000}, {"env_id": "CartPole-v1"}]
    done = run_worker("--dry-run", "--emit-summary", config=config(curriculum_schedule=long))
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [stage["env_id"] for stage in summary["env"]["stages"]] == ["CartPole-v0", "CartPole-v1"]
    assert "may take 9,000 steps of the run's 2,048" in " ".join(summary["warnings"])
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize(
    ("env_id", "says"),
    [
        ("Acrobot-v1", "'Acrobot-v1' has the observation space"),
        ("CartPole-v9", "'CartPole-v9' does not exist"),
    ],
)
def test_a_dry_run_finds_stages_that_do_not_fit(
    run_worker: RunWorker, tmp_path: Path, env_id: str, says: str
) -> None:
    stages = [{"env_id": "CartPole-v1"}, {"env_id": env_id}]
    done = run_worker("--dry-run", config=config(curriculum_schedule=stages))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert says in line
    assert not (tmp_path / "var").exists()
