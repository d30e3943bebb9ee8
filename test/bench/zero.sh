#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What --zero costs between ranks: megabytes that a rank sends and milliseconds of a step, at each level, of two ranks of one
# core each over a link of several speeds between two network namespaces (root needed).
#   test/bench/zero.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
. test/bench/network.sh
table --zero
for zero in 0 1 2 3; do
  more=()
  [[ $zero == 3 ]] && more=(--zero-whole-mb=0.001)
  dlc compile "$model" --ddp=2 --batch=16 --optimizer=adamw --lr=1e-3 --bucket-mb=0.05 --first-bucket-mb=0.05 --zero="$zero" \
    "${more[@]}" --quiet -o "$folder/$zero.dlc"
  measure "$zero" "$folder/$zero.dlc"
done
