"""Models on the Hugging Face Hub: the protocol, the secret, and failures that cost nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.hub import repository_name, upload_files
from cleanrl_worker.model_card import model_card
from mosaic.contracts.errors import MosaicError
from tests.cleanrl_worker.hub_server import USER, hub_server
from tests.cleanrl_worker.trained import train

TOKEN = "hf_0123456789canary"


def test_a_trained_model_is_uploaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with hub_server(TOKEN) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        flags = ("--total-timesteps=64", "--num-envs=2", "--num-steps=16", "--upload-model")
        trained = train(tmp_path / "run", "ppo", *flags)
    [(name, files)] = hub.repositories.items()
    assert name == f"{USER}/CartPole-v1-ppo-seed1"
    assert files["ppo.cleanrl_model"] == trained.model.read_bytes()
    assert files["ppo.json"] == trained.model.with_suffix(".json").read_bytes()
    assert "mean_reward" in files["README.md"].decode()
    assert f"uploaded to {hub.address}/{name}" in capsys.readouterr().err
    assert sum(call.startswith("PUT /upload/") for call in hub.calls) == 1, "large files go apart"
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(TOKEN.encode() in path.read_bytes() for path in found)


def test_an_upload_can_be_repeated_and_goes_to_an_organisation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.cleanrl_model"
    file.write_bytes(b"weights")
    with hub_server(TOKEN) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address + "/")
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        for _ in range(2):
            upload_files("model", "lab", {"a.cleanrl_model": file}, summary="again")
    assert hub.repositories == {"lab/model": {"a.cleanrl_model": b"weights"}}
    assert sum(call.startswith("PUT") for call in hub.calls) == 1, "the hub has these bytes already"


@pytest.mark.parametrize("token", ["hf_wrong", None])
def test_a_refusal_is_one_line_without_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    with hub_server(TOKEN) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        if token is None:
            monkeypatch.delenv("HF_TOKEN", raising=False)
        else:
            monkeypatch.setenv("HF_TOKEN", token)
        with pytest.raises(MosaicError) as refused:
            upload_files("model", "", {"a": tmp_path / "a"}, summary="")
    line = refused.value.one_line()
    assert "\n" not in line
    assert "hf_wrong" not in line
    assert "401" in line or "HF_TOKEN" in line


def test_a_hub_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(MosaicError, match="cannot be reached"):
        upload_files("model", "", {}, summary="")


def test_names_and_cards() -> None:
    assert repository_name("ALE/Pong-v5", "dqn", 3) == "ALE-Pong-v5-dqn-seed3"
    card = model_card(name="ppo", env_id="E", seed=1, returns=[1.0, 3.0], settings={"gamma": 0.9})
    assert "2.00 +/- 1.00" in card
    assert "| gamma | 0.9 |" in card
