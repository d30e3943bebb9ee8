# SPDX-License-Identifier: Apache-2.0
"""Data of other programs as dlc reads it: tables as .safetensors, text as tokens. dlc starts it as `dlc-data`."""

from __future__ import annotations

# What dlc and dlc-data agree on: commands, arguments, files. Counted up when any of them changes.
FORMAT = 1


class DataError(Exception):
    """What is wrong with the data, by file and place."""

    code = 1


class UsageError(DataError):
    """What is wrong with the arguments."""

    code = 2
