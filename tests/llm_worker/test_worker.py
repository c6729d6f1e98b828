"""The LLM worker against a service that answers well, badly, slowly, and not at all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from llm_worker import SCHEMA_PATH
from llm_worker.answers import Unparsable, parse_actions
from llm_worker.describe import describe
from llm_worker.descriptions import make_game
from tests.llm_worker.service import Service, serving
from tests.solo_workers import Bench, Ran

LAKE: dict[str, Any] = {"algo": "llm_player", "env_id": "FrozenLake-v1", "seed": 1}
RIGHT = '{"actions": ["right", "down"]}'
KEY = "sk-canary-0123456789"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench("llm_worker.cli", tmp_path)


def play(
    bench: Bench, service: Service, *, steps: int = 6, run_id: str = "run", **params: Any
) -> Ran:
    given = {"base_url": service.url, "retry_wait_s": 0.01, "frames": False, **params}
    extras = {"algo_params": given, "openai_api_key": KEY}
    return bench.run(run_id, **LAKE, total_timesteps=steps, extras=extras)


def test_a_service_that_answers_well(bench: Bench) -> None:
    with serving(lambda n, body: f"I think so.\n```json\n{RIGHT}\n```") as service:
        ran = play(bench, service, frames=True)
    assert ran.code == 0, ran.stderr
    steps = ran.told("step")
    assert {step["action"] for step in steps} <= {1, 2}
    assert steps[0]["info"]["answer"].startswith("I think so.")
    assert "frozen lake" in steps[0]["info"]["prompt"][0]["content"]
    assert steps[0]["render_payload"]["mode"] == "jpeg"
    assert "prompt" not in steps[1]["info"], "the second action of the same answer"
    final = bench.manifest("run")["metrics"]["final"]
    assert final["llm/prompts"] == len(service.requests)
    assert final["llm/prompt_tokens"] == 10 * len(service.requests)
    assert final["llm/unparsable"] == 0
    assert set(service.keys) == {f"Bearer {KEY}"}
    last = service.requests[-1]["messages"][-1]["content"]
    assert "What you did so far" in last or len(service.requests) == 1
    written = [path for path in bench.root.rglob("*") if path.is_file() and path.name != "run.json"]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_a_service_that_answers_badly(bench: Bench) -> None:
    """Every third answer can be used; the others are counted, and nothing stands in for them."""
    with serving(lambda n, body: RIGHT if n % 3 == 0 else "Let me jump!") as service:
        ran = play(bench, service)
    assert ran.code == 0, ran.stderr
    final = bench.manifest("run")["metrics"]["final"]
    assert final["llm/unparsable"] == sum(n % 3 != 0 for n in range(1, len(service.requests) + 1))
    assert {step["action"] for step in ran.told("step")} <= {1, 2}
    complaint = service.requests[1]["messages"][-1]["content"]
    assert "could not be used" in complaint


def test_a_service_that_never_gives_an_action(bench: Bench) -> None:
    with serving(lambda n, body: '{"actions": ["fly"]}') as service:
        ran = play(bench, service, steps=2, unparsable_limit=3)
    assert ran.code == 0, ran.stderr
    assert ran.told("step") == [], "no action was made up"
    episodes = ran.told("episode")
    assert episodes[0]["metadata"]["given_up"] == "unparsable answers"
    assert "'fly' is none of the actions" in episodes[0]["metadata"]["unparsable"]
    assert bench.manifest("run")["metrics"]["final"]["llm/unparsable"] == len(service.requests)


def test_a_service_that_is_slow_and_busy(bench: Bench) -> None:
    """A late answer and a "too many requests" are asked for again."""
    answers: dict[int, Any] = {1: (1.0, RIGHT), 2: (429, "slow down"), 3: (503, "not yet")}
    with serving(lambda n, body: answers.get(n, RIGHT)) as service:
        ran = play(bench, service, steps=2, timeout_s=0.4)
    assert ran.code == 0, ran.stderr
    assert bench.manifest("run")["metrics"]["final"]["llm/retries"] == 3
    assert ran.told("step")[0]["info"]["retries"] == 3


def test_a_service_that_does_not_answer(bench: Bench) -> None:
    with serving(lambda n, body: None) as service:
        ran = play(bench, service, retries=2)
        assert len(service.requests) == 3
    assert ran.code == 1
    [failed] = ran.events("run_failed")
    assert "did not answer within 3 tries" in failed["error"]
    assert ran.stderr.count("\n") == 1
    gone = play(bench, service, retries=0, run_id="gone")
    assert "refused" in gone.events("run_failed")[0]["error"]


def test_a_service_that_refuses_the_key(bench: Bench) -> None:
    with serving(lambda n, body: (401, f"no such key {KEY}")) as service:
        ran = play(bench, service)
        assert len(service.requests) == 1, "it is not asked again"
    assert "refused: status 401" in ran.events("run_failed")[0]["error"]
    assert KEY not in json.dumps(ran.lines)


def test_random_and_scripted_players(bench: Bench) -> None:
    ran = bench.run(
        "random", **LAKE, total_timesteps=200, extras={"backend": "random", "frames": False}
    )
    assert ran.code == 0, ran.stderr
    assert set(Counter(step["action"] for step in ran.told("step"))) == {0, 1, 2, 3}
    script = '["forward"]\n["left"]'
    ran = bench.run(
        "scripted",
        algo="llm_player",
        env_id="MiniGrid-Empty-5x5-v0",
        total_timesteps=4,
        seed=1,
        extras={"algo_params": {"backend": "scripted", "script": script, "frames": False}},
    )
    assert ran.code == 0, ran.stderr
    assert [step["action"] for step in ran.told("step")] == [2, 0, 2, 0]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"env_id": "CartPole-v1"}, "cannot be told in words"),
        ({"extras": {"base_url": "file:///etc/passwd"}}, "give http(s)://HOST"),
        ({"extras": {"backend": "scripted"}}, "script is empty"),
        ({"extras": {"modle": "x"}}, "has no parameter 'modle'"),
    ],
)
def test_a_wrong_config_is_one_line(bench: Bench, fields: dict[str, Any], line: str) -> None:
    ran = bench.run("wrong", "--dry-run", **{**LAKE, "total_timesteps": 10, **fields})
    assert (ran.code, ran.lines, ran.stderr.count("\n")) == (2, [], 1)
    assert line in ran.stderr


def test_the_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA_PATH.read_text()) == describe()


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        ('{"actions": ["left", "UP "]}', [0, 2]),
        ("[1, 0, 2, 1]", [1, 0, 2]),
        ('Not ["left"], better: {"actions": ["down"]}', [1]),
        ("```\n[0]\n```", [0]),
    ],
)
def test_answers_that_can_be_used(answer: str, actions: list[int]) -> None:
    assert parse_actions(answer, ("left", "down", "up"), 3) == actions


@pytest.mark.parametrize(
    "answer",
    ["", "left", "[]", '{"action": "left"}', '["left", "fly"]', "[7]", "[true]", "[" * 5_000],
)
def test_answers_that_cannot(answer: str) -> None:
    with pytest.raises(Unparsable):
        parse_actions(answer, ("left", "down", "up"), 3)


@pytest.mark.parametrize(
    ("env_id", "words"),
    [
        ("FrozenLake-v1", "@FFF"),
        ("CliffWalking-v1", "row 3, column 0"),
        ("Taxi-v4", "The passenger is"),
        ("BabyAI-GoToRedBallNoDists-v0", "Mission: go to the red ball."),
    ],
)
def test_games_in_words(env_id: str, words: str) -> None:
    game = make_game(env_id)
    observation, _ = game.env.reset(seed=3)
    assert words in game.describe(observation)
    game.env.close()
