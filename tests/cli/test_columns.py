"""Tables that fit their window."""

from __future__ import annotations

import pytest

from mosaic.cli.columns import table_lines
from mosaic.cli.run_view import id_width, run_columns, run_json, state_word
from mosaic.proto.trainer_pb2 import Run

NOW = 1_000_000.0


def runs() -> list[Run]:
    training = Run(
        run_id="01M7JYHV1YRBCE6GQFM9HKGCJA",
        state="EXECUTING",
        algo="ppo_continuous_action",
        env_id="HalfCheetah-v5",
        seed=3,
        step=40_400,
        total_timesteps=2_000_000,
        last_return=310.0,
        steps_per_second=10_900.0,
        created_at=NOW - 90,
    )
    waiting = Run(
        run_id="01M7JYHW7RWKSSTN02N8DWT9Y2",
        state="INIT",
        algo="dqn",
        env_id="CartPole-v1",
        queue_position=2,
        reason="waiting for 2 CPUs: 1 of 2 free; 1 run ahead",
        total_timesteps=500_000,
        created_at=NOW - 5,
    )
    return [training, waiting]


def headings(width: int) -> list[str]:
    return table_lines(run_columns(runs(), NOW), runs(), width)[0].split()


def test_a_wide_window_has_every_column() -> None:
    every = ["run", "state", "algo", "env", "seed", "steps", "return", "steps/s", "age", "reason"]
    assert headings(160) == every
    first = table_lines(run_columns(runs(), NOW), runs(), 160)[1].split()
    assert first[1:4] == ["executing", "ppo_continuous_action", "HalfCheetah-v5"]
    assert first[4:] == ["3", "40.4k/2M", "310.0", "10.9k", "1m"]


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(120, set()), (100, {"steps/s", "age"}), (80, {"steps/s", "age", "seed", "reason"})],
)
def test_what_matters_least_is_left_out_first(width: int, left_out: set[str]) -> None:
    assert set(headings(160)) - set(headings(width)) == left_out


def test_no_line_is_wider_than_the_window() -> None:
    for width in range(1, 170):
        lines = table_lines(run_columns(runs(), NOW), runs(), width)
        assert len(lines) == 3
        assert max(map(len, lines)) <= width


def test_a_column_without_a_word_is_no_column() -> None:
    [training, _] = runs()
    lines = table_lines(run_columns([training], NOW), [training], 160)
    assert "reason" not in lines[0]


def test_a_reason_of_several_lines_stays_in_its_row() -> None:
    run = Run(run_id="R", state="FAULTED", reason="no sign\nfor 90 s")
    assert len(table_lines(run_columns([run], NOW), [run], 160)) == 2


def test_ids_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    assert id_width(["01M7JYHV1YRBCE", "01M7JYHW7RWKSS"]) == 10
    assert id_width(["01M7JYHV1YRBCE", "01M7JYHV1YRBXX"]) == 13
    assert id_width(["short", "shorter"]) == 10
    assert id_width([]) == 10


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"state": "INIT"}, "init"),
        ({"state": "INIT", "queue_position": 1}, "queued"),
        ({"state": "EXECUTING", "is_cancelling": True}, "cancelling"),
        ({"state": "TERMINATED", "outcome": "succeeded"}, "succeeded"),
        ({"state": "TERMINATED", "outcome": "cancelled", "is_cancelling": True}, "cancelled"),
        ({"state": "FAULTED", "outcome": "failed"}, "faulted"),
        ({"state": "TERMINATED", "outcome": "failed", "deleted_at": 1.0}, "deleted"),
        ({"state": "SLEEPING"}, "unknown"),
    ],
)
def test_the_state_in_one_word(fields: dict[str, object], word: str) -> None:
    assert state_word(Run(**fields)) == word  # type: ignore[arg-type]


def test_every_field_of_a_run_is_in_its_json() -> None:
    assert set(run_json(Run())) == {field.name for field in Run.DESCRIPTOR.fields}
