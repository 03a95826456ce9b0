#!/usr/bin/env bash
# Records the load tests of this host: benches/load.sh MACHINE writes benches/record/MACHINE/<date>-{load,storm,soak,hostile}.{csv,svg}.
#
# Needs a Rust toolchain and some eighteen minutes in which the machine has nothing else to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

machine=${1:?usage: benches/load.sh MACHINE, the name of a folder in benches/record}
folder=benches/record/$machine
date=$(date -u +%F)
mkdir -p "$folder"
cargo build --release -p gobo-cli -p gobo-bench
bench=${CARGO_TARGET_DIR:-target}/release/gobo-bench
unset GOBO_SERVER GOBO_STORE GOBO_LOG

status=0
for run in "load --seconds 30" storm soak hostile; do
  read -r -a arguments <<<"$run"
  file=$folder/$date-${arguments[0]}
  before=$(cut -d' ' -f1 /proc/loadavg)
  "$bench" "${arguments[@]}" --csv "$file.csv" --svg "$file.svg" || status=$?
  after=$(cut -d' ' -f1 /proc/loadavg)
  head="# commit $(git rev-parse --short HEAD); $date; gobo-bench $run; $machine; load average before $before, after $after"
  printf '%s\n' "$head" | cat - "$file.csv" >"$file.csv.new"
  mv "$file.csv.new" "$file.csv"
done
exit "$status"
