# SPDX-License-Identifier: Apache-2.0
"""Writes rows of a table to standard output, for --data-command and data larger than a disk. Format: docs/guide/stream.md."""

from __future__ import annotations

import json
import os
from typing import BinaryIO

import numpy as np

from dlc_data import DataError
from dlc_data.columns import Chosen
from dlc_data.parquet_table import ParquetTable
from dlc_data.rows import Rows
from dlc_data.table import Table

TYPES = {np.dtype(np.int64): "int64", np.dtype(np.float64): "float64"}


def stream(table: Table, chosen: Chosen, inputs: list[dict] | None, classes: list[str], out: BinaryIO) -> None:  # type: ignore[type-arg]
    """An epoch of a Parquet table is its rows; a .csv, whose rows are not counted in advance, restarts at its end."""
    rank, world = (int(os.environ.get(name, usual)) for name, usual in (("DLC_RANK", "0"), ("DLC_WORLD_SIZE", "1")))
    skip = int(os.environ.get("DLC_DATA_SKIP", "0"))
    rows = Rows(table, chosen.arrays(inputs), classes, False, None)
    header: dict[str, object] = {}
    types: list[np.dtype] = []
    place = 0  # rows before the batch, over all epochs
    while True:
        begin = place
        for made in rows.arrays_of(lambda i: False):
            for use in (use for uses in rows.uses for use in uses if use.names):
                raise DataError(f"column '{table.columns[use.column]}' has names of classes: a stream needs --classes=NAME,...")
            if len(made[0]) == 0:
                continue
            if not header:
                types = [one.dtype for one in made]
                shapes = [rows.shape_of(array, uses) for array, uses in zip(rows.arrays, rows.uses)]
                header = {"dlc": 1, "arrays": [{"name": array.key, "dtype": TYPES[dtype], "shape": shape}
                                               for array, dtype, shape in zip(rows.arrays, types, shapes)]}
                if isinstance(table, ParquetTable):
                    header["samples"] = table.rows
                out.write(json.dumps(header).encode() + b"\n")
            for array, one, dtype in zip(rows.arrays, made, types):
                if one.dtype != dtype and dtype != np.float64:
                    raise DataError(f"'{table.name}': '{array.key}' is of whole numbers in its first rows, and of others behind them: write .0 there")
            count = len(made[0])
            records = np.concatenate([np.ascontiguousarray(one, dtype).reshape(count, -1).view(np.uint8) for one, dtype in zip(made, types)], axis=1)
            first = skip - place + rank if place < skip else (rank - (place - skip)) % world
            out.write(records[first::world].tobytes())
            place += count
        out.flush()
        if isinstance(table, ParquetTable):
            return
        if place == begin:
            raise DataError(f"'{table.name}' has no samples")
