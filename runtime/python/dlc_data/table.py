# SPDX-License-Identifier: Apache-2.0
"""Common classes for all table formats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dlc_data import DataError


@dataclasses.dataclass
class Batch:
    """Adjacent rows of one file, with the requested columns."""

    file: int
    first: int  # row number in the file
    count: int
    columns: list[pa.Array]
    ragged: int = 0  # rows skipped because their number of fields differs


@dataclasses.dataclass
class Found:
    """Values of a column in a batch: numbers [rows] or [rows, entries], or class names; and which rows have none."""

    numbers: np.ndarray | None = None
    whole: bool = False
    bad: np.ndarray | None = None  # per row
    why: dict[int, str] = dataclasses.field(default_factory=dict)  # for some bad rows; the others: "no value"
    names: pa.Array | None = None
    named: np.ndarray | None = None  # which rows are names; None: all
    shape: list[int] = dataclasses.field(default_factory=list)

    def reason(self, row: int) -> str:
        return self.why.get(row, "no value")


class Table:
    """Named columns of files that all have the same columns."""

    rows_are_typed = True  # whether the column type determines that numbers are integers

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
        """Converts values of any type to class names."""
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
