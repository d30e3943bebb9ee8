#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and tests everything, one test per processor; arguments go to ctest (-R NAME, -L lit, -j1 ...).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh
cmake --preset release
cmake --build --preset release
exec ctest --preset release -j"$(nproc)" "$@"
