#!/bin/bash
# Installs what building and testing need on Debian 12: the packages of tools/packages.txt
# and the Python environment .venv of tools/requirements.txt. Does nothing where all is there.
#   tools/setup.sh            install what is missing (as root, or with sudo)
#   tools/setup.sh --check    say what is missing and exit 1; change nothing
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

check=no
case "${1-}" in
  '') ;;
  --check) check=yes ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
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

environment_is_current() {
  [[ -x $root/.venv/bin/python ]] && cmp -s "$root/tools/requirements.txt" "$root/.venv/requirements.txt" &&
    "$root/.venv/bin/python" -c '' 2>/dev/null
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

# Made beside the old one and then moved into place, so that .venv is never half of one.
make_environment() {
  local new=$root/.venv.new old=$root/.venv.old
  say "making the Python environment .venv with $(grep -c == "$root/tools/requirements.txt") packages"
  rm -rf "$new" "$old"
  python3 -m venv "$new" || fail "python3 -m venv failed; python3 is $(command -v python3), expected 3.11 or newer"
  "$new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    -r "$root/tools/requirements.txt" || fail "pip install failed; is a package index within reach?"
  grep -IlF "$new" "$new"/bin/* "$new/pyvenv.cfg" | xargs sed -i "s|$new|$root/.venv|g"
  cp "$root/tools/requirements.txt" "$new/requirements.txt"
  if [[ -e $root/.venv ]]; then mv "$root/.venv" "$old"; fi
  mv "$new" "$root/.venv"
  rm -rf "$old"
}

mapfile -t missing < <(missing_packages)
if [[ $check == yes ]]; then
  ok=yes
  ((${#missing[@]} == 0)) || { say "missing packages: ${missing[*]}"; ok=no; }
  environment_is_current || { say ".venv is missing or not of tools/requirements.txt"; ok=no; }
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
environment_is_current || make_environment
rm -f "$log"
say "all is there"
