#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests robustness for a given time: mutants of all input formats, on the build with ASan and UBSan; failing allocations;
# runs of two ranks that are killed at any moment, and of two to four that are killed or stopped, or whose links and disks
# fail (links need root); the runtime's threads under TSan.
#   tools/soak.sh [--minutes=60] [--parts=fuzz,faults,kills,ranks,threads] [--jobs=2] [--seed=1] [--to=soak]
# Prints figures; failures are kept in the folder --to. Exit code 1 if there are any.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=60 parts=fuzz,faults,kills,ranks,threads jobs=2 seed=1 to=soak
for word in "$@"; do
  case $word in
  --minutes=* | --parts=* | --jobs=* | --seed=* | --to=*) declare "${word:2}" ;;
  *)
    sed -n '3,8s/^# \?//p' "${BASH_SOURCE[0]}"
    [[ $word == --help ]] && exit 0
    exit 2
    ;;
  esac
done
begin=$SECONDS end=$((SECONDS + minutes * 60)) bad=0
mkdir -p "$to"
to=$(cd "$to" && pwd)

build() { # PRESET TARGET...
  cmake --preset "$1" >"$to/build.log" 2>&1 &&
    cmake --build --preset "$1" --target "${@:2}" >>"$to/build.log" 2>&1 && return
  echo "soak: cannot build $1: see $to/build.log" >&2
  exit 1
}
has() { [[ ,$parts, == *,$1,* ]]; }
python() { # BUILD SCRIPT [VARIABLE=VALUE...]
  env "${@:3}" DLC_BUILD="$PWD/$1" PYTHONPATH=test/support .venv/bin/python "$2"
}
check() { # NAME COMMAND...
  local log=$to/$1-$round.log
  if "${@:2}" >"$log" 2>&1; then
    grep -hE '^[a-z ]+: [0-9]+ mutants|exit codes|kills|faults of ranks' "$log"
    rm "$log"
  else
    bad=$((bad + 1))
    echo "soak: $1 failed in round $round: see $log" >&2
    tail -n 5 "$log" >&2
  fi
}
left() { ((SECONDS < end)); }

build release dlc dlc-compile dlc-import fail-allocation
has fuzz && build asan dlc-fuzz
has fuzz && DLC_BUILD=$PWD/build PYTHONPATH=test/support .venv/bin/python test/fuzz/make_corpus.py "$to/corpus"
threads=(unit-collective unit-data unit-train exec-test)
has threads && build tsan "${threads[@]}"

for ((round = seed; ; ++round)); do
  left || break
  if has fuzz; then
    for target in model import plan artifact npz safetensors yaml store; do
      left && check "$target" build-asan/test/dlc-fuzz "$target" "$to/corpus" --mutants=1000 --jobs="$jobs" \
        --seed="$round" --keep="$to/kept" --seconds=$((end - SECONDS)) --memory=1024 \
        --cpu-seconds=6 # with sanitizers, which are three times slower
    done
  fi
  has faults && left && check faults python build test/faults/allocation_test.py \
    DLC_FAULT_SAMPLES=100 DLC_FAULT_SEED="$round"
  has kills && left && check kills python build test/e2e/crash_test.py DLC_KILLS=20 DLC_KILL_SEED="$round"
  has ranks && left && check ranks python build test/faults/ranks_test.py \
    DLC_RANK_FAULTS=20 DLC_RANK_FAULT_SEED=$((round * 1000))
  for test in "${threads[@]}"; do
    has threads && left && check "$test" env OMP_NUM_THREADS=1 \
      TSAN_OPTIONS="halt_on_error=0 exitcode=66 suppressions=$PWD/test/support/tsan.supp" "build-tsan/test/$test"
  done
done
echo "soak: $(((SECONDS - begin) / 60)) minutes, $((round - seed)) rounds, $bad bad"
((bad == 0))
