"""Figures, times and causes as people read them."""

from __future__ import annotations

import math
import signal

import pytest

from gym_gui import formatting
from gym_gui.attention import find_notices
from gym_gui.causes import explain
from gym_gui.run_header import progress_text
from gym_gui.run_rows import as_table, name, row
from gym_gui.watchdogs import Finding
from mosaic.proto import trainer_pb2 as pb


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (12_345, "12.3k"), (-2.5e6, "-2.5M"), (None, "–"), (math.nan, "–")],
)
def test_counts(value: float | None, text: str) -> None:
    assert formatting.count(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.2, "4 s"), (75, "1:15 min"), (3723, "1:02:03"), (None, "–"), (math.inf, "–")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("since", "text"), [(1000, "just now"), (940, "1 min ago"), (2000, "just now"), (None, "–")]
)
def test_ages_and_a_clock_that_was_set_back(since: float | None, text: str) -> None:
    assert formatting.age(since, now=1000) == text


@pytest.mark.parametrize(
    ("count_bytes", "text"),
    [(0, "0 B"), (1536, "1.5 kB"), (3 << 20, "3.0 MB"), (5 << 30, "5.0 GB")],
)
def test_sizes(count_bytes: int, text: str) -> None:
    assert formatting.size(count_bytes) == text


def test_numbers_that_are_none_say_so() -> None:
    assert formatting.number(math.nan) == "nan"
    assert formatting.number(None) == "–"
    assert formatting.number(123.456) == "123.5"


def failed(**fields: object) -> pb.Run:
    return pb.Run(run_id="r", state="TERMINATED", outcome="failed", **fields)  # type: ignore[arg-type]


def test_a_kill_names_the_signal_and_what_usually_sends_it() -> None:
    cause = explain(failed(signal=signal.SIGKILL, reason="It was killed"))
    assert cause.what == "It was killed (signal 9, SIGKILL)"
    assert "memory" in cause.advice


@pytest.mark.parametrize(
    ("run", "lines", "advice"),
    [
        (failed(exit_code=2), [], "A setting is wrong"),
        (failed(exit_code=3), [], "Install the extra"),
        (failed(exit_code=143), [], "from outside"),
        (failed(exit_code=1), [], "Logs tab"),
        (failed(exit_code=1), ["OSError: No space left on device"], "disk is full"),
        (failed(exit_code=1), ["CUDA out of memory"], "GPU's memory"),
        (failed(exit_code=137), ["killed: out of memory is usual"], "more memory reserved"),
        (failed(signal=99), [], "Logs tab"),
        (pb.Run(state="FAULTED"), [], "Resume continues"),
        (pb.Run(state="PAUSED"), [], "Unpause"),
        (pb.Run(state="INIT", reason="secret needed"), [], "with its key"),
        (pb.Run(state="TERMINATED", outcome="cancelled"), [], "Resume continues"),
    ],
)
def test_what_to_do(run: pb.Run, lines: list[str], advice: str) -> None:
    assert advice in explain(run, lines).advice


def test_a_run_that_does_as_it_should_needs_no_words() -> None:
    assert explain(pb.Run(state="EXECUTING")).what == ""
    assert explain(pb.Run(state="TERMINATED", outcome="succeeded")).what == ""


def test_progress_has_units_and_no_end_where_there_is_none() -> None:
    run = pb.Run(state="EXECUTING", step=500, total_timesteps=1000, steps_per_second=50)
    run.started_at = 100
    assert progress_text(run, now=110) == "500 of 1k steps · 50 steps/s · 10 s so far · 10 s left"
    assert progress_text(pb.Run(state="INIT"), now=0) == "0 steps"


def test_a_name_that_was_made_up_gives_way_to_the_id() -> None:
    made_up = pb.Run(run_id="01ABC", name="ppo-CartPole-v1-01M7PJZ2S7Z975574YZFN78RZG")
    assert name(made_up) == "01ABC"
    assert name(pb.Run(run_id="01ABC", name="mine")) == "mine"


def test_a_state_of_a_newer_version_is_unknown() -> None:
    assert row(pb.Run(run_id="r", state="HIBERNATING"))["state"] == "unknown"


def test_exported_cells_are_no_formulas() -> None:
    table = as_table([pb.Run(run_id="r", name="=1+1", state="INIT", seed=0)])
    header, line, end = table.split("\n")
    assert header.startswith("run_id,name,state")
    assert line.startswith("r,'=1+1,INIT,,,,,,0,")
    assert end == ""


def test_attention_lists_warnings_findings_waits_and_fresh_failures() -> None:
    health = pb.Health(warnings=["The disk is nearly full."])
    waiting = pb.Run(
        run_id="w", algo="ppo", env_id="E", state="INIT", reason="no GPU", created_at=1
    )
    running = pb.Run(run_id="x", algo="ppo", env_id="E", state="EXECUTING", created_at=1)
    ended = [failed(algo="dqn", env_id="E", ended_at=900.0), failed(ended_at=-100_000.0)]
    found = find_notices(
        health,
        [waiting, running],
        ended,
        now=1000,
        findings={"x": [Finding("kl", "KL too large", "0.6.", "", "losses/approx_kl")]},
    )
    assert [each.text for each in found] == [
        "The disk is nearly full.",
        "ppo on E: KL too large. 0.6.",
        "ppo on E waits: no GPU",
        "dqn on E failed 2 min ago",
    ]
    assert found[1].path == "/runs/x?tab=charts&filter=losses/approx_kl"
