"""A worker of one's own: it tosses coins, and tells every toss."""

import random
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.parameters import build, param, parameters_of
from mosaic.workers.solo.program import Program


@dataclass(frozen=True)
class Config:
    env_id: str = param("Coin-v0", "Environment id.")
    bias: float = param(0.5, "Probability of heads.", range=(0, 1))


def worker():
    kinds = ("sequential",), ("coin",), ("discrete",), ("discrete",)
    names = "coin_worker", "Coin Worker", "Tosses coins.", "1.0"
    schema = Path(__file__).with_name("schema.json")
    return WorkerCapabilities(
        "coin", *kinds, 1, False, True, False, 32, "telemetry", *names, schema
    )


def describe():
    fields = [parameter.to_json() for parameter in parameters_of(Config)]
    toss = {"name": "toss", "module": "coin_worker", "summary": "Tosses.", "env_families": ["coin"]}
    algorithms = [{**toss, "extras": [], "fields": fields, "tuned": []}]
    return {"schema_version": 1, "worker_type": "coin", "algorithms": algorithms}


class Toss:
    def __init__(self, settings):
        self.settings, self.config = settings, build(Config, settings.params)

    def summary(self):
        return {"env": {"id": self.settings.env_id}}

    def run(self, recorder):
        chance = random.Random(self.settings.seed)
        for number in range(self.settings.total_timesteps):
            heads = float(chance.random() < self.config.bias)
            end = {"terminated": True, "truncated": False}
            recorder.step(
                number, 0, None, action=0, observation=heads, reward=heads, info={}, **end
            )
            recorder.episode(number, total_reward=heads, steps=1, seed=None, metadata={}, **end)
            recorder.metrics(number + 1, {"charts/episodic_return": heads})


PROGRAM = Program("coin-worker", worker, describe, Toss)
