"""Procgen's games in envpool: one by one and in a pool, their ends, levels, pictures and scale."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.cleanrl_worker.envs.test_native_atari import assert_same
from tests.contract.short_games import SHORT_SCENES, STEPS

from cleanrl_worker.agents.layout import SCENES
from cleanrl_worker.envs.backends import choose_backend
from cleanrl_worker.envs.build import Normalisation, build_envs
from cleanrl_worker.envs.normalise import ScaledRewards
from cleanrl_worker.envs.procgen import GAMES, SCENE, ProcgenGame
from cleanrl_worker.envs.registry import PROCGEN, make, resolve
from cleanrl_worker.envs.vector import EnvBatch, Step
from mosaic.contracts.errors import EXIT_DEPENDENCY, ConfigError, DependencyMissing

envpool = pytest.importorskip("envpool")
pytestmark = pytest.mark.needs_system("qt5")
SEED = 11
ACTIONS = np.random.default_rng(0).integers(15, size=(400, 3))


def play(envs: EnvBatch, steps: int, seed: int = SEED) -> list[Step]:
    envs.reset(seed)
    return [envs.step(actions[: envs.num_envs]) for actions in ACTIONS[:steps]]


@pytest.fixture
def games() -> Iterator[EnvBatch]:
    envs = build_envs(resolve("starpilot"), 3, backend="envpool", cpus=2)
    yield envs
    envs.close()


def test_our_table_is_that_of_envpool() -> None:
    from envpool.procgen.registration import distribution, procgen_game_config

    theirs = {
        name: (limit, tuple(distribution[kind] for kind in kinds))
        for name, limit, kinds in procgen_game_config
    }
    assert theirs == {name: tuple(levels) for name, levels in GAMES.items()}


@pytest.mark.parametrize("name", GAMES)
def test_every_game_is_known_by_both_names(name: str) -> None:
    for env_id in (name, *(f"{name.capitalize()}{kind}-v0" for kind in GAMES[name].kinds)):
        env = resolve(env_id)
        assert (env.id, env.family, env.notes) == (env_id, "procgen", ())
    made = make(resolve(name))
    assert made.spec is not None
    assert made.spec.max_episode_steps == GAMES[name].max_steps
    obs, _ = made.reset(seed=1)
    assert made.observation_space.contains(obs)
    assert made.action_space.n == 15  # type: ignore[attr-defined]
    made.close()


def test_cleanrls_name_is_that_of_all_easy_levels() -> None:
    short, long = (build_envs(resolve(name), 2) for name in ("starpilot", "StarpilotEasy-v0"))
    assert_same(play(short, 100), play(long, 100))
    spec = envpool.make_spec("StarpilotEasy-v0").config
    assert (spec.num_levels, spec.start_level, spec.distribution_mode) == (0, 0, 0)


@pytest.mark.parametrize(
    ("env_id", "line"),
    [
        ("starpilott", "is not a registered environment. Did you mean 'starpilot'?"),
        ("Starpilot", "Did you mean 'starpilot'?"),
        ("StarpilotMemory-v0", "Did you mean 'StarpilotHard-v0'?"),
        ("CoinrunEasy-v3", "Use 'CoinrunEasy-v0'."),
    ],
)
def test_a_wrong_id_is_refused_in_one_line(env_id: str, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(env_id)
    assert line in refused.value.one_line()


def test_a_pool_plays_the_games_that_are_played_one_by_one(games: EnvBatch) -> None:
    alone = build_envs(resolve("starpilot"), 3, backend="sync")
    pooled, single = play(games, 400), play(alone, 400)
    assert_same(pooled, single)
    assert sum(int(step.terminated.sum()) for step in pooled) >= 4
    alone.close()


def test_the_seed_decides_on_the_levels(games: EnvBatch) -> None:
    first = play(games, 60)
    games.rebuild()
    assert_same(first, play(games, 60))
    other = play(games, 60, SEED + 100)
    assert not np.array_equal(first[0].obs, other[0].obs)
    assert len({step.obs.tobytes() for step in (first[0], other[0])}) == 2


def test_an_end_keeps_its_last_scene_and_shows_the_next_level(games: EnvBatch) -> None:
    steps = play(games, 400)
    ended = [step for step in steps if step.episodes]
    assert ended
    for step in ended:
        rows = [episode.env for episode in step.episodes]
        assert rows == np.flatnonzero(step.terminated | step.truncated).tolist()
        for row in rows:
            last, first = step.next_obs[row].astype(int), step.obs[row].astype(int)
            assert np.abs(last - first).mean() > 5, "two levels"
        others = np.setdiff1d(np.arange(3), rows)
        assert np.array_equal(step.next_obs[others], step.obs[others])


@pytest.mark.parametrize("backend", ["envpool", "sync"])
def test_the_longest_episode_is_truncated_and_not_terminated(backend: str) -> None:
    envs = build_envs(resolve(SHORT_SCENES), 2, backend=backend)
    envs.reset(SEED)
    still = np.full(2, 4)
    steps = [envs.step(still) for _ in range(STEPS)]
    assert not any(step.truncated.any() or step.terminated.any() for step in steps[:-1])
    assert steps[-1].truncated.all()
    assert not steps[-1].terminated.any()
    assert [episode.length for episode in steps[-1].episodes] == [STEPS, STEPS]
    envs.close()


def test_what_follows_a_truncation_is_the_same_in_a_pool() -> None:
    pool, alone = (
        build_envs(resolve(SHORT_SCENES), 3, backend=name) for name in ("envpool", "sync")
    )
    pooled = play(pool, 200)
    assert_same(pooled, play(alone, 200))
    assert sum(int(step.truncated.sum()) for step in pooled) >= 9
    pool.close()
    alone.close()


def test_it_shows_what_the_agent_sees(games: EnvBatch) -> None:
    obs = games.reset(SEED)
    picture = games.picture(1, 200)  # type: ignore[attr-defined]
    assert picture.shape == (192, 192, 3)
    assert np.array_equal(picture[::3, ::3], obs[1].transpose(1, 2, 0))
    game: Any = make(resolve("starpilot"), render_mode="rgb_array")
    scene, _ = game.reset(seed=SEED + 1)
    assert np.array_equal(scene, obs[1])
    assert np.array_equal(game.render()[::4, ::4], scene.transpose(1, 2, 0))
    game.close()


def test_the_backend_is_envpools_unless_it_is_filmed() -> None:
    env = resolve("starpilot")
    assert choose_backend(env, 8, "auto") == "envpool"
    assert choose_backend(env, 8, "auto", video=True) == "sync"


def test_rewards_alone_are_brought_to_one_scale() -> None:
    env = resolve("starpilot")
    raw = build_envs(env, 3, backend="envpool")
    scaled = build_envs(env, 3, backend="envpool", normalise=Normalisation(0.99, "rewards"))
    assert isinstance(scaled, ScaledRewards)
    sums = np.zeros(3)
    seen: list[float] = []
    for mine, theirs in zip(play(scaled, 300), play(raw, 300), strict=True):
        assert np.array_equal(mine.obs, theirs.obs)
        assert np.array_equal(mine.next_obs, theirs.next_obs)
        assert mine.episodes == theirs.episodes, "raw returns"
        sums = 0.99 * sums * ~theirs.terminated + theirs.rewards
        seen.extend(sums)
        if np.std(seen) > 0.1:
            expected = np.clip(theirs.rewards / np.std(seen), -10, 10)
            np.testing.assert_allclose(mine.rewards, expected, rtol=2e-2)
    assert sorted(scaled.state_dict()) == ["return_rms.count", "return_rms.mean", "return_rms.var"]
    assert any(step.rewards.any() for step in play(raw, 300))


def test_a_missing_envpool_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(PROCGEN), "is_installed", lambda family: family is not PROCGEN)
    with pytest.raises(DependencyMissing) as refused:
        resolve("starpilot")
    assert refused.value.exit_code == EXIT_DEPENDENCY
    assert refused.value.one_line() == (
        "env_id='starpilot' needs the package 'envpool', which is not installed. "
        "Install it with: pip install 'mosaic-rl[procgen]'"
    )


class WithoutQt(types.ModuleType):
    """What envpool leaves of its module where the loader does not find Qt."""

    def __getattr__(self, name: str) -> object:
        cause = ImportError("libQt5Gui.so.5: cannot open shared object file")
        raise ImportError("EnvPool Procgen requires the system Qt 5 runtime on Linux.") from cause


def test_a_missing_qt_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "envpool.procgen", WithoutQt("envpool.procgen"))
    with pytest.raises(DependencyMissing) as refused:
        make(resolve("starpilot"))
    assert refused.value.exit_code == EXIT_DEPENDENCY
    line = refused.value.one_line()
    assert line == (
        "Procgen's games need libraries of Qt 5, which the system lacks: libQt5Gui.so.5: cannot "
        "open shared object file. Install them with: apt-get install libqt5core5a libqt5gui5"
    )
    with pytest.raises(DependencyMissing, match="Qt 5"):
        build_envs(resolve("starpilot"), 2, backend="envpool")


def test_a_scene_is_what_networks_are_built_for() -> None:
    assert SCENE == SCENES
    assert ProcgenGame("CoinrunEasy-v0").observation_space.shape == SCENES
