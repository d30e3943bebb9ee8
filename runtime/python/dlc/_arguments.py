# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments as options of the library."""

from __future__ import annotations

import os
from typing import Mapping

from dlc.errors import UsageError
from dlc.options import REPEATED, TRUTHS

Option = tuple[str, str]


def _word(name: str, value: object) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, float):
        return repr(value)
    if hasattr(value, "item"):  # a scalar of NumPy or torch
        return _word(name, value.item())
    if isinstance(value, int):
        return str(value)
    raise UsageError(f"option '{name}' is a {type(value).__name__}, expected text, a number, a bool, or a list of them")


def options_of(given: Mapping[str, object]) -> list[Option]:
    """None and False omit an option, True is a flag without a value; a list gives several words."""
    options: list[Option] = []
    for key, value in given.items():
        name = key.replace("_", "-")
        if name in TRUTHS and isinstance(value, bool):
            options.append((name, "true" if value else "false"))
        elif value is True:
            options.append((name, ""))
        elif isinstance(value, (list, tuple)):
            words = [_word(name, word) for word in value]
            options += [(name, word) for word in words] if name in REPEATED else [(name, ",".join(words))]
        elif value is not None and value is not False:
            options.append((name, _word(name, value)))
    return options
