#!/usr/bin/env bash
# Time and memory of the largest order set we promise: all rows of a Tuscan square of 10,000 tests
# (10^8 numbers), and the pair-covering orders of our algorithm beside the published one.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release --package unflake
unflake="${CARGO_TARGET_DIR:-target}/release/unflake"

measure() { # label, then the arguments of `unflake orders`
  local label=$1 log
  shift
  log=$(mktemp)
  /usr/bin/time --format '%e s, %M KiB' --output "$log" \
    "$unflake" orders "$@" --format ids >/dev/null
  printf '%-44s %s\n' "$label" "$(cat "$log")"
  rm "$log"
}

echo "time and peak memory (promised for the first line: under 2 s, under 50 MB)"
measure "tuscan, 10000 tests" --strategy tuscan --tests 10000
measure "tuscan, 10001 tests" --strategy tuscan --tests 10001
measure "pairs, 2000 tests in 100 classes of 20" --strategy pairs --classes "$(printf '20,%.0s' {1..99})20"

echo
echo "number of orders that cover all pairs, ours and Algorithm 3.1, five seeds each"
for sizes in 4,4,4,4,4 5,5,5,5,5,5,5,5,5,5 "$(printf '4,%.0s' {1..19})4" 10,1 1,1,1,5,5,5,5,5,20; do
  for strategy in pairs pairs-paper; do
    counts=$(for seed in 1 2 3 4 5; do
      "$unflake" orders --strategy "$strategy" --classes "$sizes" --seed "$seed" --format ids | wc -l
    done | sort -n | tr '\n' ' ')
    printf '%-22s %-12s %s\n' "${sizes:0:22}" "$strategy" "$counts"
  done
done
