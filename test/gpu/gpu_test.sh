#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs one test of package/tests.txt on this machine's GPU: gpu_test.sh BUILD NAME. Without a GPU: exit code 77 and a reason.
set -u
build=$1 name=$2
"$build/test/gpu-device" --gtest_filter=-* --gtest_brief=1 || exit
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
(
  flock 9
  [[ -e $build/gpu-package/run.sh ]] || DLC_BUILD=$build bash tools/gpu-package.sh --no-build -o "$build/gpu-package"
) 9> "$build/gpu-package.lock" || exit 1
bash "$build/gpu-package/run.sh" --only "^$name\$" -o "$build/gpu-results/$name"
code=$?
tar -xzOf "$build/gpu-results/$name/logs.tar.gz" "logs/$name.log" | tail -n 60
exit $code
