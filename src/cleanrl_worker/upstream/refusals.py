"""What an exception of a script says about the config, if it came before the first step."""

from __future__ import annotations

from mosaic.contracts.errors import ConfigError, DependencyMissing, MosaicError


def refusal_of(error: BaseException) -> MosaicError | None:
    """Return the refusal, or None where the script just failed."""
    if isinstance(error, MosaicError):
        return error
    if isinstance(error, ModuleNotFoundError):
        return DependencyMissing(
            f"The script needs the module {error.name!r}, which its bundle lacks.",
            hint="'mosaic bundle show NAME' lists what a bundle holds.",
        )
    kind = type(error)
    text = " ".join(str(error).split())
    if kind.__module__.startswith("gymnasium.error"):
        if kind.__name__ == "DependencyNotInstalled":
            return DependencyMissing(f"The environment cannot be made in this bundle: {text}")
        return ConfigError(f"The environment cannot be made in this bundle: {text}")
    if kind is AssertionError and text:  # CleanRL's way to say which spaces a script takes
        return ConfigError(f"The script refuses the environment: {text}.")
    return None
