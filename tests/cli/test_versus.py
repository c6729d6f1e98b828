"""Actors that play the same episodes, in one table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.cli.main import main
from spade_bdi_rl_worker.q_learning import Config, Learner
from spade_bdi_rl_worker.worlds import load_world
from tests.llm_worker.service import serving

RIGHT = '{"actions": ["right"]}'


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    learner = Learner(load_world("FrozenLake-v1"), Config(), seed=1, total_steps=100_000)
    while learner.steps < learner.total_steps:
        learner.learn_episode()
    path = tmp_path / "bdi_q_learning.json"
    document = {"algo": "bdi_q_learning", "env_id": "FrozenLake-v1", "state": learner.to_json()}
    path.write_text(json.dumps(document))
    return path


def test_a_table_a_model_and_chance(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda n, body: RIGHT) as service:
        names = [str(policy), f"llm:test@{service.url}", "random"]
        assert main(["versus", *names, "--episodes", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["env_id"] == "FrozenLake-v1", "the policy names it"
    assert found["seeds"] == list(range(1, 21))
    learned, model, chance = found["contenders"]
    assert learned["mean_return"] > 0.5 > chance["mean_return"]
    assert len(model["returns"]) == 20
    assert len(service.requests) >= 20


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["random"], "name at least two contenders"),
        (["random", "random"], "--env-id is missing"),
        (["llm:x", "random"], "give llm:MODEL@BASE_URL"),
        (["random", "random", "--env-id", "Nowhere-v0"], "random cannot play"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["versus", *words]) == 2
    assert line in capsys.readouterr().err
