#!/bin/bash
# What --compress saves between ranks: megabytes that a rank sends and milliseconds of a step, of two ranks of one core each
# over a link of several speeds between two network namespaces (root needed).
#   test/bench/compress.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
. test/bench/network.sh
sent() { ip netns exec dlc-a cat /sys/class/net/dlc-a0/statistics/tx_bytes; }
printf '%12s %8s %8s %10s\n' --compress Mbit/s 'MB sent' 'ms a step'
for wire in none bf16 powersgd:4 powersgd:1; do
  dlc compile "$model" --ddp=2 --batch=16 --optimizer=adamw --lr=1e-3 --bucket-mb=0.05 --first-bucket-mb=0.05 \
    --compress="$wire" --quiet -o "$folder/$wire.dlc"
  for rate in 1000 300 100; do
    shape "$rate"
    before=$(sent)
    rank 1 b "$folder/$wire.dlc" "$folder/$wire-$rate" &
    rank 0 a "$folder/$wire.dlc" "$folder/$wire-$rate"
    wait
    python3 -c '
import json, statistics, sys
path, wire, rate, sent, steps = sys.argv[1:]
rates = [json.loads(line)["samples_per_second"] for line in open(path)][5:]
print(f"{wire:>12} {rate:>8} {int(sent) / int(steps) / 1e6:8.2f} {32e3 / statistics.median(rates):10.1f}")' \
      "$folder/$wire-$rate/metrics.jsonl" "$wire" "$rate" "$(($(sent) - before))" "$steps"
  done
done
