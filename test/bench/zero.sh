#!/bin/bash
# What --zero costs between ranks: megabytes that a rank sends and milliseconds of a step, at each level, of two ranks of one
# core each over a link of several speeds between two network namespaces (root needed).
#   test/bench/zero.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
folder=$(mktemp -d)
delete() {
  ip netns del dlc-y 2>/dev/null || true
  ip netns del dlc-z 2>/dev/null || true
}
trap 'delete; rm -rf "$folder"' EXIT
delete
ip netns add dlc-y
ip netns add dlc-z
ip link add dlc-y0 netns dlc-y type veth peer name dlc-z0 netns dlc-z
for side in y:1 z:2; do
  ip -n "dlc-${side%:*}" addr add "10.78.0.${side#*:}/24" dev "dlc-${side%:*}0"
  ip -n "dlc-${side%:*}" link set "dlc-${side%:*}0" up
  ip -n "dlc-${side%:*}" link set lo up
done

rank() { # RANK SIDE ARTIFACT RUN
  ip netns exec "dlc-$2" taskset -c "$1" dlc train "$3" --data="$data" --steps="$steps" --rank="$1" --world-size=2 \
    --init=tcp://10.78.0.1:29999 --threads=1 --quiet --run="$4" >"$folder/log-$1" 2>&1 ||
    { tail -n 3 "$folder/log-$1" >&2; return 1; }
}
sent() { ip netns exec dlc-y cat /sys/class/net/dlc-y0/statistics/tx_bytes; }
printf '%8s %8s %8s %10s\n' --zero Mbit/s 'MB sent' 'ms a step'
for zero in 0 1 2 3; do
  more=()
  [[ $zero == 3 ]] && more=(--zero-whole-mb=0.001)
  dlc compile "$model" --ddp=2 --batch=16 --optimizer=adamw --lr=1e-3 --bucket-mb=0.05 --first-bucket-mb=0.05 --zero="$zero" \
    "${more[@]}" --quiet -o "$folder/$zero.dlc"
  for rate in 1000 300 100; do
    for side in y z; do
      tc -n "dlc-$side" qdisc replace dev "dlc-${side}0" root tbf rate "${rate}mbit" burst 64kb latency 100ms
    done
    before=$(sent)
    rank 1 z "$folder/$zero.dlc" "$folder/$zero-$rate" &
    rank 0 y "$folder/$zero.dlc" "$folder/$zero-$rate"
    wait
    python3 -c '
import json, statistics, sys
path, zero, rate, sent, steps = sys.argv[1:]
rates = [json.loads(line)["samples_per_second"] for line in open(path)][5:]
print(f"{zero:>8} {rate:>8} {int(sent) / int(steps) / 1e6:8.2f} {32e3 / statistics.median(rates):10.1f}")' \
      "$folder/$zero-$rate/metrics.jsonl" "$zero" "$rate" "$(($(sent) - before))" "$steps"
  done
done
