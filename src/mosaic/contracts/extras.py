"""The reserved keys of `extras`: what each means, and which flag it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter

MODES = ("train", "resume_training", "policy_eval", "interactive")
VIDEO_MODES = ("single", "grid", "off")
EVALUATION_EVENT_FILES = "tensorboard_eval"


@dataclass(frozen=True, slots=True)
class ExtraKey:
    """A reserved key. `flag` names the run option of the algorithm process that it becomes."""

    name: str
    type: str
    help: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    range: tuple[float | None, float | None] | None = None
    alias_of: str | None = None
    flag: str | None = None

    def as_parameter(self) -> Parameter:
        return Parameter(
            self.name, self.type, self.default, self.help, True, self.choices, self.range
        )


def _key(name: str, type: str, help: str, **more: Any) -> ExtraKey:
    return ExtraKey(name, type, help, **more)


_KEYS = (
    _key("mode", "str", "What the run does.", default="train", choices=MODES),
    _key("cuda", "bool", "Use a GPU.", flag="cuda"),
    _key("use_cuda", "bool", "Use a GPU.", alias_of="cuda"),
    _key("algo_params", "object", "Hyperparameters of the algorithm.", default={}),
    _key(
        "tensorboard_dir",
        "str",
        "Folder of the event files, relative to the run directory; null: none.",
        default="tensorboard",
        flag="tensorboard_dir",
    ),
    _key("tensorboard", "str", "Older name of tensorboard_dir.", alias_of="tensorboard_dir"),
    _key(
        "track_wandb", "bool", "Track the run with Weights & Biases.", default=False, flag="track"
    ),
    _key("wandb_project_name", "str", "W&B project.", flag="wandb_project_name"),
    _key("wandb_project", "str", "W&B project.", alias_of="wandb_project_name"),
    _key("wandb_entity", "str", "W&B team or user.", flag="wandb_entity"),
    _key("wandb_run_name", "str", "Name of the run at W&B."),
    _key("wandb_email", "str", "E-mail address of the W&B account."),
    _key("wandb_http_proxy", "str", "HTTP proxy for W&B."),
    _key("wandb_https_proxy", "str", "HTTPS proxy for W&B."),
    _key("wandb_use_vpn_proxy", "bool", "Send W&B's traffic through the proxies above."),
    _key("wandb_mode", "str", "W&B's mode.", choices=("online", "offline", "disabled")),
    _key(
        "capture_video",
        "bool",
        "Record videos of the first environment.",
        default=False,
        flag="capture_video",
    ),
    _key(
        "save_model",
        "bool",
        "Save the final weights and evaluate them.",
        default=True,
        flag="save_model",
    ),
    _key(
        "upload_model",
        "bool",
        "Upload the saved model to the Hugging Face Hub.",
        default=False,
        flag="upload_model",
    ),
    _key("hf_entity", "str", "Hugging Face user or organisation.", flag="hf_entity"),
    _key(
        "checkpoint_interval",
        "int",
        "Environment steps between scheduled checkpoints.",
        range=(1, None),
        flag="checkpoint_interval",
    ),
    _key(
        "keep_checkpoints",
        "int",
        "How many scheduled checkpoints are kept.",
        default=3,
        range=(1, None),
        flag="keep_checkpoints",
    ),
    _key(
        "checkpoint_replay",
        "str",
        "Which checkpoints hold the replay buffer.",
        default="latest",
        choices=("latest", "all", "none"),
        flag="checkpoint_replay",
    ),
    _key("checkpoint_path", "str", "Checkpoint to resume from.", flag="checkpoint_path"),
    _key("auto_resume", "bool", "Continue a crashed run from its last checkpoint.", default=False),
    _key("policy_path", "str", "Policy to evaluate."),
    _key("eval_batch_size", "int", "Episodes of an evaluation batch.", default=50, range=(1, None)),
    _key("eval_episodes", "int", "Older name of eval_batch_size.", alias_of="eval_batch_size"),
    _key("eval_repeat", "bool", "Evaluate batch after batch until cancelled.", default=False),
    _key("eval_gamma", "float", "Discount of the evaluation's discounted return.", range=(0, 1)),
    _key("eval_capture_video", "bool", "Record the evaluation episodes.", default=False),
    _key("eval_deterministic", "bool", "Take the most probable action.", default=True),
    _key(
        "eval_max_episode_steps", "int", "Cut evaluation episodes at this length.", range=(1, None)
    ),
    _key(
        "eval_max_episode_seconds",
        "float",
        "Cut evaluation episodes after this time.",
        range=(0, None),
    ),
    _key("seed_override", "int", "Seed of the evaluation.", range=(0, 2**32 - 1)),
    _key(
        "curriculum_schedule",
        "list",
        "Stages of a curriculum, or the name of a preset.",
        flag="curriculum_schedule",
    ),
    _key("curriculum", "object", "Curriculum engine, method and tasks.", flag="curriculum"),
    _key("teacher_policy_path", "str", "Policy of the teacher (QDagger)."),
    _key("train_teacher_steps", "int", "Train a teacher for so many steps first.", range=(1, None)),
    _key(
        "fastlane_video_mode",
        "str",
        "Live frames of one environment, of a grid, or none.",
        default="single",
        choices=VIDEO_MODES,
    ),
    _key("video_mode", "str", "Alias of fastlane_video_mode.", alias_of="fastlane_video_mode"),
    _key("fastlane_slot", "int", "Environment whose frames are shown.", default=0, range=(0, None)),
    _key("fastlane_grid_limit", "int", "Environments in the grid.", range=(1, 16)),
    _key("grid_limit", "int", "Alias of fastlane_grid_limit.", alias_of="fastlane_grid_limit"),
    _key(
        "fastlane_interval_ms",
        "int",
        "Shortest time between two frames.",
        default=33,
        range=(1, None),
    ),
    _key(
        "fastlane_max_dim",
        "int",
        "Longest side of a frame in pixels.",
        default=480,
        range=(16, 4096),
    ),
    _key(
        "fastlane_budget",
        "float",
        "Share of the run's time that frames may take.",
        default=0.02,
        range=(0, 1),
    ),
    _key(
        "fastlane_view_budget",
        "float",
        "The same while somebody watches.",
        default=0.05,
        range=(0, 1),
    ),
    _key("fastlane_only", "bool", "Telemetry workers: frames only."),
    _key("runbus_summary", "bool", "Also send scalar summaries to the RunBus.", default=False),
    _key("cleanrl_home", "str", "A user's own CleanRL checkout."),
    _key("bundle", "str", "Dependency bundle whose interpreter runs the algorithm."),
    _key("schema_id", "str", "RegisterWorker field."),
    _key("schema_version", "int", "RegisterWorker field."),
    _key("supports_pause", "bool", "RegisterWorker field."),
    _key("supports_checkpoint", "bool", "RegisterWorker field."),
    _key("optuna_db", "str", "Study that the run belongs to; kept in the manifest."),
    _key("checkpoints_dir", "str", "Kept in the manifest."),
    _key("wandb_run_path", "str", "Kept in the manifest."),
    _key("notes", "str", "Free text; kept in the manifest."),
    _key("agent_id", "str", "Name of the agent; kept in the metadata."),
)

RESERVED: dict[str, ExtraKey] = {key.name: key for key in _KEYS}


def event_files_folder(extras: Mapping[str, Any]) -> Any:
    """Return the folder of the TensorBoard files, which for an evaluation is always the same."""
    folder = extras.get("tensorboard_dir", RESERVED["tensorboard_dir"].default)
    if folder is not None and extras.get("mode") == "policy_eval":
        return EVALUATION_EVENT_FILES
    return folder


def check_reserved(extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reserved keys of `extras` under their proper names, each value checked."""
    checked: dict[str, Any] = {}
    for name, value in extras.items():
        key = RESERVED.get(name)
        if key is None:
            continue
        proper = key.alias_of or name
        if proper != name and extras.get(proper) not in (None, value):
            raise ConfigError(
                f"extras.{name}={value!r} contradicts extras.{proper}={extras[proper]!r}: give one."
            )
        checked[proper] = _check(RESERVED[proper], name, value)
    return checked


def _check(key: ExtraKey, name: str, value: Any) -> Any:
    containers: dict[str, type] = {"object": dict, "list": list}
    if key.type in containers:
        if value is not None and not isinstance(value, containers[key.type]):
            raise ConfigError(f"extras.{name}={value!r} is not allowed: give a JSON {key.type}.")
        return value
    try:
        return key.as_parameter().check(value)
    except ConfigError as error:
        raise ConfigError(f"extras.{error.message}") from None
