"""Lists of runs: every filter, every order, and pages that neither repeat nor skip."""

from __future__ import annotations

import base64
import dataclasses
import random
from typing import Any

import pytest

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.states import Outcome, RunState, is_terminal
from mosaic.trainer.store import runs
from mosaic.trainer.store.run_pages import ORDERS
from mosaic.trainer.store.runs import RunPage, RunQuery, RunRecord
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import insert, make_record


def list_runs(store: Store, **query: Any) -> RunPage:
    return store.runs.read(lambda c: runs.page(c, RunQuery(**query))).result()


def all_pages(store: Store, **query: Any) -> list[RunRecord]:
    records: list[RunRecord] = []
    page = list_runs(store, **query)
    while page.next_token:
        records += page.records
        page = list_runs(store, **query, page_token=page.next_token)
    return records + page.records


def random_record(generator: random.Random, number: int) -> RunRecord:
    state = generator.choice([state for state in RunState if state is not RunState.UNKNOWN])
    return make_record(
        f"{generator.getrandbits(40):010X}",
        name=generator.choice(["baseline", "50% lr", "under_score", "Ünïcode"]) + f" {number % 7}",
        state=state,
        outcome=generator.choice(list(Outcome)) if is_terminal(state) else None,
        created_at=float(generator.randrange(40)),
        algo=generator.choice(["ppo", "dqn", "c51"]),
        env_id=generator.choice(["CartPole-v1", "ALE/Pong-v5"]),
        worker=generator.choice(["cleanrl", "llm"]),
        step=generator.randrange(5) * 1000,
        parent_run_id=generator.choice([None, "parent"]),
        deleted_at=generator.choice([None, None, None, 5.0]),
        is_archived=generator.random() < 0.2,
    )


@pytest.fixture
def records(store: Store) -> list[RunRecord]:
    generator = random.Random(3)
    records = [random_record(generator, number) for number in range(300)]
    insert(store.runs, *records)
    return [dataclasses.replace(record, config={}) for record in records]


FILTERS: dict[str, Any] = {
    "states": (("READY", "TERMINATED"), lambda run: run.state in ("READY", "TERMINATED")),
    "outcomes": (("failed",), lambda run: run.outcome == "failed"),
    "algo": ("dqn", lambda run: run.algo == "dqn"),
    "env_id": ("ALE/Pong-v5", lambda run: run.env_id == "ALE/Pong-v5"),
    "worker": ("llm", lambda run: run.worker == "llm"),
    "text": ("0% L", lambda run: "50% lr" in run.name),
    "parent_run_id": ("parent", lambda run: run.parent_run_id == "parent"),
    "only_unfinished": (True, lambda run: not run.is_ended),
}


@pytest.mark.parametrize("names", [[], *([name] for name in FILTERS), ["algo", "text", "states"]])
def test_filters_let_through_what_they_should(
    store: Store, records: list[RunRecord], names: list[str]
) -> None:
    expected = {
        run.run_id
        for run in records
        if run.deleted_at is None
        and not run.is_archived
        and all(FILTERS[name][1](run) for name in names)
    }
    query = {name: FILTERS[name][0] for name in names}
    assert expected
    assert {run.run_id for run in all_pages(store, **query, page_size=17)} == expected
    assert list_runs(store, **query, page_size=1).total == len(expected)


def test_the_bin_and_the_archive_are_shown_on_request(
    store: Store, records: list[RunRecord]
) -> None:
    binned = {run.run_id for run in records if run.deleted_at is not None}
    kept = {run.run_id for run in records if run.deleted_at is None}
    assert {run.run_id for run in all_pages(store, only_deleted=True)} == binned
    assert {run.run_id for run in all_pages(store, with_archived=True)} == kept


@pytest.mark.parametrize("text", ["_", "%", "'", "ppo", "CARTPOLE", "Ü"])
def test_text_is_taken_literally_whatever_its_case(
    store: Store, records: list[RunRecord], text: str
) -> None:
    expected = {
        run.run_id
        for run in records
        if run.deleted_at is None
        and any(
            text.lower() in value.lower() for value in (run.run_id, run.name, run.algo, run.env_id)
        )
    }
    found = all_pages(store, text=text, with_archived=True)
    assert {run.run_id for run in found} == expected


@pytest.mark.parametrize("order_by", ORDERS)
@pytest.mark.parametrize("ascending", [False, True])
def test_pages_follow_the_order_without_gap_or_double(
    store: Store, records: list[RunRecord], order_by: str, ascending: bool
) -> None:
    shown = [run for run in records if run.deleted_at is None]
    shown.sort(key=lambda run: (getattr(run, order_by), run.run_id), reverse=not ascending)
    query = {"order_by": order_by, "ascending": ascending, "with_archived": True}
    assert all_pages(store, **query, page_size=23) == shown
    assert list_runs(store, **query).records == shown[:100]


def test_runs_that_come_and_go_meanwhile_shift_nothing(store: Store) -> None:
    insert(store.runs, *(make_record(f"R{n}", created_at=float(n)) for n in range(10)))
    first = list_runs(store, page_size=4)
    insert(store.runs, make_record("new", created_at=99.0))
    store.runs.write(lambda c: runs.remove(c, "R6")).result()
    second = list_runs(store, page_size=4, page_token=first.next_token)
    assert [run.run_id for run in first.records] == ["R9", "R8", "R7", "R6"]
    assert [run.run_id for run in second.records] == ["R5", "R4", "R3", "R2"]


def test_an_empty_store_has_one_empty_page(store: Store) -> None:
    assert list_runs(store) == RunPage([], "", 0)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"order_by": "nmae"}, "Did you mean 'name'"),
        ({"order_by": "run_id; DROP TABLE runs"}, "give one of created_at"),
        ({"page_size": -1}, "give 1 to 1000"),
        ({"page_size": 1001}, "give 1 to 1000"),
        ({"page_token": "x"}, "page_token='x'"),
        ({"page_token": "é"}, "page_token='é'"),
        ({"page_token": base64.urlsafe_b64encode(b"[1]").decode()}, "page_token"),
        ({"page_token": base64.urlsafe_b64encode(b'["created_at",0,[],"a"]').decode()}, "token"),
    ],
)
def test_bad_requests_are_one_clear_line(store: Store, query: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        list_runs(store, **query)


def test_a_token_belongs_to_its_order(store: Store, records: list[RunRecord]) -> None:
    token = list_runs(store, page_size=5).next_token
    for other in ({"ascending": True}, {"order_by": "name"}):
        with pytest.raises(ConfigError, match="with the same order"):
            list_runs(store, page_token=token, **other)
