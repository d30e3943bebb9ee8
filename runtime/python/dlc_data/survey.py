# SPDX-License-Identifier: Apache-2.0
"""Describes a table's columns, for dlc data inspect."""

from __future__ import annotations

import collections
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlc_data import DataError
from dlc_data.csv_table import CsvTable
from dlc_data.parquet_table import ParquetTable, is_list, kind_of, undone
from dlc_data.table import Found, Table

MOST_NAMES, NAMES_SHOWN = 1000, 20


def text_of(number: float) -> str:
    return f"{int(number)}" if number == int(number) and abs(number) < 1e16 else repr(number)


class ColumnSurvey:
    def __init__(self) -> None:
        self.numbers = self.texts = self.infinite = self.missing = 0
        self.least, self.most = math.inf, -math.inf
        self.whole, self.cut, self.what = True, False, ""
        self.names: collections.Counter[str] = collections.Counter()

    def add_numbers(self, values: np.ndarray, whole: bool) -> None:
        if len(values):
            self.whole &= whole
            self.numbers += len(values)
            self.least, self.most = min(self.least, values.min().item()), max(self.most, values.max().item())

    def add_names(self, names: pa.Array) -> None:
        self.texts += len(names)
        for pair in pc.value_counts(names):
            name, count = pair["values"].as_py(), pair["counts"].as_py()
            if name in self.names or len(self.names) < MOST_NAMES:
                self.names[name] += count
            else:
                self.cut = True

    def text(self) -> str:
        parts = [self.what] if self.what else []
        if self.numbers:
            parts.append(f"{'whole numbers' if self.whole else 'numbers'}, {text_of(self.least)} to {text_of(self.most)}")
        if self.cut:
            parts.append(f"more than {MOST_NAMES} names")
        elif self.texts:
            shown = ", ".join(f"{name[:40]} {self.names[name]}" for name in sorted(self.names, key=str.encode))
            parts.append(f"{len(self.names)} {'name' if len(self.names) == 1 else 'names'}" + (f": {shown}" if len(self.names) <= NAMES_SHOWN else ""))
        parts += [f"{self.infinite} not finite"] if self.infinite else []
        parts += [f"{self.missing} missing"] if self.missing else []
        return "; ".join(parts) or "nothing"

    def json(self) -> dict[str, object]:
        json: dict[str, object] = {"numbers": self.numbers, "texts": self.texts, "not_finite": self.infinite, "missing": self.missing}
        if self.what:
            json["kind"] = self.what
        if self.numbers:
            json.update(least=self.least, most=self.most, whole=self.whole)
        if self.texts and not self.cut:
            json["names"] = dict(sorted(self.names.items()))
        return json


def add_csv(survey: ColumnSurvey, found: Found, values: pa.Array) -> None:
    assert found.numbers is not None
    bad = np.zeros(len(values), bool) if found.bad is None else found.bad
    named = np.zeros(len(values), bool) if found.named is None else found.named
    reasons = [found.reason(int(row)) for row in np.flatnonzero(bad)]
    survey.infinite += sum(why.endswith("not finite") for why in reasons)
    survey.missing += reasons.count("no value")
    numbers = found.numbers[~bad & ~named]
    survey.add_numbers(numbers, found.whole or bool(len(numbers)) and found.numbers.dtype == np.int64)
    if found.names is not None:
        survey.add_names(found.names.filter(pa.array(named & ~bad)))


def add_parquet(survey: ColumnSurvey, values: pa.Array) -> None:
    while is_list(values.type):
        lengths = pc.fill_null(pc.list_value_length(values), 0)
        survey.missing += pc.sum(pc.equal(lengths, 0)).as_py() or 0
        values = undone(values.flatten())
    survey.missing += values.null_count
    values = values.drop_null()
    kind = kind_of(values.type)
    if kind == "text":
        texts = [v.decode(errors="backslashreplace") if isinstance(v, bytes) else v for v in values.to_pylist()]
        survey.add_names(pa.array(texts, pa.string()))
    elif kind == "whole":
        survey.add_numbers(pc.cast(values, pa.int64(), safe=False).to_numpy(zero_copy_only=False), True)
    elif kind in ("number", "decimal"):
        numbers = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
        survey.missing += int(np.isnan(numbers).sum())
        survey.infinite += int(np.isinf(numbers).sum())
        survey.add_numbers(numbers[np.isfinite(numbers)], False)


def survey(table: Table, skip: bool) -> dict[str, object]:
    """Returns {"json": fields, "lines": text for people, "warnings": ...}."""
    columns = [ColumnSurvey() for _ in table.columns]
    parquet = table if isinstance(table, ParquetTable) else None
    wanted = []
    for i, column in enumerate(columns):
        leaf = parquet.leaves[0][i] if parquet else None
        if leaf and not (leaf.readable or leaf.kind == "text"):
            column.what = leaf.what
        else:
            wanted.append(i)
    rows, ragged, first = 0, 0, ""
    for batch in table.batches(wanted):
        rows, ragged = rows + batch.count, ragged + batch.ragged
        if batch.ragged and isinstance(table, CsvTable) and not first:
            first = ": ".join(table.find_ragged(batch.file))
            if not skip:
                raise DataError(f"{first}; --bad-samples=skip leaves such rows out")
        for i, values in zip(wanted, batch.columns):
            if parquet:
                leaf = parquet.leaves[0][i]
                if leaf.levels and i not in parquet.shapes:
                    parquet.find_shape(i, leaf.levels, values)
                add_parquet(columns[i], values)
            else:
                add_csv(columns[i], table.read(i, values, True, False), values)
    warnings = [f"{ragged} of {rows + ragged} rows are left out, the first: {first}"] if ragged else []
    if parquet:
        rows = parquet.rows
        for i, shape in parquet.shapes.items():
            columns[i].what = f"lists of {' x '.join(map(str, shape))}"
    return report(table, rows, columns) | {"warnings": warnings}


def report(table: Table, rows: int, columns: list[ColumnSurvey]) -> dict[str, object]:
    json: dict[str, object] = {}
    lines = []
    if isinstance(table, CsvTable):
        json["separator"] = table.separator
        if table.separator != ",":
            lines.append(f"{'semicolons' if table.separator == ';' else 'tabs'} between fields")
    json.update(files=len(table.paths), samples=rows)
    lines.append(f"{rows} rows in {len(table.paths)} {'file' if len(table.paths) == 1 else 'files'}")
    of = json["columns"] = {}
    for i, (name, column) in enumerate(zip(table.columns, columns)):
        of[name or f"column {i + 1}"] = column.json()  # type: ignore[index]
        lines.append(f"{name or f'(column {i + 1})'}: {column.text()}")
    return {"json": json, "lines": lines}
