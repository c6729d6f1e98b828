"""A user's module that registers an environment when it is imported."""

from tests.cleanrl_worker.envs.probe import register

register()
