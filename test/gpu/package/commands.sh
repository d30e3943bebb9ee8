# SPDX-License-Identifier: Apache-2.0
# The commands of tests.txt, sourced by run.sh for each of them. In the environment: ROOT, the unpacked
# package; OUT, for files that are kept; BENCH, for measures; SCRATCH, an empty folder; GIVEN_LIBRARY_PATH, the
# caller's LD_LIBRARY_PATH. 77 is "skipped", its reason the last line.
CHECK=${CHECK-} # what a program is run by: nothing, or compute-sanitizer

skip() {
  echo "skipped: $*"
  exit 77
}

checked() {
  $CHECK "$@"
}

# What the libraries say of themselves is kept beside the log.
logged() { # COMMAND...
  local logs=${LOGS:-$SCRATCH}/libraries
  mkdir -p "$logs"
  NCCL_DEBUG=${NCCL_DEBUG:-INFO} NCCL_DEBUG_FILE=$logs/nccl.%h.%p.log \
    CUBLASLT_LOG_LEVEL=${CUBLASLT_LOG_LEVEL:-1} CUBLASLT_LOG_FILE=$logs/cublaslt.%i.log \
    CUDNN_LOGLEVEL_DBG=${CUDNN_LOGLEVEL_DBG:-2} CUDNN_LOGDEST_DBG=$logs/cudnn.%i.log "$@"
}

training() { # FILTER
  gpu-training cases.json "$ROOT/bin/dlc" --gtest_filter="$1"
}

kernels() { # GROUP [PARTS]: the packs of a group, one PARTS-th of their kernels
  local pack failed=0
  [[ -d packs/$1 ]] || skip "this package has no packs/$1"
  for pack in packs/"$1"/*/; do
    GTEST_TOTAL_SHARDS=${2:-1} GTEST_SHARD_INDEX=0 checked gpu-kernels "$pack" --gtest_brief=1
    local code=$?
    ((code == 77)) && return 77
    ((code)) && failed=1 && echo "FAILED: $pack"
  done
  return $failed
}

# The artifact of a benchmark, its weights drawn at the first use.
artifact() { # NAME
  local model=bench/$1.dlc
  [[ -d $model ]] || skip "this package has no $model: it was made without the model (DLC_PEER_PYTHON)"
  if [[ ! -e $model.grown ]]; then
    gpu-bench grow "$model" && touch "$model.grown"
  fi
}

bench() { # NAME [step|untuned|deterministic]
  artifact "$1" && gpu-bench "${2:-step}" "bench/$1.dlc" "$1" "$BENCH"
}

# Without this package's libraries: torch has its own.
torch_bench() { # NAME
  [[ -e bench/$1.json ]] || skip "this package has no bench/$1.json"
  type python3 >/dev/null 2>&1 || skip "no python3 in PATH"
  LD_LIBRARY_PATH=$GIVEN_LIBRARY_PATH python3 bench_torch.py "bench/$1.json" "$BENCH"
}

# dlc train; where a stand-in plays the driver, it plays the artifact's kernels.
train() { # ARTIFACT OPTION...
  DLC_STANDIN_KERNELS=$ROOT/$1.host.so checked dlc train "$@"
}

now() { date +%s%N; }

# Milliseconds until the first line of metrics, 0 if there was none.
first_step() { # RUN COMMAND...
  local run=$1 begin
  shift
  begin=$(now)
  "$@" &
  local child=$! first=0
  while kill -0 $child 2>/dev/null; do
    if ((first == 0)) && [[ -s $run/metrics.jsonl ]]; then
      first=$((($(now) - begin) / 1000000))
    fi
    sleep 0.005
  done
  wait $child || return 1
  ((first)) || first=$((($(now) - begin) / 1000000)) # it was over before it was seen
  FIRST=$first
}

start() { # NAME
  gpu-device --gtest_filter=-* --gtest_brief=1 || return
  artifact "$1" || return 1
  gpu-bench data "bench/$1.dlc" 4 "$SCRATCH/data.npz" || return 1
  local times=()
  for run in cold warm; do
    first_step "$SCRATCH/$run" train "bench/$1.dlc" --data="$SCRATCH/data.npz" --run="$SCRATCH/$run" \
      --steps=30 --save-every=1000 --quiet --tune=benchmark --tune-candidates=4 --cache-dir="$SCRATCH/cache" || return 1
    times+=("$FIRST")
    echo "$run: $FIRST ms to the first step; samples a second at the end:" \
      "$(tail -n 1 "$SCRATCH/$run/metrics.jsonl" | grep -o '"samples_per_second": *[0-9.e+]*')"
  done
  local rate
  rate=$(tail -n 1 "$SCRATCH/warm/metrics.jsonl" | sed -n 's/.*"samples_per_second": *\([0-9.e+]*\).*/\1/p')
  printf '{"model": "%s", "by": "dlc train", "samples_per_s": %s, "cold_s": %d.%03d, "warm_s": %d.%03d}\n' "$1" \
    "${rate:-null}" $((times[0] / 1000)) $((times[0] % 1000)) $((times[1] / 1000)) $((times[1] % 1000)) \
    > "$BENCH/start-$1.json"
}

train_once() {
  train artifacts/mlp_f32.dlc --data=data/mlp_f32.npz --steps=2 --no-graph --quiet --run="$SCRATCH/run"
}

sanitized() { # TOOL COMMAND...
  local tool=$1 found places
  shift
  places=("${CUDA_HOME-}/bin" "${CUDA_HOME-}/compute-sanitizer" /usr/local/cuda/bin /usr/local/cuda/compute-sanitizer
          /usr/local/cuda-*/bin /usr/local/cuda-*/compute-sanitizer /opt/nvidia/compute-sanitizer*)
  found=$(PATH=$PATH:$(IFS=:; echo "${places[*]}") type -P compute-sanitizer) ||
    skip "no compute-sanitizer in PATH, ${places[*]}"
  CHECK="$found --tool $tool --error-exitcode 9 --target-processes all"
  "$found" --version | tail -n 1
  # Containers and virtual machines may keep it from its work: then not even a program that only opens the GPU runs.
  local trial=(gpu-device '--gtest_filter=-*' --gtest_brief=1)
  "${trial[@]}" || return
  if ! timeout 90 $CHECK "${trial[@]}" > "$SCRATCH/trial" 2>&1; then
    cat "$SCRATCH/trial"
    skip "compute-sanitizer cannot run here, it says: $( (grep -iE 'error|fail|unable|cannot' "$SCRATCH/trial" ||
      tail -n 1 "$SCRATCH/trial") | head -n 1)"
  fi
  if [[ $(type -t "$1") == function ]]; then "$@"; else checked "$@"; fi
}
