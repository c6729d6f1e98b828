"""The actors that can be launched, each with its lane: the one place that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.capabilities import Lane


@dataclass(frozen=True, slots=True)
class Actor:
    key: str  # in addresses
    name: str
    worker: str  # worker type
    lane: Lane
    icon: str
    summary: str


ROSTER = (
    Actor(
        "cleanrl",
        "CleanRL Worker",
        "cleanrl",
        "analytics",
        "model_training",
        "Trains, resumes and evaluates reinforcement-learning agents.",
    ),
    Actor("human", "Human-Only", "human_worker", "telemetry", "person", "You play, key by key."),
    Actor(
        "spade_bdi",
        "Spade BDI Worker",
        "spade_bdi_rl_worker",
        "telemetry",
        "hub",
        "Agents with beliefs, desires and intentions.",
    ),
    Actor(
        "llm",
        "LLM Multi-Step Worker",
        "llm_worker",
        "hybrid",
        "forum",
        "A language model that chooses actions.",
    ),
)


def find_actor(key: str) -> Actor:
    """Return the actor of an address; an unknown one is the first."""
    return next((actor for actor in ROSTER if actor.key == key), ROSTER[0])


def actor_of(worker: str) -> str:
    """Return the key of the actor whose worker this is; an unknown worker is the first's."""
    return next((actor.key for actor in ROSTER if actor.worker == worker), ROSTER[0].key)


def lane_of(worker: str) -> Lane:
    """Return the lane of a worker's runs; an unknown worker is taken for one with metrics only."""
    return next((actor.lane for actor in ROSTER if actor.worker == worker), "analytics")
