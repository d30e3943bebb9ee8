# SPDX-License-Identifier: Apache-2.0
"""How lit runs the .mlir and .test files of this folder; the paths come from CMake (lit.site.cfg.py.in).

Substitutions: %dlc %dlc-opt %dlc-compile (the built tools), %python (.venv), %models, %refs.
FileCheck, not and split-file are on the PATH. A file in a folder named Inputs is data, not a test.
"""

import os

import lit.formats

config.name = "dlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

tools = config.dlc_tools
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools, os.environ["PATH"]])
config.environment["NO_COLOR"] = "1"
# Freed memory is overwritten, at once, so that a use after free fails each time.
config.environment["MALLOC_PERTURB_"] = "165"
config.environment["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0"
config.environment["OMP_NUM_THREADS"] = "2"

for pattern, replacement in [
    (r"%dlc-opt", os.path.join(tools, "dlc-opt")),
    (r"%dlc-compile", os.path.join(tools, "dlc-compile")),
    (r"%dlc\b", os.path.join(tools, "dlc")),
    (r"%python", config.python),
    (r"%models", os.path.join(config.test_source_root, "..", "models")),
    (r"%refs", os.path.join(config.test_source_root, "refs")),
]:
    config.substitutions.append((pattern, replacement))
