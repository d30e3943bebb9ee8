#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the GPU tests and benchmarks of this folder; bash run.sh --help
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
only=. skip='^$' limit=0 patience=1 list=no standins=no out=${OUT:-} work=${DLC_GPU_WORK:-}
folders=()

usage() {
  cat <<'END'
usage: bash run.sh [OPTION...]
  -o, --out FOLDER     results (default: $OUT, else gpu-results)
  --list               list the tests, their time limits, and what they test
  --only REGEX         run tests whose names match
  --skip REGEX         leave out tests whose names match
  --time-limit SEC     time limit of all tests; those without remaining time are NOT RUN
  --patience N         factor of the time limits of single tests, for a slow machine
  --cudnn PATH         folder of libcudnn.so.9; --cublas, --nccl and --libraries likewise
  --work FOLDER        folder for the unpacked package (default: in $TMPDIR; kept and reused)
  --standins           stand-ins for the GPU, if the package has them: tests the scripts, not a GPU
Results: summary.txt, results.json, junit.xml, logs.tar.gz, facts.json, bench.json, bench.md; written after each test.
Exit code: 0 if none failed, 1 if some did, 77 if all were skipped, 2 for a wrong option.
END
}

while (($#)); do
  case $1 in
  -h | --help) usage; exit 0 ;;
  --list) list=yes ;;
  --standins) standins=yes ;;
  -o | --out | --only | --skip | --time-limit | --patience | --cudnn | --cublas | --nccl | --libraries | --work)
    [[ $# -gt 1 ]] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
    case $1 in
    -o | --out) out=$2 ;;
    --only) only=$2 ;;
    --skip) skip=$2 ;;
    --time-limit) limit=$2 ;;
    --patience) patience=$2 ;;
    --work) work=$2 ;;
    *) folders+=("$2") ;;
    esac
    shift ;;
  --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
  *) echo "run.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

trim() { local s=$1; s=${s#"${s%%[! ]*}"}; printf %s "${s%"${s##*[! ]}"}"; }
names=() limits=() shows=() commands=()
while IFS='|' read -r name seconds what command; do
  [[ $name == \#* || -z $name ]] && continue
  name=$(trim "$name")
  [[ $name =~ $only && ! $name =~ $skip ]] || continue
  names+=("$name") limits+=("$(($(trim "$seconds") * patience))") shows+=("$(trim "$what")") commands+=("$(trim "$command")")
done < "$here/tests.txt"
if [[ $list == yes ]]; then
  for i in "${!names[@]}"; do printf '%-27s %4s s  %s\n' "${names[i]}" "${limits[i]}" "${shows[i]}"; done
  exit 0
fi
((${#names[@]})) || { echo "run.sh: no test matches '$only'" >&2; exit 2; }

unpack() {
  if type -P xz >/dev/null; then
    tar -xJf "$here/payload.tar.xz" -C "$ROOT"
  else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$here/payload.tar.xz" "$ROOT"
  fi
}

# Unpack once.
begin=$SECONDS
id=$(cat "$here/payload.id")
work=${work:-${TMPDIR:-/tmp}/dlc-gpu-$(id -u)-$id}
export ROOT=$work/package
if [[ ! -e $work/unpacked-$id ]]; then
  rm -rf "$ROOT"
  mkdir -p "$ROOT" && unpack && touch "$work/unpacked-$id" || exit 1
fi
out=${out:-gpu-results}
mkdir -p "$out" "$work/logs" "$work/bench" && out=$(cd "$out" && pwd) || exit 1
export OUT=$out BENCH=$work/bench SCRATCH=$work/scratch LOGS=$work/logs
rm -rf "$work/logs" "$work/results.tsv" && mkdir -p "$work/logs"
: > "$out/summary.txt"
say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }

# Libraries of the vendor: folders given, LD_LIBRARY_PATH, the loader's cache, those of pip's packages, CUDA's.
if [[ $standins == yes ]]; then
  [[ -e $ROOT/standins/libcuda.so.1 ]] || { echo "run.sh: this package has no stand-ins" >&2; exit 2; }
  folders=("$ROOT/standins")
  export DLC_STANDIN_MEMORY_MIB=${DLC_STANDIN_MEMORY_MIB:-512} DLC_BENCH_SECONDS=0.05 DLC_TORCH_DEVICE=cpu
  say "a stand-in plays the GPU: nothing here is about a GPU"
fi
while IFS= read -r folder; do folders+=("$folder"); done < <(
  [[ $standins == yes ]] && exit
  tr ':' '\n' <<< "${LD_LIBRARY_PATH-}"
  type python3 >/dev/null 2>&1 && python3 -c '
import glob, sys
for folder in sys.path:
    for found in sorted(glob.glob(folder + "/nvidia/*/lib")):
        print(found)' 2>/dev/null
  ls -d /usr/local/nvidia/lib64 /usr/local/cuda/lib64 /usr/lib/x86_64-linux-gnu /usr/lib/wsl/lib 2>/dev/null)
path=$ROOT/lib
for name in libcuda.so.1 libcudnn.so.9 libcublasLt.so.13 libnccl.so.2; do
  found=''
  for folder in "${folders[@]-}"; do
    [[ -n $folder && -e $folder/$name ]] && { found=$folder; break; }
  done
  cached=$( (/sbin/ldconfig -p || ldconfig -p) 2>/dev/null | awk -v n="$name" '$1 == n && /x86-64/ {print $NF; exit}')
  if [[ -n $found ]]; then
    say "$name: $found"
    # The system's folder is the loader's own; ahead of it, it would hide this package's libraries.
    [[ $found == /usr/lib/x86_64-linux-gnu || $name == libcuda.so.1 && -n $cached ]] || path=$path:$found
  elif [[ -n $cached ]]; then
    say "$name: $cached"
  else
    say "$name: not found in LD_LIBRARY_PATH, the loader's cache, nvidia/*/lib of python3, /usr/local/cuda/lib64"
  fi
done
# cuDNN's engines that are compiled at run time want NVRTC, which lies beside these.
for folder in "${folders[@]-}"; do
  [[ $folder == */nvidia/*/lib && :$path: != *:$folder:* ]] && path=$path:$folder
done
export GIVEN_LIBRARY_PATH=${LD_LIBRARY_PATH-} PATH=$ROOT/bin:$PATH LD_LIBRARY_PATH=$path
if ! gpu-report >/dev/null 2>"$work/loader"; [[ -s $work/loader ]] && ! grep -q usage "$work/loader"; then
  export LD_LIBRARY_PATH=$ROOT/fallback:$LD_LIBRARY_PATH # an older libstdc++ is here
  gpu-report 2>&1 | grep -q usage || { say "the programs do not start: $(head -n 1 "$work/loader")"; exit 1; }
fi
say "kernel: $(uname -srm), $(getconf GNU_LIBC_VERSION 2>/dev/null || echo 'no glibc'), in $(
  (systemd-detect-virt 2>/dev/null || :) | grep . || echo 'an unknown machine')"
say "NVIDIA's kernel module: $(head -n 1 /proc/driver/nvidia/version 2>/dev/null || echo 'not seen in /proc')"
runtime=$( (tr ':' '\n' <<< "$LD_LIBRARY_PATH" | while IFS= read -r folder; do
  ls "$folder"/libcudart.so.* 2>/dev/null; done; ldconfig -p 2>/dev/null | awk '/libcudart.so/ {print $NF}') | head -n 1)
say "CUDA runtime: $([[ -n $runtime ]] && readlink -f "$runtime" || echo 'none found, and none is needed')"
type -P nvidia-smi >/dev/null && timeout 20 nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm \
  --format=csv,noheader 2>/dev/null | tee -a "$out/summary.txt"

keep() { # what has been found so far, should this be ended
  gpu-report "$work" "$out"
  tar -czf "$out/logs.tar.gz" -C "$work" logs
}
failed=0 passed=0
for i in "${!names[@]}"; do
  name=${names[i]} log=$work/logs/${names[i]}.log seconds=${limits[i]} left=$((limit - (SECONDS - begin)))
  ((limit > 0 && left < seconds)) && seconds=$left
  start=$(date +%s%N)
  if ((limit > 0 && left < 3)); then
    status="NOT RUN"
    echo "no time was left of --time-limit=$limit" > "$log"
  else
    rm -rf "$SCRATCH" && mkdir -p "$SCRATCH"
    (cd "$ROOT" && timeout -k 5 "$seconds" bash -c ". ./commands.sh; ${commands[i]}") > "$log" 2>&1 < /dev/null
    case $? in
    0) status=PASS passed=$((passed + 1)) ;;
    77) status=SKIP ;;
    124 | 137) status=TIMEOUT failed=$((failed + 1)) ;;
    *) status=FAIL failed=$((failed + 1)) ;;
    esac
  fi
  took=$((($(date +%s%N) - start) / 1000000))
  took=$((took / 1000)).$(printf %03d $((took % 1000)))
  printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$status" "$took" "$seconds" "${shows[i]}" >> "$work/results.tsv"
  line=$(grep -v '^ *$' "$log" | tail -n 1)
  [[ $status == FAIL ]] && line=$(grep -m 1 -iE 'differ|error' "$log" || printf %s "$line")
  say "$(printf '%-8s %-27s %8s s  %s' "$status" "$name" "$took" "${line:0:300}")"
  keep
done
rm -rf "$SCRATCH"
say "$passed passed, $failed failed, $((${#names[@]} - passed - failed)) skipped in $((SECONDS - begin)) s; results in $out"
keep
((failed)) && exit 1
((passed)) && exit 0
exit 77
