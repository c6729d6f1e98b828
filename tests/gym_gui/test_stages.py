"""Curricula in the GUI: stages in the form, and their marks on the charts."""

from __future__ import annotations

from gym_gui.curve_feed import stage_marks
from gym_gui.curves import Curve
from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.stages import _as_rows
from mosaic.workers.discovery import load_catalogue

STAGES = [{"env_id": "CartPole-v0", "steps": 500}, {"env_id": "CartPole-v1"}]


def test_marks_are_where_a_stage_begins() -> None:
    values = [0.0, 1.0, 2.0]
    curve = Curve([0, 50, 90], [0, 50, 90], values, values, values, [1] * 3, [0] * 3)
    assert stage_marks(curve) == [(50, "stage 2"), (90, "stage 3")]
    assert stage_marks(Curve()) == []


def test_a_kept_or_cloned_draft_has_its_stages() -> None:
    draft = TrainDraft(load_catalogue(), "ppo", {"env_id": "CartPole-v1"})
    draft.given["curriculum_schedule"] = STAGES
    (document,) = draft.documents()
    extras = document["metadata"]["worker"]["config"]["extras"]
    assert extras["curriculum_schedule"] == STAGES
    kept = TrainDraft.from_json(draft.catalogue, draft.to_json())
    assert kept is not None
    assert kept.given == draft.given
    cloned = TrainDraft.of_run(draft.catalogue, document)
    assert cloned.given["curriculum_schedule"] == STAGES


def test_rows_show_every_condition_as_text() -> None:
    assert _as_rows(STAGES) == [
        {"env_id": "CartPole-v0", "until": "steps>=500"},
        {"env_id": "CartPole-v1", "until": ""},
    ]
    assert _as_rows(None) == []
    assert _as_rows([{"wrong": 1}]) == []
