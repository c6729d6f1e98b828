"""Runs: what goes in comes out, ids may be shortened, and an end is an end."""

from __future__ import annotations

import dataclasses
import random
import sqlite3
from typing import Any

import pytest

from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.states import Outcome, RunState, is_terminal
from mosaic.trainer.store import runs
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import ENDED, insert, make_record

FULL = RunRecord(
    run_id="01J0000000000000000000FULL",
    name="a run",
    state=RunState.FAULTED,
    created_at=1.25,
    outcome=Outcome.FAILED,
    reason="contact lost",
    algo="dqn",
    env_id="ALE/Pong-v5",
    seed=0,
    worker_id="cleanrl-worker-01J00000",
    worker="cleanrl",
    mode="resume_training",
    step=2**40,
    total_timesteps=2**41,
    started_at=2.5,
    ended_at=3.5,
    exit_code=137,
    signal=9,
    parent_run_id="01J00000000000000000PARENT",
    last_return=-21.0,
    steps_per_second=1234.5,
    deleted_at=4.5,
    is_archived=True,
    cancel_requested_at=3.0,
    cancel_reason="max_steps",
    paused_s=0.5,
    config={"metadata": {"worker": {"config": {"extras": {"wandb_api_key": "***", "α": [1]}}}}},
    reserved={"cpus": 2, "memory_mb": 512, "gpus": [0, 1]},
    garbage_lines=3,
    last_lines=("Traceback", "ValueError: «no»"),
    idempotency_key="once",
    secret_names=("WANDB_API_KEY",),
    auto_resumed_by="01J00000000000000000000NEXT",
    revision=17,
)


def get(store: Store, run_id: str) -> RunRecord | None:
    return store.runs.read(lambda c: runs.get(c, run_id)).result()


def update(store: Store, run_id: str, **changes: Any) -> RunRecord:
    return store.runs.write(lambda c: runs.update(c, run_id, **changes)).result()


def test_a_record_comes_back_as_it_went_in(store: Store) -> None:
    sparse = RunRecord("sparse", "", RunState.INIT, 0.0)
    insert(store.runs, FULL, sparse)
    assert get(store, FULL.run_id) == FULL
    assert get(store, "sparse") == sparse
    assert get(store, "nobody") is None


def test_every_field_can_be_changed_and_each_change_counts(store: Store) -> None:
    insert(store.runs, make_record("A"))
    for number, field in enumerate(dataclasses.fields(RunRecord)):
        if field.name in ("run_id", "created_at", "revision", "state", "outcome"):
            continue
        before = get(store, "A")
        assert before is not None
        value = getattr(FULL, field.name)
        after = update(store, "A", **{field.name: value})
        assert after == dataclasses.replace(
            before, **{field.name: value, "revision": before.revision + 1}
        ), number
        assert after == get(store, "A")


def test_text_that_utf_8_cannot_spell_is_stored_all_the_same(store: Store) -> None:
    insert(store.runs, make_record("A"))
    record = update(store, "A", reason="half \ud800 é", last_lines=("\udc00",))
    assert (record.reason, record.last_lines) == ("half ? é", ("\udc00",))


def test_a_run_that_is_not_there_cannot_be_changed(store: Store) -> None:
    with pytest.raises(NotFound, match="no run 'ghost'"):
        update(store, "ghost", step=1)


class TestPrefixes:
    @pytest.fixture(autouse=True)
    def some_runs(self, store: Store) -> None:
        insert(store.runs, *(make_record(f"01J{number:02}") for number in range(12)))
        insert(store.runs, make_record("01J"), make_record("x_y", deleted_at=1.0))

    def find(self, store: Store, prefix: str) -> str:
        return store.runs.read(lambda c: runs.find(c, prefix)).result().run_id

    def test_an_id_or_its_first_letters(self, store: Store) -> None:
        assert self.find(store, "01J07") == "01J07"
        assert self.find(store, "01J") == "01J", "a whole id wins over those that begin with it"
        assert self.find(store, "x") == "x_y", "the bin is looked through as well"

    def test_letters_that_fit_several_runs_name_some_of_them(self, store: Store) -> None:
        with pytest.raises(ConfigError) as refused:
            self.find(store, "01J0")
        line = refused.value.one_line()
        assert "01J09, 01J08, 01J07, 01J06, 01J05, ..." in line
        assert line.endswith("Give more letters.")
        with pytest.raises(ConfigError, match=r"01J11, 01J10\."):
            self.find(store, "01J1")

    @pytest.mark.parametrize("prefix", ["01K", "01j", "%", "_", "01J0%", "' OR 1", "\0", "é"])
    def test_what_no_run_begins_with(self, store: Store, prefix: str) -> None:
        with pytest.raises(NotFound, match="No run has the id") as refused:
            self.find(store, prefix)
        assert repr(prefix) in refused.value.one_line()

    def test_nothing_is_not_a_prefix(self, store: Store) -> None:
        with pytest.raises(ConfigError, match="empty"):
            self.find(store, "")


def test_an_idempotency_key_names_one_run(store: Store) -> None:
    insert(store.runs, make_record("A", idempotency_key="k"), make_record("B"), make_record("C"))

    def by_key(key: str) -> RunRecord | None:
        return store.runs.read(lambda c: runs.by_idempotency_key(c, key)).result()

    found = by_key("k")
    assert found is not None
    assert found.run_id == "A"
    assert by_key("other") is None
    with pytest.raises(sqlite3.IntegrityError):
        insert(store.runs, make_record("D", idempotency_key="k"))
    store.runs.write(lambda c: runs.remove(c, "A")).result()
    insert(store.runs, make_record("D", idempotency_key="k"))


def test_unfinished_runs_are_the_queue_in_its_order(store: Store) -> None:
    insert(
        store.runs,
        make_record("C", created_at=3.0),
        make_record("B", created_at=1.0, state=RunState.PAUSED),
        make_record("A", created_at=2.0, **ENDED),
        make_record("D", created_at=1.0, deleted_at=9.0),
    )
    queue = store.runs.read(runs.unfinished).result()
    assert [record.run_id for record in queue] == ["B", "D", "C"]
    assert store.runs.read(runs.counts).result() == {"INIT": 1, "PAUSED": 1, "TERMINATED": 1}


def test_a_run_has_an_outcome_when_it_has_ended_and_not_before(store: Store) -> None:
    insert(store.runs, make_record("A"))
    for changes in ({"state": RunState.TERMINATED}, {"outcome": Outcome.FAILED}):
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            update(store, "A", **changes)


WISHES: list[dict[str, Any]] = [
    *({"state": state, "outcome": None} for state in RunState if not is_terminal(state)),
    *(
        {"state": state, "outcome": outcome}
        for state in (RunState.TERMINATED, RunState.FAULTED)
        for outcome in Outcome
    ),
    {"step": 5},
    {"reason": "so it is", "is_archived": True},
    {"state": RunState.TERMINATED, "outcome": Outcome.CANCELLED, "step": 7},
]


def test_an_ended_run_keeps_its_state_and_outcome_in_10000_histories(store: Store) -> None:
    generator = random.Random(5)

    def live(connection: sqlite3.Connection) -> int:
        refused = 0
        for number in range(10_000):
            run_id = f"run-{number}"
            runs.insert(connection, make_record(run_id))
            model = runs.get(connection, run_id)
            for wish in generator.choices(WISHES, k=generator.randint(2, 5)):
                assert model is not None
                after = dataclasses.replace(model, **wish, revision=model.revision + 1)
                changes_end = (after.state, after.outcome) != (model.state, model.outcome)
                if model.is_ended and changes_end:
                    refused += 1
                    with pytest.raises(ConfigError, match=f"'{run_id}' has ended"):
                        runs.update(connection, run_id, **wish)
                else:
                    model = after
                    assert runs.update(connection, run_id, **wish) == model
            assert runs.get(connection, run_id) == model
        return refused

    assert store.runs.write(live).result() > 5_000


def test_not_even_plain_sql_changes_an_end(store: Store) -> None:
    insert(store.runs, make_record("A", **ENDED))
    for column, value in (("state", "EXECUTING"), ("outcome", "failed"), ("outcome", None)):
        with pytest.raises(sqlite3.IntegrityError, match="an ended run keeps"):
            store.runs.write(
                lambda c, column=column, value=value: c.execute(
                    f"UPDATE runs SET {column} = ?", (value,)
                )
            ).result()
