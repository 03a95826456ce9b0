#!/usr/bin/env bash
# Makes the records of this machine anew, all at one commit:
#
#   benches/record.sh MACHINE               every part in the order below, into benches/record/MACHINE/<date>-<part>.*
#   benches/record.sh MACHINE table load    some of them
#   benches/record.sh --list                the parts and how long each takes
#
# The commit is HEAD, and the tree must be clean apart from the records themselves. A part whose record names HEAD already is
# skipped, so a run that was cut off is started again with the same words. Commit the records when all are made; then
# `UPDATE=1 cargo test --workspace --test it -- records` writes their figures into README.md and docs/performance.md.
#
# Needs a Rust toolchain, valgrind (instructions), the data of GOBO_DATA or shared/data (table, recursion, grammars, tags, extensions, canonical, schema,
# vocabulary, python), and a machine with nothing else to do: the script waits for a load average below 0.5 before each part, for five minutes at
# most.
# The part `python` needs the folder that `.ci/engines/build` makes; GOBO_ENGINES names another than target/engines.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Part, minutes, what it measures.
parts=(
  "instructions 1 instruction counts of the hot paths, under valgrind"
  "table 15 compile, fill, advance, open, sizes, threads, beside the peers"
  "recursion 10 grammars with calls, beside the peers"
  "grammars 10 grammars of whole languages, beside the peers"
  "tags 2 structural tags of 64 and 400 tools, beside the peers"
  "extensions 1 named extensions of patterns, prompts that end inside of a token, beside the peers"
  "canonical 1 the tokenizer's own tokens, beside any tokens"
  "ambiguity 1 texts of 2,000 bytes that can be read in very many ways"
  "schema 30 the corpus of JSON Schemas, beside llguidance"
  "vocabulary 5 importing tokenizers, opening vocabularies"
  "load 13 hits of thousands of indices, one hot hit, misses, floods, eviction"
  "storm 1 processes that start at once"
  "fleet 3 hosts that share a bucket, one call at a time"
  "fleet-storm 3 processes of two such hosts, all at once"
  "soak 61 an hour of load while workers and daemons are killed"
  "hostile 12 a good tenant beside each attack"
  "python 10 the wheel inside vLLM and SGLang, beside their own backends"
)

list() {
  local sum=0 name minutes what
  for part in "${parts[@]}"; do
    read -r name minutes what <<<"$part"
    printf '%-14s%3d min  %s\n' "$name" "$minutes" "$what"
    sum=$((sum + minutes))
  done
  printf '%-14s%3d min, and the builds\n' "all" "$sum"
}

case ${1:-} in
  --list) list; exit 0 ;;
  "" | -*) echo "usage: benches/record.sh MACHINE [PART…], or --list" >&2; exit 2 ;;
esac
machine=$1
shift
known=" $(printf '%s\n' "${parts[@]}" | cut -d' ' -f1 | tr '\n' ' ')"
wanted=("$@")
for part in "${wanted[@]}"; do
  [[ $known == *" $part "* ]] || { echo "no part is called $part; benches/record.sh --list has all" >&2; exit 2; }
done
[[ ${#wanted[@]} -gt 0 ]] || read -r -a wanted <<<"$known"

changed=$(git status --porcelain -- . ':!benches/record')
if [[ -n $changed ]]; then
  printf 'the tree is not as committed, so no commit would name what is measured:\n%s\n' "$changed" >&2
  exit 1
fi
commit=$(git rev-parse --short HEAD)
folder=benches/record/$machine
mkdir -p "$folder"
export GOBO_RECORD_COMMIT=$commit
unset GOBO_SERVER GOBO_STORE GOBO_LOG

# The record of a part at this commit, if it is there.
record_of() {
  local file
  for file in "$folder"/*-"$1".csv benches/record/"$1".csv; do
    [[ -f $file ]] && head -n 1 "$file" | grep -q "^# commit $commit;" && { echo "$file"; return; }
  done
  return 1
}

settle() {
  for _ in {1..30}; do
    awk '{ exit !($1 < 0.5) }' /proc/loadavg && return
    sleep 10
  done
  echo "  the load average is still $(cut -d' ' -f1 /proc/loadavg); the record will say so" >&2
}

benches() { (cd benches && cargo "$@"); }

# laboratory PART COMMAND...
laboratory() {
  local file=$folder/$GOBO_RECORD_DATE-$1
  shift
  # A report with a failed call or a broken promise is a record too: it is kept, and the script fails in the end.
  "${CARGO_TARGET_DIR:-target}/release/gobo-bench" "$@" \
    --csv "$file.csv.new" --svg "$file.svg" --commit "$commit" --machine "$machine" || status=$?
  mv "$file.csv.new" "$file.csv"
}

# The wheel in engines, whose environment is built beforehand.
engines() {
  local target=${CARGO_TARGET_DIR:-target} file=$folder/$GOBO_RECORD_DATE-python.csv wheel result=0
  local place=${GOBO_ENGINES:-$target/engines} newer=$target/record-peers
  local -a peers=(--peers "$newer")
  [[ -x $place/env/bin/python ]] || {
    echo "  left out: $place has no engines; .ci/engines/build makes them, and GOBO_ENGINES names another folder" >&2
    return 1
  }
  wheel=$(.ci/wheel) || return 1
  # The engines' environment has the release of llguidance that they ask for.
  [[ -d $newer/llguidance-1.9.1.dist-info ]] \
    || "$place/env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$newer" llguidance==1.9.1 \
    || { echo "  llguidance 1.9.1 cannot be had: that of $place is measured" >&2; peers=(); }
  python3 benches/python/record.py --engines "$place" --wheel "$wheel" "${peers[@]}" --machine "$machine" >"$file.new" || result=$?
  mv "$file.new" "$file"
  return "$result"
}

list
echo "parts: ${wanted[*]}; commit $commit"
cargo build --release -p gobo-cli -p gobo-bench
benches build --release --bins
benches bench --no-run --bench vocabulary

status=0
for part in "${wanted[@]}"; do
  if made=$(record_of "$part"); then
    echo "· $part: $made is of this commit"
    continue
  fi
  settle
  GOBO_RECORD_DATE=$(date -u +%F)
  export GOBO_RECORD_DATE
  echo "· $part, $(date -u +%H:%M)"
  case $part in
    instructions) benches run --release --bin instructions -- --record ;;
    table | recursion | grammars | tags | extensions | canonical | ambiguity | schema) benches run --release --bin "$part" -- --machine "$machine" >/dev/null ;;
    vocabulary)
      rm -rf "${CARGO_TARGET_DIR:-benches/target}/criterion"
      benches bench --bench vocabulary
      benches run --release --bin medians -- vocabulary --machine "$machine"
      ;;
    load) laboratory load load --seconds 30 ;;
    storm) laboratory storm storm ;;
    fleet) laboratory fleet fleet ;;
    fleet-storm) laboratory fleet-storm storm --hosts 2 ;;
    soak) laboratory soak soak --seconds 3600 --seed 7 ;;
    hostile) laboratory hostile hostile ;;
    python) engines || status=1 ;;
  esac
done
exit "$status"
