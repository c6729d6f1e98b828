#!/usr/bin/env bash
# @description: Train CartPole for a moment, go on from the checkpoint, and evaluate: does all work?
# @phases: train, resume, evaluate
# @total_timesteps: 4096
# @env_family: gymnasium
# @author: MOSAIC
set -euo pipefail
cd "$MOSAIC_RUN_DIR"
seed=$(mosaic config get seed)

echo "@phase train"
mosaic train ppo --env-id CartPole-v1 --total-timesteps 2048 --seed "$seed" --json > train.json
run=$(mosaic config get run_id train.json)

echo "@phase resume"
mosaic resume "$run" --total-timesteps 4096 --json > resume.json
run=$(mosaic config get run_id resume.json)

echo "@phase evaluate"
mosaic eval "$run" --seed "$seed" --eval-batch-size 5 --json > evaluate.json
