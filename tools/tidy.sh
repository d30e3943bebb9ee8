#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy 14 (rules: .clang-tidy), which needs a build folder where each file is compiled by itself: build-tidy/.
#   tools/tidy.sh [FILE.cpp...]   these files, or all of the repository: minutes, so not a test
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build-tidy
cmake -G Ninja -S "$root" -B "$build" -DDLC_UNITY=OFF > /dev/null
ninja -C "$build" -t targets all | sed -nE 's/^(.*\.(h|inc)): CUSTOM_COMMAND$/\1/p' | xargs ninja -C "$build" > /dev/null
if (($#)); then
  files=("$@")
else
  cd "$root"
  mapfile -t files < <(git ls-files '*.cpp')
fi
printf '%s\n' "${files[@]}" | xargs -n 4 -P "${TIDY_JOBS:-2}" clang-tidy-14 -p "$build" --quiet
