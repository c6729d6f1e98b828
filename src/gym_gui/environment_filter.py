"""Which environments a page shows: what its address says, and what the filters change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from urllib.parse import quote, urlencode

from mosaic.catalog.environments import Environment, Environments
from mosaic.catalog.needs import is_installed
from mosaic.contracts.schema import AlgorithmSchema

ACTIONS = {"": "Any actions", "discrete": "Discrete actions", "box": "Continuous actions"}


@dataclass(slots=True)
class EnvironmentFilter:
    """Texts, as in an address; empty ones let everything through."""

    family: str = ""
    text: str = ""
    actions: str = ""
    algo: str = ""
    installed: str = ""
    play: str = ""

    def choose(
        self, environments: Environments, algorithms: Sequence[AlgorithmSchema]
    ) -> list[Environment]:
        wanted = next((each for each in algorithms if each.name == self.algo), None)
        return [
            each
            for each in environments.by_id.values()
            if (not self.family or each.family.name == self.family)
            and (not self.actions or each.actions == self.actions)
            and (wanted is None or each.fits(wanted))
            and (not self.play or each.is_playable)
            and (not self.text or each.matches(self.text))
            and (not self.installed or is_installed(each))
        ]

    @property
    def address(self) -> str:
        query = {name: value for name, value in asdict(self).items() if value}
        return f"/environments?{urlencode(query)}" if query else "/environments"


def environment_path(env_id: str) -> str:
    return f"/environments/{quote(env_id, safe='/')}"


def launch_path(env_id: str, algo: str = "") -> str:
    query = {"form": "train", "algo": algo, "env_id": env_id}
    return f"/launch?{urlencode({name: value for name, value in query.items() if value})}"
