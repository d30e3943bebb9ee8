#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian 13's Python 3.13 with its headers and libraries, for tools/wheel.sh on Debian 12, which only has 3.11.
#   tools/newer_python.sh FOLDER    then FOLDER/usr/bin/python3.13 runs; nothing is installed, and no root is needed
# The packages are Debian's, found and verified by apt with separate package lists: 20 MiB, 80 unpacked.
set -euo pipefail
fail() { printf 'newer_python: error: %s\n' "$*" >&2; exit 1; }
[[ $# == 1 && $1 != -* ]] || { sed -n '3,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || fail "this machine has no dpkg for amd64"
to=$(realpath -m "$1") packages=(python3.13-minimal libpython3.13-{minimal,stdlib,dev} libc6 libgcc-s1 libstdc++6 libexpat1 zlib1g
  libssl3t64 libzstd1 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libreadline8t64 libtinfo6 libncursesw6 libcrypt1)
work=$(mktemp -d "$to.XXXXXX" 2>/dev/null) || fail "no folder can be made beside $to"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{apt/parts,apt/state/lists/partial,apt/cache/archives/partial,tree}
: >"$work/apt/status"
printf '%s\n' 'Types: deb' 'URIs: http://deb.debian.org/debian' 'Suites: trixie' 'Components: main' \
  'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$work/apt/parts/trixie.sources"
apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" -o Dir::State="$work/apt/state"
  -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=)
"${apt[@]}" update >"$work/log" 2>&1 && (cd "$work/apt" && "${apt[@]}" download "${packages[@]}") >>"$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail "apt-get finds no packages of Debian 13"; }
for package in "$work"/apt/*.deb; do
  dpkg-deb -x "$package" "$work/tree"
done

# Debian's pyconfig.h includes another one, which compilers would look for in the machine's folders: replaces it by that.
include=$work/tree/usr/include
cp "$include/x86_64-linux-gnu/python3.13/pyconfig.h" "$include/python3.13/pyconfig.h"
cp "$work/tree/usr/share/doc/python3.13-minimal/copyright" "$work/tree/usr/lib/python3.13/LICENSE.txt" # for tools/notices.py
# Runs it by the unpacked loader with the unpacked libraries; its child processes use the machine's.
mv "$work/tree/usr/bin/python3.13" "$work/tree/usr/bin/python3.13.elf"
cat >"$work/tree/usr/bin/python3.13" <<'END'
#!/bin/sh
usr=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$usr/lib64/ld-linux-x86-64.so.2" --argv0 "$0" --library-path "$usr/lib/x86_64-linux-gnu" "$usr/bin/python3.13.elf" "$@"
END
chmod +x "$work/tree/usr/bin/python3.13"
"$work/tree/usr/bin/python3.13" -c 'import ctypes, ssl, venv' || fail "the unpacked Python does not run"
rm -rf "$to"
mv "$work/tree" "$to"
