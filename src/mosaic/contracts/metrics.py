"""The metric catalogue: every tag that a run may log, explained once."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    tag: str
    help: str
    unit: str | None = None
    wall_clock: bool = False  # depends on the machine's speed: not the same for the same seed
    axis: str = "step"  # what its x means: environment steps, or the index of episode or batch


_METRICS = (
    Metric("charts/episodic_return", "Undiscounted sum of rewards of a finished training episode."),
    Metric("charts/episodic_length", "Length of a finished training episode.", unit="steps"),
    Metric(
        "charts/avg_episodic_return", "Mean return of the last twenty finished training episodes."
    ),
    Metric(
        "charts/episode_curiosity_reward",
        "How new what a training episode saw was, summed before it is brought to one scale.",
    ),
    Metric("charts/learning_rate", "Learning rate of the optimiser at this update."),
    Metric("charts/entropy_coefficient", "Weight of the entropy bonus at this update."),
    Metric(
        "charts/SPS", "Environment steps a second since the start.", unit="1/s", wall_clock=True
    ),
    Metric("charts/epsilon", "Share of random actions."),
    Metric("charts/beta", "How far the preference for high priorities is undone; 1: wholly."),
    Metric("charts/distill_coeff", "Weight of the distillation: how far behind its teacher it is."),
    Metric("charts/teacher/avg_episodic_return", "Mean return of the teacher's greedy episodes."),
    Metric("charts/offline/loss", "The loss as a whole while the student learns offline."),
    Metric("charts/offline/q_loss", "Mean squared temporal-difference error of that."),
    Metric("charts/offline/distill_loss", "Mean KL(teacher, student) of that.", unit="nats"),
    Metric(
        "charts/offline/avg_episodic_return",
        "Mean return of the student's greedy episodes while it learns offline.",
    ),
    Metric("bdi/plan_return", "Return of an episode that the agent played by its plans."),
    Metric("bdi/planned_states", "States in which the agent has a plan.", unit="states"),
    Metric("llm/prompts", "Requests to the language model so far."),
    Metric("llm/prompt_tokens", "Tokens sent so far.", unit="tokens"),
    Metric("llm/completion_tokens", "Tokens received so far.", unit="tokens"),
    Metric("llm/unparsable", "Answers so far that name no action."),
    Metric("llm/retries", "Requests so far that had to be sent again."),
    Metric("llm/latency_s", "Mean time of a request in this episode.", unit="s", wall_clock=True),
    Metric("losses/value_loss", "Mean squared error of the value function, halved."),
    Metric("losses/policy_loss", "PPO's clipped surrogate objective, negated."),
    Metric("losses/entropy", "Mean entropy of the policy.", unit="nats"),
    Metric("losses/old_approx_kl", "Estimate of KL(old, new) as the mean of -log ratio."),
    Metric("losses/approx_kl", "Estimate of KL(old, new) as the mean of ratio - 1 - log ratio."),
    Metric("losses/clipfrac", "Share of samples whose probability ratio was clipped."),
    Metric(
        "losses/explained_variance",
        "1 - Var(return - value) / Var(return): 1 is perfect, 0 no better than the mean.",
    ),
    Metric(
        "losses/fwd_loss",
        "Mean squared error of the predictor of a random network's features (RND).",
    ),
    Metric(
        "losses/aux/kl_loss",
        "Mean KL(before, after) by which an auxiliary phase moves the policy (PPG).",
        unit="nats",
    ),
    Metric(
        "losses/aux/aux_value_loss",
        "Mean squared error of the auxiliary value head in that phase, halved.",
    ),
    Metric("losses/aux/real_value_loss", "Mean squared error of the critic in that phase, halved."),
    Metric("losses/td_loss", "Mean squared temporal-difference error."),
    Metric("losses/q_values", "Mean value of the sampled actions."),
    Metric(
        "losses/loss",
        "The loss as a whole: of C51 the cross-entropy to the projected target distribution, of "
        "PPO and QDagger the weighted sum of its parts.",
    ),
    Metric(
        "losses/distill_loss",
        "Mean KL(teacher, student) of the softmax policies of their values.",
        unit="nats",
    ),
    Metric(
        "losses/reconstruction_loss",
        "Cross-entropy of the pictures that the features were turned back into.",
        unit="nats",
    ),
    Metric("losses/qf1_values", "Mean value that the first critic gives."),
    Metric("losses/qf2_values", "Mean value that the second critic gives."),
    Metric("losses/qf1_loss", "Mean squared error of the first critic."),
    Metric("losses/qf2_loss", "Mean squared error of the second critic."),
    Metric("losses/qf_loss", "Mean of both critics' squared errors."),
    Metric("losses/actor_loss", "Loss of the actor: the value it expects, negated."),
    Metric("losses/alpha", "Weight of the entropy."),
    Metric("losses/alpha_loss", "Loss of the entropy weight."),
    Metric("episode/r_mean", "Mean return of the last hundred training episodes."),
    Metric("episode/l_mean", "Mean length of the last hundred training episodes.", unit="steps"),
    Metric(
        "episode/t_mean",
        "Mean time that the last hundred training episodes took.",
        unit="s",
        wall_clock=True,
    ),
    Metric("episode/value_mean", "Mean value of a rollout's observations."),
    Metric("episode/advantage_mean", "Mean advantage of a rollout's actions."),
    Metric("curriculum/current_stage", "Stage of the curriculum that begins here, from 0."),
    Metric("curriculum/entropy", "Entropy of the choice among the tasks.", unit="nats"),
    Metric("time/environment", "Share of the time spent stepping environments.", wall_clock=True),
    Metric("time/acting", "Share of the time spent choosing actions.", wall_clock=True),
    Metric("time/learning", "Share of the time spent on updates.", wall_clock=True),
    Metric(
        "charts/avg_episodic_length",
        "Mean length of the last twenty finished training episodes.",
        unit="steps",
    ),
    Metric(
        "charts/SPS_update",
        "Environment steps a second of one rollout and its update.",
        unit="1/s",
        wall_clock=True,
    ),
    Metric(
        "time/device",
        "Share of the time spent in programs that step, act and learn on the device.",
        wall_clock=True,
    ),
    Metric("eval/episodic_return", "Return of an evaluation episode.", axis="episode"),
    Metric(
        "eval/episodic_length", "Length of an evaluation episode.", unit="steps", axis="episode"
    ),
    Metric(
        "eval/discounted_return",
        "Return of an evaluation episode, discounted by eval_gamma.",
        axis="episode",
    ),
    Metric("eval/avg_return", "Mean return of an evaluation batch.", axis="batch"),
    Metric("eval/min_return", "Lowest return of an evaluation batch.", axis="batch"),
    Metric("eval/max_return", "Highest return of an evaluation batch.", axis="batch"),
    Metric("eval/median_return", "Median return of an evaluation batch.", axis="batch"),
    Metric(
        "eval/std_return",
        "Standard deviation of the returns of an evaluation batch.",
        axis="batch",
    ),
    Metric(
        "eval/avg_length", "Mean episode length of an evaluation batch.", unit="steps", axis="batch"
    ),
    Metric(
        "eval/avg_discounted_return",
        "Mean of an evaluation batch's returns, discounted by eval_gamma.",
        axis="batch",
    ),
    Metric(
        "eval/duration_sec",
        "Time that an evaluation batch took.",
        unit="s",
        wall_clock=True,
        axis="batch",
    ),
)

CATALOGUE: dict[str, Metric] = {metric.tag: metric for metric in _METRICS}

_PLAYER = re.compile(r"-player\d+$")


def find_metric(tag: str) -> Metric | None:
    """Return the entry of a tag; one of several players shares the entry of the plain tag."""
    return CATALOGUE.get(_PLAYER.sub("", tag))
