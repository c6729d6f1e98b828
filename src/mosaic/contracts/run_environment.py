"""The environment variables that a run config may set."""

from __future__ import annotations

from collections.abc import Mapping

from mosaic.contracts.secrets import holds_login

# None of these names a program, a library or a module to load. CUDA_VISIBLE_DEVICES is missing
# because the reservation of GPUs sets it.
RUN_VARIABLES = frozenset(
    {
        # threads
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        # rendering
        "MUJOCO_EGL_DEVICE_ID",
        "MUJOCO_GL",
        "PYOPENGL_PLATFORM",
        "SDL_AUDIODRIVER",
        "SDL_VIDEODRIVER",
        # jax's memory
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        "XLA_PYTHON_CLIENT_PREALLOCATE",
        # tracking and models
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "WANDB_BASE_URL",
        "WANDB_MODE",
        "WANDB_SILENT",
        # network
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        # fast lane
        "CLEANRL_FASTLANE_INTERVAL_MS",
        "CLEANRL_FASTLANE_MAX_DIM",
        "GYM_GUI_FASTLANE_GRID_LIMIT",
        "GYM_GUI_FASTLANE_ONLY",
        "GYM_GUI_FASTLANE_SLOT",
        "GYM_GUI_FASTLANE_VIDEO_MODE",
    }
)


def check_variable(name: str) -> str:
    """Refuse a name that is not on the list; the ValueError lists what is allowed."""
    if name not in RUN_VARIABLES:
        allowed = ", ".join(sorted(RUN_VARIABLES))
        raise ValueError(f"a run may set only {allowed}")
    return name


def check_no_login(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse an address with a password in it: a run config is stored."""
    for name, value in environment.items():
        if holds_login(name, value):
            raise ValueError(f"{name} holds a password; set it where the daemon is started")
    return environment
