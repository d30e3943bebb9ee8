#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a folder with everything to run the GPU tests and benchmarks on a machine with an NVIDIA GPU:
#   bash tools/gpu-package.sh [-o FOLDER] [--sm=90] [--standins] [--quick] [--models=FOLDER]
# On that machine run: bash FOLDER/run.sh. See test/device/README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DLC_BUILD=${DLC_BUILD:-$PWD/build} PYTHONPATH=$PWD/test/support
programs=(gpu-device gpu-kernels gpu-training gpu-facts gpu-report gpu-bench dlc-kernel-pack dlc-host-kernels
          standin-cuda standin-cublaslt standin-cudnn standin-nccl dlc dlc-compile)
if [[ ${1-} == --no-build ]]; then
  shift
else
  cmake --build "$DLC_BUILD" --target "${programs[@]}" | tail -n 1
fi
exec .venv/bin/python test/gpu/make_package.py "$@"
