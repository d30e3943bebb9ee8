# SPDX-License-Identifier: Apache-2.0
"""Converts data to formats that dlc reads: tables to .safetensors, text to tokens. dlc runs it as `dlc-data`."""

from __future__ import annotations

# Version of the protocol between dlc and dlc-data: commands, arguments, files. Incremented when any of them changes.
FORMAT = 1


class DataError(Exception):
    """An error in the data, with file and position."""

    code = 1


class UsageError(DataError):
    """An error in the arguments."""

    code = 2
