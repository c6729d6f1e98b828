"""The operator's settings: what `mosaic.toml` allows, and how a mistake in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError, NotAllowed
from mosaic.contracts.settings import (
    OperatorSettings,
    TrainerSettings,
    check_env_id,
    load_settings,
    load_trainer_settings,
)


def settings_of(tmp_path: Path, text: str) -> OperatorSettings:
    path = tmp_path / "mosaic.toml"
    path.write_text(text)
    return load_settings(path)


def test_without_a_file_nothing_is_allowed(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "mosaic.toml") == OperatorSettings()


def test_the_file_allows_directories_and_modules(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path, '[allow]\nscripts = ["jobs"]\ncheckouts = ["/opt/rl"]\nenv_modules = ["mine"]\n'
    )
    assert settings.allows_script(tmp_path / "jobs" / "a.sh")
    assert not settings.allows_script(tmp_path / "jobs" / ".." / "a.sh")
    assert settings.allows_checkout(Path("/opt/rl/cleanrl"))
    assert not settings.allows_checkout(Path("/opt/rlx"))
    assert settings.allows_env_module("mine")


def test_a_link_out_of_an_allowed_directory_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "secret.sh").touch()
    (tmp_path / "jobs" / "link.sh").symlink_to(tmp_path / "secret.sh")
    settings = settings_of(tmp_path, '[allow]\nscripts = ["jobs"]\n')
    assert not settings.allows_script(tmp_path / "jobs" / "link.sh")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[allow", "is not TOML"),
        ("[allow]\nscript = []\n", "allow.script is unknown. Did you mean 'scripts'?"),
        ("[alow]\n", "'alow' is unknown. Did you mean 'allow'?"),
        ("allow = 3\n", "allow=3 is not allowed: give a table"),
        ('[allow]\nscripts = "a"\n', "allow.scripts='a' is not allowed: give a list of names."),
        ("[allow]\nscripts = [1]\n", "allow.scripts=[1] is not allowed"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path, text)
    line = caught.value.one_line()
    assert words in line
    assert "mosaic.toml" in line
    assert "\n" not in line


def test_an_environment_id_with_a_module_is_refused_until_allowed() -> None:
    check_env_id("CartPole-v1", OperatorSettings())
    check_env_id("ALE/Pong-v5", OperatorSettings())
    check_env_id("mine:Maze-v0", OperatorSettings(env_modules=("mine",)))
    with pytest.raises(NotAllowed, match="would import the module 'mine'"):
        check_env_id("mine:Maze-v0", OperatorSettings())


def trainer_of(tmp_path: Path, text: str) -> TrainerSettings:
    path = tmp_path / "mosaic.toml"
    path.write_text(text)
    return load_trainer_settings(path)


def test_the_daemon_has_a_default_for_everything(tmp_path: Path) -> None:
    settings = load_trainer_settings(tmp_path / "mosaic.toml")
    assert settings == TrainerSettings()
    assert (settings.port, settings.contact_timeout_s, settings.stop_grace_s) == (50055, 90, 10)


def test_the_operator_says_how_the_daemon_works(tmp_path: Path) -> None:
    settings = trainer_of(
        tmp_path,
        '[allow]\nenv_modules = ["mine"]\n[trainer]\ncpus = 4\ngpus = [1]\nbin_days = 0.5\n',
    )
    assert (settings.cpus, settings.gpus, settings.bin_days) == (4, (1,), 0.5)
    assert load_settings(tmp_path / "mosaic.toml").allows_env_module("mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpu = 3", "trainer.cpu is unknown. Did you mean 'cpus'?"),
        ("cpus = 0", "trainer.cpus=0 is not allowed: give a whole number of at least 1."),
        ('cpus = "all"', "trainer.cpus='all' is not allowed"),
        ("port = 70000", "trainer.port=70000 is not allowed: give a whole number from 0 to 65535"),
        ("gpus = 2", "trainer.gpus=2 is not allowed: give a list of int values"),
        ("gpus = [0, 0]", "trainer.gpus=[0, 0] names a GPU twice"),
        ("stop_grace_s = -1", "trainer.stop_grace_s=-1 is not allowed"),
        ("contact_timeout_s = nan", "trainer.contact_timeout_s=nan is not allowed"),
        ("telemetry_limit_mb = true", "trainer.telemetry_limit_mb=True is not allowed"),
        ("bin_days = inf", "trainer.bin_days=inf is not allowed"),
    ],
)
def test_a_mistake_about_the_daemon_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        trainer_of(tmp_path, f"[trainer]\n{text}\n")
    line = caught.value.one_line()
    assert words in line
    assert "mosaic.toml" in line
    assert "\n" not in line
