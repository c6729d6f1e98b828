"""What a script is started with, and what is refused before anything is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.plan import LaunchPlan, plan_launch
from mosaic.contracts.errors import ConfigError, DependencyMissing, MosaicError


def plan(home: Path | None, algo: str = "cleanrl:tiny", **extras: Any) -> LaunchPlan:
    named = {} if home is None else {"cleanrl_home": str(home)}
    return plan_launch(
        CleanRLWorkerConfig("r", algo, "CartPole-v1", 1000, 1, extras={**named, **extras})
    )


def test_the_flags_are_the_scripts_own(checkout: Path) -> None:
    made = plan(checkout, num_envs=4, capture_video=False, target_kl=None, algo_params={})
    assert made.arguments == (
        "--env-id=CartPole-v1",
        "--total-timesteps=1000",
        "--seed=1",
        "--no-cuda",
        "--no-capture-video",
        "--num-envs=4",
        "--target-kl=None",
    )
    assert made.command()[1] == str(checkout / "cleanrl" / "tiny.py")
    assert made.variables["MOSAIC_TENSORBOARD_DIR"] == "tensorboard"
    assert made.code[-1] == checkout


@pytest.mark.parametrize(
    ("extras", "text"),
    [
        ({"num_env": 4}, "Did you mean 'num_envs'"),
        ({"num_envs": "x"}, "num_envs='x' is not allowed"),
        ({"batch_size": 4}, "has no parameter 'batch_size'"),
        ({"algo_params": {"torch_threads": 2}}, "has no parameter 'torch_threads'"),
        ({"checkpoint_interval": 100}, "CleanRL's scripts save no checkpoints"),
        ({"mode": "policy_eval", "policy_path": "p"}, "trains, and no more"),
        ({"hf_entity": "me"}, "has no flag --hf-entity"),
    ],
)
def test_what_a_script_cannot_do_is_refused(
    checkout: Path, extras: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        plan(checkout, **extras)


@pytest.mark.parametrize("algo", ["cleanrl:../tiny", "cleanrl:", "other:tiny", "cleanrl:no"])
def test_only_scripts_of_the_checkout_run(checkout: Path, algo: str) -> None:
    with pytest.raises(ConfigError, match="algo="):
        plan(checkout, algo)


def test_a_link_that_leaves_the_checkout_is_no_script(checkout: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("class Args: pass\n")
    (checkout / "cleanrl" / "linked.py").symlink_to(outside)
    with pytest.raises(ConfigError, match="has no such script"):
        plan(checkout, "cleanrl:linked")


def test_the_checkout_and_the_bundle_must_be_there(checkout: Path) -> None:
    with pytest.raises(ConfigError, match="cleanrl_home is missing"):
        plan(None)
    with pytest.raises(DependencyMissing, match="bundle='other' is not there"):
        plan(checkout, bundle="other")
    with pytest.raises(MosaicError, match="is not allowed"):
        plan(checkout, bundle="../x")


def test_a_recipe_does_not_run_on_cleanrls_packages(checkout: Path) -> None:
    with pytest.raises(DependencyMissing, match="holds CleanRL's packages"):
        plan(None, "ppo", bundle="cleanrl")
