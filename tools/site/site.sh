#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Renders docs/ to HTML in build/site: pages that need no server and no network.
#   tools/site/site.sh [--serve]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=build/site-venv
[[ -x $venv/bin/mkdocs ]] || {
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tools/site/requirements.txt
}
case ${1-} in
--serve) exec "$venv/bin/mkdocs" serve --config-file tools/site/mkdocs.yml ;;
'') "$venv/bin/mkdocs" build --quiet --strict --config-file tools/site/mkdocs.yml && echo build/site/index.html ;;
*)
  sed -n '3,4s/^# \?//p' "${BASH_SOURCE[0]}"
  [[ $1 == --help ]] && exit 0
  exit 2
  ;;
esac
