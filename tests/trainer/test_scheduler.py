"""Who starts, who waits, and what they are told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.contracts.errors import ConfigError
from mosaic.trainer.resources import GpuDevice, Machine
from mosaic.trainer.scheduler import Plan, Request, Reservation, plan, refuse_impossible


def machine(cpus: int = 4, memory_mb: int = 8000, gpus: int = 0) -> Machine:
    devices = tuple(GpuDevice(i, f"GPU-{i}", "Test", 1000) for i in range(gpus))
    return Machine(cpus, memory_mb, devices)


def ask(run_id: str, cpus: int = 1, memory_mb: int = 100, gpus: int = 0) -> Request:
    return Request(run_id, cpus, memory_mb, gpus, is_gpu_mandatory=gpus > 0)


def wish(run_id: str, gpus: int = 1) -> Request:
    return Request(run_id, 1, 100, gpus, is_gpu_mandatory=False)


def starts(made: Plan) -> list[str]:
    return [run_id for run_id, _ in made.starts]


CASES = [
    ("nothing queued", machine(), [], {}, [], {}),
    ("room for both", machine(2), [ask("a"), ask("b")], {}, ["a", "b"], {}),
    (
        "the oldest first",
        machine(1),
        [ask("a"), ask("b"), ask("c")],
        {},
        ["a"],
        {
            "b": "waiting for 1 CPU: 0 of 1 free",
            "c": "waiting for 1 CPU: 0 of 1 free; 1 run ahead",
        },
    ),
    (
        "a small run does not overtake a large one",
        machine(4),
        [ask("large", cpus=3), ask("small")],
        {"held": Reservation(2, 100)},
        [],
        {
            "large": "waiting for 3 CPUs: 2 of 4 free",
            "small": "waiting for its turn: 1 run ahead",
        },
    ),
    (
        "memory",
        machine(4, 1000),
        [ask("a", memory_mb=600), ask("b", memory_mb=600)],
        {},
        ["a"],
        {"b": "waiting for 600 MB of memory: 400 of 1000 free"},
    ),
    (
        "who waits for a GPU holds up nobody who needs none",
        machine(4, gpus=1),
        [ask("first", gpus=1), ask("second", gpus=1), ask("plain")],
        {"held": Reservation(1, 100, (0,))},
        ["plain"],
        {
            "first": "waiting for 1 GPU: 0 of 1 free",
            "second": "waiting for 1 GPU: 0 of 1 free; 1 run ahead",
        },
    ),
    (
        "one GPU does not go to a run behind one that needs two",
        machine(4, gpus=2),
        [ask("two", gpus=2), ask("one", gpus=1)],
        {"held": Reservation(1, 100, (0,))},
        [],
        {
            "two": "waiting for 2 GPUs: 1 of 2 free",
            "one": "waiting for its turn: 1 run ahead",
        },
    ),
    (
        "who has its GPU and waits for room keeps its place",
        machine(2, gpus=1),
        [ask("gpu", cpus=2, gpus=1), ask("plain")],
        {"held": Reservation(1, 100)},
        [],
        {
            "gpu": "waiting for 2 CPUs: 1 of 2 free",
            "plain": "waiting for its turn: 1 run ahead",
        },
    ),
    (
        "what no longer fits the machine holds up nobody",
        machine(2),
        [ask("huge", cpus=8), ask("plain")],
        {},
        ["plain"],
        {"huge": "needs 8 CPUs, and this machine has 2"},
    ),
    (
        "more is held than there is, after the machine shrank",
        machine(1),
        [ask("a")],
        {"held": Reservation(4, 100)},
        [],
        {"a": "waiting for 1 CPU: 0 of 1 free"},
    ),
]


@pytest.mark.parametrize(
    ("there", "queue", "held", "started", "waiting"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_the_plan(
    there: Machine,
    queue: list[Request],
    held: dict[str, Reservation],
    started: list[str],
    waiting: dict[str, str],
) -> None:
    made = plan(queue, there, held)
    assert starts(made) == started
    assert made.waiting == waiting


def test_gpus_are_given_by_index() -> None:
    held = {"held": Reservation(1, 100, (1,))}
    made = plan([ask("a", gpus=2), ask("b", gpus=1)], machine(8, gpus=4), held)
    assert made.starts == [("a", Reservation(1, 100, (0, 2))), ("b", Reservation(1, 100, (3,)))]


def test_a_gpu_that_is_not_mandatory_is_waited_for_only_where_there_is_one() -> None:
    assert plan([wish("a")], machine(), {}).starts == [("a", Reservation(1, 100, ()))]
    assert plan([wish("a", 4)], machine(gpus=1), {}).starts == [("a", Reservation(1, 100, (0,)))]
    made = plan([wish("a"), wish("b")], machine(gpus=1), {})
    assert made.starts == [("a", Reservation(1, 100, (0,)))]
    assert made.waiting == {"b": "waiting for 1 GPU: 0 of 1 free"}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ask("a", cpus=5), "needs 5 CPUs, and this machine has 4"),
        (ask("a", memory_mb=9000), "needs 9000 MB of memory, and this machine has 8000"),
        (ask("a", gpus=1), "needs 1 GPUs, and this machine has 0"),
    ],
)
def test_what_the_machine_can_never_give_is_refused(request_: Request, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        refuse_impossible(request_, machine())


def test_what_it_can_give_is_not_refused() -> None:
    refuse_impossible(wish("a", gpus=4), machine())
    refuse_impossible(ask("a", cpus=4, memory_mb=8000), machine())


REQUESTS = st.lists(
    st.tuples(
        st.integers(1, 4), st.integers(1, 8), st.integers(0, 2), st.booleans(), st.integers(1, 5)
    ),
    max_size=25,
)


def check_capacity(there: Machine, held: dict[str, Reservation]) -> None:
    taken = [index for each in held.values() for index in each.gpus]
    assert sum(each.cpus for each in held.values()) <= there.cpus
    assert sum(each.memory_mb for each in held.values()) <= there.memory_mb
    assert len(taken) == len(set(taken))
    assert set(taken) <= {device.index for device in there.gpus}


def check_order(queue: Sequence[Request], started: set[str]) -> None:
    """Nobody overtakes a run that asks for the same or less of everything."""
    for position, early in enumerate(queue):
        if early.run_id in started:
            continue
        for late in queue[position + 1 :]:
            wants_as_much = (
                late.cpus >= early.cpus
                and late.memory_mb >= early.memory_mb
                and late.gpus >= early.gpus
            )
            assert late.run_id not in started or not wants_as_much


@settings(max_examples=200, deadline=None)
@given(REQUESTS, st.integers(0, 2))
def test_every_run_has_its_turn_and_nothing_is_given_twice(
    asked: list[tuple[int, int, int, bool, int]], gpus: int
) -> None:
    """Play a whole day: runs end after their time, and the queue is planned anew each time."""
    there = machine(4, 8, gpus)
    queue = [
        Request(f"r{i}", cpus, memory, min(wanted, gpus), mandatory)
        for i, (cpus, memory, wanted, mandatory, _) in enumerate(asked)
    ]
    ends_in = {f"r{i}": row[4] for i, row in enumerate(asked)}
    held: dict[str, Reservation] = {}
    # Were they run one after the other, they would take this long.
    for _ in range(1 + sum(ends_in.values())):
        made = plan(queue, there, held)
        assert set(starts(made)) | set(made.waiting) == {each.run_id for each in queue}
        check_order(queue, set(starts(made)))
        held |= dict(made.starts)
        check_capacity(there, held)
        queue = [each for each in queue if each.run_id not in held]
        ends_in = {run: left - (run in held) for run, left in ends_in.items()}
        held = {run: each for run, each in held.items() if ends_in[run] > 0}
    assert not queue
    assert not held
