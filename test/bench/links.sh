#!/bin/bash
# Predicted against measured: steps of two ranks of one core each, over a link of several speeds between two network
# namespaces (root needed), beside what `dlc plan` says from a profile of theirs over a link without a limit.
#   test/bench/links.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
folder=$(mktemp -d)
delete() {
  ip netns del dlc-a 2>/dev/null || true
  ip netns del dlc-b 2>/dev/null || true
}
trap 'delete; rm -rf "$folder"' EXIT
delete
ip netns add dlc-a
ip netns add dlc-b
ip link add dlc-a0 netns dlc-a type veth peer name dlc-b0 netns dlc-b
for side in a:1 b:2; do
  ip -n "dlc-${side%:*}" addr add "10.77.0.${side#*:}/24" dev "dlc-${side%:*}0"
  ip -n "dlc-${side%:*}" link set "dlc-${side%:*}0" up
  ip -n "dlc-${side%:*}" link set lo up
done

dlc compile "$model" --ddp=2 --batch=16 --bucket-mb=0.2 --first-bucket-mb=0.1 --quiet -o "$folder/m.dlc"

rank() { # RANK SIDE RUN [FLAG...]
  ip netns exec "dlc-$2" taskset -c "$1" dlc train "$folder/m.dlc" --data="$data" --steps="$steps" --rank="$1" --world-size=2 \
    --init=tcp://10.77.0.1:29999 --threads=1 --quiet --run="$folder/two-$3" "${@:4}" >"$folder/log-$1" 2>&1 ||
    { tail -n 3 "$folder/log-$1" >&2; return 1; }
}
rank 1 b whole --profile &
rank 0 a whole --profile
wait
median() { # METRICS SAMPLES: milliseconds of a step
  python3 -c '
import json, statistics, sys
rates = [json.loads(line)["samples_per_second"] for line in open(sys.argv[1])][5:]
print(f"{1e3 * float(sys.argv[2]) / statistics.median(rates):.2f}")' "$1" "$2"
}
printf '%10s %12s %12s %8s\n' 'Mbit/s' 'measured ms' 'predicted ms' ratio
for rate in 1000 300 100 50; do
  for side in a b; do
    tc -n "dlc-$side" qdisc replace dev "dlc-${side}0" root tbf rate "${rate}mbit" burst 64kb latency 100ms
  done
  rank 1 b "$rate" &
  rank 0 a "$rate"
  wait
  measured=$(median "$folder/two-$rate/metrics.jsonl" 32)
  predicted=$(dlc plan "$folder/m.dlc" --profile="$folder/two-whole/profile.json" --gpus=2 --node=1 --net="${rate}Mbps" --json |
    python3 -c 'import json, sys; print(round(json.load(sys.stdin)["rows"][0]["step_ms"], 2))')
  printf '%10s %12s %12s %8s\n' "$rate" "$measured" "$predicted" "$(python3 -c "print(f'{$predicted / $measured:.2f}')")"
done
