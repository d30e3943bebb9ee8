#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes test/compat/VERSION-planN of this version: a run of 20 steps that seems killed after 10, and what it gave.
#   test/compat/make.sh [BUILD]    when kPlanVersion or kArtifactVersion was raised, and for each release
# Made in a folder of a name that says nothing (config.yaml keeps paths), for any x86-64 CPU.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dlc=${1:-$root/build}/bin/dlc
version=$("$dlc" --version | cut -d' ' -f2)
plan=$(sed -n 's/.*kPlanVersion = \([0-9]*\);.*/\1/p' "$root/runtime/plan/Artifact.h")
work=/srv/dlc
to=$root/test/compat/$version-plan$plan
rm -rf "$to" && mkdir -p "$to" "$work"
trap 'rm -rf "$work"' EXIT
cp "$root"/models/{mlp.onnx,digits-train.npz,digits-test.npz} "$work/"
cd "$work"
"$dlc" compile mlp.onnx --cpu=x86-64 --optimizer=adamw --lr=0.003 --batch=64 --ema=0.9 -o mlp.dlc --quiet
"$dlc" train mlp.dlc --data=digits-train.npz --steps=20 --save-every=10 --seed=3 --threads=1 --run=run --quiet
"$dlc" eval run --data=digits-test.npz --json >"$to/after-20.json"
"$dlc" eval run/checkpoint-10 --data=digits-test.npz --json >"$to/after-10.json"
nm -D --defined-only "${dlc%/bin/dlc}/lib/libdlc.so" | sed -n 's/.* T \(dlc_[a-z0-9_]*\).*/\1/p' | sort >"$to/functions.txt"
rm -rf run/checkpoint-20 run/results.* run/lock
cp -rL run "$to/run"
chmod -R u+w "$to"
