# SPDX-License-Identifier: Apache-2.0
# Sourced: two network namespaces, dlc-a (10.77.0.1) and dlc-b (10.77.0.2), with a link between them (needs root), and
# $folder; all are removed when the script ends.
#   shape RATE                       sets the link's speed in both directions, in Mbit/s; packets of 64 KiB are not split,
#                                    which would take a third of a core at 1 Gbit/s
#   rank RANK SIDE ARTIFACT RUN ...  runs dlc train as one of two ranks, on the core RANK
#   table HEAD                       prints the header of the table
#   measure NAME ARTIFACT            prints a line per speed: MB that a rank sends and ms of a step of 32 samples
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

shape() {
  for side in a b; do
    tc -n "dlc-$side" qdisc replace dev "dlc-${side}0" root tbf rate "$1mbit" burst 256kb latency 100ms
  done
}
rank() {
  ip netns exec "dlc-$2" taskset -c "$1" dlc train "$3" --data="$data" --steps="$steps" --rank="$1" --world-size=2 \
    --init=tcp://10.77.0.1:29999 --threads=1 --quiet --run="$4" "${@:5}" >"$folder/log-$1" 2>&1 ||
    { tail -n 3 "$folder/log-$1" >&2; return 1; }
}
table() { printf '%12s %8s %8s %10s\n' "$1" Mbit/s 'MB sent' 'ms a step'; }
sent() { ip netns exec dlc-a cat /sys/class/net/dlc-a0/statistics/tx_bytes; }
measure() {
  for rate in 1000 300 100; do
    shape "$rate"
    before=$(sent)
    rank 1 b "$2" "$folder/$1-$rate" &
    rank 0 a "$2" "$folder/$1-$rate"
    wait
    python3 -c '
import json, statistics, sys
path, name, rate, sent, steps = sys.argv[1:]
rates = [json.loads(line)["samples_per_second"] for line in open(path)][5:]
print(f"{name:>12} {rate:>8} {int(sent) / int(steps) / 1e6:8.2f} {32e3 / statistics.median(rates):10.1f}")' \
      "$folder/$1-$rate/metrics.jsonl" "$1" "$rate" "$(($(sent) - before))" "$steps"
  done
}
