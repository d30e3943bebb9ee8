#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy 14 (rules: .clang-tidy). It needs a build folder without unity builds: build-tidy/.
#   tools/tidy.sh [FILE.cpp...]   these files, or all; not a test, because it takes minutes
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
