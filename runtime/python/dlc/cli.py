# SPDX-License-Identifier: Apache-2.0
"""The tool `dlc`, which lies in the package: its process becomes the tool's."""

from __future__ import annotations

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "dlc")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
