# SPDX-License-Identifier: Apache-2.0
"""The tool `dlc`, which lies in the package: its process becomes the tool's."""

from __future__ import annotations

import os
import sys
import sysconfig


def set_data_program() -> None:
    """dlc-data is a script of this environment, which need not be in PATH."""
    program = os.path.join(sysconfig.get_path("scripts"), "dlc-data")
    if os.path.exists(program):
        os.environ.setdefault("DLC_DATA_PROGRAM", program)


def main() -> None:
    set_data_program()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "dlc")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
