"""The daemon and the ticker worker of the trainer's tests."""

from tests.trainer.conftest import daemon, ticker

__all__ = ["daemon", "ticker"]
