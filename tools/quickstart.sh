#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a clean checkout to a trained ONNX file: builds dlc, trains LeNet on 4500 MNIST images with
# two ranks in half precision, exports the averaged weights and checks them in ONNX Runtime.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build/quickstart}

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then bold=$'\e[1m' plain=$'\e[0m'; fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
run() { printf '$'; printf ' %q' "$@"; printf '\n'; "$@"; }

step "1/6  set up and build"
run bash tools/setup.sh
run cmake --preset release >/dev/null
run cmake --build --preset release --target dlc dlc-compile
PATH=$PWD/build/bin:$PATH
rm -rf "$out"
mkdir -p "$out"

step "2/6  compile: one closed training program"
run dlc compile models/lenet.onnx --loss=cross_entropy --optimizer='sgd(momentum=0.9)' --lr=0.05 \
  --weight-decay=0.005 --schedule=cosine --batch=32 --amp --ddp=2 --ema=0.99 -o "$out/lenet.dlc"
run dlc inspect "$out/lenet.dlc"

step "3/6  train: 15 epochs, 2 ranks"
run dlc train "$out/lenet.dlc" --data=models/mnist-train.npz --val=models/mnist-test.npz \
  --epochs=15 --seed=1 --run="$out/run"

step "4/6  evaluate on images that were not trained on"
dlc eval "$out/run" --data=models/mnist-test.npz --json > "$out/eval.json"
dlc eval "$out/run" --data=models/mnist-test.npz --ema --json > "$out/eval-ema.json"

cat "$out/eval.json" "$out/eval-ema.json"

step "5/6  export"
run dlc export "$out/run" --ema -o "$out/lenet-trained.onnx"

step "6/6  check the exported file in ONNX Runtime"
run .venv/bin/python tools/check_export.py "$out/lenet-trained.onnx" models/mnist-test.npz \
  "$out/eval-ema.json" --at-least=0.97
