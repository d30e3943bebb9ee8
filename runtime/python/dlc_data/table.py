# SPDX-License-Identifier: Apache-2.0
"""What tables of all formats have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dlc_data import DataError


@dataclasses.dataclass
class Batch:
    """Rows of one file, one behind the other: a column each of those that were asked for."""

    file: int
    first: int  # row in the file
    count: int
    columns: list[pa.Array]
    ragged: int = 0  # rows that were passed over, as they have another number of fields


@dataclasses.dataclass
class Found:
    """What a batch has in a column: numbers [rows] or [rows, entries], or names of classes; and where it has none of them."""

    numbers: np.ndarray | None = None
    whole: bool = False
    bad: np.ndarray | None = None  # by row
    why: dict[int, str] = dataclasses.field(default_factory=dict)  # of some bad rows; of others: "no value"
    names: pa.Array | None = None
    named: np.ndarray | None = None  # which rows are names; None: all
    shape: list[int] = dataclasses.field(default_factory=list)

    def reason(self, row: int) -> str:
        return self.why.get(row, "no value")


class Table:
    """Columns by name in files with the same ones."""

    rows_are_typed = True  # whether a column's type says if its numbers are whole

    def __init__(self, name: str, paths: list[str]) -> None:
        self.name, self.paths = name, paths
        self.columns: list[str] = []

    def check_names(self, names: list[str]) -> None:
        seen = set()
        for name in names:
            if name and name in seen:
                raise DataError(f"two columns are named '{name}'")
            seen.add(name)

    def batches(self, wanted: list[int]) -> Iterator[Batch]:
        raise NotImplementedError

    def place(self, file: int, row: int) -> str:
        raise NotImplementedError

    def check_use(self, column: int, label: bool) -> None:
        raise NotImplementedError

    def names_of(self, column: int, values: pa.Array) -> Found:
        """The values as names of classes, whatever they are."""
        raise NotImplementedError

    def read(self, column: int, values: pa.Array, label: bool, float_is_enough: bool) -> Found:
        raise NotImplementedError


def open_table(name: str, paths: list[str]) -> Table:
    from dlc_data.csv_table import CsvTable
    from dlc_data.parquet_table import ParquetTable

    is_parquet = paths[0].endswith(".parquet")
    for path in paths:
        if path.endswith(".parquet") != is_parquet:
            raise DataError(f"'{paths[0]}' and '{path}' are no table: expected files of one format")
    try:
        return ParquetTable(name, paths) if is_parquet else CsvTable(name, paths)
    except OSError as error:
        raise DataError(f"cannot read '{error.filename or paths[0]}': {error.strerror or error}") from None
