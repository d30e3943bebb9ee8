# SPDX-License-Identifier: Apache-2.0
"""Replaces the process by the tool `dlc`, which is part of the package."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

from dlc.errors import BY_CODE, Failed


def set_data_program() -> None:
    """dlc-data is a script of this environment, which may not be in PATH."""
    program = os.path.join(sysconfig.get_path("scripts"), "dlc-data")
    if os.path.exists(program):
        os.environ.setdefault("DLC_DATA_PROGRAM", program)


PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "dlc")


def call(*words: str) -> None:
    """Runs the tool, whose error becomes an exception."""
    ended = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode:
        raise BY_CODE.get(ended.returncode, Failed)(ended.stderr.removeprefix("error: ").rstrip())


def main() -> None:
    set_data_program()
    os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])


if __name__ == "__main__":
    main()
