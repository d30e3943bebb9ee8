#!/bin/bash
# What --zero costs between ranks: megabytes that a rank sends and milliseconds of a step, at each level, of two ranks of one
# core each over a link of several speeds between two network namespaces (root needed).
#   test/bench/zero.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
. test/bench/network.sh
sent() { ip netns exec dlc-a cat /sys/class/net/dlc-a0/statistics/tx_bytes; }
printf '%8s %8s %8s %10s\n' --zero Mbit/s 'MB sent' 'ms a step'
for zero in 0 1 2 3; do
  more=()
  [[ $zero == 3 ]] && more=(--zero-whole-mb=0.001)
  dlc compile "$model" --ddp=2 --batch=16 --optimizer=adamw --lr=1e-3 --bucket-mb=0.05 --first-bucket-mb=0.05 --zero="$zero" \
    "${more[@]}" --quiet -o "$folder/$zero.dlc"
  for rate in 1000 300 100; do
    shape "$rate"
    before=$(sent)
    rank 1 b "$folder/$zero.dlc" "$folder/$zero-$rate" &
    rank 0 a "$folder/$zero.dlc" "$folder/$zero-$rate"
    wait
    python3 -c '
import json, statistics, sys
path, zero, rate, sent, steps = sys.argv[1:]
rates = [json.loads(line)["samples_per_second"] for line in open(path)][5:]
print(f"{zero:>8} {rate:>8} {int(sent) / int(steps) / 1e6:8.2f} {32e3 / statistics.median(rates):10.1f}")' \
      "$folder/$zero-$rate/metrics.jsonl" "$zero" "$rate" "$(($(sent) - before))" "$steps"
  done
done
