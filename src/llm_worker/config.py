"""What a run of the LLM worker can be told."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.parameters import param

BACKENDS = ("endpoint", "random", "scripted")


@dataclass(frozen=True)
class Config:
    env_id: str = param("BabyAI-GoToRedBallNoDists-v0", "Environment id.", group="run")
    total_timesteps: int = param(
        200, "Environment steps of the run.", unit="steps", range=(1, None), group="run"
    )
    backend: str = param(
        "endpoint", "Who answers: a model, chance, or a script.", choices=BACKENDS, group="model"
    )
    base_url: str = param(
        "http://127.0.0.1:8000/v1",
        "Address of an OpenAI-compatible service, up to and with /v1.",
        group="model",
    )
    model: str = param("default", "Name of the model at that service.", group="model")
    temperature: float = param(0.0, "Sampling temperature.", range=(0, 2), group="model")
    max_tokens: int = param(256, "Longest answer.", unit="tokens", range=(1, None), group="model")
    timeout_s: float = param(
        30.0, "Longest wait for an answer.", unit="s", range=(0.1, None), group="model"
    )
    retries: int = param(
        3, "Times that a request which failed is sent again.", range=(0, None), group="model"
    )
    retry_wait_s: float = param(
        1.0, "Wait before the first of them; it doubles.", unit="s", range=(0, None), group="model"
    )
    steps_per_prompt: int = param(
        4, "Actions that one answer may hold.", unit="steps", range=(1, 64), group="prompt"
    )
    history: int = param(
        8, "Last steps that a prompt tells of.", unit="steps", range=(0, None), group="prompt"
    )
    unparsable_limit: int = param(
        5,
        "Answers in a row without an action after which an episode is given up.",
        range=(1, None),
        group="prompt",
    )
    script: str = param(
        "", "Answers of the scripted backend, one a line, again from the start.", group="model"
    )
    prompt_every: int = param(
        1,
        "Of the prompts and answers, every so many is told; 0: none.",
        unit="prompts",
        range=(0, None),
        group="telemetry",
    )
    frames: bool = param(True, "Tell a picture with each step.", group="telemetry")
