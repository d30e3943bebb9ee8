# SPDX-License-Identifier: Apache-2.0
"""Messages of the library are written to sys.stderr, which a notebook shows below the cell; there, progress is one bar."""

from __future__ import annotations

import atexit
import html
import re
import sys
from typing import Any, Callable

from dlc import _dlc
from dlc.errors import in_python

Listener = Callable[[int, str], object]
PROGRESS = 3
PREFIXES = ("", "warning: ", "error: ", "")


class _Bar:
    """The progress of a run below a notebook's cell: one output, which each line replaces."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._shown: Any = None

    def show(self, shell: Any, line: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        found = re.search(r"step (\d+)/(\d+)", line)
        step, steps = (int(found[1]), int(found[2])) if found else (0, 1)
        text = {"text/plain": line, "text/html": f'<progress value="{step}" max="{steps}"></progress> <code>{html.escape(line)}</code>'}
        of = (shell.execution_count, steps)
        if self._shown is not None and self._of == of:
            self._shown.update(text, raw=True)
        else:
            self._of, self._shown = of, display(text, raw=True, display_id=True)  # type: ignore[no-untyped-call,unused-ignore]


_bar = _Bar()


def _notebook() -> Any:
    """The shell of the notebook that this process is the kernel of; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if hasattr(shell, "kernel") else None


def _print(level: int, line: str) -> None:
    shell = _notebook() if level == PROGRESS else None
    if shell is not None:
        _bar.show(shell, line)
    else:
        print(PREFIXES[level] + line, file=sys.stderr, flush=True)


def set_log(listener: Listener | None = None) -> None:
    """Calls listener(level, line) for each message, on any thread: level 0 is information, 1 a warning, 2 an error, 3 progress,
    which replaces the last line of progress. None restores sys.stderr and the bar. The listener must not call dlc."""
    listens = _print if listener is None else listener
    _dlc.set_log(lambda level, line: listens(level, in_python(line)))


set_log()
atexit.register(_dlc.set_log, None)
