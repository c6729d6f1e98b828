#!/usr/bin/env bash
# @description: Learn MiniGrid's DoorKey 8x8 after 5x5 and 6x6, and evaluate a hundred episodes.
# @phases: curriculum, evaluate
# @total_timesteps: 80000
# @env_family: minigrid
# @author: MOSAIC
set -euo pipefail
cd "$MOSAIC_RUN_DIR"
seed=$(mosaic config get seed)
steps=$(mosaic config get total_timesteps)

echo "@phase curriculum"
mosaic train ppo --env-id MiniGrid-DoorKey-8x8-v0 --total-timesteps "$steps" --seed "$seed" \
  --num-envs 16 --learning-rate 0.0005 --curriculum-schedule '[
    {"env_id": "MiniGrid-DoorKey-5x5-v0", "until": "episode_return>=0.8"},
    {"env_id": "MiniGrid-DoorKey-6x6-v0", "until": "episode_return>=0.8"},
    {"env_id": "MiniGrid-DoorKey-8x8-v0"}]' --json > curriculum.json
run=$(mosaic config get run_id curriculum.json)

echo "@phase evaluate"
mosaic eval "$run" --eval-batch-size 100 --no-eval-deterministic --json > evaluate.json
