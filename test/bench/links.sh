#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares measured steps of two ranks of one core each, over links of several speeds between two network namespaces (needs
# root), with those that `dlc plan` predicts from a profile over an unlimited link.
#   test/bench/links.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
. test/bench/network.sh

dlc compile "$model" --ddp=2 --batch=16 --bucket-mb=0.2 --first-bucket-mb=0.1 --quiet -o "$folder/m.dlc"

rank 1 b "$folder/m.dlc" "$folder/two-whole" --profile &
rank 0 a "$folder/m.dlc" "$folder/two-whole" --profile
wait
median() { # METRICS SAMPLES: milliseconds of a step
  python3 -c '
import json, statistics, sys
rates = [json.loads(line)["samples_per_second"] for line in open(sys.argv[1])][5:]
print(f"{1e3 * float(sys.argv[2]) / statistics.median(rates):.2f}")' "$1" "$2"
}
printf '%10s %12s %12s %8s\n' 'Mbit/s' 'measured ms' 'predicted ms' ratio
for rate in 1000 300 100 50; do
  shape "$rate"
  rank 1 b "$folder/m.dlc" "$folder/two-$rate" &
  rank 0 a "$folder/m.dlc" "$folder/two-$rate"
  wait
  measured=$(median "$folder/two-$rate/metrics.jsonl" 32)
  predicted=$(dlc plan "$folder/m.dlc" --profile="$folder/two-whole/profile.json" --gpus=2 --node=1 --net="${rate}Mbps" --json |
    python3 -c 'import json, sys; print(round(json.load(sys.stdin)["rows"][0]["step_ms"], 2))')
  printf '%10s %12s %12s %8s\n' "$rate" "$measured" "$predicted" "$(python3 -c "print(f'{$predicted / $measured:.2f}')")"
done
