#!/bin/bash
# Runs clang-tidy 14 (rules: .clang-tidy) with the build in build/, or in $DLC_BUILD.
#   tools/tidy.sh [FILE.cpp...]   these files, or all of the repository: minutes, so not a test
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${DLC_BUILD:-$root/build}
[[ -f $build/compile_commands.json ]] || {
  echo "tidy: $build/compile_commands.json not found: run cmake --preset release first" >&2
  exit 1
}
if (($#)); then
  files=("$@")
else
  cd "$root"
  mapfile -t files < <(git ls-files '*.cpp')
fi
printf '%s\n' "${files[@]}" | xargs -n 4 -P "${TIDY_JOBS:-2}" clang-tidy-14 -p "$build" --quiet
