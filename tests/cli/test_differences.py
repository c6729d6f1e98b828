"""Two runs compared: settings, and what was installed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mosaic.cli.differences import print_differences
from mosaic.proto import trainer_pb2 as pb


def details(run_id: str, packages: dict[str, str], **params: Any) -> pb.RunDetails:
    worker = {"run_id": run_id, "algo": "ppo", "extras": {"algo_params": params}}
    return pb.RunDetails(
        run=pb.Run(run_id=run_id, algo="ppo", env_id="CartPole-v1"),
        config_json=json.dumps({"metadata": {"worker": {"config": worker}}}),
        manifest_json=json.dumps({"requirements": {"packages": packages}}),
    )


def test_only_what_differs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    one = details("RUN-000001", {"torch": "2.13.0", "numpy": "2.4.6"}, gamma=0.9, num_envs=4)
    two = details("RUN-000002", {"torch": "2.14.0", "numpy": "2.4.6", "jax": "0.10"}, gamma=0.99)
    print_differences(one, two, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["packages"] == {"jax": [None, "0.10"], "torch": ["2.13.0", "2.14.0"]}
    assert told["settings"] == {
        "extras.algo_params.gamma": [0.9, 0.99],
        "extras.algo_params.num_envs": [4, None],
    }
    print_differences(one, one, as_json=False)
    assert "Their packages are the same." in capsys.readouterr().out
