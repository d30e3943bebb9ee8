#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures each level of --zero: megabytes that a rank sends per step and milliseconds of a step, for two ranks of one core
# each over links of several speeds between two network namespaces (needs root).
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
