"""What a worker says of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Lane = Literal["telemetry", "analytics", "hybrid"]


@dataclass(frozen=True, slots=True)
class WorkerCapabilities:
    worker_type: str
    supported_paradigms: tuple[str, ...]
    env_families: tuple[str, ...]
    action_spaces: tuple[str, ...]
    observation_spaces: tuple[str, ...]
    max_agents: int
    supports_checkpointing: bool
    supports_pause: bool
    requires_gpu: bool
    estimated_memory_mb: int
    lane: Lane
    module: str
    display_name: str
    description: str
    version: str
    schema: Path

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"schema": str(self.schema)}
