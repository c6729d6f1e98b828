"""What a sweep tries by itself, by the name of the hyperparameter.

CleanRL's names mean the same in every algorithm, so that one table serves all recipes: each takes
the rows of the parameters that it has. A recipe that needs other values names them itself
(`Recipe.search`). The spans are those of RL Baselines3 Zoo's samplers, made narrower where every
value outside failed to learn; powers of two keep batches divisible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mosaic.contracts.parameters import Parameter
from mosaic.contracts.search import SearchRange

_TABLE = (
    SearchRange("learning_rate", 1e-4, 5e-3, is_log=True),
    SearchRange("policy_lr", 1e-4, 3e-3, is_log=True),
    SearchRange("q_lr", 1e-4, 3e-3, is_log=True),
    SearchRange("gamma", choices=(0.95, 0.98, 0.99, 0.995, 0.999)),
    # On-policy
    SearchRange("num_steps", choices=(32, 64, 128, 256, 512)),
    SearchRange("num_minibatches", choices=(1, 2, 4, 8)),
    SearchRange("update_epochs", choices=(4, 10, 20)),
    SearchRange("gae_lambda", choices=(0.8, 0.9, 0.95, 0.98, 1.0)),
    SearchRange("clip_coef", choices=(0.1, 0.2, 0.3)),
    SearchRange("ent_coef", choices=(0.0, 0.001, 0.01)),
    SearchRange("vf_coef", 0.2, 1.0),
    SearchRange("rpo_alpha", 0.01, 0.5),
    SearchRange("q_lambda", 0.5, 0.95),
    # Off-policy
    SearchRange("batch_size", choices=(32, 64, 128, 256)),
    SearchRange("tau", choices=(0.001, 0.005, 0.01, 0.05, 1.0)),
    SearchRange("train_frequency", choices=(1, 4, 10)),
    SearchRange("target_network_frequency", choices=(100, 500, 1000, 5000)),
    SearchRange("exploration_fraction", 0.05, 0.6),
    SearchRange("exploration_noise", 0.05, 0.3),
    SearchRange("policy_frequency", choices=(1, 2, 4)),
    SearchRange("n_atoms", choices=(51, 101)),
)


def search_space(
    parameters: Iterable[Parameter], own: Sequence[SearchRange] = ()
) -> tuple[SearchRange, ...]:
    """Return the ranges for those of the table that are among the parameters; `own` go first."""
    names = {parameter.name for parameter in parameters if not parameter.runtime_only}
    taken = {row.name for row in own}
    rows = [row for row in _TABLE if row.name in names and row.name not in taken]
    return (*own, *rows)
