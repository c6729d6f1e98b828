"""Which options stand in which part of the forms."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    names: tuple[str, ...]
    note: str = ""


TRAIN_SECTIONS = (
    Section(
        "Names and notes",
        ("run_name", "agent_id", "worker_id", "notes"),
    ),
    Section(
        "Machine",
        ("cuda", "gpus", "cpus", "memory_mb", "max_duration_seconds", "max_steps", "bundle"),
    ),
    Section(
        "Saving",
        (
            *("save_model", "checkpoint_interval", "keep_checkpoints", "checkpoint_replay"),
            *("auto_resume", "capture_video", "upload_model", "hf_entity"),
        ),
    ),
    Section(
        "TensorBoard and telemetry",
        ("tensorboard_dir", "runbus_summary"),
        "CleanRL runs skip live telemetry: no step or episode is streamed. Their curves come from "
        "the metric bridge, and the same scalars from TensorBoard or Weights & Biases.",
    ),
    Section(
        "Weights & Biases",
        (
            *("track_wandb", "wandb_project_name", "wandb_entity", "wandb_run_name"),
            *("wandb_email", "wandb_mode", "wandb_http_proxy", "wandb_https_proxy"),
            "wandb_use_vpn_proxy",
        ),
    ),
    Section(
        "FastLane",
        (
            *("fastlane_video_mode", "fastlane_slot", "fastlane_grid_limit", "fastlane_budget"),
            *("fastlane_view_budget", "fastlane_interval_ms", "fastlane_max_dim"),
        ),
        "Live frames of the agent, through shared memory; training never waits for a viewer.",
    ),
)

EVALUATION = Section(
    "Evaluation",
    (
        *("eval_batch_size", "eval_repeat", "eval_deterministic", "eval_capture_video"),
        *("eval_gamma", "eval_max_episode_steps", "eval_max_episode_seconds"),
    ),
)
EVALUATION_FRAMES = Section("FastLane", ("fastlane_video_mode", "fastlane_grid_limit"))

# What a resume may change beside hyperparameters.
RESUME_OPTIONS = Section("Options", ("checkpoint_interval", "keep_checkpoints", "notes"))
