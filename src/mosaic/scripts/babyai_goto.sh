#!/usr/bin/env bash
# @description: Learn BabyAI's GoToRedBallNoDists, go on with distractors, and evaluate.
# @phases: without distractors, with distractors, evaluate
# @total_timesteps: 600000
# @env_family: babyai
# @author: MOSAIC
set -euo pipefail
cd "$MOSAIC_RUN_DIR"
seed=$(mosaic config get seed)
steps=$(mosaic config get total_timesteps)

echo "@phase without distractors"
mosaic train ppo --env-id BabyAI-GoToRedBallNoDists-v0 --total-timesteps "$((steps / 3))" \
  --seed "$seed" --num-envs 16 --learning-rate 0.001 --json > first.json
directory=$(mosaic config get run_dir first.json)
policy=$(mosaic config get artifacts.policy.path "$directory/analytics.json")

echo "@phase with distractors"
mosaic train ppo --env-id BabyAI-GoToRedBall-v0 --total-timesteps "$((steps - steps / 3))" \
  --seed "$seed" --num-envs 16 --learning-rate 0.0005 --mode resume_training \
  --checkpoint-path "$directory/$policy" --json > second.json
run=$(mosaic config get run_id second.json)

echo "@phase evaluate"
mosaic eval "$run" --eval-batch-size 100 --json > evaluate.json
