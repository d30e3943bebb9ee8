# SPDX-License-Identifier: Apache-2.0
"""The library's messages, progress among them: lines on sys.stderr, which a notebook shows below the cell."""

from __future__ import annotations

import atexit
import sys
from typing import Callable

from dlc import _dlc

Listener = Callable[[int, str], object]
PREFIXES = ("", "warning: ", "error: ")


def _print(level: int, line: str) -> None:
    print(PREFIXES[level] + line, file=sys.stderr, flush=True)


def set_log(listener: Listener | None = None) -> None:
    """Gives each message to listener(level, line), level 0 for news, 1 for a warning, 2 for an error, by any thread. None:
    sys.stderr again. The listener must not call dlc."""
    _dlc.set_log(_print if listener is None else listener)


set_log()
atexit.register(_dlc.set_log, None)
