#!/bin/sh
# A library into a bucket, by shards, as an array job of Slurm: sbatch --array=0-63 prewarm-array.sh
#
# Credentials and the library come from the environment of the job. Status 1 says that some constraint has no answer yet: the
# shard is to be submitted again, as is one whose machine was lost (sbatch --array=I prewarm-array.sh).
#SBATCH --job-name=gobo-prewarm
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --signal=TERM@60
set -eu
exec gobo prewarm --shard "$SLURM_ARRAY_TASK_ID/${GOBO_SHARDS:-64}" --threads "${SLURM_CPUS_PER_TASK:-2}" \
  --remote "$GOBO_REMOTE" --sign "$GOBO_SIGN" --manifest "$GOBO_MANIFEST" \
  --tokenizer "$GOBO_TOKENIZER" --json "$GOBO_LIBRARY"
