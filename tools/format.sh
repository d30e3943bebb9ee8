#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Formats every C++ file of the repository with clang-format 14.
#   tools/format.sh [FILE...]           rewrite all files, or these; what is no C++ is left alone
#   tools/format.sh --check [FILE...]   change nothing; name the files that would change, and fail
set -euo pipefail
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
status=0
for file in "${files[@]}"; do
  clang-format-14 --dry-run -Werror "$file" 2>/dev/null || {
    echo "format: $file is not formatted; run tools/format.sh" >&2
    status=1
  }
done
exit $status
