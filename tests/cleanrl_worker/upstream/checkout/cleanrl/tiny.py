"""A script of our own in the shape of CleanRL's: flags in Args, everything else at the bottom."""

import argparse
import os
import time
from dataclasses import dataclass, fields

import cleanrl_utils
import gymnasium as gym
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Args:
    exp_name: str = os.path.basename(__file__)[: -len(".py")]
    """the name of this experiment"""
    seed: int = 1
    """seed of the experiment"""
    cuda: bool = True
    """if toggled, cuda will be enabled by default"""
    capture_video: bool = False
    """whether to capture videos"""
    save_model: bool = False
    """whether to save the model"""

    env_id: str = "CartPole-v1"
    """the id of the environment"""
    total_timesteps: int = int(2e3)
    """total timesteps"""
    num_envs: int = 2
    """the number of parallel environments"""
    num_steps: int = 10
    """the steps of an iteration"""
    learning_rate: float = 2.5e-4
    """the learning rate"""
    target_kl: float = None
    """the target KL divergence"""
    pause_s: float = 0.0
    """seconds to wait in each iteration"""

    batch_size: int = 0
    """the batch size (computed in runtime)"""


def parse() -> Args:
    parser = argparse.ArgumentParser()
    for field in fields(Args):
        flag = "--" + field.name.replace("_", "-")
        if field.type is bool:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(flag, type=field.type, default=field.default)
    return Args(**vars(parser.parse_args()))


if __name__ == "__main__":
    args = parse()
    args.batch_size = args.num_envs * args.num_steps
    run_name = f"{args.env_id}__{args.exp_name}__{args.seed}__{int(time.time())}"
    writer = SummaryWriter(f"runs/{run_name}")
    writer.add_text("hyperparameters", str(args))
    torch.manual_seed(args.seed)
    assert not torch.cuda.is_available() or not args.cuda or cleanrl_utils.NAME
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id) for _ in range(args.num_envs)])
    assert isinstance(envs.single_action_space, gym.spaces.Discrete), "only discrete actions"
    agent = nn.Linear(envs.single_observation_space.shape[0], int(envs.single_action_space.n))

    step = 0
    obs, _ = envs.reset(seed=args.seed)
    for _ in range(args.total_timesteps // args.batch_size):
        for _ in range(args.num_steps):
            step += args.num_envs
            actions = agent(torch.Tensor(obs)).argmax(1).numpy()
            obs, rewards, terminations, truncations, infos = envs.step(actions)
        writer.add_scalar("charts/learning_rate", args.learning_rate, step)
        writer.add_scalar("losses/value_loss", torch.tensor(rewards.sum()), step)
        time.sleep(args.pause_s)
    if args.save_model:
        torch.save(agent.state_dict(), f"runs/{run_name}/{args.exp_name}.cleanrl_model")
    envs.close()
    writer.close()
