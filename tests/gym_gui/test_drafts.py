"""Forms: what a field takes, and that form, kept draft, clone and copied command say the same."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.fields import read_field, text_of
from gym_gui.forms.kept import first_draft, keep_draft, last_draft
from mosaic.cli.train_flags import parse_train
from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.train_flags import hyperparameters, train_parameters
from mosaic.contracts.train_request import train_documents
from mosaic.workers.discovery import Catalogue, load_catalogue

BAD = {
    "int": ["-1", "1e400", "nan", "inf", "words", "1.5", "٣٣x", "9" * 400, "\0", "<b>1</b>"],
    "float": ["nan", "words", "--", "1e400", "inf", "\u202e1"],
}
GIVEN: list[dict[str, Any]] = [
    {},
    {"learning_rate": 0.001, "num_envs": 8},
    {"anneal_lr": False, "target_kl": 0.02},
    {"seed": 7, "notes": "say 'hi' \"there\"\n$(rm -rf /) ünïcödé <b>"},
    {"seeds": "1,2,3", "run_name": "a name; with $HOME"},
    {"cpus": 2, "memory_mb": 900, "max_duration_seconds": 60.0, "auto_resume": True},
    {"fastlane_video_mode": "grid", "fastlane_grid_limit": 4, "fastlane_budget": 0.1},
    {"save_model": False, "capture_video": True, "checkpoint_interval": 50_000},
    {"tensorboard_dir": "tb", "runbus_summary": True, "wandb_project_name": "p q"},
    {"tuned": True, "total_timesteps": 5_000},
]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


def draft_of(catalogue: Catalogue, given: dict[str, Any]) -> TrainDraft:
    draft = TrainDraft(catalogue, "ppo", {"env_id": "CartPole-v1"})
    if given.get("tuned"):
        draft.given["tuned"] = True
    for name, value in given.items():
        if name != "seeds":
            draft.give(name, draft.parameter(name).check(value))
    draft.give_seeds(str(given.get("seeds", given.get("seed", ""))))
    return draft


@pytest.mark.parametrize("given", GIVEN)
def test_the_copied_command_asks_for_the_same(catalogue: Catalogue, given: dict[str, Any]) -> None:
    draft = draft_of(catalogue, given)
    train, algo, *flags = draft.words()
    assert (train, algo) == ("train", "ppo")
    request = parse_train(draft.algorithm, flags)
    assert request.detach
    assert train_documents(request, draft.entry.worker) == draft.documents()


@pytest.mark.parametrize("given", GIVEN)
def test_a_clone_asks_for_the_same(catalogue: Catalogue, given: dict[str, Any]) -> None:
    document = draft_of(catalogue, {**given, "seed": 3} | {"seeds": "3"}).documents()[0]
    again = TrainDraft.of_run(catalogue, document).documents()[0]
    assert _what(again) == _what(document)


def _what(document: dict[str, Any]) -> Any:
    """Return a run config without the name, which is the run's own."""
    bare = copy.deepcopy(document)
    bare.pop("run_name", None)
    return json.loads(json.dumps(bare))


@pytest.mark.parametrize("given", GIVEN)
def test_the_last_training_is_kept(
    catalogue: Catalogue, given: dict[str, Any], tmp_path: Any
) -> None:
    paths = VarPaths(tmp_path)
    draft = draft_of(catalogue, given)
    keep_draft(paths, draft)
    kept = last_draft(paths, catalogue)
    assert kept is not None
    assert kept.documents() == draft.documents()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"algo": 1}', '{"algo": "x", "given": {}}', "\0"])
def test_a_spoilt_draft_is_none(catalogue: Catalogue, tmp_path: Any, text: str) -> None:
    paths = VarPaths(tmp_path)
    paths.gui_last_training.parent.mkdir(parents=True, exist_ok=True)
    paths.gui_last_training.write_text(text)
    assert last_draft(paths, catalogue) is None


def test_a_draft_keeps_no_secret(catalogue: Catalogue) -> None:
    draft = first_draft(catalogue)
    draft.given["wandb_api_key"] = "sesame"
    draft.given["wandb_https_proxy"] = "http://user:sesame@proxy:1"
    assert "sesame" not in json.dumps(draft.to_json())
    del draft.given["wandb_api_key"]
    assert not [word for word in draft.words() if "user" in word], "nor does the command to copy"


@pytest.mark.parametrize("text", ["x", "-1", "1,,2", "1,x", "1.5", "9" * 40, "1 2", "nan"])
def test_bad_seeds_are_one_line(catalogue: Catalogue, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        first_draft(catalogue).give_seeds(text)
    assert "\n" not in raised.value.one_line()


@pytest.mark.parametrize("text", ["", "0", "  "])
def test_no_seed_lets_the_run_draw_one(catalogue: Catalogue, text: str) -> None:
    draft = first_draft(catalogue)
    draft.give_seeds(text)
    assert draft.documents()[0]["metadata"]["worker"]["config"]["seed"] is None


def test_every_field_of_every_algorithm_against_bad_input(catalogue: Catalogue) -> None:
    """Each is refused in one line that names the field, or is a value that the field allows."""
    for name, entry in catalogue.entries.items():
        for parameter in train_parameters(entry.algorithm):
            for text in BAD.get(parameter.type, []):
                try:
                    value = read_field(parameter, text)
                except ConfigError as error:
                    line = error.one_line()
                    assert parameter.name in line, (name, line)
                    assert "\n" not in line
                else:
                    assert parameter.check(value) == value


def test_an_empty_field_is_nothing_or_an_error(catalogue: Catalogue) -> None:
    for parameter in train_parameters(catalogue.find("ppo").algorithm):
        if parameter.type == "bool":
            continue
        try:
            value = read_field(parameter, "   ")
        except MosaicError:
            assert parameter.default is not None
        else:
            assert value in (None, "", "   ", ())


def test_what_a_field_shows_is_what_it_reads(catalogue: Catalogue) -> None:
    for entry in catalogue.entries.values():
        for parameter in hyperparameters(entry.algorithm):
            if parameter.type != "bool" and parameter.default is not None:
                assert read_field(parameter, text_of(parameter.default)) == parameter.check(
                    parameter.default
                )


def test_another_algorithm_keeps_what_it_knows(catalogue: Catalogue) -> None:
    draft = draft_of(catalogue, {"learning_rate": 0.5, "update_epochs": 9, "notes": "n"})
    draft.choose_algorithm("dqn")
    assert draft.given["learning_rate"] == 0.5
    assert "update_epochs" not in draft.given
    assert draft.given["notes"] == "n"
    draft.documents()


def test_without_an_environment_there_is_no_document(catalogue: Catalogue) -> None:
    draft = TrainDraft(catalogue, "ppo", {"env_id": "  "})
    with pytest.raises(ConfigError, match="Environment id is empty"):
        draft.documents()
