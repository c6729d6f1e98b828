"""The options that every algorithm has beside its hyperparameters; CleanRL's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class RunOptions:
    env_id: str = param("CartPole-v1", "Environment id.", group="run")
    total_timesteps: int = param(
        500_000, "Environment steps of the whole run.", range=(1, None), unit="steps", group="run"
    )
    seed: int = param(1, "Seed of everything random.", range=(0, 2**32 - 1), group="run")
    exp_name: str | None = param(
        None, "Name of the experiment; the algorithm's when absent.", group="run"
    )
    torch_deterministic: bool = param(
        True, "Use deterministic kernels only.", group="run", runtime_only=True
    )
    torch_threads: int = param(
        1,
        "Threads of an operation of torch or JAX.",
        range=(1, 256),
        group="run",
        runtime_only=True,
    )
    cuda: bool = param(False, "Use a GPU.", group="run", runtime_only=True)
    compile: bool = param(
        False, "Compile the losses and their gradients.", group="run", runtime_only=True
    )
    cudagraphs: bool = param(
        False, "Replay whole updates as CUDA graphs on a GPU.", group="run", runtime_only=True
    )
    env_backend: str = param(
        "auto",
        "How the environments are stepped; auto takes the fastest that the environment has.",
        choices=("auto", "sync", "async", "native", "envpool", "jax"),
        group="run",
        runtime_only=True,
    )
    env_cpus: int | None = param(
        None,
        "Processors to step environments on; null: what the run reserved, where that is several.",
        range=(1, 4096),
        group="run",
        runtime_only=True,
    )
    track: bool = param(False, "Track with Weights & Biases.", group="tracking", runtime_only=True)
    wandb_project_name: str = param("cleanRL", "W&B project.", group="tracking", runtime_only=True)
    wandb_entity: str | None = param(None, "W&B team or user.", group="tracking", runtime_only=True)
    tensorboard_dir: str | None = param(
        "",
        "Folder of the event files; empty: beside the model; None: no event files.",
        group="tracking",
        runtime_only=True,
    )
    capture_video: bool = param(
        False, "Record videos of the first environment.", group="tracking", runtime_only=True
    )
    save_model: bool = param(
        True,
        "Save the final weights, then evaluate ten episodes.",
        group="saving",
        runtime_only=True,
    )
    upload_model: bool = param(
        False, "Upload the saved model to the Hugging Face Hub.", group="saving", runtime_only=True
    )
    hf_entity: str = param(
        "", "Hugging Face user or organisation.", group="saving", runtime_only=True
    )
    checkpoint_interval: int | None = param(
        None,
        "Environment steps between scheduled checkpoints; None: a tenth of the run.",
        range=(1, None),
        unit="steps",
        group="saving",
        runtime_only=True,
    )
    keep_checkpoints: int = param(
        3,
        "How many scheduled checkpoints are kept.",
        range=(1, None),
        group="saving",
        runtime_only=True,
    )
    checkpoint_replay: str = param(
        "latest",
        "Which checkpoints hold the replay buffer.",
        choices=("latest", "all", "none"),
        group="saving",
        runtime_only=True,
    )
    checkpoint_path: str | None = param(
        None, "Checkpoint to resume from.", group="saving", runtime_only=True
    )
    curriculum_schedule: str | None = param(
        None, "Stages of a curriculum, as JSON.", group="run", runtime_only=True
    )
    curriculum: str | None = param(
        None, "Curriculum engine, method and tasks, as JSON.", group="run", runtime_only=True
    )
    dry_run: bool = param(
        False, "Build everything, take one step, train nothing.", group="run", runtime_only=True
    )
