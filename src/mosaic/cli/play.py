"""`mosaic play`: play an environment in the terminal, or watch a policy play it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.arguments import Parser
from mosaic.cli.steady import SteadyClient
from mosaic.cli.terminal_pictures import PROTOCOLS, choose_protocol
from mosaic.client.playing import PlayProcess
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.play_request import PlayRequest, play_policy, play_run, playing_module
from mosaic.workers.discovery import load_catalogue

DESCRIPTION = """\
Play an environment with the keyboard, or watch the policy of a run, a policy file or a checkpoint
play it, and take over from it.

Keys: arrows and digits act, space lets the policy go on or stop, s takes one step of it,
+ and - change its speed, r begins anew, q leaves."""


def run(words: Sequence[str]) -> int:
    given = _parser().parse(words)
    if given.target is None and given.env_id is None:
        raise ConfigError("play: name a run, a policy, or an environment with --env-id.")
    protocol = None if given.json else _protocol(given.protocol)
    request = _request(given)
    module = playing_module(load_catalogue().available)
    with PlayProcess(module, request.flags()) as process:
        process.start()
        if protocol is None:
            return _play_unseen(process, request, given)
        from mosaic.cli.play_screen import PlayScreen

        PlayScreen(process, request, protocol, given.speed).run(given.seed)
    return EXIT_OK


def _parser() -> Parser:
    parser = Parser(prog="mosaic play", description=DESCRIPTION)
    add = parser.add_argument
    add("target", nargs="?", metavar="RUN|POLICY", help="whose policy acts; without one you do")
    add("--env-id", metavar="ENV", help="the environment; a policy's own when absent")
    add("--algo", help="algorithm of a policy that does not say it")
    add("--from", dest="from_step", type=int, metavar="STEP", help="the run's checkpoint of it")
    add("--seed", type=int, metavar="N", help="seed of the first episode; drawn when absent")
    add("--sample", action="store_true", help="sample actions instead of the most probable ones")
    add("--speed", type=float, default=10.0, metavar="N", help="steps of the policy a second (10)")
    add("--protocol", choices=PROTOCOLS, help="how the terminal takes pictures")
    add("--episodes", type=int, default=1, metavar="N", help="with --json: episodes to play (1)")
    add("--json", action="store_true", help="let the policy play unseen, and print its episodes")
    return parser


def _request(given: argparse.Namespace) -> PlayRequest:
    options = {"is_sampled": given.sample, "is_drawn": not given.json}
    if given.target is None:
        return PlayRequest(given.env_id, **options)
    policy = Path(given.target).expanduser()
    if policy.exists() or len(policy.parts) > 1:
        if given.from_step is not None:
            raise ConfigError("play: --from names a checkpoint of a run; a policy is one already.")
        return play_policy(policy, algo=given.algo, env_id=given.env_id, **options)
    with SteadyClient(VarPaths.default()) as steady:
        details = steady.client.get_run(given.target)
    return play_run(
        json.loads(details.config_json),
        Path(details.run_dir),
        from_step=given.from_step,
        env_id=given.env_id,
        **options,
    )


def _protocol(asked: str | None) -> str:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(
            "play: this is no terminal.", hint="--json lets a policy play unseen, without one."
        )
    return asked or choose_protocol(os.environ) or PROTOCOLS[-1]


def _play_unseen(process: PlayProcess, request: PlayRequest, given: argparse.Namespace) -> int:
    """Let the policy play, and print its episodes as one object."""
    if request.policy is None:
        raise ConfigError("play: --json needs a policy: without one every action is yours.")
    episodes = []
    for number in range(given.episodes):
        seed = None if given.seed is None else given.seed + number
        ready = process.reset(seed)
        done = None
        while done is None:
            _, done = process.step()
        episodes.append(
            {
                "seed": ready["seed"],
                "return": done["total_reward"],
                "length": done["episode_length"],
            }
        )
    print(json.dumps({**process.init, "episodes": episodes}))
    return EXIT_OK
