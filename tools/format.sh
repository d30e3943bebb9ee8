#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Formats every C++ file of the repository with clang-format 14.
#   tools/format.sh [FILE...]           rewrite all files, or these; other files are ignored
#   tools/format.sh --check [FILE...]   change nothing; name the files that would change, and fail
set -eu
type clang-format-14 >/dev/null
check=no
if [[ ${1-} == --check ]]; then
  check=yes
  shift
fi
files=()
for file in "$@"; do
  [[ $file == *.@(cpp|hpp|c|h|cu) ]] && files+=("$file")
done
if (($# == 0)); then
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.c' '*.h' '*.cu')
fi
((${#files[@]})) || exit 0
if [[ $check == no ]]; then
  exec clang-format-14 -i "${files[@]}"
fi
clang-format-14 --dry-run -Werror "${files[@]}" 2>&1 |
  sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: error: .*/format: \1 is not formatted; run tools\/format.sh/p' | uniq >&2
exit "${PIPESTATUS[0]}"
