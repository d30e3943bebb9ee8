# Sourced: two network namespaces, dlc-a (10.77.0.1) and dlc-b (10.77.0.2), with a link between them (root needed), and
# $folder, all gone when the script ends.
#   shape RATE                       the link's speed both ways, in Mbit/s
#   rank RANK SIDE ARTIFACT RUN ...  dlc train as one of two ranks, on the core of its number
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
    tc -n "dlc-$side" qdisc replace dev "dlc-${side}0" root tbf rate "$1mbit" burst 64kb latency 100ms
  done
}
rank() {
  ip netns exec "dlc-$2" taskset -c "$1" dlc train "$3" --data="$data" --steps="$steps" --rank="$1" --world-size=2 \
    --init=tcp://10.77.0.1:29999 --threads=1 --quiet --run="$4" "${@:5}" >"$folder/log-$1" 2>&1 ||
    { tail -n 3 "$folder/log-$1" >&2; return 1; }
}
