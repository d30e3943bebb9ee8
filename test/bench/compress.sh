#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures --compress: megabytes that a rank sends per step and milliseconds of a step, for two ranks of one core each over
# links of several speeds between two network namespaces (needs root).
#   test/bench/compress.sh [MODEL] [DATA] [STEPS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=${1:-models/gpt_tiny.onnx} data=${2:-models/text-train.npz} steps=${3:-60}
PATH=$PWD/build/bin:$PATH
. test/bench/network.sh
table --compress
for wire in none bf16 powersgd:4 powersgd:1; do
  dlc compile "$model" --ddp=2 --batch=16 --optimizer=adamw --lr=1e-3 --bucket-mb=0.05 --first-bucket-mb=0.05 \
    --compress="$wire" --quiet -o "$folder/$wire.dlc"
  measure "$wire" "$folder/$wire.dlc"
done
