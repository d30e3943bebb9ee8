# SPDX-License-Identifier: Apache-2.0
"""Exceptions of dlc, named after the exit codes of the tool `dlc`."""

from __future__ import annotations

import re
from typing import ClassVar


def in_python(message: str) -> str:
    """Spells flags as Python arguments, `--amp-dtype=fp16` as `amp_dtype=fp16`, except in suggested command lines."""
    message = re.sub(r"; see dlc [a-z]+ --help$", "", message)
    if re.search(r"\bdlc(-data)? [a-z]+ ", message):
        return message
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)=?", lambda flag: flag[1].replace("-", "_") + "=", message)


class Error(Exception):
    """Base class of dlc's errors; `code` is the tool's exit code."""

    code: ClassVar[int] = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(in_python(message))


class Failed(Error):
    """An error of a file, the data or the system."""


class UsageError(Error, ValueError):
    """A wrong argument or option."""

    code = 2

    def __init__(self, message: str = "") -> None:
        if message.startswith("no option '"):
            message = re.sub(r"'[a-z0-9-]+'", lambda name: name[0].replace("-", "_"), message)
        super().__init__(message)


class BadModel(Error):
    """An invalid or unsupported ONNX file."""

    code = 3


class Corrupt(Error):
    """A damaged artifact or checkpoint."""

    code = 4


class Incompatible(Error):
    """Made for another version, device or CPU."""

    code = 5


class LimitExceeded(Error, MemoryError):
    """Out of memory, or over a limit."""

    code = 6


class PeerLost(Error, ConnectionError):
    """Another rank is lost or does not respond."""

    code = 7


class Diverged(Error, ArithmeticError):
    """The loss is not finite."""

    code = 8


BY_CODE: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (Failed, UsageError, BadModel, Corrupt, Incompatible, LimitExceeded, PeerLost, Diverged)
}
