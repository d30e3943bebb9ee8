#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing need on Debian 12: the packages of tools/packages.txt and the
# Python environments .venv of tools/requirements.txt and, to make the wheel, .venv-wheel of
# tools/wheel.txt. Does nothing if everything is installed.
#   tools/setup.sh            install what is missing (as root, or with sudo)
#   tools/setup.sh --check    list what is missing and exit with 1; change nothing
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

check=no
case "${1-}" in
  '') ;;
  --check) check=yes ;;
  -h | --help) sed -n '3,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) printf 'setup: unknown option %s; see --help\n' "$1" >&2; exit 2 ;;
esac

# Prints "name=pattern" for every package that is absent or of another version.
missing_packages() {
  local -A installed=()
  local name pattern status version
  while read -r status name version; do
    [[ $status == ii* ]] && installed[${name%%:*}]=$version
  done < <(dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package} ${Version}\n' 2>/dev/null)
  while read -r name pattern; do
    [[ -z $name || $name == \#* ]] && continue
    # shellcheck disable=SC2053  # the right side is a pattern
    [[ -n ${installed[$name]-} && ${installed[$name]} == $pattern ]] || printf '%s=%s\n' "$name" "$pattern"
  done <"$root/tools/packages.txt"
}

# The Python environments, and the files of tools/ that list their packages.
declare -A lists=([.venv]=requirements.txt [.venv-wheel]=wheel.txt)

environment_is_current() {
  [[ -x $root/$1/bin/python ]] && cmp -s "$root/tools/${lists[$1]}" "$root/$1/requirements.txt" &&
    "$root/$1/bin/python" -c '' 2>/dev/null
}

require_debian_12() {
  local ID='' VERSION_ID='' PRETTY_NAME='an unknown system'
  [[ -r /etc/os-release ]] && . /etc/os-release
  [[ $ID == debian && $VERSION_ID == 12 ]] ||
    fail "found $PRETTY_NAME, expected Debian 12; elsewhere install the equals of tools/packages.txt" \
      "and make .venv from tools/requirements.txt by hand"
}

install_packages() {
  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || fail "packages are missing (${missing[*]%%=*}): run as root, or install sudo"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]%%=*}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update || say "warning: apt-get update failed for some source; going on with what is known"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "apt-get install failed (all of its output is in $log); the LLVM 22 packages need the" \
      "bookworm-security source"
  }
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) || fail "still missing after the installation: ${missing[*]}"
}

# Creates the new environment beside the old one and then renames it, so that it is never incomplete.
make_environment() {
  local list=$root/tools/${lists[$1]} new=$root/$1.new old=$root/$1.old
  say "making the Python environment $1 with $(grep -c == "$list") packages"
  rm -rf "$new" "$old"
  python3 -m venv "$new" || fail "python3 -m venv failed; python3 is $(command -v python3), expected 3.11 or newer"
  "$new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    -r "$list" || fail "pip install failed; is a package index within reach?"
  grep -d skip -IlF "$new" "$new"/bin/* "$new/pyvenv.cfg" | xargs sed -i "s|$new|$root/$1|g"
  cp "$list" "$new/requirements.txt"
  if [[ -e $root/$1 ]]; then mv "$root/$1" "$old"; fi
  mv "$new" "$root/$1"
  rm -rf "$old"
}

mapfile -t missing < <(missing_packages)
if [[ $check == yes ]]; then
  ok=yes
  ((${#missing[@]} == 0)) || { say "missing packages: ${missing[*]}"; ok=no; }
  for name in "${!lists[@]}"; do
    environment_is_current "$name" || { say "$name is missing or not of tools/${lists[$name]}"; ok=no; }
  done
  [[ $ok == yes ]] || exit 1
  say "all is there"
  exit 0
fi

exec 9<"$root" && flock 9 # one setup at a time
log=$(mktemp -t dlc-setup.XXXXXX)
if ((${#missing[@]})); then
  require_debian_12
  install_packages
fi
for name in "${!lists[@]}"; do
  environment_is_current "$name" || make_environment "$name"
done
rm -f "$log"
say "all is there"
