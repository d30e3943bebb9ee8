#!/bin/bash
# Formats every C++ file of the repository with clang-format 14.
#   tools/format.sh [FILE...]           rewrite all files, or these
#   tools/format.sh --check [FILE...]   change nothing; fail and name what is not formatted
set -euo pipefail
mode=(-i)
if [[ ${1-} == --check ]]; then
  mode=(--dry-run -Werror)
  shift
fi
if (($# == 0)); then
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  mapfile -t files < <(git ls-files '*.cpp' '*.h' '*.cu')
else
  files=("$@")
fi
((${#files[@]} == 0)) || clang-format-14 "${mode[@]}" "${files[@]}"
